"""The judge: snapshot, protected files compared, contract run, snapshot again, verdict."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.ledger import Entry
from signoff.domain.plan import Contract, JudgeIn
from signoff.domain.redaction import NOTHING_SECRET, Redactor
from signoff.domain.snapshot import Snapshot
from signoff.domain.text import storable_path
from signoff.domain.verdict import Phase, Reason, Result, TestCounts, Verdict
from signoff.errors import SetupFailed, SnapshotTooSlow
from signoff.verification.check_runner import CheckRunner
from signoff.verification.denominator import (
    checks_of,
    count,
    judge_counts,
    judge_suppressions,
    remarked,
)
from signoff.verification.enclosure import JudgingPlace
from signoff.verification.evidence import (
    Case,
    Evidence,
    EvidenceKey,
    earlier_verdict,
    said,
    was_broken,
)
from signoff.verification.influences.ignored import LooseFiles
from signoff.verification.obstacles import Fixed, Obstacles, unreadable
from signoff.verification.pins import Pins
from signoff.verification.protection import (
    Compared,
    changed_git_rules,
    compare_with_pins,
    files_under,
    made_meanwhile,
)
from signoff.verification.rooms import Instead, Rooms, who_moved
from signoff.verification.since_approval import SinceApproval, texts_on
from signoff.verification.verdicts import (
    NEEDS_WORKSPACE,
    UnboundVerdict,
    compare,
    could_not_run,
    flaky,
    influenced,
    out_of_bounds,
    output_tail,
    ran,
    refused_socket,
    reused,
    tampered,
    unbuilt,
    unjudged,
)
from signoff.workspace.byproducts import too_large_to_copy
from signoff.workspace.opened import Blobs, OpenedFiles, OpenWatch, read_before
from signoff.workspace.records import with_times
from signoff.workspace.workspace import Workspace

CONFIRMATIONS = 3  # judgings that must agree when a contract contradicts what it said before


class Judge(Struct, frozen=True):
    """Judges cases on one workspace under one set of pins.

    judge() → snapshot → caches removed → tampering? → obstacles? → reuse? → contract run →
    snapshot → verdict
    """

    workspace: Workspace
    root: Path
    pins: Pins
    evidence: Evidence
    runner: CheckRunner
    rooms: Rooms
    obstacles: Obstacles
    judgings: int = 1
    redactor: Redactor = NOTHING_SECRET
    blobs: Blobs | None = None  # keeps what checks read

    def judge(self, case: Case) -> Verdict:
        """One verdict, bound to the content it was made on."""
        try:
            with self.workspace.time_limit(case.snapshot_s):
                return self._judge(case)
        except (SnapshotTooSlow, SetupFailed) as error:
            # There is no newer content to bind it to, and unknown is never kept.
            known = Snapshot(self.workspace.last_digest or self.pins.snapshot, "", 0)
            verdict = self._unjudged(case, self._key(case, known), known)
            said, tail = f"could not judge: {error.message}", error.facts.get("output_tail", "")
            if isinstance(error, SetupFailed):
                said += f"; {error.hint}"
            return replace(verdict, message=said, output_tail=tail)

    def _judge(self, case: Case) -> Verdict:
        before = self.workspace.still(case.content) or self.workspace.snapshot()
        self.workspace.remove_caches()
        key = self._key(case, before)
        verdict = self._unjudged(case, key, before)
        compared = self._compared(case, before)
        if compared.tampering:
            return tampered(verdict, compared.tampering)
        refused = unreadable(self.workspace.closed) or self.obstacles.find(case.contract)
        if refused is not None:
            return replace(verdict, **refused._asdict())
        earlier = earlier_verdict(self.evidence, case, key)
        if earlier is not None and case.may_reuse(earlier):
            return reused(verdict, earlier)
        return self._run(case, verdict, before, earlier, compared)

    def try_here(self, case: Case, judged: Verdict) -> Verdict:
        """Try in the workspace what was red beside it; where it ends otherwise, judge it here."""
        case, now = replace(case, beside=False), self.workspace.snapshot()
        spot = self.rooms.place_for(case.contract, now.digest)
        if now.digest != judged.snapshot or isinstance(spot, UnboundVerdict):
            return judged
        found = self._explained(case, self._unjudged(case, judged.key, now), judged, now, spot)
        return judged if found is judged else self.judge(case)

    def guard_only(self, case: Case) -> Verdict | None:
        """A refusal where something protected was changed; the contract itself is not run."""
        now = self.workspace.snapshot()
        found = self._compared(case, now).tampering
        return tampered(self._unjudged(case, self._key(case, now), now), found) if found else None

    def _run(
        self,
        case: Case,
        verdict: Verdict,
        before: Snapshot,
        earlier: Entry | None,
        compared: Compared,
    ) -> Verdict:
        try:
            spot = self.rooms.place_for(case.contract, before.digest)
        except SetupFailed as failed:
            if case.before_work or not self.rooms.sets_up(self.pins.snapshot, failed):
                raise
            return unbuilt(verdict, failed)
        if isinstance(spot, UnboundVerdict):
            return replace(verdict, **spot._asdict())
        note = spot.note
        if spot.setup is None and not case.before_work:
            note = "; ".join(filter(None, (note, self.since_approval.needs_setup(before))))
        verdict = replace(verdict, judged_in=spot.judged_in, room=note)
        caches = () if case.provisional or spot.setup is not None else compared.caches
        if case.beside and (caches or spot.judged_in is not JudgeIn.CLEAN):
            return replace(verdict, **NEEDS_WORKSPACE._asdict())
        loose, about = LooseFiles(), (self.pins, self.workspace, compared.made)
        if not case.before_work:  # ignored files that the check may obey, and times of others
            loose = LooseFiles.of(*about, spot.setup is not None)
        if spot.judged_in is JudgeIn.CLEAN and not caches:
            return self._run_in(spot, case, verdict, before, earlier, loose)
        with self.workspace.without_caches(caches):
            return self._run_in(spot, case, verdict, before, earlier, loose)

    def _run_in(
        self,
        spot: JudgingPlace,
        case: Case,
        verdict: Verdict,
        before: Snapshot,
        earlier: Entry | None,
        loose: LooseFiles,
    ) -> Verdict:
        contradicts = said(Reason.EXPECTATION, earlier)
        times = max(self.judgings, CONFIRMATIONS if contradicts else 1)
        judged, opened = self._run_once(case, verdict, before, spot, loose)
        for _ in range(times - 1 if judged.kept else 0):
            spot = self.rooms.again(spot, before.digest)
            again, more = self._run_once(case, verdict, before, spot, loose)
            opened = opened.joined(more)
            if not again.kept:
                return flaky(again)
        if judged.kept and contradicts and self._sealed(case.contract):
            return flaky(judged)
        if not judged.kept:
            judged = self._explained(case, verdict, judged, before, spot)
        if case.before_work and self.blobs is not None and opened != OpenedFiles():
            read = opened.to_bytes(self.workspace.manifest(before.digest))
            kept = self.blobs.put_blob(read, durable=False)
            judged = replace(judged, read=kept)
        if judged.kept and not case.before_work:
            outside = self.since_approval.outside(case.contract, case.guard, before)
            if outside:
                return out_of_bounds(judged, outside, case.guard)
            judged = self._without_influences(case, judged, before, spot, opened, loose)
        if judged.kept and case.contract.heldout is not None:
            return self._held_out(case, judged, before, spot, said(Reason.HELD_OUT, earlier))
        return judged

    def _explained(
        self, case: Case, verdict: Verdict, judged: Verdict, before: Snapshot, spot: JudgingPlace
    ) -> Verdict:
        """Find out if something of the machine keeps the check from working."""
        from signoff.verification import trials  # noqa: PLC0415 - of failures

        if not case.before_work:
            told = self.evidence.verdicts_on(case.subject, self.pins.snapshot)
            return trials.denied_since(judged, told, self.runner.enclosure, self.root)
        if case.beside and trials.may_differ_here(case, judged, self.pins.snapshot, self.rooms):
            return judged  # it is not here now, and is tried later

        def run(place: JudgingPlace, runner: CheckRunner) -> Verdict:
            if before.digest != self.pins.snapshot:
                return judged  # agents worked on it: it decides nothing about where it is judged
            place = self.rooms.again(place, before.digest)
            return replace(self, runner=runner)._run_once(case, verdict, before, place)[0]

        contract, texts = case.contract, self._texts(case.contract, before.digest)
        about = contract, texts, judged, spot
        return trials.Trial(*about, self.workspace, self.runner, run).explain()

    def _sealed(self, contract: Contract) -> bool:
        """True when nothing but the content can have changed the answer."""
        return self.runner.enclosure.sealed and contract.network is not True

    def _without_influences(
        self,
        case: Case,
        judged: Verdict,
        before: Snapshot,
        spot: JudgingPlace,
        opened: OpenedFiles,
        loose: LooseFiles,
    ) -> Verdict:
        """Judge again with every changed influence as approved, if there is any.

        What holds then too was decided by the work. What does not was decided by those files: a
        person says whether the plan lacks the line that allows them.
        """
        opened = opened.joined(read_before(self.blobs, case.read_sets))
        contradicted = was_broken(self.evidence, case.subject, before)
        about, changes = (case.contract, case.guard, before), self.since_approval.influence_changes
        found = changes(*about, opened, loose, made=spot.setup, contradicted=contradicted)
        shown = tuple(storable_path(influence.path) for influence in found.all)
        judged = replace(judged, unwatched=opened.why_not if shown else "")
        in_room = spot.judged_in is JudgeIn.CLEAN
        if not shown or (case.provisional and not in_room):
            return replace(judged, influences=shown)
        approved, away = self.pins.snapshot, frozenset(i.path for i in found.beside)
        if case.beside and away and not case.provisional:
            return replace(judged, **NEEDS_WORKSPACE._asdict())
        paths = frozenset(influence.path for influence in found.content)
        every = paths.union(influence.path for influence in found.makes)
        # While the agent lives, nothing of its workspace is moved, not even for a while.
        held = nullcontext(away) if case.provisional else loose.as_approved(self.workspace, away)
        try:
            with held as absent:
                if in_room:
                    then = self.workspace.snapshot()
                    put = partial(self.workspace.content_with, before.digest, approved)
                    content = with_times(put(paths), found.times)
                    made_of = put(every)
                    spot = self.rooms.again(spot, before.digest, Instead(content, absent, made_of))
                    again, _ = self._run_once(case, judged, then, spot, set_back=paths)
                else:
                    if spot.setup is not None:
                        with self.workspace.set_back(approved, every) as then:
                            spot = self.rooms.again(spot, then.digest)
                    with self.workspace.set_back(approved, paths, found.times) as then:
                        again, _ = self._run_once(case, judged, then, spot, set_back=paths)
            again = replace(again, snapshot=judged.snapshot)
        except SetupFailed as failed:  # with the files as they are now it went well: these decide
            again = replace(judged, result=Result.BROKEN, output_tail=failed.facts["output_tail"])
        if again.kept:
            return replace(judged, influences=shown)
        return influenced(again, found.all, case.guard)

    def _run_once(
        self,
        case: Case,
        verdict: Verdict,
        before: Snapshot,
        spot: JudgingPlace,
        loose: LooseFiles | None = None,
        set_back: Collection[str] = (),
    ) -> tuple[Verdict, OpenedFiles]:
        """Run the contract once; with the verdict, which files of the workspace it opened."""
        texts = self._texts(case.contract, before.digest)
        manifest = self.workspace.manifest(before.digest)
        known = None if case.before_work else read_before(self.blobs, case.read_sets)
        fixed = Fixed.of(case.guard, texts, set_back, known.files if known else ())
        if self.runner.enclosure.isolation.has_own_view:
            spot, fixed = fixed.shown(spot)
        folders = dict.fromkeys((*self.workspace.folders, *(loose or LooseFiles()).folders))
        on_disk = spot.on_disk or spot.folder
        guarded = (*case.guard.protects, *case.guard.lasting) if case.before_work else ()
        lay_there = files_under(guarded, on_disk)
        with OpenWatch(on_disk, folders, fixed.watched) as watch:
            seen = self.runner.run(case.contract, spot, watch)
        opened, answer = watch.seen, compare(case.contract, seen.observation)
        if answer.result is Result.BROKEN:
            answer = fixed.refused(seen.observation) or refused_socket(seen.observation) or answer
        counts = count(case.contract, seen, texts, self.redactor)
        if answer.result is Result.KEPT:
            answer = (
                judge_counts(case.contract, counts, case.baseline, texts)
                or self._suppressed(case, before, opened, counts)
                or remarked(answer, case.contract, seen, counts, texts)
            )
        after = self.workspace.snapshot()
        moved = who_moved(self.rooms, self.workspace, before, after, spot)
        bent = self.since_approval.bent(case.guard, opened, known, manifest) if known else ()
        moved = moved or unreadable(self.workspace.closed) or fixed.written(manifest, opened, bent)
        judged = replace(
            ran(verdict, moved or answer, seen.observation, after),
            output_tail=output_tail(seen.observation, self.redactor),
            counts=None if counts is None else counts.to_data(with_names=case.before_work),
            wrote=() if moved else made_meanwhile(lay_there, files_under(guarded, on_disk)),
        )
        return judged, opened

    def _texts(self, contract: Contract, digest: str) -> tuple[str, ...]:
        """All shell text that the contract runs on this content."""
        return tuple(s.text for s in texts_on(self.workspace, contract.command, digest))

    @property
    def since_approval(self) -> SinceApproval:
        """Changes since the plan was approved."""
        return SinceApproval(self.workspace, self.pins, self.blobs)

    def _suppressed(
        self, case: Case, now: Snapshot, opened: OpenedFiles, counts: TestCounts | None
    ) -> UnboundVerdict | None:
        """The answer when checks were silenced since the approval, or had less to look at."""
        about = case.contract, self._texts(case.contract, now.digest), case.baseline
        checks = checks_of(*about, self.workspace.manifest(now.digest))
        if checks is None or case.phase is Phase.BASELINE:
            return None
        facts = checks, case.guard, now, opened, read_before(self.blobs, case.read_sets), counts
        return judge_suppressions(self.since_approval.suppressions(*facts))

    def _held_out(
        self, case: Case, judged: Verdict, before: Snapshot, spot: JudgingPlace, contradicts: bool
    ) -> Verdict:
        """The check behind the visible one; only a refusal of its own can contradict it."""
        sealed = self._sealed(case.contract)
        for _ in range(CONFIRMATIONS if contradicts and not sealed else 1):
            spot = self.rooms.again(spot, before.digest)
            behind = self._behind(case, judged, before, spot)
            if not behind.kept:
                return behind
        return flaky(behind) if contradicts and sealed else behind

    def _behind(self, case: Case, judged: Verdict, before: Snapshot, spot: JudgingPlace) -> Verdict:
        """The agent learns that it failed, nothing else; why it could not run, a person learns."""
        check = self.obstacles.heldout(case.contract)
        hidden = check.as_contract(case.contract)
        try:
            linked = too_large_to_copy(self.root, self.workspace.byproducts, self.workspace.apart)
            restore = partial(self.workspace.restore, self.pins.snapshot)
            approved = None if case.before_work else restore
            answer, observation = self.runner.ask_heldout(check, hidden, spot, linked, approved)
        except OSError as error:
            return could_not_run(judged, f"its files cannot be copied: {error}")
        judged = replace(judged, heldout_kind=check.kind)
        moved = who_moved(self.rooms, self.workspace, before, self.workspace.snapshot(), spot)
        if moved is not None:
            return could_not_run(judged, moved.message, Reason.MOVED)
        if answer.result is Result.UNKNOWN:
            said = f"{answer.message}\n{output_tail(observation, self.redactor)}".strip()
            return could_not_run(judged, said, answer.reason)
        refused = {} if answer.result is Result.KEPT else {**answer._asdict(), "output_tail": ""}
        return replace(judged, heldout=answer.result, **refused)

    def _key(self, case: Case, content: Snapshot) -> str:
        contract, environ = case.contract, self.runner.environ
        return EvidenceKey(
            contract=contract,
            pins=self.pins.digest,
            snapshot=content.digest,
            environment=content.environment,
            workspace=str(self.root),
            search_path=self.pins.search_path,
            variables={name: environ[name] for name in contract.env if name in environ},
            isolation=self.runner.enclosure.isolation,
            judged_in=self.rooms.wanted(contract),
        ).digest

    def _unjudged(self, case: Case, key: str, content: Snapshot) -> Verdict:
        return unjudged(case.subject, case.phase, key, content, self.runner.enclosure.isolation)

    def _compared(self, case: Case, content: Snapshot) -> Compared:
        contract, guard, path = case.contract, case.guard, self.pins.search_path
        texts = partial(self._texts, contract, content.digest)
        beside = changed_git_rules(self.pins, self.root, guard, texts)
        found = compare_with_pins(contract, guard, self.workspace, content.digest, path)
        return replace(found, tampering=(*found.tampering, *beside))
