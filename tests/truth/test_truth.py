"""The corpora's machinery notices what it must; a sample of each group comes out as it should."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from truth.arena import Arena
from truth.case import DECOY, WORK, Accepted, Act, Case, Refused
from truth.comparison import complaints
from truth.corpus import Corpus, Filed, find, in_lanes, load
from truth.plans import plan, step
from truth.report import Report, play
from truth.standins import NAMES
from truth.workers import play_all

from signoff.domain.ledger import Choice, Kind
from signoff.domain.verdict import Isolation, Reason, Result
from signoff.process.sandboxes import best_isolation

TOP = Path(__file__).parents[2]
RUN = TOP / "truth" / "run.py"
EVERY = 20  # one case in so many is played here; `make truth` plays them all
CHEAT = "echo exit 0 > tests/check.sh"


def _sample() -> list[Filed]:
    ready = [filed for filed in load() if not filed.left_out(Isolation.NONE)]
    first = {filed.group: filed for filed in reversed(ready)}
    chosen = {filed.case.name: filed for filed in [*first.values(), *ready[::EVERY]]}
    return list(chosen.values())


@pytest.mark.parametrize("filed", _sample(), ids=lambda filed: filed.case.name)
def test_a_sample_comes_out_as_it_should(filed: Filed) -> None:
    report = play(filed, Isolation.NONE)
    assert report.complaints == (), "\n".join([*report.complaints, *report.ledger])


@pytest.mark.skipif(
    not best_isolation(None).has_own_view, reason="needs bubblewrap or user namespaces"
)
@pytest.mark.parametrize(
    "name",
    [
        "an agent that says nothing has proved nothing",
        "a check that was changed is put back before the next attempt",
        "the work is done and the check holds",
    ],
)
def test_in_lanes_a_case_comes_out_as_it_does_in_line(name: str, tmp_path: Path) -> None:
    filed, isolation = in_lanes(find(name)), best_isolation(None)
    assert not filed.left_out(isolation) and filed.left_out(Isolation.NONE)
    happened = Arena(tmp_path.resolve(), filed.case, isolation).play()
    assert complaints(filed.case, happened, isolation) == []
    begun = [e for e in happened.entries if e.kind is Kind.ATTEMPT_STARTED]
    assert {e.data["role"] for e in begun} == {"coder", DECOY}
    assert all("lane" in e.data for e in begun), begun


@pytest.mark.skipif(
    not best_isolation(None).has_own_view, reason="needs bubblewrap or user namespaces"
)
def test_ignored_files_that_a_step_left_in_its_lane_do_not_decide_it_in_the_workspace(
    tmp_path: Path,
) -> None:
    name = "what was broken does not hold because of a build that the agent made alone"
    filed, isolation = in_lanes(find(name)), best_isolation(None)
    happened = Arena(tmp_path.resolve(), filed.case, isolation).play()
    assert Kind.STEP_TURNED_BACK in {e.kind for e in happened.entries}
    in_line = replace(filed.case, lanes=False)  # refused for the reason that the case gives
    assert complaints(in_line, happened, isolation) == []


def test_each_corpus_has_a_hundred_cases() -> None:
    counts = {corpus: sum(f.corpus is corpus for f in load()) for corpus in Corpus}
    assert min(counts.values()) >= 100, counts


def _played(case: Case) -> Report:
    corpus = Corpus.HONEST if isinstance(case.expect, Accepted) else Corpus.ADVERSARY
    return play(Filed(corpus, "test", case), Isolation.NONE)


def test_honest_work_that_is_refused_is_shown_with_its_ledger() -> None:
    report = _played(Case("lazy", Accepted(), agent="true"))
    assert not report.accepted
    assert report.complaints[0] == "expected done (exit 0), happened: exit 6"
    assert any("verdict 1:1" in line and "'broken'" in line for line in report.ledger)


def test_an_adversary_that_is_accepted_counts_as_accepted() -> None:
    report = _played(Case("works after all", Refused(Reason.EXPECTATION), agent=WORK))
    assert report.accepted
    assert report.complaints[0].startswith("ACCEPTED (exit 0, audit: kept)")


def test_an_accepted_step_counts_although_its_plan_was_not_finished() -> None:
    text = plan(step("Write the product", "test -e product.txt"), step("More", "test -e more"))
    report = _played(Case("half", Refused(None), plan=text))
    assert report.accepted
    assert report.complaints == ("ACCEPTED (exit 6, audit: broken)",)


def test_a_refusal_is_held_to_its_reason_its_files_and_its_words() -> None:
    exact = Refused(Reason.TAMPERED, says="protected file was changed", files=("tests/check.sh",))
    case = Case("cheat", exact, agent=CHEAT)
    assert _played(case).complaints == ()
    for wrong in (
        replace(exact, reason=Reason.EXPECTATION),
        replace(exact, result=Result.UNKNOWN),
        replace(exact, says="moon"),
        replace(exact, files=()),
        replace(exact, error="ledger-broken"),
        replace(exact, step="2"),
    ):
        report = _played(replace(case, expect=wrong))
        assert len(report.complaints) == 1, wrong
        assert not report.accepted


def test_a_look_afterwards_that_fails_is_told() -> None:
    (told,) = _played(Case("look", Accepted(), afterwards="echo not here; false")).complaints
    assert told.startswith("the look afterwards failed: exit 1")
    assert "not here" in told


def test_a_process_that_outlives_its_case_is_told_and_ended() -> None:
    leave = "setsid sleep 271 < /dev/null > /dev/null 2>&1 &"
    (told,) = _played(Case("left", Accepted(), afterwards=leave)).complaints
    assert told.startswith("a process outlived the case")
    number = told.removeprefix("a process outlived the case: ").partition(":")[0]
    shown = Path(f"/proc/{number}/cmdline")
    assert not shown.exists() or b"271" not in shown.read_bytes()


def test_a_person_who_was_not_asked_is_told() -> None:
    report = _played(Case("unasked", Accepted(), person=(Act(Choice.RETRY),)))
    assert report.complaints == ("a person was to be asked, and was not",)


def test_a_case_that_cannot_be_set_up_is_no_success() -> None:
    report = _played(Case("broken", Refused(None), prepare="exit 7"))
    assert report.complaints[0].startswith("the case could not be set up: exit 7")


def test_each_attempt_has_its_own_script() -> None:
    text = plan(step("Write", "grep -qx third a.txt", on_fail="retry(2)"))
    scripts = {"1": "echo $SIGNOFF_ATTEMPT > a.txt", "1:3": "echo third > a.txt"}
    assert _played(Case("thrice", Accepted(attempts=3), plan=text, agent=scripts)).complaints == ()


def test_a_driver_that_dies_is_told_and_the_other_cases_go_on() -> None:
    """A worker does not know this case, so it ends as if it had been killed."""
    unknown = Filed(Corpus.HONEST, "test", Case("in no corpus", Accepted()))
    known = next(f for f in load() if f.case.name == "the work is done and the check holds")
    died, fine = play_all([unknown, known], Isolation.NONE, jobs=1)
    assert died.complaints[0].startswith("the driver ended: exit 1")
    assert fine.complaints == ()


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(RUN), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")


def test_the_script_ends_with_the_result_line() -> None:
    done = _run("--only", "the work is done and the check holds")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "isolation: none"
    assert done.stdout.splitlines()[-1] == "adversary: 0 of 0 accepted; honest: 1 of 1 accepted"


def test_the_same_as_json() -> None:
    done = _run("--json", "--only", "the work is done and the check holds")
    (found,) = json.loads(done.stdout)["isolations"]
    assert found["result"] == "adversary: 0 of 0 accepted; honest: 1 of 1 accepted"
    assert [case["complaints"] for case in found["cases"]] == [[]]


def test_an_unknown_group_is_an_error() -> None:
    done = _run("--only", "no such group")
    assert done.returncode == 1
    assert "no group or case is called 'no such group'" in done.stderr


_INFLUENCED = [
    filed
    for filed in load()
    if filed.group in ("influences", "loaded", "byproducts")
    and isinstance(filed.case.expect, Refused)
    and filed.case.expect.reason is Reason.INFLUENCED
    and not filed.case.plan
    and not filed.left_out(Isolation.NONE)
]


@pytest.mark.parametrize("filed", _INFLUENCED[::8], ids=lambda filed: filed.case.name)
def test_the_line_of_a_refusal_is_enough_to_allow_it(filed: Filed, tmp_path: Path) -> None:
    """Somebody who meant the change takes the line out of the message, and it is accepted."""
    refused = Arena(tmp_path, filed.case, Isolation.NONE).play()
    (told,) = {e.data["message"] for e in refused.entries if e.data.get("reason") == "influenced"}
    (line,) = re.findall(r"a person allows it with `([^`]+)`", told)
    again = replace(filed.case, expect=Accepted(), fields=f"{filed.case.fields}{line}\n")
    assert _played(again).complaints == ()


_MODES: dict[str, Callable[[Case], bool]] = {
    "In every mode": lambda case: not (case.needs_isolation or case.needs_bubblewrap),
    "Only with a sandbox": lambda case: case.needs_isolation,
    "Only with bubblewrap": lambda case: case.needs_bubblewrap,
    "What Landlock leaves open": lambda _: False,  # no case of the corpus succeeds
}


def _shown_by(section: str) -> Iterator[tuple[list[str], list[str]]]:
    """Of each line of a section of the threat model, the cases and the tests that it names."""
    page = (TOP / "docs" / "explanation" / "threat-model.md").read_text()
    lines = page.partition(f"\n## {section}\n")[2].partition("\n## ")[0].splitlines()
    cells = [line.split(" | ")[-1] for line in lines if line.startswith("| ")]
    for cell in cells[2:]:  # below the head
        yield re.findall(r"\*([^*]+)\*", cell), re.findall(r"`(test_\w+)`", cell)


@pytest.mark.parametrize("section", _MODES)
def test_the_threat_model_names_what_shows_each_line_in_its_mode(section: str) -> None:
    cases = {filed.case.name: filed.case for filed in load() if filed.corpus is Corpus.ADVERSARY}
    sources = "".join(path.read_text() for path in (TOP / "tests").rglob("test_*.py"))
    found = list(_shown_by(section))
    assert found and all(named or tests for named, tests in found)
    for named, tests in found:
        assert not {name for name in named if name not in cases or not _MODES[section](cases[name])}
        assert not [name for name in tests if f"def {name}(" not in sources]


def test_what_only_isolation_catches_is_listed_in_the_threat_model() -> None:
    told = {name for section in _MODES for named, _ in _shown_by(section) for name in named}
    needing = {
        filed.case.name
        for filed in load()
        if filed.corpus is Corpus.ADVERSARY
        and (filed.case.needs_isolation or filed.case.needs_bubblewrap)
    }
    assert needing <= told, sorted(needing - told)


@pytest.mark.parametrize("name", NAMES)
def test_the_product_names_no_stand_in(name: str) -> None:
    """A tool that nobody has heard of shows that a defence is general."""
    sources = {path: path.read_text().casefold() for path in (TOP / "src").rglob("*.py")}
    assert not [path for path, text in sources.items() if name in text]
