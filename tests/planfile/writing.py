"""Writes plans for the tests, and documents for the property tests."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st

from signoff.domain.findings import Finding, Severity
from signoff.planfile.parse import parse

FIXTURES = Path(__file__).parent / "fixtures"

CONTRACT = "**contract:**\n```shell\ntest -f out.txt\n```\nexit_code == 0\n"


def step(number: str = "1", extra: str = "", contract: str = CONTRACT, title: str = "Work") -> str:
    """One complete step; `extra` are lines before its task."""
    return f"### {number}. {title}\n\n**target:** coder\n{extra}**task:**\nDo it.\n\n{contract}\n"


def plan(*steps: str, header: str = "", after: str = "") -> str:
    """One complete plan."""
    body = "".join(steps or (step(),))
    return f"# Plan\n\n{header}\n## Steps\n\n{body}{after}"


def codes(text: str) -> list[str]:
    """The codes of what reading the text finds, in the order of the lines."""
    return [finding.code for finding in parse(text).findings]


def the_finding(text: str, code: str) -> Finding:
    """The one finding with this code."""
    (found,) = [finding for finding in parse(text).findings if finding.code == code]
    return found


def errors(text: str) -> list[str]:
    """The codes of the errors only."""
    return [f.code for f in parse(text).findings if f.severity is Severity.ERROR]


PIECES = [
    "# Title",
    "## Steps",
    "## Steps ##",
    "## Postconditions",
    "### 1. One",
    "### 2. ✅ Two",
    "### 3–N. ❌",
    "### N+1.  ⏳⛔ Both",
    "### 4.",
    "#### 5. Five",
    "####### no",
    "#no",
    "**target:** coder",
    "**task:**",
    "**Task**: do",
    "**contract:**",
    "**on_fail:** abort",
    "**needs:** 1",
    "**status: done**",
    "**status:** failed",
    "**Note:** x",
    "exit_code == 0",
    'stdout contains "a"',
    "```",
    "```shell",
    "````",
    "~~~",
    "~~~ a`b",
    "text",
    "",
    "",
    "---",
    "===",
    "- file:a.txt",
    "-",
    "1. one",
    "2. two",
    "> quote",
    "> ### 1. q",
    "- ```",
    "<!-- c",
    "-->",
    "<div>",
    "<foo>",
    "\tindented",
    "é–\u2028\x0c\x85",
    "trailing  ",
    "\u200b### 7. hidden",
]
_FRONTMATTER = [
    "",
    "---\ntype: plan\nstatus: draft\n---\n",
    "---\nstatus:   approved   # why\nowner: me\n---\n",
    "---\ntype: plan\n---\n",
    "---\n  type: plan\n...\n",
    "---\n---\n",
    '---\nstatus: "draft"\n---\n',
    "---\nstatus:\n---\n",
    "---\n{status: draft}\n---\n",
    "---\nstatus: |\n  draft\n---\n",
    "---\na: [\n---\n",
]


def _document(front: str, lines: list[str], newline: str, bom: str, end: str) -> str:
    text = front + "\n".join(lines) + end
    return bom + text.replace("\n", newline)


documents = st.builds(
    _document,
    st.sampled_from(_FRONTMATTER),
    st.lists(
        st.builds(
            lambda indent, piece, tail: indent + piece + tail,
            st.sampled_from(["", "", "", "", " ", "   ", "    ", "\t"]),
            st.sampled_from(PIECES),
            st.sampled_from(["", "", "", " ", "\t"]),
        ),
        max_size=25,
    ),
    st.sampled_from(["\n", "\n", "\r\n"]),
    st.sampled_from(["", "", "\ufeff"]),
    st.sampled_from(["", "\n"]),
)
