"""The vault: the folder of plan files (replaced), progress files (appended) and topics."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from signoff.domain.digests import digest_bytes
from signoff.domain.names import (
    copied_from,
    folded,
    name_of_file,
    new_plan_slug,
    path_component,
    plan_file,
    plan_slug,
    progress_file,
)
from signoff.domain.text import decode_output, escape_line, shortened
from signoff.errors import PlanConflict, PlanNameInvalid, PlanNotFound, PlanUnreadable
from signoff.storage.engine import os_failure
from signoff.storage.files import append_lines, read_plan_file, swap_file

LONGEST_LINE = 2_000
_LONGEST_WORD = 200
_MOST_BYTES = 20 * 1024 * 1024


class PlanText(NamedTuple):
    """A plan file as read: its text, and the digest of its bytes for the swap."""

    text: str
    digest: str


class Vault:
    """One folder of plans; the name `""` is the unnamed plan `PLAN.md`."""

    def __init__(self, path: Path | str):
        self.path = Path(path)

    def plan_path(self, name: str) -> Path:
        """Path of the plan file, whether it exists or not."""
        return self.path / plan_file(checked_slug(name) if name else "")

    def progress_path(self, name: str) -> Path:
        """Path of the plan's progress file, whether it exists or not."""
        return self.path / progress_file(checked_slug(name) if name else "")

    def read_plan(self, name: str) -> PlanText:
        """Text and digest; a link is refused, because an agent could point it elsewhere."""
        path = self.plan_path(name)
        data = read_plan_file(path, follow=False)
        return PlanText(_decode(path, data), digest_bytes(data))

    def swap_plan(self, name: str, *, expected: str | None, text: str) -> str:
        """Replace the plan whose digest is `expected` (None: create it); the new digest.

        PlanConflict names the current digest and the file in which `text` was kept.
        """
        path = self.plan_path(name)
        if expected is None:
            if name:
                checked_slug(name, new=True)
            self.create()
            self.refuse_lookalike(name)
        return swap_file(path, expected, text.encode(), keep_loser=True)

    def append_progress(self, name: str, *lines: str) -> None:
        """Append whole lines at once to the plan's progress; nothing ever replaces that file."""
        path = self.progress_path(name)
        self.create()
        append_lines(path, *lines)

    def list_plans(self) -> tuple[str, ...]:
        """The names of all plans, the unnamed one first; no vault, no plans."""
        return tuple(
            sorted(name for name in map(name_of_file, self.file_names()) if name is not None)
        )

    def odd_names(self) -> tuple[str, ...]:
        """Files that look like plans to people and are none, because of their names."""
        lower = {name: folded(name) for name in self.file_names() if name_of_file(name) is None}
        alike = (n for n, low in lower.items() if low.startswith("plan") and low.endswith(".md"))
        return tuple(sorted(name for name in alike if copied_from(name) is None))

    def topic_exists(self, name: str) -> bool:
        """True when the topic can be read."""
        return self.read_topic(name) is not None

    def read_topic(self, name: str) -> str | None:
        """The text of `topics/<name>.md`, or None; never of a file outside the folder."""
        path = self.path / "topics" / f"{_topic(name)}.md"
        if path.parent.is_symlink():
            raise PlanUnreadable(f"`{path.parent}` is a symbolic link", "replace it by a folder")
        try:
            return _decode(path, read_plan_file(path, follow=False))
        except PlanNotFound:
            return None

    def create(self) -> None:
        """Make the folder if it is not there."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise os_failure(f"the vault `{self.path}`", error) from error

    def refuse_lookalike(self, name: str) -> None:
        """PlanConflict for a name that some file system cannot tell from another plan's."""
        wanted = folded(name)
        for other in self.list_plans():
            if other != name and folded(other) == wanted:
                raise PlanConflict(
                    f"plan `{name}` differs from `{other}` only in case or composition",
                    "choose another name: file systems differ in telling these apart",
                )

    def file_names(self) -> list[str]:
        """The names of everything that lies in the vault; no vault, nothing."""
        try:
            return [path.name for path in self.path.iterdir()]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise os_failure(f"the vault `{self.path}`", error) from error


def checked_slug(name: str, *, new: bool = False) -> str:
    """A plan's name from how somebody wrote it, or PlanNameInvalid; a `new` one must fit git."""
    try:
        return new_plan_slug(name) if new else plan_slug(name)
    except ValueError as error:
        raise PlanNameInvalid(str(error), facts={"name": name}) from error


def _topic(name: str) -> str:
    try:
        return path_component(name.removesuffix(".md"), "topic")
    except ValueError as error:
        hint = "name a topic by letters, digits and dashes"
        raise PlanNameInvalid(str(error), hint, {"name": name}) from error


def _decode(path: Path, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PlanUnreadable(f"`{path}` is not UTF-8: byte {error.start}, line {line}") from error


def progress_line(at: str, author: str, run: str | None, step: str | None, text: str) -> str:
    """One line of a progress file: when, who, about which run and step, and what there is to say.

    Everything is escaped: no text can pretend to be a second line, nor an author two words."""
    words = f"- {at} {_word(author)} run={_word(run)} step={_word(step)} "
    return shortened(words + escape_line(text.strip()), LONGEST_LINE)


def read_progress(path: Path) -> tuple[str, ...]:
    """The newest lines of a progress file as they stand there; none if there is no file."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(path, flags)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise os_failure(f"`{path}`", error) from error
    with open(fd, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _MOST_BYTES))
        data = file.read(_MOST_BYTES)
    if size > _MOST_BYTES:
        data = data.partition(b"\n")[2]
    lines = decode_output(data).split("\n")
    return tuple(lines if lines[-1] else lines[:-1])


def _word(text: str | None) -> str:
    """One word, so that the fields of a line stay apart."""
    shown = "_".join(escape_line(text or "").split())
    return shortened(shown, _LONGEST_WORD) or "-"
