"""A notebook was run from top to bottom, without errors, and shows something."""

from __future__ import annotations

import json

import pytest

from tests.toolbatch.checkers.kit import Artifacts
from tests.toolbatch.checkers.pictures import cell, notebook, shown

TEXT = {"cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "text"]}
ERROR = {"output_type": "error", "ename": "ValueError", "evalue": "no\nnumber", "traceback": []}


def test_a_notebook_that_ran_through_has_no_findings(artifacts: Artifacts) -> None:
    data = {"output_type": "execute_result", "data": {"text/plain": "2"}, "metadata": {}}
    text = notebook(TEXT, cell("1", 1, shown()), cell("# only a note", None), cell("2", 2, data))
    assert artifacts.of("a.ipynb", text) == []


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        ([cell("a", None, shown())], ["not-executed"]),
        ([cell("a", 2, shown())], ["cell-order"]),
        ([cell("a", 1, shown()), cell("b", 3, shown())], ["cell-order"]),
        ([cell("a", 2, shown()), cell("b", 1, shown())], ["cell-order", "cell-order"]),
        ([cell("a", 1, shown()), cell("b", 1, shown())], ["cell-order"]),
        ([cell("a", 1, ERROR)], ["cell-error"]),
        ([cell("a", 1)], ["?cell-without-output"]),
        ([cell("a", 1, shown(""))], ["?cell-without-output"]),
    ],
)
def test_what_running_it_left_behind_is_judged(
    artifacts: Artifacts, cells: list[dict[str, object]], found: list[str]
) -> None:
    said = artifacts.of("a.ipynb", notebook(*cells))
    assert [line.split(" ")[1] for line in said] == found


def test_a_finding_names_the_line_of_its_cell(artifacts: Artifacts) -> None:
    text = notebook(TEXT, cell("a", 1, shown()), cell("b", 2, ERROR))
    line = next(n for n, row in enumerate(text.split("\n"), 1) if '"execution_count": 2' in row) - 2
    assert artifacts.of("a.ipynb", text) == [f"{line} cell-error"]
    (finding,) = artifacts.report("a.ipynb").findings
    assert finding.message == "cell 3 ended in ValueError: no number"


@pytest.mark.parametrize(
    "content",
    [
        "{}",
        "[]",
        json.dumps({"cells": [], "metadata": {}, "nbformat": 4}),
        notebook(TEXT, nbformat=3),
        notebook(TEXT, nbformat="4"),
        notebook(TEXT, metadata=None),
        notebook({"cell_type": "code", "source": "x"}),
        notebook({"cell_type": "video", "source": "x"}),
        notebook({"cell_type": "markdown"}),
        notebook(cell("a", 1, {"text": "no type"})),
        notebook({**cell("a", 1), "execution_count": "1"}),
        notebook({**cell("a", 1), "execution_count": True}),
    ],
)
def test_what_is_json_but_no_notebook_is_found(artifacts: Artifacts, content: str) -> None:
    assert artifacts.of("a.ipynb", content) == ["1 bad-notebook"] or artifacts.of(
        "a.ipynb", content
    ) == ["3 bad-notebook"]


def test_what_is_no_json_is_found(artifacts: Artifacts) -> None:
    assert artifacts.of("a.ipynb", '{\n"cells": [}') == ["2 bad-json"]
