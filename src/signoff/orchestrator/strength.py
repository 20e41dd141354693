"""Measures the strength of a contract: wrong versions of what a step changed are judged.

measure → texts of the change → wrong versions → each judged in a room of its own → Strength
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from signoff.domain.digests import digest_of
from signoff.domain.globs import matches_any
from signoff.domain.languages import is_test, language_of
from signoff.domain.ledger import Kind
from signoff.domain.plan import Postcondition, Step
from signoff.domain.second_look import Score, Strength, Unnoticed, VersionKind
from signoff.domain.snapshot import FileKind
from signoff.domain.verdict import Phase, Reason, Result, TestCounts, Verdict
from signoff.errors import Interrupted, RoomTooDear
from signoff.gate.actions import MeasureStrength, required_strength
from signoff.orchestrator.events import Doing
from signoff.orchestrator.openrun import LaneMaker
from signoff.orchestrator.opinions import DrivenRun
from signoff.orchestrator.rooms import RoomPool
from signoff.verification.evidence import Case
from signoff.verification.judge import Judge
from signoff.verification.strength.versions import (
    StepChange,
    Versions,
    WrongVersion,
    wrong_versions,
)
from signoff.workspace.beside import WorkspaceAt
from signoff.workspace.workspace import Workspace

MOST_VERSIONS = 24
NO_ROOMS = "it needs a sandbox that shows a copy in the workspace's place: bubblewrap or namespaces"
NOTHING_CHANGED = "the work changed nothing of which wrong versions can be made"
_TIMES_AS_LONG = 10  # as one judging, for all of it
_LEAST_S = 60.0  # that measuring may take, however quick the contract is
_TOLD_EVERY_S = 5.0
_FILLED = 0.8  # of the time: as many versions as that has room for
_SLOWEST = 3  # times as long as the contract, for one version: then it does not end
_LARGEST_TEXT = 1_000_000
_MOST_TESTS = 200
_ANSWERED = frozenset({Reason.TIMED_OUT, Reason.SIGNALLED})

Spans = tuple[tuple[str, str], ...]


class StrengthMeter(Struct, frozen=True):
    """Judges wrong versions beside the workspace, where nobody works."""

    judge: Judge
    rooms: LaneMaker | None  # None: nothing can be judged beside the workspace here
    cancelled: Callable[[], bool]
    tell: Callable[[str], None] = lambda _: None
    most: int | None = None  # None: what there is time for
    known: Callable[[str], Strength | None] = lambda _: None  # what was measured already

    def measure(self, case: Case, spans: Spans) -> Strength:
        """Strength of the case's contract, by what the spans changed; incomplete says why."""
        most = self.most or MOST_VERSIONS
        case = replace(case, run=None, provisional=True, beside=True, content=None)
        ends = (spans[0][0], spans[-1][1], sorted(self._changed(spans))) if spans else None
        pins, isolation = self.judge.pins.digest, self.judge.runner.enclosure.isolation
        key = digest_of([case.contract.meaning(), ends, pins, isolation, most, case.baseline])
        if (known := self.known(key)) is not None and not known.incomplete:
            return known
        if not spans:
            return Strength(key, incomplete=NOTHING_CHANGED)
        began = time.monotonic()
        found = replace(self._measure(case, spans, key, most), key=key)
        return replace(found, duration_s=round(time.monotonic() - began, 6))

    @property
    def _at_once(self) -> int:
        """Versions that are judged at the same time."""
        return max(self.rooms.most if self.rooms is not None else 1, os.cpu_count() or 1)

    def _measure(self, case: Case, spans: Spans, key: str, most: int) -> Strength:
        if self.rooms is None:
            return Strength(key, incomplete=NO_ROOMS)
        workspace = self.judge.workspace
        before = workspace.snapshot().digest
        versions = self._versions(case, spans, key, most)
        try:
            found = self._judged(case, spans[-1][1], versions, self.rooms)
        except RoomTooDear as dear:
            return Strength(key, incomplete=dear.message)
        finally:
            self.rooms.give_back()
        changed = workspace.snapshot().digest != before
        if changed or self.judge.obstacles.find(case.contract) is not None:
            return Strength(key, incomplete="files that it was measured with changed meanwhile")
        return found

    def _changed(self, spans: Spans) -> set[str]:
        """The files that attempts changed; what others did in between is not theirs."""
        diff, approved = self.judge.workspace.diff, self.judge.pins.snapshot
        return {change.path for begun, left in spans for change in diff(begun or approved, left)}

    def _versions(self, case: Case, spans: Spans, key: str, most: int) -> Versions:
        """The wrong versions of what was changed: of the work, where there is any beside tests."""
        workspace, content = self.judge.workspace, spans[-1][1]
        base, paths = spans[0][0] or self.judge.pins.snapshot, self._changed(spans)
        guarded = (*case.guard.protects, *case.guard.may_extend)
        work = {path for path in paths if not is_test(path) and not matches_any(guarded, path)}
        paths = work or paths
        product = frozenset(path for path in work if language_of(path))
        after = _texts(workspace, content, sorted(paths))
        tests = sorted(path for path in workspace.manifest(content) if is_test(path))[:_MOST_TESTS]
        changed = StepChange(_texts(workspace, base, sorted(paths)), after, product)
        return wrong_versions(changed, _texts(workspace, content, tests), most=most, seed=key)

    def _judged(self, case: Case, content: str, versions: Versions, rooms: LaneMaker) -> Strength:
        """Judge what was made, after what it was made of: that has to hold there."""
        began = time.monotonic()
        (plain,) = self._answers(case, [content], rooms, None)
        assert plain is not None, "only an interrupt ends it before"
        if not plain.kept:
            return Strength("", incomplete=f"the contract does not hold in a copy: {plain.message}")
        if not versions.chosen:
            return Strength("", notes=versions.notes, incomplete=NOTHING_CHANGED)
        took_s = time.monotonic() - began
        all_s = max(_LEAST_S, _TIMES_AS_LONG * took_s)
        if self.most is None:
            versions = versions.first(self._at_once * int(_FILLED * all_s / took_s))
        contents = list(self._contents(content, versions.chosen, rooms))
        limit_s = min(case.contract.timeout_s, max(_LEAST_S / _TIMES_AS_LONG, _SLOWEST * took_s))
        short = replace(case, contract=replace(case.contract, timeout_s=limit_s))
        until = time.monotonic() + all_s
        self.tell(f"judging {len(contents)} wrong versions, for at most {all_s:.0f} s")
        answers = self._answers(short, contents, rooms, until)
        return _counted(versions, plain, answers, heldout=case.contract.heldout is not None)

    def _contents(
        self, content: str, versions: Sequence[WrongVersion], rooms: LaneMaker
    ) -> Iterator[str]:
        """The content with each of the versions in it, as snapshots."""
        lane = rooms.lane(1)
        lane.check_out(WorkspaceAt(self.judge.workspace, content))
        for version in versions:
            for path, data in version.files.items():
                _write(lane.workspace, path, data)
            yield lane.workspace.snapshot().digest
            lane.workspace.revert(content, only=version.files.keys())

    def _answers(
        self, case: Case, contents: Sequence[str], rooms: LaneMaker, until: float | None
    ) -> list[Verdict | None]:
        """The verdicts in order, judged side by side; None where the time was up before."""
        pool = RoomPool(rooms)

        def judged(content: str) -> Verdict | None:
            if self.cancelled() or (until is not None and time.monotonic() >= until):
                return None
            room = pool.take()
            try:
                return room.judge_of(self.judge, content, self.cancelled).judge(case)
            finally:
                pool.leave(room)

        verdicts: list[Verdict | None] = []
        told = time.monotonic()
        with ThreadPoolExecutor(min(len(contents), self._at_once)) as threads:
            for verdict in threads.map(judged, contents):
                verdicts.append(verdict)
                if until is not None and time.monotonic() - told >= _TOLD_EVERY_S:
                    told = time.monotonic()
                    self.tell(f"{len(verdicts)} of {len(contents)} wrong versions judged")
        if self.cancelled():
            raise Interrupted("interrupted while strength was measured; state is safe")
        return verdicts


