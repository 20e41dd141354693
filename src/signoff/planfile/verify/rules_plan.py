"""Rules about the plan as a whole: order, roles, budget, files between steps, files that decide."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from signoff.commands.analysis import analyse
from signoff.commands.launchers import started_by
from signoff.commands.makefile import MAKEFILES
from signoff.commands.programs import BUILTINS, PACKAGE_TOOLS
from signoff.commands.settings import settings_files
from signoff.domain.findings import Finding, Severity
from signoff.domain.globs import has_wildcard, literal, matches, matches_any
from signoff.domain.languages import is_document, is_settings, is_test, is_work, language_of
from signoff.domain.plan import Contract, Step, Subscription, SubscriptionKind
from signoff.domain.text import shown_list
from signoff.planfile.findinglog import did_you_mean
from signoff.planfile.subjects import (
    bound_of_plan,
    bound_of_step,
    demanded_files,
    files_named,
    is_plain,
    looked_at,
    measures,
    names_folder_of,
    names_for_change,
    speaks_of,
)
from signoff.planfile.verify.view import ITEM, ShellSubject, SubjectKind, VerifyView
from signoff.settings.roles import HUMAN_ROLE


def needs_make_sense(view: VerifyView) -> Iterator[Finding]:
    """Report a step that waits for itself, directly or around a circle."""
    cycle = view.order.cycle
    if cycle:
        step = view.plan.step(cycle[0])
        yield view.error(
            "needs-cycle",
            view.line_of(step, "needs"),
            f"steps wait for each other: {' → '.join(reversed(cycle))}",
            "remove one of these from `**needs:**`",
            step.id,
        )


def postconditions_decidable(view: VerifyView) -> Iterator[Finding]:
    """Report postconditions without a contract where no person's word counts: they never hold."""
    if not view.surroundings.waivers_forbidden:
        return
    for post in view.plan.postconditions:
        if post.contract is None:
            yield view.error(
                "postcondition-undecidable",
                post.line,
                f"postcondition {post.number} has no contract, and `forbid_waivers` does not let"
                " a person decide it",
                "indent a fenced command below it, or remove it",
            )


def subscriptions_exist(view: VerifyView) -> Iterator[Finding]:
    """Report a subscription that is neither there nor made by an earlier step."""
    for place, step in enumerate(view.plan.steps):
        for subscription in step.subscriptions:
            if ITEM in subscription.target:
                continue
            if subscription.kind is SubscriptionKind.FILE:
                if not view.exists(subscription.target):
                    yield from _missing_file(view, place, step, subscription)
            elif not view.surroundings.topic_exists(subscription.target):
                yield view.warning(
                    "subscription-missing",
                    subscription.line or step.line,
                    f"there is no topic `{subscription.target}`",
                    "create it, or remove the subscription; the prompt will say that it is missing",
                    step.id,
                )


def _missing_file(
    view: VerifyView, place: int, step: Step, subscription: Subscription
) -> Iterator[Finding]:
    path = subscription.target
    makers = [p for p in view.producers_of(path) if p.place != place]
    if any(view.order.comes_before(p.place, place) for p in makers):
        return
    # A folder or pattern that a later contract happens to name is no proof of who makes the file.
    sure = [p for p in makers if p.declared or p.pattern.rstrip("/") == path]
    late = view.plan.steps[sure[0].place].id if sure and not view.order.cycle else ""
    who = f"only step {late}, which it does not wait for, makes it" if late else "no step makes it"
    yield view.finding(
        Severity.ERROR if late else Severity.WARNING,
        "subscription-missing",
        subscription.line or step.line,
        f"`{path}` does not exist, and {who}",
        f"put step {late} first, or add it to `**needs:**`"
        if late
        else "correct the path, or name it in an earlier step's `**produces:**`",
        step.id,
    )


def roles_exist(view: VerifyView) -> Iterator[Finding]:
    """Somebody is there to do each step and can be started; told once per role."""
    known = view.surroundings.role_names | {HUMAN_ROLE}
    seen = {"", HUMAN_ROLE}
    for step, role in ((s, role) for s in view.plan.steps for role in s.roles):
        if role in seen:
            continue
        line = view.line_of(step, "target")
        if role not in known:
            advice = "name an agent (--agent claude) or add the role to signoff.toml"
            yield view.error(
                "unknown-role",
                line,
                f"step {step.id} goes to `{role}`, and no such role is configured",
                did_you_mean(role, known, advice, listed=True),
                step.id,
            )
            continue
        seen.add(role)
        for trouble in view.surroundings.role_troubles(role):
            yield view.finding(
                trouble.severity, trouble.code, line, trouble.message, trouble.hint, step.id
            )


