"""The walks of docs/architecture.md are the ones that run: each function, in that order, once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import signoff
from signoff.testing.model import scripted_model
from signoff.testing.script import Script, say, use
from tests.agents.loopkit import write
from tests.cli.plans import step
from tests.cli.project import Project
from tests.hooks.kit import FakeClient
from tests.hooks.test_once import stop_traced, traced
from tests.traced import Traced, calls, traced_calls

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
MOST_LINES = 10


def _walk(heading: str) -> list[str]:
    """The functions that a walk names, in order."""
    _, found, rest = PAGE.read_text("utf-8").partition(f"### {heading}\n")
    assert found, heading
    lines = re.findall(r"^\| \d+ \|.*$", re.split(r"^#", rest, maxsplit=1, flags=re.M)[0], re.M)
    assert 0 < len(lines) <= MOST_LINES
    return [name for line in lines for name in re.findall(r"`([\w/]+\.py:[\w.]+)`", line)]


def _missing(walk: list[str], ran: list[Traced]) -> list[str]:
    """The functions that were not called after those before them."""
    calls = iter(call.function for call in ran)
    return [name for name in walk if name not in calls]


def test_a_run_is_walked_as_the_page_tells(project: Project) -> None:
    project.agent("echo in > login.txt").named("auth", step("Log in", "test -s login.txt"))

    assert (
        _missing(_walk("`signoff run PLAN --yes`"), traced(project, "run", "auth", "--yes")) == []
    )


def test_a_stop_hook_is_walked_as_the_page_tells(bound: Project) -> None:
    with FakeClient(bound) as client:
        ran = stop_traced(client)

    assert _missing(_walk("A client's stop hook"), ran) == []


def test_a_tool_call_is_walked_as_the_page_tells(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in project.environment().items():
        monkeypatch.setenv(name, value)
    model = scripted_model(Script([use(write("a.md", "# a")), say("done")]))
    out = project.folder / "calls"
    with traced_calls(out):
        signoff.run_agent("Create `a.md`.", model=model, workspace=project.workspace)

    assert _missing(_walk("One tool call of the built-in loop"), calls(out)) == []


def test_a_function_out_of_order_is_missed() -> None:
    ran = [Traced("a.py:first", ""), Traced("b.py:second", "")]
    assert _missing(["a.py:first", "b.py:second"], ran) == []
    assert _missing(["b.py:second", "a.py:first"], ran) == ["a.py:first"]


@pytest.mark.parametrize("place", sorted(set(re.findall(r"`([\w/]+/)`", PAGE.read_text("utf-8")))))
def test_a_folder_that_the_page_names_is_there(place: str) -> None:
    top = Path(signoff.__file__).parent
    homes = {
        "snapshots/",
        "locks/",
        "receipts/",
        "keys/",
        "rooms/",
        "lanes/",
        "setups/",
        "heldout/",
        "content/",
    }
    homes |= {"logs/attempts/", "logs/sessions/"}
    assert place in homes | {"docs/"} or (top / place).is_dir()