def _texts(workspace: Workspace, digest: str, paths: Sequence[str]) -> dict[str, bytes]:
    """Regular files of the content, as long as they are not too large to be work by hand."""
    manifest = workspace.manifest(digest)
    small = (
        path
        for path in paths
        if (state := manifest.get(path)) is not None
        and state.kind is FileKind.FILE
        and state.size <= _LARGEST_TEXT
    )
    return {path: workspace.read(digest, path) if manifest[path].size else b"" for path in small}


def _write(lane: Workspace, path: str, data: bytes | None) -> None:
    """Put a file into a checkout that nobody else writes to; its mode stays."""
    file = lane.root / path
    mode = file.stat(follow_symlinks=False).st_mode & 0o777 if os.path.lexists(file) else 0o644
    file.unlink(missing_ok=True)
    if data is None:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    file.chmod(mode)


def _counted(
    versions: Versions, plain: Verdict, answers: Sequence[Verdict | None], *, heldout: bool
) -> Strength:
    """Count what was rejected; versions that could not be loaded count for nothing."""
    tried, rejected = Counter[VersionKind](), Counter[VersionKind]()
    unnoticed: list[Unnoticed] = []
    visible = 0
    for version, verdict in zip(versions.chosen, answers, strict=True):
        if verdict is None or _says_nothing(version, verdict, plain):
            continue
        tried[version.kind] += 1
        if verdict.kept:
            of = version
            unnoticed.append(Unnoticed(of.kind, of.path, of.line, of.what, of.diff))
        else:
            rejected[version.kind] += 1
            visible += verdict.reason is not Reason.HELD_OUT
    unjudged = sum(verdict is None for verdict in answers)
    return Strength(
        "",
        kinds={kind: Score(rejected[kind], tried[kind]) for kind in VersionKind if tried[kind]},
        visible=visible,
        heldout=heldout,
        unnoticed=tuple(unnoticed),
        neither=len(answers) - unjudged - tried.total(),
        left_out=versions.left_out,
        incomplete=f"{unjudged} of {len(answers)} were not judged in time" if unjudged else "",
        notes=versions.notes,
    )