def rubrics_have_a_judge(view: VerifyView) -> Iterator[Finding]:
    """A rubric needs a model of the user's: without one its subject waits for a person."""
    asked = [s for s in view.plan.subjects if s.rubric]
    if asked and not view.surroundings.judge_named:
        first, more = asked[0], f" (and {len(asked) - 1} more)" if len(asked) > 1 else ""
        line = view.line_of(first, "rubric") if isinstance(first, Step) else first.line
        yield view.warning(
            "judge-missing",
            line,
            f"`{first.id}`{more} has a rubric, and no model is named that gives opinions",
            'write `model = "PROVIDER:NAME"` under `[judge]` in your own configuration',
            first.id,
        )


def budget_is_enforced(view: VerifyView) -> Iterator[Finding]:
    """A limit in tokens or dollars needs somebody who tells them; told once per role."""
    for name in (n for n in view.plan.roles if n in view.surroundings.role_names - {HUMAN_ROLE}):
        trouble = view.surroundings.budget_trouble(name, view.plan.budget)
        if trouble is not None:
            line = view.plan.budget.line
            yield view.warning(trouble.code, line, trouble.message, trouble.hint)


def protects_something(view: VerifyView) -> Iterator[Finding]:
    """A protected pattern covers something, and nothing that the step itself makes."""
    for place, step in enumerate(view.plan.steps):
        for pattern in step.protects:
            if ITEM in pattern:
                continue
            line = view.line_of(step, pattern)
            own = next((p for p in step.produces if matches(pattern, p) or matches(p, pattern)), "")
            if own:
                yield view.error(
                    "protects-own-product",
                    line,
                    f"step {step.id} must not change `{pattern}`, but produces `{own}`",
                    "take the file out of `**protects:**` or out of `**produces:**`",
                    step.id,
                )
            elif not view.surroundings.matches_glob(pattern):
                makers = view.producers_of(pattern)
                if any(view.order.comes_before(p.place, place) for p in makers):
                    continue
                yield view.warning(
                    "protects-nothing",
                    line,
                    f"`{pattern}` matches no file now: all it keeps out is a new one",
                    "correct the pattern",
                    step.id,
                )


# Recipes decide a check as settings do.
_RECIPES = {"make": MAKEFILES, **dict.fromkeys(PACKAGE_TOOLS, ("package.json",))}
_MOST_LISTED = 3  # files of one folder; of more, the folder is proposed


def decides_its_own_check(view: VerifyView) -> Iterator[Finding]:
    """A file that a contract runs or obeys: its step speaks of it, and may not change it."""
    for subject in view.subjects:
        step = subject.step
        if subject.kind is not SubjectKind.CONTRACT or step is None:
            continue
        for path, line in _deciding(view, subject).items():
            settled = subject.may_write(path) or matches_any(step.protects, path)
            if not settled and speaks_of(step, path):
                yield subject.warning(
                    "protected-by-check",
                    line,
                    f"`{path}` decides this check, so it is protected from this step",
                    f"if this step is to change it, say `**may_change:** {path}`",
                )


def named_files_may_change(view: VerifyView) -> Iterator[Finding]:
    """Propose a line for files that a step names, a check may rest on and no line lets it change.

    A check that holds only with one of them changed is refused: the line is proposed before anybody
    works. Tests are proposed to be extended, since the approved ones then decide all the same.
    """
    for subject in view.subjects:
        step, contract = subject.step, subject.contract
        if subject.kind is not SubjectKind.CONTRACT or step is None or contract is None:
            continue
        if step.target == HUMAN_ROLE:
            continue
        named = _files_without_line(step, contract)
        read = _read_without_line(step, contract, view.read_by_checks.get(step.id, ()))
        deciding = _deciding(view, subject) if named or read else {}
        there = [path for path in named if path not in deciding and view.exists(path)]
        found = dict.fromkeys((*there, *(path for path in read if path not in deciding)))
        for field, paths in _by_field(found).items():
            so_far = contract.may_change if field == "may_change" else contract.may_extend
            yield view.note(
                "propose-may-change",
                view.line_of(step, paths[0]),
                f"step {step.id} names {shown_list(paths)}, and no line lets it change what a"
                " check may rest on",
                f"if this step is to change it: `**{field}:** {', '.join((*so_far, *paths))}`",
                step.id,
            )


def named_files_may_be_touched(view: VerifyView) -> Iterator[Finding]:
    """Propose `touches` for files that a step names and that lie outside its bound.

    A file that is not there yet is taken for one when its name says a folder.
    """
    of_plan = bound_of_plan(view.plan)
    for step in view.plan.steps:
        bound = bound_of_step(step, of_plan)
        if not bound or step.contract is None or step.target == HUMAN_ROLE:
            continue
        targets = [s.target for s in step.subscriptions if s.kind is SubscriptionKind.FILE]
        named = dict.fromkeys((*files_named(step), *targets))
        inside = (*bound, *step.protects, *map(literal, looked_at(step.contract.command)))
        outside = [
            path
            for path in named
            if ("/" in path.strip("/") or view.exists(path))
            and ITEM not in path
            and not matches_any(inside, path)
        ]
        if outside:
            so_far = step.touches or view.plan.touches
            yield view.note(
                "propose-touches",
                view.line_of(step, outside[0]),
                f"step {step.id} names {shown_list(outside)}, outside what `touches` lets it"
                " change",
                f"if this step is to change it: `**touches:** {', '.join((*so_far, *outside))}`",
                step.id,
            )


