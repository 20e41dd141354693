"""The vault: the folder of plan files (replaced), progress files (appended) and topics."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import NamedTuple

from signoff.domain.digests import digest_bytes
from signoff.errors import PlanConflict, PlanNotFound, PlanUnreadable, UsageError
from signoff.storage.failures import os_failure
from signoff.storage.files import append_line, read_plan_file, swap_file

MAX_SLUG_CHARACTERS = 100
_MAX_SLUG_BYTES = 200  # a file name has 255, and `progress-`, `.md.conflict-1` must fit too
# Control, format (bidi and invisible), surrogates, private use, unassigned, line separators.
_REFUSED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


class PlanText(NamedTuple):
    """A plan file as read: its text, and the digest of its bytes for the swap."""

    text: str
    digest: str


def plan_slug(name: str) -> str:
    """The name of a plan from how somebody wrote it; ValueError says what is wrong with it."""
    slug = name.removesuffix(".md").removeprefix("PLAN-")
    if slug in ("", ".", ".."):
        raise ValueError(f"`{name}` names no plan")
    if "/" in slug or "\\" in slug:
        raise ValueError(f"plan name {slug!r} is not one path component")
    for character in slug:
        if unicodedata.category(character) in _REFUSED_CATEGORIES:
            raise ValueError(f"plan name {slug!r} has the invisible character {character!r}")
    if slug.startswith("-"):
        raise ValueError(f"plan name `{slug}` starts with a dash")
    if slug != slug.strip():
        raise ValueError(f"plan name `{slug}` starts or ends with a space")
    if len(slug) > MAX_SLUG_CHARACTERS or len(slug.encode()) > _MAX_SLUG_BYTES:
        raise ValueError(f"plan name `{slug[:40]}…` is longer than {MAX_SLUG_CHARACTERS}")
    return slug


class Vault:
    """One folder of plans; the name `""` is the unnamed plan `PLAN.md`."""

    def __init__(self, path: Path):
        self.path = path

    def plan_path(self, name: str) -> Path:
        """Where the plan lies or would lie."""
        return self.path / (f"PLAN-{_slug(name)}.md" if name else "PLAN.md")

    def progress_path(self, name: str) -> Path:
        """Where the plan's progress lies or would lie."""
        return self.path / (f"progress-{_slug(name)}.md" if name else "progress.md")

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
            self._create()
            self._refuse_clash(name)
        return swap_file(path, expected, text.encode(), keep_loser=True)

    def append_progress(self, name: str, line: str) -> None:
        """Append one line to the plan's progress; nothing ever replaces that file."""
        path = self.progress_path(name)
        self._create()
        append_line(path, line)

    def list_plans(self) -> tuple[str, ...]:
        """The names of all plans, the unnamed one first; no vault, no plans."""
        return tuple(
            sorted(name for name in map(name_of_file, self._file_names()) if name is not None)
        )

    def topic_exists(self, name: str) -> bool:
        """Whether the topic can be read."""
        return self.read_topic(name) is not None

    def read_topic(self, name: str) -> str | None:
        """The text of `topics/<name>.md`, or None; never of a file outside the folder."""
        path = self.path / "topics" / f"{_slug(name)}.md"
        if path.parent.is_symlink():
            raise PlanUnreadable(f"`{path.parent}` is a symbolic link", "replace it by a folder")
        try:
            return _decode(path, read_plan_file(path, follow=False))
        except PlanNotFound:
            return None

    def _create(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise os_failure(f"the vault `{self.path}`", error) from error

    def _refuse_clash(self, name: str) -> None:
        wanted = _folded(name)
        for other in self.list_plans():
            if other != name and _folded(other) == wanted:
                raise PlanConflict(
                    f"plan `{name}` differs from `{other}` only in case or composition",
                    "choose another name: file systems differ in telling these apart",
                )

    def _file_names(self) -> list[str]:
        try:
            return [path.name for path in self.path.iterdir()]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise os_failure(f"the vault `{self.path}`", error) from error


def name_of_file(file_name: str) -> str | None:
    """The plan's name if this is the file of one."""
    if file_name == "PLAN.md":
        return ""
    if not (file_name.startswith("PLAN-") and file_name.endswith(".md")):
        return None
    try:
        slug = plan_slug(file_name)
    except ValueError:
        return None
    return slug if f"PLAN-{slug}.md" == file_name else None


def _slug(name: str) -> str:
    try:
        return plan_slug(name)
    except ValueError as error:
        raise UsageError(
            str(error), "choose a name of letters, digits and dashes", {"name": name}
        ) from error


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def _decode(path: Path, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PlanUnreadable(f"`{path}` is not UTF-8: byte {error.start}, line {line}") from error
