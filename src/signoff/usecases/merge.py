"""`merge`: a signed-off plan's branch into the base, judged again on the merged content first.

    content is what was signed off → commit → merge in a scratch folder → judge → move the base

Nothing moves before everything is kept; a conflict or a regression becomes a question for a person.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from signoff.domain.escalation import Cause, Choice
from signoff.domain.globs import matches_any
from signoff.domain.ledger import Draft, Kind
from signoff.domain.names import shown_name
from signoff.errors import LedgerBroken, NotSignedOff, UsageError
from signoff.gate.gate import Gate, evaluate
from signoff.gate.state import State
from signoff.storage.locks import hold
from signoff.storage.records import Holder
from signoff.usecases.ground.history import (
    PlanHistory,
    fold_run,
    pinned_plan,
    read_history,
    read_pins,
)
from signoff.usecases.ground.person import refuse_in_attempt
from signoff.usecases.ground.site import PlanPlace, Site
from signoff.usecases.ground.upgrading import lacked_by
from signoff.usecases.ground.workbench import open_pinned_workspace, taken, workspace_lock
from signoff.usecases.merging.merged import lived_apart, merge_entries, signed_off
from signoff.usecases.merging.room import judge_merged
from signoff.usecases.proofs.rejudging import Finding, Line
from signoff.usecases.ready import refuse_unready
from signoff.usecases.running.marks import progress_of
from signoff.usecases.worktree import base_branch
from signoff.verification.pins import Pins
from signoff.workspace.advancing import advance
from signoff.workspace.branches import existing_head, is_ancestor, make_commit, merge
from signoff.workspace.committing import commit_content, unjudged_changes
from signoff.workspace.git import Git
from signoff.workspace.repository import Repository
from signoff.workspace.trees import tree_changes
from signoff.workspace.workspace import Workspace
from signoff.workspace.worktrees import find_worktree

_BAD = frozenset({Finding.BROKEN, Finding.UNKNOWN, Finding.UNPROVED})


@dataclass(frozen=True)
class MergeReport:
    """How it came out; `commit` is None when the base was left as it was."""

    place: PlanPlace
    base: str
    branch: str
    commit: str | None
    conflicts: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    question: str | None = None
    already: bool = False
    undeclared: tuple[str, ...] = ()  # changed, and not under the plan's `touches`
    notes: tuple[str, ...] = ()  # what the judging rested on besides the merged content

    @property
    def not_rerun(self) -> tuple[Line, ...]:
        """What could not be judged again, and is named for that reason."""
        return tuple(line for line in self.lines if line.finding is Finding.NOT_RERUN)

    @property
    def regressions(self) -> tuple[Line, ...]:
        """What does not hold on the merged content."""
        return tuple(line for line in self.lines if line.finding in _BAD)


def merge_plan(
    site: Site,
    place: PlanPlace,
    into: str | None = None,
    tell: Callable[[str], None] = lambda _: None,
    *,
    anyway: bool = False,
) -> MergeReport:
    """Merge one plan; only a person's own command may.

    What it depends on comes first, unless the person says `anyway`.
    """
    by = refuse_in_attempt(site.environ, site.home.path)
    if not anyway:
        refuse_unready(site, place, "merge")
    work = _finished_work(site, place)
    with (
        hold(
            site.home.locks,
            f"merge-{work.repository.main}",
            Holder.current(str(place.path)),
            what=f"merging in `{work.repository.main}`",
        ),
        Git.open(work.repository, site.environ) as git,
    ):
        base = into or base_branch(git, work.repository)
        head = existing_head(git, base)
        for entry in merge_entries(work.history):
            if entry.data["base"] == base and is_ancestor(git, entry.data["commit"], head):
                commit = entry.data["commit"]
                return MergeReport(place, base, entry.data["branch"], commit, already=True)
        _refuse_gone(work, place)
        branch = _own_branch(git, place.workspace)
        if branch == base:
            raise UsageError(
                f"`{branch}` cannot be merged into itself", "signoff merge --into BASE"
            )
        return _Merge(site, place, work, git, base, branch, by, tell).perform()


@dataclass(frozen=True)
class _Work:
    """A signed-off run, and the pins it went by."""

    repository: Repository
    history: PlanHistory
    state: State
    pins: Pins
    snapshot: str


def _finished_work(site: Site, place: PlanPlace) -> _Work:
    """The ledger's word, checked entry by entry: never a mark, a branch or a frontmatter."""
    chain = site.ledger.check_chain(place.record.id)
    if not chain.holds:
        raise LedgerBroken(f"entry {chain.first_bad} of the ledger is not to be trusted")
    history = read_history(site.ledger, place.record.id)
    name = shown_name(place.record.name)
    if not signed_off(history) or history.run is None or history.finished is None:
        raise NotSignedOff(f"plan `{name}` was not signed off", f"signoff run {shlex.quote(name)}")
    if place.record.repository is None or not lived_apart(history, place.record):
        raise UsageError(
            f"plan `{name}` was worked on in the main checkout: there is nothing to merge",
            "commit it there",
        )
    pins = read_pins(site.ledger, history.run)
    state = fold_run(history, pinned_plan(pins))
    snapshot: str = history.finished.data["snapshot"]
    if evaluate(state, snapshot).gate is Gate.SHUT:
        raise NotSignedOff(f"the ledger does not prove the sign-off of plan `{name}`")
    repository = Repository(place.workspace, Path(place.record.repository))
    return _Work(repository, history, state, pins, snapshot)


