"""The tasks that the scripted models are given: files to begin with, what is planned, a check."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PYTHON = sys.executable
PAGES = ("docs/index.md", "docs/one.md", "docs/two.md", "docs/three.md")
CHECK_S = 30

_CHECK_GUIDE = '''"""Fails with file:line for what is missing, thin, untitled or misleading."""
import pathlib, re, sys
found = []
for name in ("docs/index.md", "docs/one.md", "docs/two.md", "docs/three.md"):
    page = pathlib.Path(name)
    if not page.is_file():
        found.append(f"{name}:1: it is missing")
        continue
    lines = page.read_text().split("\\n")
    if not lines[0].startswith("# "):
        found.append(f"{name}:1: it has no title")
    if len(page.read_text().split()) < 12:
        found.append(f"{name}:1: it is thin: fewer than 12 words")
    for number, line in enumerate(lines, 1):
        for link in re.findall(r"\\]\\(([^)]+)\\)", line):
            if not (page.parent / link).is_file():
                found.append(f"{name}:{number}: `{link}` leads nowhere")
print("\\n".join(found))
sys.exit(1 if found else 0)
'''
_CHECK_CODE = '''"""Fails with file:line while `total` is wrong."""
import sys
sys.path.insert(0, "src")
import calc
if calc.total([1, 2, 3]) != 6:
    print("src/calc.py:2: total([1, 2, 3]) is not 6")
    sys.exit(1)
if not calc.report([1, 2]).endswith("3"):
    print("src/calc.py:5: the report does not end with the total")
    sys.exit(1)
'''
_BUGGY = "def total(numbers):\n    return sum(numbers[:-1])\n"
_RIGHT = (
    "def total(numbers):\n    return sum(numbers)\n\n\n"
    'def report(numbers):\n    return f"total: {total(numbers)}"\n'
)


@dataclass(frozen=True)
class Task:
    """What is asked for, what is there, what decides; `good` is what a file should be."""

    statement: str
    planned: tuple[str, ...]
    check: str
    good: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)

    def lay_out(self, root: Path) -> None:
        """The workspace as the model finds it."""
        for name, text in self.files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def holds(self, root: Path) -> bool:
        """The truth, whatever anybody says: the check as it was given, on the files as they are."""
        script = next(name for name in self.files if name in self.check)
        done = subprocess.run(
            (PYTHON, "-c", self.files[script]),
            cwd=root,
            capture_output=True,
            timeout=CHECK_S,
            check=False,
        )
        return done.returncode == 0


def _page(name: str) -> str:
    links = {"docs/index.md": "See [one](one.md), [two](two.md) and [three](three.md). "}
    title = Path(name).stem
    words = f"This page says in full what there is to say on {title}."
    return f"# {title}\n\n{links.get(name, '')}{words}\n"


GUIDE = Task(
    "Write a guide of four pages in docs/ after the material in ref/.",
    PAGES,
    "python3 checks/guide.py",
    {name: _page(name) for name in PAGES},
    {
        "checks/guide.py": _CHECK_GUIDE,
        **{
            f"ref/{letter}.md": f"# {letter}\n\n" + f"Material on {letter}. " * 20
            for letter in "abc"
        },
    },
)
CODE = Task(
    "Mend total() in src/calc.py and add report() to it.",
    ("src/calc.py",),
    "python3 checks/code.py",
    {"src/calc.py": _RIGHT},
    {"checks/code.py": _CHECK_CODE, "src/calc.py": _BUGGY},
)
