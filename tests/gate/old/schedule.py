"""The steps of a plan in their order, with `for_each` lists filled in as they are read."""

from __future__ import annotations

from signoff.domain.plan import Plan, Step, expand


class Schedule:
    """The plan's steps as they stand in this run; expanded steps replace their template."""

    def __init__(self, plan: Plan):
        self.plan = plan
        self.steps: list[Step] = list(plan.steps)
        self._position = {step.id: i for i, step in enumerate(self.steps)}
        self._children: dict[str, tuple[str, ...]] = {}

    def expand(self, step_id: str, items: tuple[str, ...]) -> None:
        """Put one step per item in the place of a `for_each` step."""
        index = self._position[step_id]
        children = expand(self.steps[index], items)
        self.steps[index : index + 1] = children
        self._children[step_id] = tuple(child.id for child in children)
        self._position = {step.id: i for i, step in enumerate(self.steps)}

    def has(self, step_id: str) -> bool:
        """Whether a step with this id is to be done in this run."""
        return step_id in self._position

    def step(self, step_id: str) -> Step:
        """The step with this id, expanded ones included."""
        return self.steps[self._position[step_id]]

    def position(self, step_id: str) -> int:
        """Where the step stands in the order."""
        return self._position[step_id]

    def needed(self, step: Step) -> tuple[str, ...]:
        """The ids that must be settled before this step may start."""
        ids: list[str] = []
        for need in step.needs:
            ids.extend(self._children.get(need, (need,)))
        return tuple(ids)

    def parents(self) -> dict[str, tuple[str, ...]]:
        """Templates that were expanded, with the ids that took their place."""
        return dict(self._children)
