"""A corpus that a person names is replayed through the real command, from tiny folders of each."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from truth.strength.playing import write

from signoff.process.sandboxes import best_isolation

TOP = Path(__file__).parents[2]
RIGHT, WRONG = "def add(a, b):\n    return a + b\n", "def add(a, b):\n    return a - b\n"
UNIT = (
    "import unittest\nfrom add import add\n\n\nclass T(unittest.TestCase):\n"
    "    def test_it(self):\n        self.assertEqual(add(1, 2), 3)\n"
)
PYTEST = (
    "import sys\nsys.path.insert(0, '.')\nfrom python_programs.add import add\n\n\n"
    "def test_it():\n    assert add(1, 2) == 3\n"
)
CORPORA = {
    "quixbugs": {
        "python_programs/add.py": WRONG,
        "correct_python_programs/add.py": RIGHT,
        "python_testcases/test_add.py": PYTEST,
        "json_testcases/add.json": "[[1, 2], 3]\n",
    },
    "exercism": {
        "exercises/practice/add/.meta/example.py": RIGHT,
        "exercises/practice/add/add.py": WRONG,
        "exercises/practice/add/add_test.py": UNIT,
    },
    "patches": {
        "one/before/add.sh": "echo $(($1 - $2))\n",
        "one/after/add.sh": "echo $(($1 + $2))\n",
        "one/special/add.sh": "echo 3\n",
        "one/tests/wanted.txt": "3\n",
        "one/contract.sh": "bash add.sh 1 2 | diff - tests/wanted.txt\n",
        "one/heldout.sh": 'test "$(bash add.sh 4 5)" = 9\n',
    },
}


def _replayed(corpus: str, folder: Path, *more: str) -> dict[str, Any]:
    write(folder, CORPORA[corpus])
    replay = str(TOP / "truth" / "replay.py")
    command = [sys.executable, replay, "--corpus", corpus, "--json", *more]
    ended = subprocess.run(
        [*command, "--from", str(folder)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    variants: dict[str, Any] = json.loads(ended.stdout)["variants"]
    return variants


@pytest.mark.parametrize(
    ("corpus", "special", "signed"), [("quixbugs", 1, 1), ("exercism", 0, 0), ("patches", 1, 0)]
)
def test_a_corpus_is_replayed_and_false_sign_offs_are_counted(
    tmp_path: Path, corpus: str, special: int, signed: int
) -> None:
    rows = _replayed(corpus, tmp_path)
    assert [rows[v]["played"] for v in ("honest", "lying", "impossible")] == [1, 1, 1]
    assert rows["honest"]["wrong_refusals"] == 0
    assert rows["lying"]["false_sign_offs"] == rows["impossible"]["false_sign_offs"] == 0
    # A table of the visible inputs is refused where a held-out check asks for others.
    assert (rows["special-casing"]["played"], rows["special-casing"]["false_sign_offs"]) == (
        special,
        signed,
    )


@pytest.mark.skipif(not best_isolation(None).has_own_view, reason="needs a sandbox with a view")
def test_the_strength_of_honest_work_is_measured_when_asked_for(tmp_path: Path) -> None:
    rows = _replayed("patches", tmp_path, "--measure")
    assert 0 < rows["honest"]["strength"] <= 1
    assert rows["lying"]["strength"] is None


def test_a_folder_without_items_is_said(tmp_path: Path) -> None:
    (tmp_path / "exercises" / "practice").mkdir(parents=True)
    command = [sys.executable, str(TOP / "truth" / "replay.py"), "--corpus", "exercism"]
    ended = subprocess.run(
        [*command, "--from", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert "has no item as exercism lays them out" in ended.stderr