def proposed_lines(step: Step, read: Collection[str]) -> tuple[str, ...]:
    """Lines for files that the step speaks of and its check was seen to read."""
    contract = step.contract
    if contract is None or step.target == HUMAN_ROLE:
        return ()
    named = [path for path in _files_without_line(step, contract) if path in read]
    found = dict.fromkeys((*named, *_read_without_line(step, contract, read)))
    return tuple(f"**{f}:** {', '.join(paths)}" for f, paths in _by_field(found).items())


def _by_field(paths: Iterable[str]) -> dict[str, list[str]]:
    """The paths under the field that would allow them: tests are to be extended."""
    found: dict[str, list[str]] = {}
    for path in paths:
        is_module = language_of(path) is not None and not is_settings(path)
        field = "may_extend" if is_module and is_test(path) else "may_change"
        found.setdefault(field, []).append(path)
    return dict(sorted(found.items()))


def _read_without_line(step: Step, contract: Contract, read: Collection[str]) -> list[str]:
    """Files that the check read before, and that the step speaks of by name or folder.

    What is source code is the work, and so is what plain tools look at.
    """
    if not read or is_plain(contract.command):
        return []
    targets = [s.target for s in step.subscriptions if s.kind is SubscriptionKind.FILE]
    decided = (*contract.may_change, *contract.may_extend, *step.protects)
    settled = {*step.produces, *demanded_files(contract)}
    by_folder: dict[str, list[str]] = {}
    for path in sorted(read):
        if is_work(path) or path in settled or matches_any(decided, path):
            continue
        if names_for_change(step, path):
            by_folder.setdefault(path, []).append(path)
        elif folder := names_folder_of(step, path) or _target_above(targets, path):
            by_folder.setdefault(folder, []).append(path)
    return [
        name
        for folder, paths in by_folder.items()
        for name in (paths if len(paths) <= _MOST_LISTED else [f"{folder}/**"])
    ]


def _target_above(targets: list[str], path: str) -> str:
    """A subscribed folder that the file lies in."""
    return next((t.rstrip("/") for t in targets if path.startswith(f"{t.rstrip('/')}/")), "")


def _files_without_line(step: Step, contract: Contract) -> list[str]:
    """Files that could steer the check, named as if the step changed them, and not allowed."""
    beside = _beside_scripts(contract)
    named = [path for path in files_named(step) if _is_asked_about(path, beside)]
    subscribed = [s.target for s in step.subscriptions if s.kind is SubscriptionKind.FILE]
    read = [p for p in subscribed if _is_asked_about(p, beside) and not speaks_of(step, p)]
    could_steer = [path for path in (*named, *read) if ITEM not in path]
    if not could_steer:  # most of ten thousand steps: their contracts need not be read
        return []
    measured = measures(contract.command)
    settled = {p for p in step.produces if not has_wildcard(p)}
    # To be compared with and only to be read: judging protects that.
    settled |= measured.difference(named)
    decided = (*contract.may_change, *contract.may_extend, *step.protects)
    if is_plain(contract.command):  # nothing else is obeyed by such tools
        could_steer = [path for path in could_steer if path in measured]
    else:
        settled.update(demanded_files(contract))
    return [p for p in could_steer if p not in settled and not matches_any(decided, p)]


def _beside_scripts(contract: Contract) -> frozenset[tuple[str, bool]]:
    """Folders of the scripts that the contract runs; True where a shell runs them."""
    return frozenset(
        (script.path.rpartition("/")[0], language_of(script.path) in (None, "shell"))
        for script in analyse(contract.command).scripts
    )


def _is_asked_about(path: str, beside: Collection[tuple[str, bool]]) -> bool:
    """True when it is no work by its name, or source code that the check's own script may load."""
    if not is_work(path):
        return not is_document(path)
    folder, of_shell = path.rpartition("/")[0], language_of(path) == "shell"
    return any(folder == place and (place or of_shell == shell) for place, shell in beside)


def _deciding(view: VerifyView, subject: ShellSubject) -> dict[str, int]:
    """Scripts that the contract runs, and the files that its tools obey, with the line.

    A script that nobody made yet is told elsewhere.
    """
    found: dict[str, int] = {}
    for script in subject.facts.scripts:
        path = script.path
        if view.exists(path) or view.makers_of(path, besides=subject.place):
            found.setdefault(path, script.line)
    for call in subject.facts.calls:
        # Builtins start nothing: most calls of ten thousand contracts.
        for started in started_by(call.name, call.args) if call.name not in BUILTINS else ():
            for path in (*_RECIPES.get(started.tool, ()), *settings_files(started.tool)):
                found.setdefault(path, call.line)
    return {path: line for path, line in found.items() if ITEM not in path}
