"""Many plans at once: dependencies first, overlaps never together, a failure holds up its own."""

from __future__ import annotations

import pytest

from signoff.process.sandboxes import best_isolation
from tests.cli.plans import step
from tests.cli.project import Project

STARTED = "attempt.started"


def writes(name: str) -> tuple[str, str]:
    return f"Write {name}", f"grep -qx {name} src/{name}.txt"


def add_plan(project: Project, name: str, depends_on: tuple[str, ...] = (), **fields: str) -> None:
    title, contract = writes(name)
    project.named(
        name,
        step(title, contract, **fields),
        depends_on=depends_on,
        touches=[f"src/{name}.txt"],
    )


@pytest.fixture
def team(project: Project) -> Project:
    """An agent that writes the file of its plan, and sees what was merged before."""
    project.agent(
        'name=$(basename "$SIGNOFF_PLAN" .md); name=${name#PLAN-}; '
        'ls src > "src/.seen-by-$name"; mkdir -p src; echo "$name" > "src/$name.txt"; '
        'rm "src/.seen-by-$name"'
    )
    return project.file("src/first.txt", "first\n")


def test_every_ready_plan_is_run_and_merged(team: Project) -> None:
    for name in ("core", "docs", "site"):
        add_plan(team, name)
    team.commit("start")
    report = team.signoff("run", "--all", "--yes", "--jobs", "2", "--json").exits(0).json
    assert {p["plan"]: p["ended"] for p in report["plans"]} == dict.fromkeys(
        ("core", "docs", "site"), "done"
    )
    assert sorted(report["merged"]) == ["core", "docs", "site"]
    for name in ("core", "docs", "site"):
        assert team.read(f"src/{name}.txt") == f"{name}\n"
        assert [e["kind"] for e in team.log_of(name)].count("run.started") == 1
    assert team.call("status", "--porcelain") == ""


def test_a_dependent_plan_starts_from_what_it_depends_on(project: Project) -> None:
    project.agent(
        'case "$SIGNOFF_PLAN" in *base*) echo base > base.txt;; '
        "*) test -s base.txt && echo top > top.txt;; esac"
    )
    project.named("base", step("Base", "test -s base.txt"), touches=["base.txt"])
    project.named(
        "top", step("Top", "test -s top.txt"), depends_on=["base"], touches=["top.txt"]
    ).commit("start")
    project.signoff("run", "--all", "--yes").exits(0)
    merged = project.log_of("base")[-1]
    started = next(e for e in project.log_of("top") if e["kind"] == "run.started")
    assert merged["kind"] == "plan.merged" and merged["at"] < started["at"]
    assert project.read("top.txt") == "top\n"


def test_plans_that_overlap_never_run_at_the_same_time(team: Project) -> None:
    title, contract = writes("shared")
    for name in ("one", "two", "three"):
        title, contract = writes(name)
        team.named(name, step(title, contract), touches=["src/**"])
    team.commit("start")
    team.signoff("run", "--all", "--yes", "--jobs", "3").exits(0)
    spans = []
    for name in ("one", "two", "three"):
        log = team.log_of(name)
        began = next(e["at"] for e in log if e["kind"] == "run.started")
        ended = next(e["at"] for e in log if e["kind"] == "run.finished")
        spans.append((began, ended))
    spans.sort()
    assert all(spans[i][1] <= spans[i + 1][0] for i in range(2)), spans


@pytest.mark.skipif(
    not best_isolation(None).has_own_view, reason="needs bubblewrap or user namespaces"
)
def test_jobs_is_one_limit_for_the_agents_of_all_plans_and_steps(project: Project) -> None:
    work = project.agents / "at-work"
    work.mkdir()
    project.person(
        f'[sandbox]\nisolation = "{best_isolation(None)}"\nwritable = ["{project.agents}"]\n'
    )
    project.agent(
        'name=$(basename "$SIGNOFF_PLAN" .md)-$SIGNOFF_STEP\n'
        f"touch {work}/$name; ls {work} | wc -l >> {project.agents}/counts\n"
        f"until [ -e {project.agents}/go ]; do sleep 0.05; done\n"
        f'echo done > "$name"; rm {work}/$name'
    )
    for name in ("one", "other"):
        files = [f"PLAN-{name}-{number}" for number in (1, 2, 3)]
        steps = [step(f"Write {file}", f"grep -q done {file}", needs="none") for file in files]
        project.named(name, *steps, touches=files)
    project.commit("start")

    def started() -> list[str]:
        return [
            e["step"] for n in ("one", "other") for e in project.log_of(n) if e["kind"] == STARTED
        ]

    running = project.start("run", "--all", "--yes", "--jobs", "2")
    # Each plan has two lanes and would start two agents by itself.
    running.until(lambda: len(started()) == 4 and len(list(work.iterdir())) == 2)
    (project.agents / "go").touch()
    running.end().exits(0)
    counts = [int(line) for line in (project.agents / "counts").read_text().split()]
    assert len(counts) == 6 and max(counts) == 2, counts


