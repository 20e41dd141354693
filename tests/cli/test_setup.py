"""`[setup] command`: by-products are made by the harness on known content, not by an agent."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from signoff.domain.verdict import Isolation
from signoff.process.sandboxes import best_isolation, probe_sandboxes
from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.cli.project import Project

AVAILABLE = [s.isolation for s in probe_sandboxes() if s.available]
BOXED = pytest.mark.skipif(
    Isolation.BUBBLEWRAP not in AVAILABLE, reason="no bubblewrap on this machine"
)
MODES = pytest.mark.parametrize(
    "mode",
    [
        pytest.param(m, marks=() if m in AVAILABLE or m == "none" else pytest.mark.skip(f"no {m}"))
        for m in Isolation
    ],
)
# An installer: what the lock file names is there afterwards, and when it was installed.
INSTALL = "mkdir -p vendor && cp lock.txt vendor/lib.txt && date +%s%N > vendor/stamp"
NEEDS_LIB = "cat vendor/stamp; grep -qx works product.txt && grep -qx good vendor/lib.txt"
WORK = "echo works > product.txt"
WORK_CHECK = "grep -qx works product.txt"
BETTER = f"{WORK_CHECK} && grep -qx better vendor/lib.txt"


def set_up(desk: Desk, command: str = INSTALL, mode: str = "none", **more: Any) -> None:
    """A repository that declares its set-up, and a person who chose a sandbox."""
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in more.items())
    desk.roles["setup"] = f"[setup]\ncommand = {json.dumps(command)}\n{lines}"
    desk.file(".gitignore", ".harness/\nvendor/\nbuild/\n").file("lock.txt", "good\n")
    # Agents keep notes outside the workspace for the test to see: they are not confined.
    desk.person(f'[sandbox]\nisolation = "{mode}"\nagents = false\n')


def worked_on(project: Project, contract: str, agent: str = WORK, **fields: Any) -> Project:
    """A plan signed off in a worktree of its own."""
    project.agent(agent)
    project.named("a", step("Write it", contract, on_fail="abort", **fields)).commit("start")
    project.signoff("worktree", "add", "a").exits(0)
    return project


def verdicts(desk: Desk) -> list[dict[str, Any]]:
    return [e["data"] for e in desk.entries("verdict")]


def stamps(desk: Desk) -> list[str]:
    """When the by-products were made that each judging had."""
    return [v["output_tail"].split("\n")[0] for v in verdicts(desk) if v["output_tail"]]


# -- merge ----------------------------------------------------------------------------------------


@MODES
def test_an_honest_merge_passes_with_fresh_by_products(project: Project, mode: str) -> None:
    set_up(project, mode=mode)
    worked_on(project, NEEDS_LIB, f"{WORK}; {INSTALL}")
    project.signoff("run", "a", "--yes").exits(0)
    ended = project.signoff("merge", "a", "--json").exits(0)
    assert [line["finding"] for line in ended.json["lines"]] == ["kept"]
    assert ended.json["notes"] == []
    assert project.read("product.txt") == "works\n"
    assert not (project.workspace / "vendor").exists()


@pytest.mark.parametrize("declared", [True, False])
def test_what_works_with_the_agents_by_products_alone_is_not_merged(
    project: Project, declared: bool
) -> None:
    set_up(project)
    if not declared:
        del project.roles["setup"]
    contract = "grep -qx works product.txt && test -s vendor/extra.txt"
    worked_on(project, contract, f"{WORK}; mkdir vendor; echo extra > vendor/extra.txt")
    project.signoff("run", "a", "--yes").exits(0)
    before = project.call("rev-parse", "main")
    if declared:
        project.signoff("merge", "a").exits(1).shows("not merged", "broken     1")
        assert project.call("rev-parse", "main") == before
        return
    note = "needs set-up: judged with `vendor`, changed since approval"
    ended = project.signoff("merge", "a").exits(0)
    ended.shows(f"note: {note}; declare `[setup] command` in signoff.toml")


@MODES
def test_a_set_up_that_fails_leaves_the_base_as_it_was(project: Project, mode: str) -> None:
    set_up(project, "grep -qx good lock.txt || { echo no such package >&2; exit 7; }", mode=mode)
    worked_on(project, "grep -qx works product.txt")
    project.signoff("run", "a", "--yes").exits(0)
    project.file("lock.txt", "gone\n").commit("somebody else's work")
    before = project.call("rev-parse", "main")
    ended = project.signoff("merge", "a")
    ended.fails(3, "set-up failed", "exit code 7", "no such package")
    assert project.call("rev-parse", "main") == before


@pytest.mark.parametrize("mode", [Isolation.NONE, Isolation.LANDLOCK])
def test_what_one_contract_forges_in_a_merge_decides_no_other(
    project: Project, mode: Isolation
) -> None:
    if mode not in (*AVAILABLE, Isolation.NONE):
        pytest.skip(f"no {mode}")
    set_up(project, mode=mode)
    forges = "case $PWD in *merging*) echo better > vendor/lib.txt ;; esac"
    project.agent(f"echo '{forges}' > tool.sh; mkdir -p vendor; echo better > vendor/lib.txt")
    steps = (
        step("Write a tool", "test -s tool.sh && sh tool.sh && cat vendor/lib.txt",
             produces="tool.sh", may_change="tool.sh"),
        step("Install it", "grep -qx better vendor/lib.txt"),
    )  # fmt: skip
    project.named("a", *steps).commit("start")
    project.signoff("worktree", "add", "a").exits(0)
    project.signoff("run", "a", "--yes").exits(0)
    project.signoff("merge", "a").exits(1).shows("kept       1", "broken     2")


@pytest.mark.parametrize("allowed", [True, False])
def test_a_changed_build_file_brings_no_merge_about_unless_the_plan_says_so(
    project: Project, allowed: bool
) -> None:
    set_up(project)
    agent = f"{WORK}; mkdir vendor; echo better > lock.txt; cp lock.txt vendor/lib.txt"
    worked_on(project, BETTER, agent, **({"may_change": "lock.txt"} if allowed else {}))
    project.signoff("run", "a", "--yes").exits(0)
    if allowed:
        project.signoff("merge", "a").exits(0)
    else:
        ended = project.signoff("merge", "a").exits(1)
        ended.shows("not merged", "influenced", "**may_change:** lock.txt")


# -- the clean room -------------------------------------------------------------------------------


def boxed(desk: Desk, contract: str, agent: str, command: str = INSTALL, **more: Any) -> Desk:
    """A plan of one step in a workspace with a clean room."""
    fields = more.pop("fields", {})
    isolation = best_isolation(None)
    if not isolation.has_own_view:
        pytest.skip("no sandbox with a view of its own works here")
    set_up(desk, command, isolation, **more)
    desk.agent(agent)
    return desk.plan(step("Write it", contract, **{"on_fail": "abort", **fields}))


@BOXED
def test_a_clean_room_has_what_the_set_up_made_and_nothing_of_the_agents(desk: Desk) -> None:
    agent = f"{WORK}; mkdir -p vendor; echo evil > vendor/lib.txt"
    boxed(desk, f"{NEEDS_LIB} && test ! -w vendor", agent).run("--yes").exits(0)
    assert "by-products by the set-up command" in verdicts(desk)[-1]["room"]
    desk.about_plan("audit", "--json").exits(0)


@BOXED
def test_what_only_the_agents_by_products_make_hold_is_broken(desk: Desk) -> None:
    agent = f"{WORK}; mkdir -p vendor; echo extra > vendor/extra.txt"
    boxed(desk, "grep -qx works product.txt && test -s vendor/extra.txt", agent)
    desk.run("--yes").exits(1)


@BOXED
def test_a_set_up_that_builds_the_work_builds_it_as_it_is(desk: Desk) -> None:
    command = "mkdir -p build && cp product.txt build/out.txt 2> /dev/null || true"
    agent = 'echo "works $attempt" > product.txt'
    contract = "cat build/out.txt; grep -qx 'works 2' build/out.txt"
    boxed(desk, contract, agent, command, fields={"on_fail": "retry(2)", "produces": "product.txt"})
    desk.run("--yes").exits(0)
    assert [v["result"] for v in verdicts(desk) if v["phase"] == "attempt"] == ["broken", "kept"]


CHANGES = {
    "a lock file": ("lock.txt", INSTALL),
    "a script": ("setup.sh", "sh setup.sh"),
    "a makefile": ("Makefile", "make -s"),
}


@BOXED
@pytest.mark.parametrize("allowed", [True, False])
@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_build_file_decides_nothing_unless_the_plan_says_so(
    desk: Desk, what: str, allowed: bool
) -> None:
    name, command = CHANGES[what]
    desk.file("setup.sh", INSTALL).file("Makefile", f"all:\n\t{INSTALL.replace('%', '%%')}\n")
    fields = {"may_change": name} if allowed else {}
    boxed(desk, BETTER, f"{WORK}; sed -i s/lock.txt/other.txt/ {name}", command, fields=fields)
    if name == "lock.txt":
        desk.agent(f"{WORK}; echo better > lock.txt")
    desk.file("other.txt", "better\n")
    ended = desk.run("--yes")
    if allowed:
        ended.exits(0)
        return
    ended.exits(6)
    (item,) = desk.inbox()
    assert verdicts(desk)[-1]["reason"] == "influenced"
    assert f"**may_change:** {name}" in json.dumps(item)
    assert "set-up command" in verdicts(desk)[-1]["message"]
    desk.answer("allow")
    desk.run().exits(0)


@BOXED
def test_a_build_file_that_the_contract_does_not_need_is_no_matter(desk: Desk) -> None:
    """Judged with the set-up of what was approved as well, and it holds."""
    contract = "grep -qx works product.txt && test -s vendor/lib.txt"
    boxed(desk, contract, f"{WORK}; echo better > lock.txt").run("--yes").exits(0)
    assert len(set(stamps(desk))) <= 1


@BOXED
def test_a_set_up_that_the_agent_edits_is_noticed_and_not_obeyed(desk: Desk) -> None:
    agent = f"{WORK}; sed -i s/lock.txt/product.txt/ signoff.toml"
    boxed(desk, NEEDS_LIB, agent).run("--yes").exits(6)
    (item,) = desk.inbox()
    assert "signoff.toml was edited" in item["question"]
    desk.answer("retry")
    desk.run().exits(0)
    # An audit takes the other command for another plan.
    desk.file("signoff.toml", desk.read("signoff.toml").replace("product.txt", "lock.txt"))
    desk.about_plan("audit").exits(0)
    desk.file("signoff.toml", desk.read("signoff.toml").replace("lock.txt", "other.txt"))
    desk.about_plan("audit").exits(1)


@BOXED
@pytest.mark.parametrize(
    ("command", "said"),
    [("echo no such package; exit 7", "no such package"), ("sleep 60", "timed out")],
)
def test_a_set_up_that_fails_is_nobodys_fault(desk: Desk, command: str, said: str) -> None:
    boxed(desk, NEEDS_LIB, WORK, command, timeout_s=2).run("--yes")
    assert desk.dispatched() == []
    last = verdicts(desk)[-1]
    assert (last["result"], last["reason"]) == ("unknown", "infrastructure")
    assert "set-up failed" in last["message"]
    assert said in last["message"] + last["output_tail"]


@BOXED
def test_work_that_the_set_up_cannot_build_is_broken_and_the_agent_is_told(desk: Desk) -> None:
    command = "mkdir build && python3 -c 'import app' && cp app.py build/"
    desk.file("app.py", "x = 1\n")
    agent = "if [ $attempt = 1 ]; then echo 'x = = 2'; else echo 'x = 2'; fi > app.py"
    boxed(desk, "grep -qx 'x = 2' build/app.py", agent, command, fields={"on_fail": "retry(2)"})
    desk.run("--yes").exits(0)
    first, last = [v for v in verdicts(desk) if v["phase"] == "attempt"]
    assert (first["result"], last["result"]) == ("broken", "kept")
    assert "on the approved content it goes well" in first["message"]
    assert "SyntaxError" in desk.attempts()[1].prompt


@BOXED
@pytest.mark.parametrize("network", [True, False])
def test_the_network_is_there_only_where_it_is_declared(desk: Desk, network: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        asks = f"{{ exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]}; }} 2> /dev/null"
        command = f"mkdir vendor; if {asks}; then echo up; else echo down; fi > vendor/net"
        given = {"network": True} if network else {}
        boxed(desk, "grep -qx works product.txt && cat vendor/net", WORK, command, **given)
        desk.run("--yes").exits(0)
    assert verdicts(desk)[-1]["output_tail"] == ("up" if network else "down")


# -- made once ------------------------------------------------------------------------------------


@BOXED
def test_it_runs_once_for_work_that_it_does_not_read(desk: Desk) -> None:
    agent = "echo $attempt > src/product.txt; echo code >> src/a.py"
    contract = "cat vendor/stamp; grep -qx 2 src/product.txt"
    desk.file("src/product.txt", "0\n").file("src/a.py", "x = 1\n")
    fields = {"on_fail": "retry(2)", "produces": "src/product.txt"}
    boxed(desk, contract, agent, fields=fields)
    desk.run("--yes").exits(0)
    assert len(stamps(desk)) >= 3 and len(set(stamps(desk))) == 1
    before = stamps(desk)[0]
    desk.about_plan("audit").exits(0)
    assert [p.read_text().strip() for p in desk.home.glob("setups/*/*/tree/vendor/stamp")] == [
        before
    ]


@BOXED
def test_it_runs_again_for_what_it_reads_and_for_files_that_come(desk: Desk) -> None:
    agent = "echo $attempt > product.txt; [ $attempt = 1 ] || echo more >> lock.txt"
    contract = "cat vendor/stamp; grep -qx more vendor/lib.txt"
    boxed(desk, contract, agent, fields={"on_fail": "retry(2)", "may_change": "lock.txt"})
    desk.run("--yes").exits(0)
    assert len(set(stamps(desk))) == 3  # before, a file that came, another lock file


@BOXED
def test_what_a_contract_writes_reaches_no_later_judging(desk: Desk) -> None:
    command = f"{INSTALL}; mkdir build; echo strict > build/mode"
    forges = "{ echo lenient > build/mode; rm -rf vendor; echo lenient > vendor/lib.txt; }"
    contract = f"cat vendor/stamp && ! grep -q lenient build/mode vendor/lib.txt && {WORK_CHECK}"
    desk.file("product.txt", "nothing\n")
    boxed(desk, f"{contract}; code=$?; {forges} 2> /dev/null; exit $code", WORK, command)
    desk.run("--yes").exits(0)
    desk.about_plan("audit").exits(0)
    assert len(set(stamps(desk))) == 1


# -- without one ----------------------------------------------------------------------------------


def test_by_products_that_changed_are_told_where_no_set_up_makes_them(desk: Desk) -> None:
    set_up(desk)
    del desk.roles["setup"]
    desk.agent(f"{WORK}; mkdir -p vendor; echo evil > vendor/lib.txt")
    desk.plan(step("Write it", "grep -qx works product.txt")).run("--yes").exits(0)
    note = (
        "needs set-up: judged with `vendor`, changed since approval; "
        "declare `[setup] command` in signoff.toml"
    )
    assert note in verdicts(desk)[-1]["room"]
    assert desk.about_plan("audit", "--json").exits(0).json["notes"] == [note]


def test_compiled_caches_and_reports_are_no_changed_by_products(desk: Desk) -> None:
    set_up(desk)
    del desk.roles["setup"]
    desk.file(".gitignore", "vendor/\nhtmlcov/\n*.log\n").file("vendor/lib.py", "x = 1\n")
    caches = "mkdir -p vendor/__pycache__ htmlcov; touch vendor/__pycache__/a.pyc htmlcov/a a.log"
    desk.agent(f"{WORK}; {caches}")
    desk.plan(step("Write it", "grep -qx works product.txt")).run("--yes").exits(0)
    assert "set-up" not in verdicts(desk)[-1]["room"]
    assert desk.about_plan("audit", "--json").exits(0).json["notes"] == []


def test_an_audit_without_a_clean_room_says_whose_by_products_it_had(desk: Desk) -> None:
    set_up(desk)
    desk.agent(WORK).plan(step("Write it", "grep -qx works product.txt")).run("--yes").exits(0)
    (note,) = desk.about_plan("audit", "--json").exits(0).json["notes"]
    assert note.startswith("judged with the workspace's by-products")


def test_approval_shows_the_set_up_that_it_pins(desk: Desk) -> None:
    set_up(desk, "uv sync --frozen", network=True)
    desk.agent(WORK).plan(step("Write it", "grep -qx works product.txt"))
    ended = desk.about_plan("approve", "--yes").exits(0)
    assert "set-up: uv sync --frozen  (with network, at most 600 s)" in ended.stderr
