"""bash reads many shell texts at once, says which it refuses, and runs none of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from signoff.domain.findings import SyntaxProblem
from signoff.process.shell import syntax_problems


def test_each_text_gets_its_own_answer() -> None:
    texts = ["test -f a", "true\nfi", "cat <<E\nx", "if a; then", "shopt -s extglob\nls !(a)"]
    assert syntax_problems(texts) == {
        "true\nfi": SyntaxProblem(1, "syntax error near unexpected token `fi`"),
        "if a; then": SyntaxProblem(None, "syntax error: unexpected end of file"),
    }


@pytest.mark.parametrize(
    "text",
    [
        "touch {}",
        "set +n\ntouch {}",
        "echo $(touch {})",
        "}}\ntouch {}",
        ")\ntouch {}",
        "cat <<E\n$(touch {})\nE",
        "cat <(touch {})",
        "trap 'touch {}' EXIT",
    ],
)
def test_nothing_of_a_text_is_run(text: str, tmp_path: Path) -> None:
    syntax_problems([text.format(tmp_path / "made")])
    assert list(tmp_path.iterdir()) == []


def test_a_text_that_no_shell_can_be_given_is_passed_over() -> None:
    assert syntax_problems(["fi\0", "fi"]).keys() == {"fi"}
