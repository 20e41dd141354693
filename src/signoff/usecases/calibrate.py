"""`judge calibrate`: how many wrong versions of accepted work the user's model refuses.

The right version is asked about too: what it refuses of that is a false alarm.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial

from msgspec import Struct, to_builtins

from signoff.agents.command import CommandAgent
from signoff.agents.opinions import open_asker
from signoff.domain.languages import is_test, is_work
from signoff.domain.ledger import Draft, Kind
from signoff.domain.plan import Step
from signoff.domain.second_look import JudgeCalibrated, OpinionGiven, OpinionResult
from signoff.domain.text import moment
from signoff.errors import ConfigInvalid, NoSuchRun
from signoff.gate.state import State
from signoff.places import user_file
from signoff.settings.policy import EXAMPLE
from signoff.usecases.harness import Harness, PlanLocation, redactor_of
from signoff.usecases.history import approved_by, intact_history
from signoff.usecases.openwork import enclosure_of
from signoff.usecases.workspaces import approved_workspace
from signoff.verification.opinion.asking import OpinionRequest, ask_for_opinion
from signoff.verification.opinion.material import SYSTEM, changed_contents, changed_files
from signoff.verification.strength.versions import StepChange, wrong_versions
from signoff.workspace.workspace import Workspace

LARGEST_TEST = 100_000


class VersionAsked(Struct, frozen=True):
    """One version of a step's work, and what the model said of it."""

    step: str
    what: str
    wrong: bool
    result: OpinionResult
    why: str


class CalibrationReport(Struct, frozen=True):
    """All versions that were asked about; void answers count as nothing."""

    model: str
    measured: str
    found: JudgeCalibrated
    asked: tuple[VersionAsked, ...]


def calibrate(
    harness: Harness,
    place: PlanLocation,
    step_id: str | None,
    most: int,
    tell: Callable[[str], None],
    cancelled: Callable[[], bool] = lambda: False,
) -> CalibrationReport:
    """Ask about right and wrong versions of every accepted step with a rubric, or of one."""
    history, settings = intact_history(harness.ledger, place.id, place.path), harness.settings
    if settings.judge is None:
        where = user_file(harness.environ)
        raise ConfigInvalid(f"`{where}` names no model for opinions", f"[judge] with {EXAMPLE}")
    if history.run is None:
        raise NoSuchRun(f"`{place.name}` was never run", f"signoff run {place.quoted}")
    approved = approved_by(harness.ledger, place, history, history.run)
    redact = redactor_of(harness, approved.plan, approved.settings).text
    steps = _steps(approved.state, step_id)
    if not steps:
        what = f"step {step_id}" if step_id else "no step"
        raise NoSuchRun(
            f"{what} of `{place.name}` has a rubric and was accepted with an opinion",
            f"signoff status {place.quoted}",
        )
    workspace, search_path = approved_workspace(harness, approved), approved.pins.search_path
    enclosure = enclosure_of(harness, place, search_path)
    agent = CommandAgent(harness.environ, search_path, None, enclosure, settings.prices)
    asker = open_asker(settings.judge, agent, harness.environ, settings.prices, place.workspace)
    assert asker is not None
    ask, asked, told = partial(asker.ask, SYSTEM, cancelled=cancelled), [], []
    for step, given in steps:
        for what, wrong, contents in _versions(workspace, step, given, most):
            tell(f"step {step.id}: {what}")
            files = changed_files(contents, redact)
            wanted = settings.judge
            request = OpinionRequest.of(step, wanted.name, files, None, wanted.characters)
            opinion = ask_for_opinion(request, ask, wanted.tokens).given
            told.append(opinion)
            asked.append(VersionAsked(step.id, what, wrong, opinion.result, opinion.why))
    found = _counted(settings.judge.name, asked, told)
    harness.ledger.append(place.id, [Draft(Kind.JUDGE_CALIBRATED, to_builtins(found))])
    return CalibrationReport(found.model, found.measured(moment(time.time())), found, tuple(asked))


def _steps(state: State, step_id: str | None) -> list[tuple[Step, OpinionGiven]]:
    """Accepted steps with a rubric, each with the opinion that says what its change was."""
    found = []
    for step in state.schedule.steps:
        record = state.record(step.id)
        if step.rubric and record.done and record.opinion is not None:
            found.append((step, record.opinion))
    return [(step, given) for step, given in found if step_id in (None, step.id)]


_Contents = Mapping[str, tuple[bytes | None, bytes | None] | None]


def _versions(
    workspace: Workspace, step: Step, given: OpinionGiven, most: int
) -> list[tuple[str, bool, _Contents]]:
    """The accepted change, then wrong versions of it: what it is, if it is wrong, its contents."""
    contents = changed_contents(workspace, given.base, given.left, None)
    pairs = {path: pair for path, pair in contents.items() if pair is not None}
    before = {path: was for path, (was, _) in pairs.items() if was is not None}
    after = {path: now for path, (_, now) in pairs.items() if now is not None}
    product = frozenset(path for path in after if is_work(path))
    sizes = {p: state.size for p, state in workspace.manifest(given.left).items() if is_test(p)}
    tests = {
        path: workspace.read(given.left, path)
        for path, size in sizes.items()
        if 0 < size <= LARGEST_TEST
    }
    made = wrong_versions(StepChange(before, after, product), tests, most=most, seed=step.digest)
    found: list[tuple[str, bool, _Contents]] = [("as it was accepted", False, contents)]
    for version in made.chosen:
        changed = dict(contents)
        for path, now in version.files.items():
            was = before.get(path)
            changed[path] = (was, now)
            if was == now:
                del changed[path]
        found.append((version.what, True, changed))
    return found


def _counted(model: str, asked: list[VersionAsked], told: list[OpinionGiven]) -> JudgeCalibrated:
    """The numbers; one that got no answer counts neither way, its cost does."""
    answered = [version for version in asked if version.result is not OpinionResult.VOID]
    wrong = [version for version in answered if version.wrong]
    right = [version for version in answered if not version.wrong]
    tokens, usd = [given.tokens for given in told], [given.usd for given in told]
    return JudgeCalibrated(
        model,
        len(wrong),
        sum(version.result is OpinionResult.VETO for version in wrong),
        len(right),
        sum(version.result is OpinionResult.VETO for version in right),
        tokens=None if None in tokens else sum(n for n in tokens if n is not None),
        usd=None if None in usd else round(sum(n for n in usd if n is not None), 9),
    )
