"""Merging: the base moves only onto content on which everything was judged again."""

from __future__ import annotations

import pytest

from tests.cli.plans import step
from tests.cli.project import Project


@pytest.fixture
def done(project: Project) -> Project:
    """A plan that was signed off in its worktree, with a postcondition about the whole."""
    project.agent("echo works > product.txt")
    project.named(
        "auth",
        step("Write it", "grep -qx works product.txt"),
        post=[("Nothing says broken", "! grep -rq broken --include=*.txt .")],
    )
    project.file("a.txt", "a\n").commit("start")
    project.signoff("worktree", "add", "auth").exits(0)
    project.signoff("run", "auth", "--yes").exits(0)
    return project


def test_a_merge_brings_the_signed_off_content_into_the_base(done: Project) -> None:
    ended = done.signoff("merge", "auth", "--json").exits(0)
    assert done.read("product.txt") == "works\n"
    assert done.call("status", "--porcelain") == ""
    assert ended.json["commit"] == done.call("rev-parse", "main").strip()
    assert {line["finding"] for line in ended.json["lines"]} == {"kept"}
    assert done.log_of("auth")[-1]["kind"] == "plan.merged"
    done.signoff("merge", "auth").exits(0).shows("merged before")


def test_a_check_that_an_accepted_step_wrote_counts_on_the_merged_content_too(
    project: Project,
) -> None:
    project.agent(
        'if [ "$SIGNOFF_STEP" = 1 ]; then echo "grep -qx works product.txt" > check.sh; '
        "else echo works > product.txt; fi"
    )
    project.named("auth", step("Write the check", "test -s check.sh"), step("Do it", "sh check.sh"))
    project.file("a.txt", "a\n").commit("start")
    project.signoff("worktree", "add", "auth").exits(0)
    project.signoff("run", "auth", "--yes").exits(0)
    ended = project.signoff("merge", "auth", "--json").exits(0)
    assert {line["finding"] for line in ended.json["lines"]} == {"kept"}


def test_a_regression_on_the_merged_content_leaves_everything_as_it_was(done: Project) -> None:
    done.file("b.txt", "broken\n").commit("somebody else's work")
    before = done.call("rev-parse", "main")
    done.signoff("merge", "auth").exits(1).shows("not merged", "postcondition:1")
    assert done.call("rev-parse", "main") == before
    assert done.call("status", "--porcelain") == ""
    (item,) = done.inbox()
    assert "does not hold" in item["question"] and item["plan"] == "auth"
    done.file("b.txt", "mended\n").commit("mended")
    done.signoff("merge", "auth").exits(0)
    assert done.inbox() == []


def test_a_conflict_leaves_everything_as_it_was_and_asks_a_person(done: Project) -> None:
    done.file("product.txt", "something else\n").commit("the same file")
    before = done.call("rev-parse", "main")
    done.signoff("merge", "auth").exits(1).shows("conflict   product.txt")
    assert done.call("rev-parse", "main") == before
    assert done.read("product.txt") == "something else\n"
    (item,) = done.inbox()
    assert item["context"]["conflicts"] == ["product.txt"]
    done.signoff("merge", "auth").exits(1)
    assert len(done.inbox()) == 1
    assert "next: signoff status" in done.answer("abort").stderr
    assert done.inbox() == []


def test_work_that_was_not_signed_off_is_not_merged(project: Project) -> None:
    project.agent("true")
    project.named("auth", step("Never", "test -s never", on_fail="abort")).commit("start")
    project.signoff("worktree", "add", "auth").exits(0)
    project.signoff("merge", "auth").fails(1, "was not signed off")
    project.signoff("run", "auth", "--yes").exits(1)
    text = (project.vault / "PLAN-auth.md").read_text().replace("status: failed", "status: done")
    (project.vault / "PLAN-auth.md").write_text(text)
    project.signoff("merge", "auth").fails(1, "was not signed off", hint="signoff run auth")


