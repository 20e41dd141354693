"""What `import signoff` offers is there, is declared for type checkers, and loads no model."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import signoff


def test_every_name_is_there_and_declared() -> None:
    assert [name for name in signoff.__all__ if getattr(signoff, name, None) is None] == []
    stub = Path(str(signoff.__file__)).with_suffix(".pyi").read_text()
    declared = {m[1] or m[2] for m in re.finditer(r"^from .* as (\w+)$|^(\w+): ", stub, re.M)}
    assert declared - {"__all__"} == set(signoff.__all__)


def test_making_tools_needs_no_model_library() -> None:
    code = (
        "import sys, signoff; signoff.STANDARD_TOOLS, signoff.tool, signoff.LoopLimits;"
        "print('pydantic_ai' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_without_the_extra_plan_tools_work_and_making_tools_names_it() -> None:
    code = (
        "import sys; sys.modules['pydantic'] = None; import signoff\n"
        "from signoff.errors import ExtraMissing\n"
        "print(len(signoff.plan_tools(None)))\n"
        "try: signoff.STANDARD_TOOLS\n"
        "except ExtraMissing as error: print(error, error.hint, sep='; ')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count, said = done.stdout.splitlines()
    assert count == "5"
    assert said.startswith("making tools needs pydantic, which is not installed; ")
    assert "[llm]" in said
