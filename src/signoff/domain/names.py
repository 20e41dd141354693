"""Names of plans: what may be one, and which files belong to it. Light, for the fast paths."""

from __future__ import annotations

import unicodedata

UNNAMED_PLAN = "PLAN.md"
UNNAMED_PROGRESS = "progress.md"
MAX_SLUG_CHARACTERS = 100
_MAX_SLUG_BYTES = 200  # a file name has 255, and `progress-`, `.md.conflict-1` must fit too
# Control, format (bidi and invisible), surrogates, private use, unassigned, line separators.
_REFUSED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

# What git refuses in the name of a branch, besides control characters and slashes.
_NOT_IN_BRANCHES = frozenset(" ~^:?*[")


def plan_slug(name: str) -> str:
    """The name of a plan from how somebody wrote it; ValueError says what is wrong with it."""
    slug = name.removesuffix(".md").removeprefix("PLAN-")
    if slug in ("", ".", ".."):
        raise ValueError(f"`{name}` names no plan")
    lower = slug.casefold()
    if lower == "plan":
        raise ValueError(f"`{name}` is how the plan without a name is called")
    path_component(slug, "plan name")
    if lower.startswith("plan-") or lower.endswith(".md"):
        # Whoever typed the name would be understood to mean the plan of another file.
        raise ValueError(f"plan name `{slug}` reads like the file of another plan")
    original = copied_from(plan_file(slug))
    if original is not None:
        raise ValueError(f"plan name `{slug}` reads like a conflict copy of `{original}`")
    return slug


def new_plan_slug(name: str) -> str:
    """Check a name like `plan_slug`, for a new plan: its name must do for a branch too."""
    slug = plan_slug(name)
    refused = sorted(set(slug) & _NOT_IN_BRANCHES)
    if refused:
        raise ValueError(
            f"plan name `{slug}` has `{refused[0]}` in it, which the name of a git branch cannot"
        )
    odd = next((part for part in ("..", "@{") if part in slug), "")
    if odd or slug.startswith(".") or slug.endswith((".", ".lock")):
        why = f"has `{odd}` in it" if odd else "starts or ends as no git branch may"
        raise ValueError(f"plan name `{slug}` {why}, and plans have branches")
    return slug


def path_component(text: str, what: str) -> str:
    """A text that is safe as one part of a path and on a command line; ValueError otherwise."""
    if text in ("", ".", ".."):
        raise ValueError(f"{what} `{text}` names nothing")
    if "/" in text or "\\" in text:
        raise ValueError(f"{what} {text!r} is not one path component")
    for character in "" if text.isascii() and text.isprintable() else text:
        if unicodedata.category(character) in _REFUSED_CATEGORIES:
            raise ValueError(f"{what} {text!r} has the invisible character {character!r}")
    if text.startswith("-"):
        raise ValueError(f"{what} `{text}` starts with a dash")
    if text != text.strip():
        raise ValueError(f"{what} `{text}` starts or ends with a space")
    if len(text) > MAX_SLUG_CHARACTERS or len(text.encode()) > _MAX_SLUG_BYTES:
        raise ValueError(f"{what} `{text[:40]}…` is longer than {MAX_SLUG_CHARACTERS}")
    return text


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
    """The name that people see: the unnamed plan is `PLAN`."""
    return slug or UNNAMED_PLAN.removesuffix(".md")


def folded(name: str) -> str:
    """Equal for names that some file system cannot tell apart."""
    return unicodedata.normalize("NFKC", name).casefold()
