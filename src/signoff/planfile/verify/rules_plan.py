"""Rules about the plan as a whole: order, files between steps, budget, roles."""

from __future__ import annotations

import re
from collections.abc import Iterator

from signoff.domain.findings import Finding
from signoff.domain.globs import intersect, matches, matches_any
from signoff.domain.plan import (
    DEFAULT_STEP_TIMEOUT_S,
    Cost,
    Plan,
    Postcondition,
    Step,
    Subscription,
    SubscriptionKind,
)
from signoff.planfile.findinglog import did_you_mean
from signoff.planfile.verify.view import ITEM, VerifyView

HUMAN = "human"
_MIN_TOKENS_PER_STEP = 1000
_MIN_USD_PER_STEP = 0.001
_MIN_SECONDS_PER_STEP = 1.0


def needs_make_sense(view: VerifyView) -> Iterator[Finding]:
    """No step waits for itself, directly or around a circle."""
    seen: set[str] = set()
    for step in view.plan.steps:
        # A second step of the same number is a finding of the parser, and means the first one here.
        if step.id in step.needs and step.id not in seen:
            yield view.error(
                "needs-itself",
                view.line_of(step, "needs"),
                f"step {step.id} needs itself",
                "name the steps that must be done before",
                step.id,
            )
        seen.add(step.id)
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
    """Where nobody's word counts, a postcondition without a contract can never hold."""
    if not view.surroundings.waivers_forbidden:
        return
    for post in view.plan.postconditions:
        if post.contract is None:
            yield view.error(
                "postcondition-undecidable",
                post.line,
                f"postcondition {post.number} has no contract, and `forbid_waivers` lets nobody"
                " decide it by word",
                "indent a fenced command below it, or remove it",
            )


