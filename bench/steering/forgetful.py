"""An obedient but forgetful model: it does what a next action says, then falls back into its habit.

It forgets everything but the last few messages, so advice that is not repeated is lost on it. With
lapses it does not follow even that: every so many turns the habit wins. What it knows is how a file
should look when it is told to write that very file.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, cycle
from pathlib import Path
from typing import Any

from tasks import GUIDE, Task

from signoff.toolbatch.calls import ANSWER, NextAction

MEMORY = 4  # messages
SHOWN = 2  # turns of a habit before the model listens: it has to be seen to be dealt with


@dataclass(frozen=True)
class Make:
    """A call that the model makes; arguments as text are sent as they are, broken or not."""

    tool: str
    arguments: Mapping[str, Any] | str


@dataclass(frozen=True)
class Say:
    """An answer without calls."""

    text: str = "All done: everything that was asked for is complete and verified."


Move = Sequence[Make] | Say


@dataclass(frozen=True)
class Habit:
    """What a weak model does when nobody steers it; `again` for ever after `first`.

    It begins to listen when `first` is over and the habit was shown.
    """

    name: str
    about: str
    again: Sequence[Move]
    first: Sequence[Move] = ()
    task: Task = GUIDE
    items: tuple[str, ...] = ()  # of the list that the task comes with
    drafts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # worse versions come first
    also: Sequence[Make] = ()  # one each: what it cannot help doing in the turn that it is steered
    deaf: bool = False  # it does not even do what it is told
    verified: bool = True  # how it ends with the runtime; else honestly failed


class Model:
    """Plays one habit in one workspace."""

    def __init__(self, habit: Habit, root: Path, lapses: int = 0):
        self._habit = habit
        self._root = root
        self._script = chain(habit.first, cycle(habit.again))
        self._busy = len(habit.first) + SHOWN
        self._also = list(habit.also)
        self._lapses = lapses
        self._moves = 0
        self._memory: deque[str] = deque(maxlen=MEMORY)
        self._drafts = {path: list(texts) for path, texts in habit.drafts.items()}
        self.characters = 0
        self._listed = list(habit.items)  # what it had on its list, or was shown as open
        self.follows = False  # whether its last move was what it had been told

    def move(self, action: NextAction | None) -> Move:
        """The next move; what it reads and writes is counted."""
        self.characters += len(self._habit.task.statement) + sum(map(len, self._memory))
        self.follows = self._listens() and action is not None
        move = self._followed(action) if action and self.follows else next(self._script)
        self._remember_list(move)
        said = move.text if isinstance(move, Say) else "\n".join(map(str, move))
        self.hear(said)
        self.characters += len(said)
        return move

    def _remember_list(self, move: Move) -> None:
        for made in () if isinstance(move, Say) else move:
            if made.tool == "todo" and isinstance(made.arguments, Mapping):
                self._listed = [item["text"] for item in made.arguments["items"]]

    def _listens(self) -> bool:
        """Not while it is busy, not when it is deaf, and with lapses not every time."""
        self._moves += 1
        lapse = self._lapses and self._moves % self._lapses == 0
        return not (self._moves <= self._busy or self._habit.deaf or lapse)

    def hear(self, text: str) -> None:
        """A message; an old one goes. A list that it shows takes the place of the last one."""
        self._memory.append(text)
        shown = [
            line.removeprefix("[ ] ").partition(" (missing: ")[0]
            for line in text.split("\n")
            if line.startswith("[ ] ")
        ]
        self._listed = shown or self._listed

    def _followed(self, action: NextAction) -> Move:
        if action.tool == ANSWER:
            return Say("Finished as far as I can tell.")
        also, self._also = self._also[:1], self._also[1:]
        return [Make(action.tool, self._arguments(action)), *also]

    def _arguments(self, action: NextAction) -> dict[str, Any]:
        path = f"{action.target}page.md" if action.target.endswith("/") else action.target
        path = path or self._habit.task.planned[-1]
        if action.tool == "write":
            return {"path": path, "content": self._version(path)}
        if action.tool == "edit":
            now = self._now(path)
            better = self._version(path)
            return {"path": path, "old": now, "new": better if better != now else f"{now}More.\n"}
        if action.tool == "glob":
            return {"pattern": "**/*"}
        if action.tool == "grep":
            return {"pattern": ".", "path": path}
        if action.tool == "bash":
            return {"command": f"cat {path}"}
        if action.tool == "todo":
            return {"items": [{"text": text, "done": True} for text in self._listed]}
        return {"path": path}

    def _version(self, path: str) -> str:
        """Drafts first, then what it should be; a file that nobody asked for gets something."""
        drafts = self._drafts.get(path)
        if drafts:
            return drafts.pop(0) if len(drafts) > 1 or not self._endless(path) else drafts[0]
        return self._habit.task.good.get(path, f"# {Path(path).stem}\n\nSomething or other.\n")

    def _endless(self, path: str) -> bool:
        """A model that is not up to it never gets past its last draft."""
        return not self._habit.verified and path in self._habit.drafts

    def _now(self, path: str) -> str:
        file = self._root / path
        return file.read_text() if file.is_file() else "what it remembers of it"
