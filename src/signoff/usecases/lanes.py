"""`run`: makers of lanes, where agents work beside the workspace, and of rooms to judge in."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from signoff.gate.beside import needs_the_line
from signoff.orchestrator.openrun import LaneMaker
from signoff.process.environment import safe_search_path
from signoff.usecases.harness import Harness
from signoff.usecases.openwork import OpenWork
from signoff.usecases.workspaces import workspace_key, workspace_lock


def lanes_need(work: OpenWork) -> str:
    """The thing that is missing for lanes, and for judging beside the workspace; empty if none."""
    if not work.enclosure.of_agents.has_own_view:
        return "a sandbox that shows a lane in the workspace's place: bubblewrap, or namespaces"
    if not work.judge.rooms.by_default:
        return "clean rooms, which `[sandbox] clean_room` turns off"
    return ""


def lanes_of(
    harness: Harness, work: OpenWork, asked: int | None, tell: Callable[[str], None]
) -> LaneMaker | None:
    """Lanes as many as were asked for; one is needed where an earlier driver had some."""
    steps = work.approved.plan.steps
    # Where nobody says how many, a plan that asks for candidates gets them at once.
    jobs = asked or max([harness.settings.jobs, *(len(step.roles) for step in steps)])
    if why_not := lanes_need(work):
        if jobs > 1 and sum(len(step.roles) for step in steps) > 1:
            tell(f"agents work one after the other: side by side needs {why_not}")
        return None
    for subject in work.approved.plan.subjects if jobs > 1 else ():
        if subject.contract is not None and (line := needs_the_line(subject.contract)):
            tell(f"{subject.id}: in line, not beside others: `{line}`")
    return lane_maker(harness, work, jobs)


def lane_maker(harness: Harness, work: OpenWork, jobs: int) -> LaneMaker:
    """Maker of the lanes and judging rooms of this workspace, in the home folder."""
    place = work.approved.place
    path = safe_search_path(harness.environ.get("PATH", ""), place.workspace)
    return LaneMaker(
        jobs,
        {**harness.environ, "PATH": path},
        harness.home.lanes / workspace_key(place.workspace),
        work.workspace,
        workspace_lock(place),
        work.approved.settings.share,
    )


def strength_rooms(harness: Harness, work: OpenWork, jobs: int) -> LaneMaker | None:
    """Rooms for wrong versions of the work; None where contracts have no clean room."""
    rooms = work.judge.rooms
    if rooms.clean is None or not rooms.by_default:
        return None
    maker = lane_maker(harness, work, jobs)
    # Apart from lanes, in which agents may be at work meanwhile.
    return replace(maker, folder=maker.folder / "strength", mark=f"{maker.mark}-strength", share=())