def subscriptions_exist(view: VerifyView) -> Iterator[Finding]:
    """What a step reads must be there, or be made by a step before it."""
    for place, step in enumerate(view.plan.steps):
        for subscription in step.subscriptions:
            if ITEM in subscription.target or leaves_workspace(subscription.target):
                continue
            if subscription.kind is SubscriptionKind.FILE:
                if not view.exists(subscription.target):
                    yield from _missing_file(view, place, step, subscription)
            elif not view.surroundings.topic_exists(subscription.target):
                yield view.warning(
                    "topic-missing",
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
    line = subscription.line or step.line
    # A folder or pattern that a later contract happens to name is no proof of who makes the file.
    sure = [p for p in makers if p.declared or p.pattern.rstrip("/") == path]
    if sure and not view.order.cycle:
        maker = view.plan.steps[sure[0].place].id
        yield view.error(
            "subscription-order",
            line,
            f"step {step.id} reads `{path}` without waiting for step {maker}, which makes it",
            f"put step {maker} first, or add it to `**needs:**`",
            step.id,
        )
        return
    yield view.warning(
        "subscription-missing",
        line,
        f"`{path}` does not exist and no earlier step makes it",
        "correct the path, or name it in an earlier step's `**produces:**`",
        step.id,
    )


def roles_exist(view: VerifyView) -> Iterator[Finding]:
    """Somebody must be there to do each step."""
    known = view.surroundings.role_names | {HUMAN}
    for step in view.plan.steps:
        if step.target and step.target not in known:
            advice = "add the role to signoff.toml or pass --role NAME='COMMAND'"
            yield view.error(
                "unknown-role",
                view.line_of(step, "target"),
                f"step {step.id} goes to `{step.target}`, and no such role is configured",
                did_you_mean(step.target, known, advice, listed=True),
                step.id,
            )


def roles_can_work(view: VerifyView) -> Iterator[Finding]:
    """Who is to do a step can be started, and gets what it asks for; told once per role."""
    seen: set[str] = set()
    for step in view.plan.steps:
        if step.target in seen or step.target not in view.surroundings.role_names - {HUMAN}:
            continue
        seen.add(step.target)
        for trouble in view.surroundings.role_troubles(step.target):
            yield view.finding(
                trouble.severity,
                trouble.code,
                view.line_of(step, "target"),
                trouble.message,
                trouble.hint,
                step.id,
            )


def budget_is_possible(view: VerifyView) -> Iterator[Finding]:
    """A budget below what the plan itself says it needs."""
    budget, steps = view.plan.budget, view.plan.steps
    limits = (budget.tokens, budget.usd, budget.wall_s)
    if any(limit is not None and limit <= 0 for limit in limits):
        yield view.error(
            "budget-empty",
            budget.line,
            "the budget allows nothing at all",
            "name positive amounts, or leave the limit out",
        )
        return
    cost = sum((s.estimate for s in steps if s.estimate), Cost())
    pairs = ((cost.tokens, budget.tokens), (cost.usd, budget.usd))
    if any(limit is not None and needed > limit for needed, limit in pairs):
        yield view.warning(
            "budget-below-estimates",
            budget.line,
            f"the steps are estimated at {cost.tokens} tokens and ${cost.usd:g}, more than the"
            " budget",
            "raise the budget, or expect to be asked when it is used up",
        )
    contracts = [s.contract.timeout_s for s in view.subjects if s.contract]
    stated = [s.timeout_s for s in steps if s.timeout_s != DEFAULT_STEP_TIMEOUT_S]
    longest_s = max((*contracts, *stated), default=0.0)
    if budget.wall_s is not None and longest_s > budget.wall_s:
        yield view.warning(
            "budget-below-timeout",
            budget.line,
            f"one step may take {longest_s:g} s, the whole plan only {budget.wall_s:g} s",
            "lengthen the budget, or shorten the timeout",
        )
    yield from _thin_budget(view)


def _thin_budget(view: VerifyView) -> Iterator[Finding]:
    budget, count = view.plan.budget, len(view.plan.steps)
    for amount, least, unit in (
        (budget.tokens, _MIN_TOKENS_PER_STEP, "tokens"),
        (budget.usd, _MIN_USD_PER_STEP, "USD"),
        (budget.wall_s, _MIN_SECONDS_PER_STEP, "seconds"),
    ):
        if amount is not None and count and amount / count < least:
            yield view.warning(
                "budget-thin",
                budget.line,
                f"{amount:g} {unit} for {count} steps is {amount / count:g} a step",
                "raise the budget, or expect to be asked when it is used up",
            )


def paths_stay_inside(view: VerifyView) -> Iterator[Finding]:
    """Globs and subscriptions name files of the workspace and nothing else."""
    for field, pattern, owner in _patterns(view.plan):
        if leaves_workspace(pattern):
            line = owner.line if owner is not None else 1
            if isinstance(owner, Step):
                line = view.line_of(owner, pattern)
            yield view.error(
                "path-outside",
                line,
                f"`{pattern}` in `{field}` leaves the workspace",
                "name a path relative to the workspace, without `..`",
                owner.id if owner is not None else None,
            )


def _patterns(plan: Plan) -> Iterator[tuple[str, str, Step | Postcondition | None]]:
    """Every path that the plan names in a field, with the field and whose it is."""
    for step in plan.steps:
        files = [s.target for s in step.subscriptions if s.kind is SubscriptionKind.FILE]
        for field in ("produces", "protects", "touches"):
            yield from ((field, pattern, step) for pattern in getattr(step, field))
        yield from (("subscriptions", path, step) for path in files)
    owners: tuple[Step | Postcondition, ...] = (*plan.steps, *plan.postconditions)
    for owner in owners:
        for field in ("writes", "may_change", "may_extend") if owner.contract is not None else ():
            yield from ((field, pattern, owner) for pattern in getattr(owner.contract, field))
    yield from (("touches", pattern, None) for pattern in plan.touches)


def steps_stay_in_the_plan(view: VerifyView) -> Iterator[Finding]:
    """What a step may change lies within what the plan says it changes."""
    bound = view.plan.touches
    for step in view.plan.steps if bound else ():
        for pattern in step.touches:
            if _reaches_outside(pattern, bound):
                yield view.warning(
                    "touches-outside-plan",
                    view.line_of(step, pattern),
                    f"step {step.id} may change `{pattern}`, which the plan's `touches` leaves out",
                    "add it to `touches` in the frontmatter: that alone keeps plans apart",
                    step.id,
                )


def _reaches_outside(pattern: str, bound: tuple[str, ...]) -> bool:
    """Whether some path that the pattern covers is beyond the bound, as far as one probe tells."""
    if "[" in pattern:
        return not any(intersect(pattern, glob) for glob in bound)
    probe = re.sub(r"\*\*|[*?]", lambda found: "q/q" if found[0] == "**" else "q", pattern)
    # A name without wildcards may be a folder's.
    return not (matches_any(bound, probe) or matches_any(bound, f"{probe}/q"))


def leaves_workspace(pattern: str) -> bool:
    """Absolute, in somebody's home, or upwards."""
    return pattern.startswith(("/", "~", "\\")) or ".." in pattern.replace("\\", "/").split("/")


def protects_something(view: VerifyView) -> Iterator[Finding]:
    """A protected pattern covers something, and nothing that the step itself makes."""
    for place, step in enumerate(view.plan.steps):
        for pattern in step.protects:
            if leaves_workspace(pattern) or ITEM in pattern:
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
                    f"`{pattern}` matches no file now, so nothing is protected but the absence",
                    "correct the pattern",
                    step.id,
                )


def produced_once(view: VerifyView) -> Iterator[Finding]:
    """Two steps that both claim to make the same files."""
    first: dict[str, str] = {}
    for step in view.plan.steps:
        for pattern in dict.fromkeys(step.produces):
            if pattern in first:
                yield view.note(
                    "produced-twice",
                    view.line_of(step, pattern),
                    f"`{pattern}` is produced by step {first[pattern]} and again by step {step.id}",
                    "fine if the later step replaces it; then name the earlier one in `**needs:**`",
                    step.id,
                )
            first.setdefault(pattern, step.id)
