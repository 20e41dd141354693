"""Explain why a check does not work here: tried in other places, before anybody works.

A check that is red before the work may be red because of the machine. Words in its output are only
a hint; the harness then runs it once more with the one thing changed that the hint is about. An
answer that differs is the proof, and the verdict names the line that helps.

explain → room or workspace? → the user's caches? → places that are denied? → a program missing?
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from signoff.commands.analysis import analyse, invocations_of
from signoff.commands.launchers import Invocation, is_plain
from signoff.commands.programs import BUILTINS, is_known, runner_of
from signoff.domain.ledger import Entry
from signoff.domain.plan import Contract, JudgeIn
from signoff.domain.text import shown_list, storable_path
from signoff.domain.verdict import Isolation, Reason, Result, Verdict
from signoff.process.environment import ENVIRONMENT_MARKS, left_out
from signoff.process.shell import find_tool
from signoff.verification.check_runner import CheckRunner
from signoff.verification.enclosure import (
    DENIED,
    DENIED_PLACES,
    SHIMS,
    Enclosure,
    JudgingPlace,
    denied_places,
    landlock_line,
    sandbox_line,
)
from signoff.verification.evidence import SAID_NO, Case
from signoff.verification.rooms import Rooms
from signoff.workspace.workspace import Workspace

MOST_NAMED = 3
_COARSE_NS = 20_000_000  # file times may lag behind the clock by a tick
# What a launcher makes its environments of; where it keeps them by default, below the user's cache.
_KEEPS_IN_CACHE = {"poetry": "pypoetry", "hatch": "hatch", "pipenv": "pipenv", "pdm": "pdm"}
_NO_VERSION = re.compile(r"\bNo version is set for (?:command|shim:) (\S+)")  # asdf, mise
_NO_MODULE = re.compile(r"No module named '?(\w+)")
# Each as one program says it, by its exact words.
_NOT_FOUND = (
    r"(?:^|[:\s]){}: (?:command )?not found\b",
    r"[Cc]ommand not found: {}(?:\s|$)",
    r"Failed to spawn: `{}`",
    r"No module named '?{}'?(?:\s|$)",
    r"\b(?:make|env)(?:\[\d+\])?: .?{}.?: No such file or directory",
    r"\bspawn {} ENOENT\b",
)

Run = Callable[[JudgingPlace, CheckRunner], Verdict]


class Trial(Struct, frozen=True):
    """One contract that was not kept on the approved content, and how to run it again."""

    contract: Contract
    texts: tuple[str, ...]  # all shell text that it runs
    judged: Verdict
    spot: JudgingPlace
    workspace: Workspace
    runner: CheckRunner
    run: Run

    @property
    def root(self) -> Path:
        """Root of the workspace."""
        return self.workspace.root

    @property
    def enclosure(self) -> Enclosure:
        """The enclosure that confined it."""
        return self.runner.enclosure

    def explain(self) -> Verdict:
        """The verdict as it stands, of another place, or an obstacle with what helps."""
        if self.judged.kept or self.judged.reason in (Reason.TAMPERED, Reason.OBSTACLE):
            return self.judged
        if self.judged.reason is Reason.MOVED:
            again = self.run(self.spot, self.runner)  # the same one where agents have worked
            is_lasting = again is not self.judged and again.reason is Reason.MOVED
            return obstacle(self.judged, self.judged.message) if is_lasting else again
        missing = self._missing_program()
        for tried in (self._in_workspace, self._with_caches, self._with_places):
            found = tried(missing)
            if found is not None:
                return found
        if missing is not None:
            return obstacle(self.judged, self._where_it_is(missing))
        return self._shim() or self._stripped() or self.judged

    def _in_workspace(self, _missing: Invocation | None) -> Verdict | None:
        """A clean room shows dependencies read-only, and not everything that is ignored."""
        if (
            self.spot.judged_in is not JudgeIn.CLEAN
            or not self.workspace.byproducts
            or self.spot.setup
        ):
            return None
        began_ns = time.time_ns() - _COARSE_NS
        again = self.run(JudgingPlace(self.root), self.runner)
        if not _differs(self.judged, again):
            return None
        missed = self._written_since(began_ns)
        why = f"in a clean room it ends otherwise ({self.judged.message})"
        why += f", where it cannot write {missed}" if missed else ""
        if self.contract.judge_in is JudgeIn.CLEAN:
            return obstacle(self.judged, f"{why}; `**judge_in:** workspace` judges it there")
        note = f"judged in the workspace: {why}; `**judge_in:** clean` insists on the room"
        return replace(again, judged_in=JudgeIn.WORKSPACE, room=note, outgrew_room=True)

    def _written_since(self, began_ns: int) -> str:
        """By-products that the contract wrote in the workspace, as a room does not let it."""
        found: list[str] = []
        for top in self.workspace.byproducts:
            for folder, _, names in os.walk(self.root / top):
                for path in (Path(folder, name) for name in names):
                    if len(found) < MOST_NAMED and _changed_at(path) >= began_ns:
                        found.append(path.relative_to(self.root).as_posix())
        return shown_list(map(storable_path, found))

    def _with_caches(self, missing: Invocation | None) -> Verdict | None:
        """Caches of the user are shown empty; an environment or a browser may lie there."""
        for cache in self.enclosure.scratch:
            named = [*self._named_below(cache)]
            if missing is not None:
                behind = {call.tool for call in self._calls()}
                named += [cache / n for tool, n in _KEEPS_IN_CACHE.items() if tool in behind]
            there = dict.fromkeys(p for p in named if _is_there(p) and not self._is_open(p))
            if not there:
                continue
            opened = self._opening(readable=(*self.enclosure.readable, *there))
            if _differs(self.judged, self.run(self.spot, opened), hint=f"{cache}/"):
                return obstacle(
                    self.judged, sandbox_line("reading", "readable", map(_short, there))
                )
        return None

    def _opening(self, **more: tuple[Path, ...]) -> CheckRunner:
        """The runner with places opened that the user did not open."""
        return replace(self.runner, enclosure=replace(self.enclosure, **more))

    def _named_below(self, cache: Path) -> Iterator[Path]:
        """The folders directly in the cache that the output names."""
        below = re.findall(rf"{re.escape(str(cache))}/([^/\s'\"]+)", self.judged.output_tail)
        return (cache / name for name in dict.fromkeys(below))

    def _is_open(self, path: Path) -> bool:
        return any(path.is_relative_to(opened) for opened in self.enclosure.readable)

    def _with_places(self, _missing: Invocation | None) -> Verdict | None:
        """Landlock gives nothing of its own in the place of what it denies."""
        is_landlock = self.enclosure.isolation is Isolation.LANDLOCK
        if not is_landlock or not DENIED.search(self.judged.output_tail):
            return None
        told = denied_places(self.judged.output_tail, self.root, self.enclosure)
        for names in dict.fromkeys((*told.values(), *DENIED_PLACES)):
            places = tuple(Path(name) for name in names if _is_there(Path(name)))
            if not places or set(places) <= set(self.enclosure.writable):
                continue
            opened = self._opening(writable=(*self.enclosure.writable, *places))
            if _differs(self.judged, self.run(self.spot, opened)):
                return obstacle(self.judged, landlock_line(names))
        return None

    def _calls(self) -> Iterator[Invocation]:
        for text in self.texts:
            facts = analyse(text)
            calls = invocations_of(facts, "")
            yield from (call for call in calls if call.tool not in facts.functions)

    def _missing_program(self) -> Invocation | None:
        """A program that the contract runs and that its output says is not there.

        One that the work is to make has a path, or a folder of its own on `PATH`: that is no
        obstacle. A tool of the trade is never the work.
        """
        own_path = any("PATH=" in text for text in self.texts)
        for call in self._calls():
            name = call.tool
            if call.path or not is_plain(name) or name in BUILTINS:
                continue
            is_tool = is_known(name) or bool(runner_of(call))
            if not is_tool and (call.behind or own_path):
                continue
            if not call.behind and find_tool(name, self.runner.search_path) is not None:
                continue
            words = (pattern.format(re.escape(name)) for pattern in _NOT_FOUND)
            if any(re.search(w, self.judged.output_tail, re.MULTILINE) for w in words):
                return call
        return None

    def _where_it_is(self, call: Invocation) -> str:
        """Say what is missing, and where the workspace has it."""
        name, own = call.tool, self.runner.environ.get("PATH", "")
        if there := left_out(name, own, self.runner.search_path, self.root):
            return f"contracts do not search folders of the workspace: write `{there}`"
        for folder in self._environments():
            program = f"{folder}/bin/{name}"
            module = any((self.root / folder).glob(f"lib/python*/site-packages/{name}*"))
            if call.behind == "python" and module:
                return _activate(f"`{name}`", folder, f"{folder}/bin/python -m {name}")
            if os.path.lexists(self.root / program):
                return _activate(f"`{name}`", folder, program)
        if os.path.lexists(self.root / "node_modules" / ".bin" / name):
            return f"`{name}` is not on the contract's search path: write `npx {name}`"
        how = f" for `{call.behind}`" if call.behind else ""
        return f"`{name}` is not there{how}: install it, answer revise, then approve the plan again"

    def _shim(self) -> Verdict | None:
        """A shim of a version manager that knows no version of its program for this folder."""
        for name in _NO_VERSION.findall(self.judged.output_tail):
            found = find_tool(name, self.runner.search_path)
            if found is not None and found.parent.name == SHIMS:
                said = f"`{found}` has no version of `{name}` for this folder: set one"
                return obstacle(self.judged, f"{said}, then answer retry")
        return None

    def _stripped(self) -> Verdict | None:
        """A module that is missing, and that an environment of the workspace has."""
        for name in dict.fromkeys(_NO_MODULE.findall(self.judged.output_tail)):
            for folder in self._environments():
                packages = (self.root / folder).glob("lib/python*/site-packages")
                if any(_is_there(p / name) or _is_there(p / f"{name}.py") for p in packages):
                    said = _activate(f"module `{name}`", folder, f"{folder}/bin/python …")
                    return obstacle(self.judged, said)
        return None

    def _environments(self) -> Iterator[str]:
        """Environments of the workspace that are not activated."""
        entries = self.runner.search_path.split(":")
        marks = (f"{above}{mark}" for above in ("*/", "*/*/") for mark in ENVIRONMENT_MARKS)
        for marker in sorted(path for mark in marks for path in self.root.glob(mark)):
            if str(marker.parent / "bin") not in entries:
                yield marker.parent.relative_to(self.root).as_posix()


def may_differ_here(case: Case, judged: Verdict, approved: str, rooms: Rooms) -> bool:
    """True when the workspace's own by-products could change a red verdict from a clean room."""
    is_first = case.before_work and judged.snapshot == approved
    is_red = judged.reason in SAID_NO and judged.reused_from is None
    has_others = rooms.setups is None and rooms.clean and rooms.clean.workspace.byproducts
    return bool(is_first and is_red and has_others)


