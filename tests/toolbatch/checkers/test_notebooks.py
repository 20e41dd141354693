"""A notebook was run from top to bottom, without errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.toolbatch.checkers.kit import Artifacts
from tests.toolbatch.checkers.pictures import MAKE, cell, failed, notebook, shown

TEXT = MAKE.new_markdown_cell("# Title\ntext")
RESULT = MAKE.new_output("execute_result", data={"text/plain": "2"}, execution_count=2)


def test_a_notebook_that_ran_through_has_no_findings(artifacts: Artifacts) -> None:
    cells = (TEXT, cell("1", 1, shown()), cell("# only a note", None), cell("a\nb", 2, RESULT))
    assert artifacts.of("a.ipynb", notebook(*cells)) == []


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        ([cell("a", None, shown())], ["not-executed"]),
        ([cell("a", 2, shown())], ["cell-order"]),
        ([cell("a", 1, shown()), cell("b", 3, shown())], ["cell-order"]),
        ([cell("a", 2, shown()), cell("b", 1, shown())], ["cell-order", "cell-order"]),
        ([cell("a", 1, shown()), cell("b", 1, shown())], ["cell-order"]),
        ([cell("a", 1, failed())], ["cell-error"]),
        ([cell("a", 1, failed(), tags=["raises-exception"])], []),
    ],
)
def test_what_running_it_left_behind_is_judged(
    artifacts: Artifacts, cells: list[Any], found: list[str]
) -> None:
    said = artifacts.of("a.ipynb", notebook(*cells))
    assert [line.split(" ")[1] for line in said] == found


def test_a_finding_names_its_cell(artifacts: Artifacts) -> None:
    text = notebook(TEXT, cell("a", 1, shown()), cell("b", 2, failed()))
    assert artifacts.of("a.ipynb", text) == ["1 cell-error"]
    (finding,) = artifacts.report("a.ipynb").findings
    assert finding.message == "cell 3 ended in ValueError: no number"


@pytest.mark.parametrize(
    "changes",
    [
        {"cells": []},
        {"cells": None},
        {"nbformat": 3},
        {"nbformat": "4"},
        {"metadata": None},
        {"cells": [{"cell_type": "code", "source": "x"}]},
        {"cells": [{"cell_type": "video", "source": "x", "metadata": {}}]},
        {"cells": [{"cell_type": "markdown", "metadata": {}}]},
        {"cells": ["text"]},
        {"cells": [{**cell("a", 1), "outputs": [{"text": "no type"}]}]},
        {"cells": [{**cell("a", 1), "execution_count": "1"}]},
        {"cells": [{**cell("a", 1), "execution_count": True}]},
        {"cells": [{**cell("a", 1), "metadata": {"tags": "raises-exception"}}]},
    ],
)
def test_what_is_json_but_no_notebook_is_found(
    artifacts: Artifacts, changes: dict[str, object]
) -> None:
    content = json.dumps(json.loads(notebook(TEXT)) | changes)
    assert artifacts.of("a.ipynb", content) == ["1 bad-notebook"]


@pytest.mark.parametrize("content", ["{}", "[]", "1"])
def test_other_json_is_no_notebook(artifacts: Artifacts, content: str) -> None:
    assert artifacts.of("a.ipynb", content) == ["1 bad-notebook"]


def test_what_is_no_json_is_found(artifacts: Artifacts) -> None:
    assert artifacts.of("a.ipynb", '{\n"cells": [}') == ["2 bad-json"]
