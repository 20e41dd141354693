"""Names of plans: what may be one, and which files belong to it. Light, for the fast paths."""

from __future__ import annotations

import unicodedata

UNNAMED_PLAN = "PLAN.md"
UNNAMED_PROGRESS = "progress.md"
MAX_SLUG_CHARACTERS = 100
_MAX_SLUG_BYTES = 200  # a file name has 255, and `progress-`, `.md.conflict-1` must fit too
# Control, format (bidi and invisible), surrogates, private use, unassigned, line separators.
_REFUSED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def plan_slug(name: str) -> str:
    """The name of a plan from how somebody wrote it; ValueError says what is wrong with it."""
    slug = name.removesuffix(".md").removeprefix("PLAN-")
    if slug in ("", ".", ".."):
        raise ValueError(f"`{name}` names no plan")
    if slug.casefold() == "plan":
        raise ValueError(f"`{name}` is how the plan without a name is called")
    if "/" in slug or "\\" in slug:
        raise ValueError(f"plan name {slug!r} is not one path component")
    for character in "" if slug.isascii() and slug.isprintable() else slug:
        if unicodedata.category(character) in _REFUSED_CATEGORIES:
            raise ValueError(f"plan name {slug!r} has the invisible character {character!r}")
    if slug.startswith("-"):
        raise ValueError(f"plan name `{slug}` starts with a dash")
    if slug != slug.strip():
        raise ValueError(f"plan name `{slug}` starts or ends with a space")
    if len(slug) > MAX_SLUG_CHARACTERS or len(slug.encode()) > _MAX_SLUG_BYTES:
        raise ValueError(f"plan name `{slug[:40]}…` is longer than {MAX_SLUG_CHARACTERS}")
    original = copied_from(plan_file(slug))
    if original is not None:
        raise ValueError(f"plan name `{slug}` reads like a conflict copy of `{original}`")
    return slug


def plan_file(slug: str) -> str:
    """The file of a plan; the name `""` is the unnamed plan."""
    return f"PLAN-{slug}.md" if slug else UNNAMED_PLAN


def progress_file(slug: str) -> str:
    """The file of a plan's progress."""
    return f"progress-{slug}.md" if slug else UNNAMED_PROGRESS


def name_of_file(file_name: str) -> str | None:
    """The plan's name if this is the file of one."""
    if file_name == UNNAMED_PLAN:
        return ""
    if not (file_name.startswith("PLAN-") and file_name.endswith(".md")):
        return None
    try:
        slug = plan_slug(file_name)
    except ValueError:
        return None
    return slug if plan_file(slug) == file_name else None


def copied_from(file_name: str) -> str | None:
    """The plan or progress file of which this is a cloud drive's conflict copy, if it is one."""
    bracketed = "(" in file_name or "[" in file_name or len(file_name.split()) > 1
    if not bracketed and "conflict-" not in file_name.lower():
        return None
    # Loading the patterns takes longer than looking at a thousand names without them.
    from signoff.domain.conflicts import conflict_copy_of  # noqa: PLC0415

    return conflict_copy_of(file_name)


def shown_name(slug: str) -> str:
    """How people see the name: the unnamed plan is `PLAN`."""
    return slug or UNNAMED_PLAN.removesuffix(".md")


def folded(name: str) -> str:
    """Equal for names that some file system cannot tell apart."""
    return unicodedata.normalize("NFKC", name).casefold()
