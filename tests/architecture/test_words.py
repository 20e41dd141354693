"""`make names` refuses class names and docstrings that a stranger would stumble over."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source import REPOSITORY

GLOSSARY = "## Retired words\n\n| word | say instead |\n| --- | --- |\n| court | the judge |\n"


def _names(folder: Path, text: str) -> tuple[int, list[str]]:
    """Run the script in a repository with one module."""
    for part in ("scripts", "docs", "src/signoff"):
        (folder / part).mkdir(parents=True)
    shutil.copy(REPOSITORY / "scripts" / "names.py", folder / "scripts")
    (folder / "docs" / "glossary.md").write_text(GLOSSARY, "utf-8")
    (folder / "src" / "signoff" / "one.py").write_text(text, "utf-8")
    command = [sys.executable, str(folder / "scripts" / "names.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize("word", ["What", "Whether", "How", "Which", "Why", "where", "Whoever"])
def test_a_docstring_may_not_begin_with_a_question_word(tmp_path: Path, word: str) -> None:
    code, said = _names(tmp_path, f'"""Rooms."""\n\n\ndef one():\n    """{word} it is."""\n')
    assert code == 1
    assert said == ["src/signoff/one.py:5: begin with a verb or a noun, not a question"]


def test_modules_classes_and_fields_are_looked_at_too(tmp_path: Path) -> None:
    text = '"""What."""\n\n\nclass One:\n    """`How`."""\n\n    a: int\n    """When."""\n'
    code, said = _names(tmp_path, text)
    assert code == 1
    assert [line.split(": ")[0] for line in said] == [f"src/signoff/one.py:{n}" for n in (1, 5, 8)]


def test_a_class_with_a_retired_word_is_refused(tmp_path: Path) -> None:
    code, said = _names(tmp_path, '"""Rooms."""\n\n\nclass HighCourt:\n    """A judge."""\n')
    assert (code, said) == (1, ["`one:HighCourt` uses a word that the glossary retired"])


def test_plain_words_pass(tmp_path: Path) -> None:
    text = '"""Whole rooms."""\n\n\ndef one():\n    """True when the gate is open."""\n'
    code, said = _names(tmp_path, text)
    assert (code, said) == (0, ["every class has a name of its own, every docstring answers"])