def denied_since(
    judged: Verdict, earlier: Iterable[Entry], enclosure: Enclosure, root: Path
) -> Verdict:
    """Find an obstacle after the work: the check met a denial of Landlock that it did not before.

    Nothing is opened to what an agent wrote, so words are all there is. They excuse nothing: a
    person is asked, and no agent gets another attempt out of it.
    """
    if enclosure.isolation is not Isolation.LANDLOCK or judged.reason is not Reason.EXPECTATION:
        return judged
    told = partial(denied_places, root=root, enclosure=enclosure)
    known = {place for said in earlier for place in told(said.data["output_tail"])}
    for place, folders in told(judged.output_tail).items():
        if place not in known:
            return obstacle(judged, landlock_line(folders))
    return judged


def obstacle(judged: Verdict, what: str) -> Verdict:
    """The verdict when it was not the work that kept a check from working."""
    message = f"could not judge: {what}"
    return replace(judged, result=Result.UNKNOWN, reason=Reason.OBSTACLE, message=message)


def _differs(first: Verdict, again: Verdict, hint: str = "") -> bool:
    """True when the other run came to another answer, and to one at all.

    A check that is red for the work's sake too ends the same; then the denial itself is gone.
    """
    if again.result is Result.UNKNOWN:
        return False
    hinted = [
        bool(DENIED.search(v.output_tail) or (hint and hint in v.output_tail))
        for v in (first, again)
    ]
    if hinted == [True, False]:
        return True
    counts = [None if v.counts is None else {**v.counts, "names": None} for v in (first, again)]
    return (first.result, first.exit_code, counts[0]) != (again.result, again.exit_code, counts[1])


def _activate(what: str, folder: str, instead: str) -> str:
    return (
        f"{what} is in `{folder}`, which is not activated: activate it, answer revise and approve"
        f" again, or write `{instead}`"
    )


def _short(path: Path) -> str:
    """`~` for the home folder of the user, in which every cache lies."""
    return f"~/{path.parent.name}/{path.name}"


def _is_there(path: Path) -> bool:
    return os.path.lexists(path)


def _changed_at(path: Path) -> int:
    try:
        return path.lstat().st_ctime_ns
    except OSError:
        return 0
