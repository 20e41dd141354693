"""`signoff next`: a free worker is given a plan that is in nobody's way, and nobody else is."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from tests.cli.ended import LIMIT_S, wait_until
from tests.cli.kit import Desk
from tests.cli.vaults import approve, repository, vault_file, write_plan

WAITS = (
    ': > "${0%/*}/busy"; until [ -e "${0%/*}/go" ]; do sleep 0.02; done; '
    'name=${SIGNOFF_PLAN##*PLAN-}; mkdir -p out; echo 1 > "out/${name%.md}"'
)


def plans(desk: Desk, *names: str, **options: Any) -> Desk:
    """Approved plans."""
    for name in names:
        write_plan(desk, name, **options)
    approve(desk, *names)
    return desk


def given(desk: Desk, *arguments: str) -> str | None:
    """The plan that was handed out."""
    ended = desk.signoff("next", *arguments)
    assert ended.code in (0, 1), ended.stderr
    assert bool(ended.stdout) is (ended.code == 0), "only a name on stdout"
    return ended.stdout.removesuffix("\n") or None


def test_the_name_is_printed_and_nothing_else(desk: Desk) -> None:
    plans(repository(desk), "a")
    desk.signoff("next").exits(0).prints("a").notes("")


def test_nothing_to_hand_out_says_who_waits_for_what(desk: Desk) -> None:
    plans(repository(desk), "a", touches=["src/**"])
    write_plan(desk, "b", touches=["docs/**"])
    write_plan(desk, "c", touches=["src/c"])
    write_plan(desk, "d", after=["a"])
    assert given(desk, "--worker", "ann") == "a"
    desk.signoff("next", "--worker", "bob").exits(1).prints("").notes(
        """
        nothing to hand out now
        a is running: held by worker ann since TIME (claimed)
        b is ready: not approved: signoff approve b
        c is ready: not approved: signoff approve c; kept back by a, which may change the same files
        d is waiting: waits for `a`
        """
    )


def test_only_approved_plans_are_handed_out_unless_asked_for(desk: Desk) -> None:
    repository(desk)
    write_plan(desk, "a")
    assert given(desk) is None
    assert given(desk, "--unapproved") == "a"


def test_a_plan_changed_since_its_approval_is_not_handed_out(desk: Desk) -> None:
    plans(repository(desk), "a")
    path = vault_file(desk, "a")
    path.write_text(path.read_text().replace('touches: ["out/a"]', 'touches: ["out/b"]'))
    assert given(desk) is None


def test_eight_workers_at_once_get_eight_different_plans_or_an_honest_nothing(desk: Desk) -> None:
    names = [f"p{n}" for n in range(6)]
    plans(repository(desk), *names)
    asked = [desk.start("next") for _ in range(8)]
    ended = [each.end() for each in asked]
    assert sorted(each.stdout.strip() for each in ended) == ["", "", *names]
    assert all("nothing to hand out now" in each.stderr for each in ended if each.code)


def test_plans_that_may_change_the_same_files_are_never_out_together(desk: Desk) -> None:
    repository(desk)
    for n in range(4):
        write_plan(desk, f"p{n}", touches=["src/**", f"out/{n}"])
    write_plan(desk, "vague", touches=[])
    approve(desk, "p0", "p1", "p2", "p3", "vague")
    asked = [desk.start("next") for _ in range(8)]
    found = [each.end().stdout.strip() for each in asked]
    assert len([name for name in found if name]) == 1


def test_the_same_worker_runs_what_it_claimed_and_nobody_else_does(desk: Desk) -> None:
    plans(repository(desk), "a")
    assert given(desk, "--worker", "ann") == "a"
    desk.signoff("run", "a", "--worker", "bob").fails(
        5,
        "plan `a` is claimed by worker `ann` since",
        hint="signoff next --give-back a --worker ann",
    )
    desk.variable(SIGNOFF_WORKER="ann")
    desk.signoff("run", "a").exits(0)
    assert given(desk) is None


def test_a_worker_without_a_name_is_the_process_that_asks(desk: Desk) -> None:
    """Both commands come from the same one here; and each `next` is for another pair of hands."""
    plans(repository(desk), "a", "b")
    assert [given(desk), given(desk), given(desk)] == ["a", "b", None]
    desk.signoff("run", "a").exits(0)


def test_a_script_that_asks_in_one_shell_and_runs_in_another_is_one_worker(desk: Desk) -> None:
    plans(repository(desk), "a", "b")
    in_a_shell(desk, "next").check_returncode()
    assert given(desk) == "b", "what the shell took stays taken, though the shell is gone"
    in_a_shell(desk, "run", "a").check_returncode()


def test_a_worker_with_a_name_that_was_killed_before_it_began_is_given_the_same_again(
    desk: Desk,
) -> None:
    plans(repository(desk), "a", "b")
    asked = [given(desk, "--worker", "ann") for _ in range(2)]
    assert [*asked, given(desk, "--worker", "bob")] == ["a", "a", "b"]


def test_what_was_rejected_since_is_not_given_again(desk: Desk) -> None:
    plans(repository(desk), "a", "b")
    assert given(desk, "--worker", "ann") == "a"
    desk.signoff("reject", "a").exits(0)
    assert given(desk, "--worker", "ann") == "b"


def test_a_claim_given_back_is_somebody_elses_to_have(desk: Desk) -> None:
    plans(repository(desk), "a")
    assert given(desk, "--worker", "ann") == "a"
    desk.signoff("next", "--give-back", "a", "--worker", "bob").fails(5, "claimed by worker `ann`")
    desk.signoff("next", "--give-back", "a", "--worker", "ann").exits(0).notes("a is free again")
    desk.signoff("next", "--give-back", "a", "--worker", "ann").exits(1).notes("a was not claimed")
    assert given(desk, "--worker", "bob") == "a"


def test_a_claim_ends_with_its_time(desk: Desk) -> None:
    plans(repository(desk), "a")
    assert given(desk, "--worker", "ann", "--for", "1 second") == "a"
    wait_until(lambda: given(desk, "--worker", "bob") == "a")
    desk.signoff("run", "a", "--worker", "ann").fails(5, "claimed by worker `bob`")


def test_touches_rewritten_after_the_claim_make_no_room_for_others(desk: Desk) -> None:
    """An agent may edit its plan; what it was handed out with is on record."""
    plans(repository(desk), "a", "b", touches=["src/**"])
    assert given(desk) == "a"
    path = vault_file(desk, "a")
    path.write_text(path.read_text().replace("src/**", "elsewhere/**"))
    assert given(desk) is None


def test_an_interrupted_plan_is_handed_out_to_be_resumed_and_keeps_its_files_meanwhile(
    desk: Desk,
) -> None:
    plans(repository(desk, agent=WAITS), "b", touches=["src/**"])
    running = desk.start("run", "b")
    running.until((desk.agents / "busy").exists)
    write_plan(desk, "a", touches=["src/a"])
    approve(desk, "a")
    assert given(desk) is None, "it is driven"
    running.process.kill()
    running.end().exits(-9)
    assert given(desk) == "b", "the plan that was begun, not the one that overlaps with it"
    (desk.agents / "go").touch()
    desk.signoff("run", "b").exits(0)
    assert given(desk) == "a"


def test_an_urgent_plan_comes_first(desk: Desk) -> None:
    repository(desk)
    write_plan(desk, "a")
    path = write_plan(desk, "z")
    path.write_text(path.read_text().replace("# Plan z\n", "# Plan z\n\n**Priority:** high\n"))
    approve(desk, "a", "z")
    assert [given(desk), given(desk)] == ["z", "a"]


def test_machines_are_told_the_same(desk: Desk) -> None:
    plans(repository(desk), "a")
    found = desk.signoff("next", "--json", "--worker", "ann", "--for", "2 min").exits(0).json
    assert found == {
        "schema_version": 1,
        "plan": "a",
        "worker": "ann",
        "path": str(vault_file(desk, "a")),
        "worktree": None,
        "standing": "approved",
        "claimed_for_s": 120.0,
    }
    nothing = desk.signoff("next", "--json", "--worker", "bob").exits(1).json
    assert (nothing["plan"], nothing["why"][0]) == (None, "nothing to hand out now")


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        (["--for", "soon"], "`soon` is not a length of time, or is more than a week"),
        (["--for", "10000 h"], "is more than a week"),
        (["--worker", "two words"], "cannot be the name of a worker"),
        (["--worker", ""], "cannot be the name of a worker"),
        (["--worker", "x" * 101], "cannot be the name of a worker"),
        (["--worker", "\x1b[31m"], "cannot be the name of a worker"),
    ],
)
def test_what_cannot_be_meant_is_refused(desk: Desk, arguments: list[str], fact: str) -> None:
    plans(repository(desk), "a")
    desk.signoff("next", *arguments).fails(2, fact).is_plain()


def test_only_plans_of_this_vault_can_be_given_back(desk: Desk) -> None:
    plans(repository(desk), "a")
    desk.signoff("next", "--give-back", "nowhere").fails(4, "plan `nowhere` is not in")
    desk.signoff("next", "--give-back", "../a").fails(2, "is not one path component")


def in_a_shell(desk: Desk, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """A command in a shell of its own, which stays until the command has ended."""
    line = " ".join(desk.command(arguments))
    return subprocess.run(
        ["bash", "-c", f"{line}; exit $?"],
        cwd=desk.workspace,
        env=desk.environment(),
        stdin=subprocess.DEVNULL,
        timeout=LIMIT_S,
        check=False,
    )


def test_a_claimed_plan_whose_file_is_gone_says_why_others_wait(desk: Desk) -> None:
    plans(repository(desk), "a", touches=["src/**"])
    plans(desk, "b", touches=["src/b"])
    assert given(desk, "--worker", "ann") == "a"
    vault_file(desk, "a").rename(desk.folder / "moved.md")
    said = desk.signoff("next", "--worker", "bob").exits(1)
    said.shows("a is running: its file `DESK/work/.harness/PLAN-a.md` is gone")
    said.shows("signoff next --give-back a --worker ann")
    desk.signoff("next", "--give-back", "a", "--worker", "ann").exits(0)
    assert given(desk, "--worker", "bob") == "b"
