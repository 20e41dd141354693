"""Space that is none to CommonMark, anywhere in a plan: read without a fault, and written back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.domain.plan import Mark, PlanStatus
from signoff.errors import PlanUnreadable
from signoff.planfile.marks import mark_text
from signoff.planfile.parse import parse
from signoff.planfile.verify import verify
from signoff.planfile.verify.view import Anywhere
from tests.planfile.writing import plan, step, the_finding

ODD = "\u00a0\u2003\u3000\x0b\x0c\x85\u2028\u2029\u1680\u180e\u200b\ufeff\x1c\x1d\x1e\x1f \t"
LINES = [
    *("---", "type: plan", "status: draft", "touches: [a]", "depends_on:", "- b", "---"),
    *("# Title", "**Context:** here", "**Budget:** max 1k tokens, $1, 2 minutes", "## Steps"),
    *("### 1. One", "### 2. ✅ Two", "**target:** coder", "**needs:** 1", "**produces:**", "- out"),
    *("**timeout:** 10 minutes", "**for_each:**", "```shell", "```", "~~~", "**task:**", "Do it."),
    *("**contract:**", "true", "exit_code == 0", 'stdout contains "x"', "tests >= 1"),
    *(
        "**on_fail:** retry(2), then abort",
        "## Postconditions",
        "1. It holds",
        "   ```sh",
        "   ```",
    ),
]


@st.composite
def odd_lines(draw: st.DrawFn) -> str:
    """A line of a plan with odd space before, behind and inside it."""
    line = draw(st.sampled_from(LINES))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(line)))
        line = line[:at] + draw(st.text(ODD, min_size=1, max_size=3)) + line[at:]
    return line


@settings(deadline=None, max_examples=300)
@given(st.lists(odd_lines(), max_size=40))
def test_a_plan_full_of_odd_space_is_read_verified_and_written_back(lines: list[str]) -> None:
    text = "\n".join(lines)
    parsed = parse(text)
    verify(parsed, Anywhere(frozenset({"coder"})))
    marks = {step.id: Mark.DONE for step in parsed.plan.steps}
    marked = mark_text(text, marks, PlanStatus.DONE)
    assert [s.contract for s in parse(marked).plan.steps] == [s.contract for s in parsed.plan.steps]


@pytest.mark.parametrize("space", ODD)
def test_space_alone_behind_a_fence_names_no_language(space: str) -> None:
    contract = f"**contract:**\n```{space}\ntest -f out.txt\n```\n"
    (found,) = parse(plan(step(contract=contract))).plan.steps
    assert found.contract is not None and found.contract.command == "test -f out.txt"


def test_odd_space_behind_a_closing_fence_leaves_it_open_and_is_said() -> None:
    text = plan(step(contract="**contract:**\n```shell\ntrue\n```\u00a0\n"))
    assert the_finding(text, "unclosed-fence").line


class _Unreadable(str):
    """A text on which the reader fails."""

    def strip(self, _chars: str | None = None, /) -> str:
        raise IndexError("list index out of range")


def test_a_fault_of_the_reader_is_an_error_about_that_plan() -> None:
    with pytest.raises(PlanUnreadable, match=r"own reader failed on it \(IndexError: list index"):
        parse(_Unreadable("# Plan"))