def test_more_jobs_than_there_can_be_are_refused(team: Project) -> None:
    team.signoff("run", "--all", "--jobs", "65").exits(2).shows("1<=x<=64")


def test_one_plan_failing_holds_up_only_its_dependents(team: Project) -> None:
    add_plan(team, "good")
    team.named("bad", step("Never", "test -s never", on_fail="abort"), touches=["never"])
    add_plan(team, "behind", ("bad",))
    team.commit("start")
    report = team.signoff("run", "--all", "--yes", "--json").exits(1).json
    ended = {p["plan"]: p["ended"] for p in report["plans"]}
    assert ended == {"good": "done", "bad": "failed", "behind": "held up"}
    assert "bad" in next(p["why"] for p in report["plans"] if p["plan"] == "behind")
    assert team.read("src/good.txt") == "good\n"


def test_a_plan_that_nobody_approved_waits_and_is_named(team: Project) -> None:
    add_plan(team, "asked")
    add_plan(team, "unasked")
    team.commit("start")
    team.signoff("approve", "asked", "--yes").exits(0)
    ended = team.signoff("run", "--all").exits(6)
    ended.shows("signoff approve unasked")
    assert team.read("src/asked.txt") == "asked\n"
    assert not team.worktree("unasked").exists()


def test_a_merge_that_does_not_hold_is_left_out_and_asked_about(project: Project) -> None:
    project.agent('name=${SIGNOFF_PLAN##*PLAN-}; echo x > "${name%.md}.txt"')
    for name in ("one", "other"):
        # Each wants to be the only one, so whichever is merged second does not hold.
        project.named(
            name,
            step("Write it", f"test -s {name}.txt"),
            post=[("It is the only one", "test $(ls *.txt | wc -l) = 1")],
            touches=[f"{name}.txt"],
        )
    project.commit("start")
    ended = project.signoff("run", "--all", "--yes", "--jobs", "2", "--json")
    states = {p["plan"]: p["ended"] for p in ended.exits(6).json["plans"]}
    assert sorted(states.values()) == ["done", "not merged"]
    (item,) = project.inbox()
    assert "does not hold" in item["question"]


def test_the_same_command_goes_on_after_everything_was_done(team: Project) -> None:
    add_plan(team, "core")
    team.commit("start")
    team.signoff("run", "--all", "--yes").exits(0)
    team.signoff("run", "--all", "--yes").exits(0).shows("done", "core")
    assert [e["kind"] for e in team.log_of("core")].count("run.started") == 1


def test_all_goes_with_no_single_plan(team: Project) -> None:
    team.signoff("run", "core", "--all").fails(2, "without PLAN")


def test_a_plan_is_driven_in_the_worktree_it_has(team: Project) -> None:
    add_plan(team, "core")
    team.commit("start")
    team.signoff("worktree", "add", "core", "--path", "../elsewhere").exits(0)
    team.signoff("run", "--all", "--yes").exits(0)
    assert not team.worktree("core").exists()
    assert team.read("src/core.txt") == "core\n"


def test_the_plan_without_a_name_is_named_and_left_alone(team: Project) -> None:
    (team.vault / "PLAN.md").write_text("# Solo\n\n## Steps\n\n### 1. One\n")
    team.commit("start")
    ended = team.signoff("run", "--all", "--yes").exits(1)
    ended.shows("held up", "PLAN", "signoff run")


def test_a_role_that_is_misspelt_for_every_plan_was_misspelt(team: Project) -> None:
    add_plan(team, "core")
    team.commit("start")
    misspelt = team.signoff("run", "--all", "--yes", "--role", "codr=true")
    misspelt.fails(2, "`--role codr`: no step of any plan goes to it", hint="mean `coder`?")
    assert "run.started" not in [e["kind"] for e in team.log_of("core")]


def test_a_role_of_one_plan_is_not_misspelt_for_another(team: Project) -> None:
    add_plan(team, "core")
    add_plan(team, "docs", target="coder2")
    team.commit("start")
    given = "coder2=sh -c 'mkdir -p src; echo docs > src/docs.txt'"
    team.signoff("run", "--all", "--yes", "--role", given).exits(0)


def test_a_plan_that_goes_beyond_its_touches_is_neither_signed_off_nor_merged(
    team: Project,
) -> None:
    team.agent("mkdir -p src; echo core > src/core.txt; echo too > src/stray.txt")
    add_plan(team, "core")
    team.commit("start")
    report = team.signoff("run", "--all", "--yes", "--json").exits(6).json
    assert report["merged"] == []
    verdicts = [e["data"] for e in team.log_of("core") if e["kind"] == "verdict"]
    assert verdicts[-1]["reason"] == "outside-touches"
    assert not (team.workspace / "src" / "stray.txt").exists()
