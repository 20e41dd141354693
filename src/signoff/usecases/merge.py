"""`merge`: a signed-off plan's branch into the base, judged again on the merged content first.

`merge --order`: finished plans in the order in which they should be merged.

    content is what was signed off → commit → merge in a scratch folder → judge → move the base

Nothing moves before everything is kept; a conflict or a regression becomes a question for a person.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.globs import matches_any
from signoff.domain.ledger import Cause, Choice, Draft, Kind
from signoff.domain.names import shown_name
from signoff.domain.text import shown_list
from signoff.errors import NotSignedOff, UsageError
from signoff.gate.dependencies import Finished, MergeOrder, merge_order
from signoff.gate.gate import Gate, evaluate
from signoff.gate.ready import PlanStanding
from signoff.storage.home import hold
from signoff.storage.records import Holder
from signoff.storage.vault import Vault
from signoff.usecases.audit import WANTING, AuditResult, Line
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.history import ApprovedPlan, approved_by, trusted_history
from signoff.usecases.marks import progress_of
from signoff.usecases.merge_judging import judge_merged
from signoff.usecases.merged import lived_apart, merge_entries
from signoff.usecases.openwork import taken
from signoff.usecases.person import refuse_in_attempt
from signoff.usecases.pinning import lacked_by
from signoff.usecases.ready import Census, refuse_unready, take_census
from signoff.usecases.workspaces import approved_workspace, workspace_lock
from signoff.usecases.worktree import base_branch
from signoff.workspace.advancing import advance
from signoff.workspace.branches import diff_size, existing_head, is_ancestor, make_commit, merge
from signoff.workspace.committing import commit_content, unjudged_changes
from signoff.workspace.folders import Repository
from signoff.workspace.git import Git
from signoff.workspace.trees import tree_changes
from signoff.workspace.worktrees import find_worktree, list_worktrees

_MOST_COMPARED = 20_000_000
_MOST_NAMED = 10
_HEADS = ("+++", "---")


class MergeReport(Struct, frozen=True):
    """Result of a merge; `commit` is None when the base was left as it was."""

    place: PlanLocation
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
        """Contracts that could not be judged again, named for that reason."""
        return tuple(line for line in self.lines if line.finding is AuditResult.NOT_RERUN)


def merge_plan(
    harness: Harness,
    place: PlanLocation,
    into: str | None = None,
    tell: Callable[[str], None] = lambda _: None,
    *,
    anyway: bool = False,
) -> MergeReport:
    """Merge one plan; only a person's own command may.

    What it depends on comes first, unless the person says `anyway`.
    """
    by = refuse_in_attempt(harness.environ, harness.home.path)
    if not anyway:
        refuse_unready(harness, place, "merge")
    approved = _signed_off(harness, place)
    main = Path(place.record.repository or "")
    repository = Repository(place.workspace, main)
    what = f"merging in `{main}`"
    with (
        hold(harness.home.locks, f"merge-{main}", Holder.current(str(place.path)), what=what),
        Git.open(repository, harness.environ) as git,
    ):
        base = into or base_branch(git, repository)
        head = existing_head(git, base)
        for entry in merge_entries(approved.history):
            commit = entry.data["commit"]
            if entry.data["base"] == base and is_ancestor(git, commit, head):
                return MergeReport(place, base, entry.data["branch"], commit, already=True)
        _refuse_gone(approved)
        branch = find_worktree(git, place.workspace).branch
        if branch is None:
            hint = f"cd {shlex.quote(str(place.workspace))} && git switch BRANCH"
            raise UsageError(f"`{place.workspace}` is on no branch", hint)
        if branch == base:
            raise UsageError(
                f"`{branch}` cannot be merged into itself", "signoff merge --into BASE"
            )
        return _Merge(harness, approved, git, base, branch, by, tell).perform()


def _signed_off(harness: Harness, place: PlanLocation) -> ApprovedPlan:
    """The sign-off by the ledger, checked entry by entry: never by a mark or a branch."""
    history = trusted_history(harness.ledger, place.id)[1]
    name = shown_name(place.record.name)
    if not history.signed_off or history.run is None or history.finished is None:
        raise NotSignedOff(f"plan `{name}` was not signed off", f"signoff run {shlex.quote(name)}")
    if not lived_apart(history, place.record):
        raise UsageError(
            f"plan `{name}` was worked on in the main checkout: there is nothing to merge",
            "commit it there",
        )
    approved = approved_by(harness.ledger, place, history, history.run)
    if evaluate(approved.state, history.finished.data["snapshot"]).gate is Gate.SHUT:
        raise NotSignedOff(f"the ledger does not prove the sign-off of plan `{name}`")
    return approved


def _refuse_gone(approved: ApprovedPlan) -> None:
    """Refuse to merge when the worktree with the signed-off content is gone."""
    there = Path(approved.entry.data["workspace"])
    shown = shown_name(approved.place.record.name)
    if not there.is_dir():
        raise NotSignedOff(
            f"the worktree `{there}` is gone, and with it what was signed off",
            f"signoff worktree add {shlex.quote(shown)}, approve and run it again",
        )
    if there != approved.place.workspace:
        raise UsageError(
            f"plan `{shown}` was signed off in `{there}`",
            f"signoff merge {shlex.quote(shown)} --workspace {shlex.quote(str(there))}",
        )


class _Merge(Struct, frozen=True):
    harness: Harness
    approved: ApprovedPlan
    git: Git
    base: str
    branch: str
    by: str
    tell: Callable[[str], None]

    @property
    def place(self) -> PlanLocation:
        return self.approved.place

    @property
    def name(self) -> str:
        return shown_name(self.place.record.name)

    @property
    def run(self) -> str | None:
        return self.approved.history.run_id

    def perform(self) -> MergeReport:
        if older := lacked_by(self.approved.pins):
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
                self.harness,
                self.approved,
                self.git,
                base=base,
                tree=merged.tree,
                scratch=scratch,
                tell=self.tell,
            )
        if any(line.finding in WANTING for line in judged.lines):
            return replace(self._regression(judged.lines), notes=judged.notes)
        commit = base
        if not already:
            message = f"Merge plan {self.name}\n\nSigned off by signoff, run {self.run}\n"
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

    def _refuse_unjudged(self, base: str, tree: str) -> None:
        """Refuse files that are in no snapshot: nobody judged them, so they may not be merged."""
        workspace = approved_workspace(self.harness, self.approved)
        paths = unjudged_changes(self.git, workspace, base, tree)
        if paths:
            raise NotSignedOff(
                f"branch `{self.branch}` changes files that no check looks at: "
                f"{shown_list(paths, _MOST_NAMED)}",
                f"cd {shlex.quote(str(self.place.workspace))},"
                f" git checkout {shlex.quote(self.base)} -- FILES, and commit",
                {"paths": list(paths)},
            )

    def _undeclared(self, base: str, tree: str) -> tuple[str, ...]:
        """Files that the plan changed beyond those it declared."""
        touches = self.approved.plan.touches
        if not touches:
            return ()
        changed = (change.path for change in tree_changes(self.git, base, tree))
        return tuple(path for path in changed if not matches_any(touches, path))

    def _advance(self, commit: str, base: str) -> None:
        """Move the base, while nobody works in a checkout whose files move along with it."""
        holder = Holder.current(str(self.place.path))
        main = replace(self.place, workspace=Path(self.place.record.repository or ""))
        what = f"the workspace `{main.workspace}`"
        with hold(self.harness.home.locks, workspace_lock(main), holder, what=what):
            advance(self.git, self.base, commit, base)

    def _commit(self) -> str:
        """Commit what was signed off; work that moved on since is not what was judged."""
        holder = Holder.current(str(self.place.path))
        signed = self.approved.history.finished
        assert signed is not None
        with taken(self.harness, self.place, holder):
            workspace = approved_workspace(self.harness, self.approved)
            snapshot = signed.data["snapshot"]
            now = workspace.snapshot().digest
            if now != snapshot:
                changed = [change.path for change in workspace.diff(snapshot, now)]
                raise NotSignedOff(
                    f"`{self.place.workspace}` changed since plan `{self.name}` was signed off: "
                    f"{shown_list(changed, _MOST_NAMED)}",
                    "put it back, or approve and run the plan again:"
                    f" signoff approve {shlex.quote(self.name)}",
                    {"changed": changed},
                )
            message = f"Plan {self.name}, run {self.run}\n"
            done = commit_content(
                self.git, workspace, snapshot, branch=self.branch, message=message
            )
        return done.commit

    @contextmanager
    def _scratch(self) -> Iterator[Path]:
        """A folder beside the worktree; an earlier one was left by a process that was killed."""
        folder = self.place.workspace.parent / f".merging-{self.run}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _conflict(self, paths: tuple[str, ...]) -> MergeReport:
        said = (
            f"branch `{self.branch}` cannot be merged into `{self.base}`: "
            f"both changed {shown_list(paths, _MOST_NAMED)}; the base is as it was"
        )
        question = self._ask(said, {"conflicts": list(paths)})
        return MergeReport(
            self.place, self.base, self.branch, None, conflicts=paths, question=question
        )

    def _regression(self, lines: tuple[Line, ...]) -> MergeReport:
        bad = [line for line in lines if line.finding in WANTING]
        said = (
            f"merged into `{self.base}`, plan `{self.name}` does not hold: "
            + "; ".join(f"{line.subject} is {line.finding}: {line.message}" for line in bad)
            + "; the base is as it was"
        )
        context = {"broken": [f"{line.subject} {line.title}: {line.message}" for line in bad]}
        question = self._ask(said, context)
        return MergeReport(self.place, self.base, self.branch, None, lines=lines, question=question)

    def _ask(self, question: str, context: dict[str, list[str]]) -> str:
        """Ask a person, with one open question per plan: asking again would only bury it."""
        plan = self.place.id
        for entry in self.harness.ledger.open_escalations(plan):
            if entry.data["cause"] == Cause.MERGE:
                return str(entry.data["id"])
        count = sum(1 for e in self.approved.history.entries if e.data.get("cause") == Cause.MERGE)
        data = {
            "id": f"{self.run}-merge-{count + 1}",
            "cause": Cause.MERGE,
            "question": question,
            "context": context,
            "choices": [Choice.RETRY, Choice.ABORT],
        }
        self.harness.ledger.append(plan, [Draft(Kind.ESCALATION_OPENED, data)])
        return str(data["id"])

    def _record(self, commit: str, snapshot: str, lines: tuple[Line, ...]) -> None:
        """Record the merge after the base moved: killed in between, the same command finds it."""
        plan = self.place.id
        data = {
            "run": self.run,
            "branch": self.branch,
            "base": self.base,
            "commit": commit,
            "snapshot": snapshot,
            "lines": {line.subject: line.finding for line in lines},
            "by": self.by,
        }
        drafts = [Draft(Kind.PLAN_MERGED, data)]
        for entry in self.harness.ledger.open_escalations(plan):
            if entry.data["cause"] == Cause.MERGE:
                answer = {"id": entry.data["id"], "choice": Choice.RETRY, "note": "merged"}
                said = {**answer, "by": self.by, "interactive": False}
                drafts.append(Draft(Kind.ESCALATION_ANSWERED, said))
        self.harness.ledger.append(plan, drafts)
        progress = progress_of(self.harness, self.place)
        if progress is not None:
            progress.bring_up_to_date()


class UnmergedPlan(Struct, frozen=True):
    name: str
    branch: str
    size: int


class MergeOrderReport(Struct, frozen=True):
    base: str
    plans: dict[str, UnmergedPlan]
    answer: MergeOrder


def order_of_merges(harness: Harness) -> MergeOrderReport:
    """Look at every plan that was signed off on a branch of its own and is not merged."""
    return order_in(harness, take_census(harness))


def order_in(harness: Harness, census: Census) -> MergeOrderReport:
    """The order of merges from a census that was just taken."""
    place = census.place
    if place.repository is None:
        raise UsageError(f"`{place.worktree}` is not in a git repository", "git init")
    repository = Repository(place.worktree, place.repository)
    unmerged = [p for p in census.plans if p.standing is PlanStanding.SIGNED_OFF_UNMERGED]
    with Git.open(repository, harness.environ) as git:
        base = base_branch(git, repository)
        trees = {tree.path: tree for tree in list_worktrees(git)}
        plans = {plan.name: UnmergedPlan(plan.name, "", 0) for plan in unmerged}
        for plan in unmerged:
            history = plan.history
            assert history.run is not None and history.finished is not None
            # The branch of the worktree it was signed off in; one that is gone has no size.
            workspace = Path(history.run.data["workspace"])
            tree = trees.get(workspace)
            if tree is None or tree.branch is None:
                continue
            there = PlanLocation(plan.path, plan.record, workspace, Vault(plan.path.parent))
            approved = approved_by(harness.ledger, there, history, history.run)
            text = approved_workspace(harness, approved).text_diff(
                approved.pins.snapshot, history.finished.data["snapshot"], max_bytes=_MOST_COMPARED
            )
            lines = (line for line in text.split("\n") if line[:3] not in _HEADS)
            signed = sum(line[:1] in ("+", "-") for line in lines)
            # What was signed off need not be committed yet, so the larger measure counts.
            size = max(diff_size(git, base, tree.branch), signed)
            plans[plan.name] = UnmergedPlan(plan.name, tree.branch, size)
    finished = [
        Finished(p.name, p.plan.depends_on if p.plan else (), plans[p.name].size) for p in unmerged
    ]
    merged = [p.name for p in census.plans if p.standing is PlanStanding.SIGNED_OFF]
    return MergeOrderReport(base, plans, merge_order(finished, merged))