def test_content_that_changed_since_the_sign_off_is_not_merged(done: Project) -> None:
    (done.worktree("auth") / "product.txt").write_text("works\nand more\n")
    merge = done.signoff("merge", "auth")
    merge.fails(1, "changed since plan `auth` was signed off: `product.txt`")
    assert not (done.workspace / "product.txt").exists()


def test_a_protected_file_that_the_base_changed_is_the_bases_to_change(project: Project) -> None:
    project.agent("echo works > product.txt")
    project.named("auth", step("Write it", "bash check.sh", protects=["check.sh"]))
    project.file("check.sh", "grep -q works product.txt\n").commit("start")
    project.signoff("worktree", "add", "auth").exits(0)
    project.signoff("run", "auth", "--yes").exits(0)
    project.file("check.sh", "grep -qx works product.txt\n").commit("a stricter check")
    project.signoff("merge", "auth").exits(0)
    assert project.read("check.sh") == "grep -qx works product.txt\n"


def test_what_is_judged_once_is_named_and_not_run_again(project: Project) -> None:
    project.agent("echo x >> product.txt")
    project.named(
        "auth",
        step("Send it", "echo sent >> $HOME/sent; test -s product.txt", effects="external"),
        step("At the step", "test $(wc -l < product.txt) = 2", holds="at_step"),
        step("And on", "test $(wc -l < product.txt) -ge 2"),
    ).commit("start")
    project.signoff("worktree", "add", "auth").exits(0)
    project.signoff("run", "auth", "--yes").exits(0)
    ended = project.signoff("merge", "auth", "--json").exits(0)
    assert ended.json["not_rerun"] == ["1", "2"]
    assert (project.folder / "person" / "sent").read_text() == "sent\n"


def test_local_changes_in_the_base_are_not_overwritten(done: Project) -> None:
    done.file("product.txt", "mine, not committed\n")
    before = done.call("rev-parse", "main")
    done.signoff("merge", "auth").fails(5, "product.txt")
    assert done.call("rev-parse", "main") == before
    assert done.read("product.txt") == "mine, not committed\n"


def test_a_merge_done_by_hand_is_recorded_when_it_holds(done: Project) -> None:
    tree = done.worktree("auth")
    done.commit("by hand", cwd=tree)
    done.call("merge", "-q", "--no-ff", "-m", "by hand", "plan/auth")
    head = done.call("rev-parse", "main").strip()
    assert done.signoff("merge", "auth", "--json").exits(0).json["commit"] == head
    assert done.call("rev-parse", "main").strip() == head


def test_a_plan_of_the_main_checkout_has_nothing_to_merge(project: Project) -> None:
    project.agent("echo works > product.txt")
    project.named("auth", step("Write it", "test -s product.txt")).commit("start")
    project.signoff("run", "auth", "--yes").exits(0)
    project.signoff("merge", "auth").fails(2, "there is nothing to merge")


def test_a_branch_cannot_carry_what_nobody_judged(project: Project) -> None:
    """An agent that may commit could hide changes where no snapshot looks."""
    project.file(".gitignore", "*.key\n").file("server.key", "secret\n")
    project.agent("echo works > product.txt")
    project.named("auth", step("Write it", "test -s product.txt"))
    project.named("other", step("Other", "test -s other.txt"))
    project.call("add", "-f", "server.key")
    project.commit("start")
    project.signoff("worktree", "add", "auth").exits(0)
    tree = project.worktree("auth")
    project.signoff("run", "auth", "--yes").exits(0)
    (tree / "server.key").write_text("mine\n")
    (tree / ".harness" / "PLAN-other.md").write_text("# Do as I say\n")
    project.call("add", "-f", "server.key", ".harness/PLAN-other.md", cwd=tree)
    project.call("commit", "-q", "-m", "hidden", cwd=tree)
    before = project.call("rev-parse", "main")
    project.signoff("merge", "auth").fails(
        1, "files that no check looks at", ".harness/PLAN-other.md", "server.key"
    )
    assert project.call("rev-parse", "main") == before
    assert "Do as I say" not in (project.vault / "PLAN-other.md").read_text()


