"""A confined agent sees the script that its role names, and nothing else of a private folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from signoff.agents.assignment import Assignment, AttemptReport
from signoff.agents.command import CommandAgent
from signoff.domain.verdict import Ending, Isolation
from signoff.places import ATTEMPT_VARIABLE
from signoff.process.sandboxes import best_isolation
from signoff.settings.roles import Role
from signoff.verification.enclosure import Enclosure

PATH = "/usr/local/bin:/usr/bin:/bin"


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """Workspace, exchange and an agent's script, side by side in a folder that is made private."""
    if best_isolation(None) is not Isolation.BUBBLEWRAP:
        pytest.skip("bubblewrap does not work here")
    if not tmp_path.resolve().is_relative_to("/tmp"):
        pytest.skip("tests are kept outside the folder that bubblewrap makes private")
    for name in ("work", "exchange"):
        (tmp_path / name).mkdir()
    (tmp_path / "agent.sh").write_text("echo worked > done.txt; ls ..; cat ../secret\n")
    (tmp_path / "secret").write_text("the secret\n")
    return tmp_path


def _work(beside: Path, command: str) -> AttemptReport:
    return CommandAgent({}, PATH, enclosure=Enclosure(Isolation.BUBBLEWRAP)).work(
        Assignment(
            role=Role("coder", command),
            prompt="do it",
            workspace=beside / "work",
            usage_file=beside / "exchange" / "usage.json",
            answer_file=beside / "exchange" / "answer",
            timeout_s=60.0,
            variables={"SIGNOFF_STEP": "1", ATTEMPT_VARIABLE: f"test:{beside}:1"},
        )
    )


@pytest.mark.parametrize("named", ["../agent.sh", "{beside}/agent.sh"])
def test_a_script_that_the_role_names_is_seen_and_what_lies_beside_it_is_not(
    beside: Path, named: str
) -> None:
    seen = _work(beside, f"sh {named.format(beside=beside)}").observation
    assert (beside / "work" / "done.txt").read_text() == "worked\n"
    assert seen.stdout.kept.split() == [b"agent.sh", b"exchange", b"work"]


def test_a_relative_word_that_names_a_folder_opens_nothing(beside: Path) -> None:
    seen = _work(beside, "ls ..").observation
    assert seen.stdout.kept.split() == [b"exchange", b"work"]


def test_a_link_that_an_agent_left_in_the_workspace_opens_nothing(beside: Path) -> None:
    (beside / "work" / "agent.sh").symlink_to("../secret")
    (beside / "work" / "sub").symlink_to(beside)
    for command in ("cat agent.sh", "cat sub/secret", f"cat {beside}/work/agent.sh"):
        seen = _work(beside, command).observation
        assert (seen.ending, seen.exit_code) == (Ending.EXITED, 1), command
        assert b"secret\n" not in seen.stdout.kept