def _refuse_gone(work: _Work, place: PlanPlace) -> None:
    """What was signed off lies in one worktree, and nowhere else."""
    assert work.history.run is not None
    there = Path(work.history.run.data["workspace"])
    name = shlex.quote(shown_name(place.record.name))
    if not there.is_dir():
        raise NotSignedOff(
            f"the worktree `{there}` is gone, and with it what was signed off",
            f"signoff worktree add {name}, approve and run it again",
        )
    if there != place.workspace:
        raise UsageError(
            f"plan `{shown_name(place.record.name)}` was signed off in `{there}`",
            f"signoff merge {name} --workspace {shlex.quote(str(there))}",
        )


def _own_branch(git: Git, workspace: Path) -> str:
    branch = find_worktree(git, workspace).branch
    if branch is None:
        raise UsageError(
            f"`{workspace}` is on no branch",
            f"cd {shlex.quote(str(workspace))} && git switch BRANCH",
        )
    return branch


@dataclass(frozen=True)
class _Merge:
    """One merge, from the signed-off content to the base."""

    site: Site
    place: PlanPlace
    work: _Work
    git: Git
    base: str
    branch: str
    by: str
    tell: Callable[[str], None]

    def perform(self) -> MergeReport:
        if older := lacked_by(self.work.pins):
            self.tell(f"it {older}; what is merged is judged by pins taken from `{self.base}` now")
        ours = self._commit()
        base = existing_head(self.git, self.base)
        already = is_ancestor(self.git, ours, base)
        merged = merge(self.git, base, ours)
        if merged.conflicts:
            return self._conflict(merged.conflicts)
        self._refuse_unjudged(base, merged.tree)
        with self._scratch() as scratch:
            judged = judge_merged(
                self.site,
                self.place,
                self.work.pins,
                self.work.state,
                self.git,
                base=base,
                tree=merged.tree,
                scratch=scratch,
                tell=self.tell,
            )
        if any(line.finding in _BAD for line in judged.lines):
            return replace(self._regression(judged.lines), notes=judged.notes)
        commit = base
        if not already:
            title = f"Merge plan {shown_name(self.place.record.name)}"
            message = f"{title}\n\nSigned off by signoff, run {self.work.history.run_id}\n"
            commit = make_commit(self.git, merged.tree, (base, ours), message)
            self._advance(commit, base)
        self._record(commit, judged.snapshot, judged.lines)
        return MergeReport(
            self.place,
            self.base,
            self.branch,
            commit,
            lines=judged.lines,
            undeclared=self._undeclared(base, merged.tree),
            notes=judged.notes,
        )

    def _workspace(self) -> Workspace:
        plan = pinned_plan(self.work.pins)
        return open_pinned_workspace(self.site, self.place, self.work.pins, plan)

    def _refuse_unjudged(self, base: str, tree: str) -> None:
        """What is in no snapshot was judged by nobody: a branch must not carry it into the base."""
        paths = unjudged_changes(self.git, self._workspace(), base, tree)
        if paths:
            raise NotSignedOff(
                f"branch `{self.branch}` changes files that no check looks at: "
                f"{', '.join(paths[:10])}",
                f"cd {shlex.quote(str(self.place.workspace))},"
                f" git checkout {shlex.quote(self.base)} -- FILES, and commit",
                {"paths": list(paths)},
            )

    def _undeclared(self, base: str, tree: str) -> tuple[str, ...]:
        """What the plan changed beyond the files it said it would."""
        touches = pinned_plan(self.work.pins).touches
        if not touches:
            return ()
        changed = (change.path for change in tree_changes(self.git, base, tree))
        return tuple(path for path in changed if not matches_any(touches, path))

    def _advance(self, commit: str, base: str) -> None:
        """Nobody may be at work in a checkout whose files move along with the base."""
        holder = Holder.current(str(self.place.path))
        main = replace(self.place, workspace=self.work.repository.main)
        what = f"the workspace `{main.workspace}`"
        with hold(self.site.home.locks, workspace_lock(main), holder, what=what):
            advance(self.git, self.base, commit, base)

    def _commit(self) -> str:
        """What was signed off as a commit; work that moved on since is not what was judged."""
        holder = Holder.current(str(self.place.path))
        with taken(self.site, self.place, holder):
            workspace = self._workspace()
            now = workspace.snapshot().digest
            if now != self.work.snapshot:
                changed = [change.path for change in workspace.diff(self.work.snapshot, now)]
                name = shown_name(self.place.record.name)
                raise NotSignedOff(
                    f"`{self.place.workspace}` changed since plan `{name}` was signed off: "
                    f"{', '.join(changed[:10])}",
                    "put it back, or approve and run the plan again:"
                    f" signoff approve {shlex.quote(name)}",
                    {"changed": changed},
                )
            message = f"Plan {shown_name(self.place.record.name)}, run {self.work.history.run_id}\n"
            done = commit_content(
                self.git, workspace, self.work.snapshot, branch=self.branch, message=message
            )
        return done.commit

    @contextmanager
    def _scratch(self) -> Iterator[Path]:
        """A folder beside the worktree; an earlier one was left by a process that was killed."""
        folder = self.place.workspace.parent / f".merging-{self.work.history.run_id}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _conflict(self, paths: tuple[str, ...]) -> MergeReport:
        said = (
            f"branch `{self.branch}` cannot be merged into `{self.base}`: "
            f"both changed {', '.join(paths[:10])}; the base is as it was"
        )
        question = self._ask(said, {"conflicts": list(paths)})
        return MergeReport(
            self.place, self.base, self.branch, None, conflicts=paths, question=question
        )

    def _regression(self, lines: tuple[Line, ...]) -> MergeReport:
        bad = [line for line in lines if line.finding in _BAD]
        name = shown_name(self.place.record.name)
        said = (
            f"merged into `{self.base}`, plan `{name}` does not hold: "
            + "; ".join(f"{line.subject} is {line.finding}: {line.message}" for line in bad)
            + "; the base is as it was"
        )
        context = {"broken": [f"{line.subject} {line.title}: {line.message}" for line in bad]}
        question = self._ask(said, context)
        return MergeReport(self.place, self.base, self.branch, None, lines=lines, question=question)

    def _ask(self, question: str, context: dict[str, list[str]]) -> str:
        """One open question per plan: asking the same again would only bury it."""
        plan = self.place.record.id
        for entry in self.site.ledger.open_escalations(plan):
            if entry.data["cause"] == Cause.MERGE:
                return str(entry.data["id"])
        count = sum(1 for e in self.work.history.entries if e.data.get("cause") == Cause.MERGE)
        data = {
            "id": f"{self.work.history.run_id}-merge-{count + 1}",
            "cause": Cause.MERGE,
            "question": question,
            "context": context,
            "choices": [Choice.RETRY, Choice.ABORT],
        }
        self.site.ledger.append(plan, [Draft(Kind.ESCALATION_OPENED, data)])
        return str(data["id"])

    def _record(self, commit: str, snapshot: str, lines: tuple[Line, ...]) -> None:
        """Said after the base moved: killed in between, the same command finds it merged."""
        plan = self.place.record.id
        data = {
            "run": self.work.history.run_id,
            "branch": self.branch,
            "base": self.base,
            "commit": commit,
            "snapshot": snapshot,
            "lines": {line.subject: line.finding for line in lines},
            "by": self.by,
        }
        drafts = [Draft(Kind.PLAN_MERGED, data)]
        for entry in self.site.ledger.open_escalations(plan):
            if entry.data["cause"] == Cause.MERGE:
                answer = {"id": entry.data["id"], "choice": Choice.RETRY, "note": "merged"}
                said = {**answer, "by": self.by, "interactive": False}
                drafts.append(Draft(Kind.ESCALATION_ANSWERED, said))
        self.site.ledger.append(plan, drafts)
        progress = progress_of(self.site, self.place)
        if progress is not None:
            progress.bring_up_to_date()
