"""A task without a plan gets one, and steering, refusals and sign-off read the same state."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import signoff
from signoff.agents.loop.limits import Ended
from signoff.domain.ledger import Kind
from signoff.domain.session import SessionStanding
from signoff.settings.policy import BatchPolicy, SelfSetRule, SessionPolicy
from signoff.testing.conversation import ScriptedCall
from signoff.testing.model import scripted_model
from signoff.testing.script import Script, Turn, say, use
from signoff.usecases.agent import AgentReport
from tests.agents.loopkit import entries, write
from tests.unconfined import UNCONFINED

TRUSTING = SessionPolicy(self_set=SelfSetRule.ACCEPT)
GUIDE = "Create `guide/index.html`, `guide/a.html` and `guide/b.html`."
NAMES = ("index", "a", "b")


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    config = tmp_path / "config.toml"
    config.write_text(UNCONFINED)
    monkeypatch.setenv("SIGNOFF_CONFIG", str(config))
    monkeypatch.setenv("SIGNOFF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "work"
    folder.mkdir()
    yield folder


def run(work: Path, turns: Script | list[Turn], task: str, **options: Any) -> AgentReport:
    script = turns if isinstance(turns, Script) else Script(turns)
    options.setdefault("policy", TRUSTING)
    return signoff.run_agent(task, model=scripted_model(script), workspace=work, **options)


def listing(*items: Any) -> Turn:
    shaped = [{"text": item, "done": False} if isinstance(item, str) else item for item in items]
    return use(ScriptedCall("todo", {"items": shaped}))


def page(name: str, body: str = "<p>text</p>") -> Turn:
    text = f"<!doctype html><html><head><title>{name}</title></head><body>{body}</body></html>\n"
    return use(write(f"guide/{name}.html", text))


WRITTEN = [page("a"), page("b"), page("index", '<a href="a.html">a</a> <a href="b.html">b</a>')]


def told(script: Script, turn: int) -> str:
    """Everything that the model read at one turn."""
    received = script.received[turn]
    return "\n".join((*(result.text for result in received.results), received.last_user_text))


def test_a_list_of_bare_names_is_about_the_planned_files_and_finished_work_is_accepted(
    work: Path,
) -> None:
    script = Script([listing(*(f"write {n}.html" for n in NAMES)), *WRITTEN, say("Done.")])
    report = run(work, script, GUIDE)
    assert "0 done, 3 open" in told(script, 1)
    assert "Next: `write` `guide/index.html`" in told(script, 1)
    assert report.standing is SessionStanding.DONE, report.loop.reason
    assert report.plan is not None and len(report.plan.proved) == 4, "three files and a check"


def test_with_a_plan_of_its_own_and_a_check_for_each_file_it_is_the_same(work: Path) -> None:
    steps = [
        {
            "description": f"write {name}",
            "check": {"kind": "file_exists", "path": f"guide/{name}.html"},
        }
        for name in NAMES
    ]
    plan = {"objective": "the guide", "steps": steps, "postconditions": []}
    create = use(ScriptedCall("plan_create", plan))
    script = Script([create, listing(*(f"write {n}.html" for n in NAMES)), *WRITTEN, say("Done.")])
    report = run(work, script, GUIDE)
    assert "plan created with 3 steps" in told(script, 1)
    assert "`guide/index.html`" in told(script, 2) or "`guide/index.html`" in told(script, 3)
    assert report.standing is SessionStanding.DONE, report.loop.reason


def test_an_agents_own_plan_leaves_what_the_task_names_due(work: Path) -> None:
    step = {"description": "begin", "check": {"kind": "file_exists", "path": "guide/a.html"}}
    plan = {"objective": "less", "steps": [step], "postconditions": []}
    script = Script([use(ScriptedCall("plan_create", plan)), page("a"), *[say("Done.")] * 12])
    report = run(work, script, GUIDE)
    assert report.standing is not SessionStanding.DONE
    assert "make guide/index.html" in told(script, 3)


def test_an_open_item_keeps_the_task_open_and_a_tick_or_a_reason_closes_it(work: Path) -> None:
    items = [{"text": t, "done": False} for t in ("read it again", "ask Ada", "a.md")]
    ticked = [
        {"text": "read it again", "done": True},
        {"text": "ask Ada", "dropped": "she is away"},
    ]
    turns = [listing(*items), use(write("a.md", "# a\n")), say("Done."), say("Done."), say("Done.")]
    script = Script([*turns, listing(*ticked), say("Done.")])
    report = run(work, script, "Create a.md.")
    refused = told(script, 5)
    assert "read it again" in refused and "ask Ada" in refused
    assert '"dropped": "why"' in refused
    assert report.standing is SessionStanding.DONE, report.loop.reason
    assert "she is away" in told(script, 6)


def test_a_list_alone_proves_nothing(work: Path) -> None:
    done = {"text": "think about it", "done": True}
    report = run(work, [listing("think about it"), listing(done), say("Done.")], "Think.")
    assert report.standing is SessionStanding.UNPLANNED


def test_what_the_ledger_keeps_of_a_task_is_a_plan_claims_calls_and_verdicts(work: Path) -> None:
    done = {"text": "tidy up", "done": True}
    turns = [listing("tidy up"), use(write("a.md", "# a\n")), listing(done), say("Done.")]
    report = run(work, turns, "Create a.md.")
    kinds = [kind for kind, _ in entries(work, report.loop.session)]
    assert Kind.DEFINITION_CHANGED not in kinds
    for kind in (Kind.PLAN_WRITTEN, Kind.STEP_CLAIMED, Kind.TOOL_CALLED, Kind.VERDICT):
        assert kind in kinds


def test_the_next_action_for_a_planned_folder_is_a_file_in_it(work: Path) -> None:
    (work / "old/chapters").mkdir(parents=True)
    (work / "old/chapters/01-begin.md").write_text("# Begin\n")
    script = Script([listing("write the chapters"), say("Later.")])
    run(work, script, "Create `new/chapters/`.", limits=signoff.LoopLimits(turns=2))
    assert "Next: `write` `new/chapters/01-begin.md`" in told(script, 1)


BROKEN = '<a href="nowhere.html">x</a>'
WARNED = "<p>text</p><a href='#'>later</a>"


def test_a_repair_is_sent_to_files_with_errors_and_never_to_one_with_a_warning(work: Path) -> None:
    # Written through the shell, where nobody looks at links before.
    page_of = "<html><head><title>t</title></head><body>%s</body></html>"
    make = "\n".join(
        f"cat > guide/{name}.html <<'E'\n{page_of % body}\nE"
        for name, body in (
            ("a", WARNED),
            ("b", BROKEN),
            ("index", BROKEN + "<a href='a.html'>a</a>"),
        )
    )
    script = Script(
        [
            use(ScriptedCall("bash", {"command": f"mkdir -p guide\n{make}"})),
            say("Done."),
            page("b"),
            page("index", '<a href="a.html">a</a> <a href="b.html">b</a>'),
            say("Done."),
        ]
    )
    report = run(work, script, GUIDE)
    assert "nowhere.html" in told(script, 2)
    assert "Next: `edit` `guide/index.html`" in told(script, 3)
    assert "guide/a.html" not in told(script, 4), "nobody is sent to the page with a warning"
    assert report.standing is SessionStanding.DONE, report.loop.reason


def test_the_same_missing_asset_again_and_again_names_the_ways_out_and_ends_honestly(
    work: Path,
) -> None:
    (work / "guide").mkdir()
    (work / "guide/style.css").write_text("p {}\n")
    link = '<link rel="stylesheet" href="styles.css">'
    turns = [page("a", f"{link}<p>version {n}</p>") for n in range(12)]
    script = Script([*turns, say("Done.")])
    report = run(work, script, GUIDE)
    assert "mend it and send again" in told(script, 1)
    second = told(script, 2)
    assert "for the 2. time" in second and "write `guide/styles.css` first" in second
    assert "link to `guide/style.css`" in second and "leave the link out" in second
    assert report.loop.ended is Ended.STUCK and report.loop.turns <= 6
    assert report.standing is not SessionStanding.DONE


def test_after_a_failed_edit_reading_the_file_keeps_the_advice_on_it(work: Path) -> None:
    (work / "app.py").write_text("x = 1\n")
    edit = use(ScriptedCall("edit", {"path": "app.py", "old": "y = 1", "new": "x = 2"}))
    look = use(ScriptedCall("read", {"path": "app.py"}))
    script = Script([edit, look, look, say("Later.")])
    run(work, script, "Create `b.py` and `c.py`.", limits=signoff.LoopLimits(turns=4))
    for turn in (2, 3):
        assert "Next: " in told(script, turn) and "`edit` `app.py`" in told(script, turn)
        assert "b.py" not in told(script, turn)


def test_a_change_that_the_model_is_not_sure_of_is_not_made(work: Path) -> None:
    policy = SessionPolicy(self_set=SelfSetRule.ACCEPT, batches=BatchPolicy(confidence=0.7))

    def sure(number: float | None) -> Turn:
        said = {} if number is None else {"confidence": number}
        return use(ScriptedCall("write", {"path": "a.md", "content": "# a\n", **said}))

    script = Script([sure(None), sure(0.4), sure(0.9), say("Done.")])
    report = run(work, script, "Create a.md.", policy=policy)
    assert "do not say how sure" in told(script, 1)
    assert "0.4 sure" in told(script, 2) and "0.7 is asked for" in told(script, 2)
    assert report.standing is SessionStanding.DONE, report.loop.reason


def test_a_page_thinner_than_the_user_asks_for_is_not_accepted(work: Path) -> None:
    thin = BatchPolicy(thin_words=30)
    policy = SessionPolicy(self_set=SelfSetRule.ACCEPT, batches=thin)
    words = " ".join(f"word{n}" for n in range(40))
    make = ScriptedCall("bash", {"command": "printf '# A page\\n\\nToo little.\\n' > a.md"})
    script = Script(
        [use(make), say("Done."), use(write("a.md", f"# A\n\n{words}\n")), say("Done.")]
    )
    report = run(work, script, "Create a.md.", policy=policy)
    assert "thin-page" in told(script, 2)
    assert report.standing is SessionStanding.DONE, report.loop.reason


def test_an_argument_under_another_name_is_named_with_the_right_one(work: Path) -> None:
    wrong = use(ScriptedCall("write", {"path": "a.md", "content_summary": "# a"}))
    script = Script([wrong, use(ScriptedCall("read", {"file": "a.md"})), say("Later.")])
    run(work, script, "Create a.md.", limits=signoff.LoopLimits(turns=3))
    assert "`content_summary` is no argument: it is called `content`" in told(script, 1)


def test_dropping_a_blocked_step_with_a_reason_closes_its_question(work: Path) -> None:
    def plan(*steps: str, **more: str) -> Turn:
        return use(
            ScriptedCall(
                "plan_create", {"objective": "x", "steps": steps, "postconditions": [], **more}
            )
        )

    blocked = {"step_number": 2, "status": "blocked", "notes": "no access to the server"}
    proof = {"step_number": 1, "status": "done", "evidence": "tool:c2"}
    script = Script(
        [
            plan("write a.md", "deploy it"),
            use(ScriptedCall("step_update", {"step_number": 1, "status": "in_progress"})),
            use(write("a.md", "# a\n")),
            use(ScriptedCall("step_update", proof)),
            use(ScriptedCall("step_update", blocked)),
            plan("write a.md", reason="nobody can deploy from here"),
            say("Done."),
        ]
    )
    report = run(work, script, "Do it.")
    assert report.plan is not None and report.plan.questions == ()
    withdrawn = [
        data
        for kind, data in entries(work, report.loop.session)
        if kind is Kind.ESCALATION_ANSWERED
    ]
    assert [data["withdrawn"] for data in withdrawn] == [True]


def test_a_shortened_refusal_still_names_what_is_missing(work: Path) -> None:
    step = {"description": "make it", "check": {"kind": "file_exists", "path": "a.md"}}
    plan = {"objective": "x", "steps": [step], "postconditions": []}
    script = Script([use(ScriptedCall("plan_create", plan)), *[say("Done.")] * 8])
    run(work, script, "Do it.")
    short = [
        told(script, n) for n in range(len(script.received)) if "Do only this" in told(script, n)
    ]
    assert short and all("step 1: its check is broken" in text for text in short)


def test_what_a_person_asked_for_is_not_dropped_into_a_done_beside_a_plan_of_its_own(
    work: Path,
) -> None:
    step = {"description": "begin", "check": {"kind": "file_exists", "path": "guide/a.html"}}
    plan = {"objective": "less", "steps": [step], "postconditions": []}
    drops = [{"text": f"guide/{n}.html", "dropped": "tedious"} for n in ("index", "b")]
    turns = [
        use(ScriptedCall("plan_create", plan)),
        page("a"),
        use(ScriptedCall("todo", {"items": drops})),
    ]
    report = run(work, [*turns, *[say("Done.")] * 12], GUIDE)
    assert report.standing is SessionStanding.KEPT_SELF_SET, "people decide, whatever the policy"
    assert report.plan is not None and len(report.plan.dropped) == 2


def test_a_resumed_session_plans_nothing_more_from_the_same_words(work: Path) -> None:
    first = run(work, [use(write("a.md", "# a\n")), say("Done.")], "Create a.md, not b.md/.")
    assert first.plan is not None
    (work / "a.md").unlink()
    again = run(work, [say("Done.")] * 12, "go on", resume=first.loop.session)
    assert again.standing is not SessionStanding.DONE, "what was asked for is still due"
    plans = [d for k, d in entries(work, first.loop.session) if k is Kind.PLAN_WRITTEN]
    assert all(d["task"]["said"] for d in plans)


def test_a_check_that_cannot_fail_is_told_and_counts_for_nothing(work: Path) -> None:
    (work / "Makefile").write_text("test:\n\t@true\n")
    turns = [use(write("notes.xyz", "x")), say("Done.")]
    report = run(work, turns, "Write it down.")
    assert report.standing is SessionStanding.UNPLANNED