def _says_nothing(version: WrongVersion, verdict: Verdict, plain: Verdict) -> bool:
    """True when it could not be judged, or no test could load it although it exits with an error.

    That a change is undone altogether is noticed in whatever way.
    """
    if verdict.kept or version.kind is VersionKind.UNDO:
        return False
    if verdict.result is Result.UNKNOWN:
        return verdict.reason not in _ANSWERED
    then, now = (TestCounts.from_data(v.counts) for v in (plain, verdict))
    ran = now is not None and now.least_executed > 0
    return then is not None and then.executed > 0 and not ran and verdict.exit_code != 0


class MeasuredRun(DrivenRun, Protocol):
    """The part of a drive that measuring needs."""

    run_judge: Judge

    def case(self, subject: Step | Postcondition, phase: Phase) -> Case:
        """The question to the judge about a subject now."""


def strong_enough(drive: MeasuredRun, step: Step, verdict: Verdict) -> Verdict:
    """Hold a kept verdict to the strength that the plan or the policy demands of its contract."""
    required = required_strength(step, drive.work.settings.policy)
    if not verdict.kept or not required:
        return verdict
    found = _measure(drive, step, drive.state.record(step.id).spans)
    if found.meets(required):
        return verdict
    message = f"its contract {found}; {required} % are required"
    weak = "\n".join(f"not noticed: {version}" for version in found.unnoticed)
    return replace(
        verdict,
        result=Result.BROKEN,
        reason=Reason.STRENGTH,
        message=message,
        output_tail=weak or verdict.output_tail,
    )


def measure_strength(drive: MeasuredRun, action: MeasureStrength) -> None:
    """Measure a step that was accepted, and go on whatever comes of it."""
    _measure(drive, action.step, drive.state.record(action.step.id).change)


def _measure(drive: MeasuredRun, step: Step, spans: Spans) -> Strength:
    case = drive.case(step, Phase.ATTEMPT)
    case = replace(case, guard=replace(case.guard, spans=spans))

    def tell(said: str) -> None:
        drive.work.reporter.tell(Doing(step.id, said))

    meter = StrengthMeter(
        drive.run_judge,
        drive.work.rooms,
        drive.work.cancelled,
        tell,
        known=drive.state.strengths.get,
    )
    found = meter.measure(case, spans)
    drive.append(drive.draft(Kind.STRENGTH_MEASURED, to_builtins(found), step.id))
    return found
