"""No process that runs a contract tells its text to the product, in any sandbox."""

from __future__ import annotations

import pytest

from signoff.domain.verdict import Isolation
from signoff.process.sandboxes import probe_sandboxes
from tests.cli.kit import Desk
from tests.cli.plans import step

MODES = [Isolation.NONE, *(s.isolation for s in probe_sandboxes() if s.available)]
LOOKS = r"""
import pathlib, sys
for process in pathlib.Path("/proc").glob("[0-9]*"):
    for name in ("cmdline", "environ"):
        try:
            text = (process / name).read_bytes()
        except OSError:
            continue
        if b"golden " + b"rule" in text:
            sys.exit(f"told by {name}: {text}")
"""


@pytest.mark.parametrize("isolation", MODES)
def test_a_product_finds_the_text_of_its_check_in_no_process(
    desk: Desk, isolation: Isolation
) -> None:
    desk.person(f'[sandbox]\nisolation = "{isolation}"\n')
    desk.agent(f"cat > product.py <<'END'\n{LOOKS}END\n")
    desk.plan(step("Make it", "python3 product.py && : golden rule", produces="product.py"))
    desk.run("--yes").exits(0)