def test_what_a_plan_changed_beyond_its_touches_is_named(project: Project) -> None:
    project.agent("echo works > product.txt; echo too > extra.txt")
    allowed = step("Write it", "test -s product.txt", may_change="extra.txt")
    project.named("auth", allowed, touches=["product.txt"])
    project.commit("start")
    project.signoff("worktree", "add", "auth").exits(0)
    project.signoff("run", "auth", "--yes").exits(0)
    assert project.signoff("merge", "auth", "--json").exits(0).json["undeclared"] == ["extra.txt"]


def test_the_base_does_not_move_under_somebody_who_works_in_it(done: Project) -> None:
    done.agent(
        "touch ../begun; while ! test -e ../go; do sleep 0.05; done; echo x > mine.txt", "ada"
    )
    done.named("mine", step("Mine", "test -s mine.txt", target="ada"))
    running = done.start("run", "mine", "--yes")
    running.until((done.folder / "begun").exists)
    before = done.call("rev-parse", "main")
    done.signoff("merge", "auth").fails(5, "is held by")
    assert done.call("rev-parse", "main") == before
    (done.folder / "go").touch()
    running.end().exits(0)


def test_merged_means_in_this_base_and_still_there(done: Project) -> None:
    done.call("branch", "release")
    done.signoff("merge", "auth", "--into", "release").exits(0)
    assert not (done.workspace / "product.txt").exists()
    assert done.signoff("ready", "--json").json["plans"][0]["standing"] == "signed off, not merged"
    done.signoff("merge", "auth").exits(0)
    assert done.read("product.txt") == "works\n"
    done.call("reset", "-q", "--hard", "HEAD~1")
    assert done.signoff("ready", "--json").json["plans"][0]["standing"] == "signed off, not merged"
    done.signoff("list").exits(0).shows("(not merged yet)").hides("waits for")
    done.signoff("merge", "auth").exits(0).shows("merged plan/auth into main")
    assert done.read("product.txt") == "works\n"
    done.signoff("merge", "auth", "--into", "nowhere").fails(2, "nowhere")


def test_a_merged_plan_whose_worktree_is_gone_was_merged_before(done: Project) -> None:
    done.signoff("merge", "auth").exits(0)
    done.signoff("worktree", "prune").exits(0).shows("removed")
    done.signoff("merge", "auth").exits(0).shows("merged before")


def test_what_a_plan_depends_on_is_run_and_merged_before_it(project: Project) -> None:
    project.agent('name=${SIGNOFF_PLAN##*PLAN-}; echo x > "${name%.md}.txt"')
    project.named("low", step("Low", "test -s low.txt"))
    project.named("high", step("High", "test -s high.txt"), depends_on=["low"])
    project.named("round", step("Round", "test -s round.txt"), depends_on=["round"])
    project.commit("start")
    project.signoff("run", "high", "--yes").fails(
        1, "depends on `low`, which is not approved", hint="--anyway"
    )
    project.signoff("run", "round", "--yes").fails(1, "depends on `round`")
    for name in ("low", "high"):
        project.signoff("worktree", "add", name).exits(0)
        project.signoff("run", name, "--yes", "--anyway").exits(0)
    project.signoff("merge", "high").fails(1, "depends on `low`, which is signed off, not merged")
    project.signoff("merge", "low").exits(0)
    project.signoff("merge", "high").exits(0)


def test_what_lies_outside_touches_is_not_merged_though_it_was_there_at_approval(
    project: Project,
) -> None:
    project.agent("echo works > product.txt")
    project.named("auth", step("Write it", "test -s product.txt"), touches=["product.txt"])
    project.commit("start")
    project.signoff("worktree", "add", "auth").exits(0)
    tree = project.worktree("auth")
    (tree / "extra.txt").write_text("too\n")
    project.call("add", "extra.txt", cwd=tree)
    project.call("commit", "-q", "-m", "more", cwd=tree)
    project.signoff("run", "auth", "--yes").exits(0)
    before = project.call("rev-parse", "main")
    project.signoff("merge", "auth").exits(1).shows("outside `touches`: `extra.txt`")
    assert project.call("rev-parse", "main") == before
