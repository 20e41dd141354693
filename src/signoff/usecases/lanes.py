"""Makers of lanes and rooms: where agents work, and contracts are judged, beside the workspace."""

from __future__ import annotations

from msgspec.structs import replace

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


def lane_maker(harness: Harness, work: OpenWork, jobs: int) -> LaneMaker:
    """Maker of the lanes and judging rooms of this workspace, in the home folder."""
    place = work.approved.place
    path = safe_search_path(harness.environ.get("PATH", ""), place.workspace)
    return LaneMaker(
        jobs,
        {**harness.environ, "PATH": path},
        harness.home.path / "lanes" / workspace_key(place.workspace),
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
