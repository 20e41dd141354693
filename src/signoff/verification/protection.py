"""Compare what protects and influences a contract with what was approved.

Files are compared byte for byte, additions and removals included; a file that an accepted step made
is compared with what that step left. Of git's own folder only rules are looked at that make tools
pass over files: commits, branches, remotes and all other configuration are not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path, PurePosixPath

from msgspec import Struct, field
from msgspec.structs import replace

from signoff.commands.analysis import analyse
from signoff.domain.digests import digest_of
from signoff.domain.globs import has_wildcard, literal, matches_any
from signoff.domain.languages import is_settings, language_of
from signoff.domain.plan import Contract
from signoff.domain.snapshot import NO_PRODUCTS, Manifest, Product, Products
from signoff.errors import StorageFailed
from signoff.planfile.subjects import is_plain
from signoff.storage.active import MARKER_RULE
from signoff.verification.ignored import Ignored, literal_base
from signoff.verification.influences.changed import Influence
from signoff.verification.influences.gathered import COMPILED, INSTALLED
from signoff.verification.influences.ignored import made_since
from signoff.verification.influences.rules import influences_of
from signoff.verification.pins import Pins, fingerprint, protected_by
from signoff.workspace.checkout import find_checkout, read_small
from signoff.workspace.gitfolders import ignore_settings
from signoff.workspace.workspace import Workspace


class Guard(Struct, frozen=True):
    """Files that must not have changed when a subject is judged."""

    protects: tuple[str, ...] = ()
    may_change: tuple[str, ...] = ()
    pinned: Mapping[str, str] | None = None  # approved fingerprints of protected files
    produced: Mapping[str, str] | None = None  # fingerprints of files that accepted steps produced
    influences: Mapping[str, str] | None = None  # on the contract's runner, as approved
    sees_ignored: bool = True  # whether ignored files were looked at for `influences`
    writes: tuple[str, ...] = ()  # what contracts of the plan write themselves
    self_made: tuple[str, ...] = ()  # ignored paths that the check made before anybody worked
    subject: str = ""
    may_extend: tuple[str, ...] = ()  # tests that may be edited and added to
    produces: tuple[str, ...] = ()
    kept_safe: tuple[str, ...] = ()  # what any step of the plan protects
    touches: tuple[str, ...] = ()  # all that may change; empty: the plan sets no bound
    own_touches: tuple[str, ...] = ()  # all that the step itself may change; empty: as the plan
    # The content before and after each attempt at the step: what it changed itself.
    spans: tuple[tuple[str, str], ...] = ()
    task: str = ""  # what the step was asked for, in the plan's words
    # What accepted steps left, whether or not they declared it.
    products: Products = field(default_factory=lambda: NO_PRODUCTS)
    # What earlier steps protect until sign-off, except new files that this one is there to make.
    lasting: tuple[str, ...] = ()
    makes: frozenset[str] = frozenset()
    # What any step of the plan may change: an ignored file has no owner among them.
    changed_by_any: tuple[str, ...] = ()
    # What `install` wrote, by its sha256: as long as it says that, no step changed it.
    installed: Mapping[str, str] = field(default_factory=dict)

    def allowing(self, globs: tuple[str, ...]) -> Guard:
        """The guard with more files that may change."""
        return replace(
            self,
            may_change=(*self.may_change, *globs),
            touches=(*self.touches, *globs) if self.touches else (),
            own_touches=(*self.own_touches, *globs) if self.own_touches else (),
        )

    def is_written(self, path: str) -> bool:
        """True when a contract of the plan writes the file itself, and says so."""
        return matches_any(self.writes, path)

    def extends(self, path: str) -> bool:
        """True when the plan lets tests be edited and added here; settings among them are none."""
        if not matches_any(self.may_extend, path):
            return False
        return language_of(path) is not None and not is_settings(path)


class Tampering(Struct, frozen=True):
    """One path that differs from its pin, and the rule it breaks."""

    path: str
    rule: str
    unasked: bool = False  # protected because it decides the check, not because the plan says so


def find_tampering(
    guard: Guard,
    manifest: Manifest,
    influences_now: Mapping[str, str],
    ignored: Ignored | None = None,
) -> tuple[Tampering, ...]:
    """Every protected thing that is not as pinned, unless the step says it may change."""
    files = [*_protected_changes(guard, manifest, ignored), *_produced_changes(guard, manifest)]
    influences = _influence_changes(guard, influences_now)
    # A glob says which files are made, not that what steers the check may change.
    exact = (path for path in guard.produces if not has_wildcard(path))
    allowed, steering = (*guard.may_change, *guard.produces), (*guard.may_change, *exact)
    # Only an influence names a part of a file by `#`: elsewhere it belongs to the file's own name.
    return (
        *(t for t in files if not (matches_any(allowed, t.path) or guard.extends(t.path))),
        *(t for t in influences if not matches_any(steering, file_of(t.path))),
    )


def _protected_changes(
    guard: Guard, manifest: Manifest, ignored: Ignored | None
) -> list[Tampering]:
    globs = (*guard.protects, *guard.lasting)
    if not globs:
        return []
    # An accepted step that made a protected file, or was allowed to change it, left the version
    # that counts.
    left = {p: x.fingerprint for p, x in guard.products.items() if x.step != guard.subject}
    approved = {**(guard.pinned or {}), **left, **(guard.produced or {})}
    expected = {p: f for p, f in approved.items() if matches_any(globs, p)}
    # What an agent left in those may still influence the check; it is no tampering to have them.
    own = (*guard.writes, *guard.self_made)
    actual = protected_by(globs, manifest, ignored, own)
    return [
        Tampering(path, f"protected file {_difference(expected, actual, path)}")
        for path in sorted(expected.keys() | actual.keys())
        if expected.get(path) != actual.get(path)
        and (path not in guard.makes or matches_any(guard.protects, path))
    ]


def _produced_changes(guard: Guard, manifest: Manifest) -> list[Tampering]:
    produced = guard.produced or {}
    now = {path: fingerprint(manifest[path]) for path in produced if path in manifest}
    return [
        Tampering(path, f"output of an accepted step {_difference(produced, now, path)}")
        for path in sorted(produced)
        if produced[path] != now.get(path)
    ]


def _influence_changes(guard: Guard, now: Mapping[str, str]) -> list[Tampering]:
    if guard.influences is None:
        return []
    produced = guard.produced or {}
    return [
        Tampering(
            name,
            f"what steers the check {_difference(guard.influences, now, name)}",
            unasked=not matches_any(guard.protects, file_of(name)),
        )
        for name in sorted(guard.influences.keys() | now.keys())
        if guard.influences.get(name) != now.get(name)
        and COMPILED not in f"{guard.influences.get(name)}{now.get(name)}"
        and file_of(name) not in produced
        and not (name not in guard.influences and now[name].startswith(INSTALLED))
    ]


def files_under(globs: Collection[str], root: Path) -> frozenset[str]:
    """The files that globs cover, whatever git makes of them."""
    found: set[str] = set()
    for base in {literal_base(glob) for glob in globs}:
        for folder, _, names in os.walk(root / base):
            here = Path(folder).relative_to(root)
            found.update((here / name).as_posix() for name in names)
    return frozenset(path for path in found if matches_any(globs, path))


def made_meanwhile(before: Collection[str], after: Collection[str]) -> tuple[str, ...]:
    """Patterns of the files that came: each by itself, or the topmost folder that came with it."""
    folders = {parent for path in before for parent in PurePosixPath(path).parents}
    found: dict[str, None] = {}
    for path in sorted(set(after) - set(before)):
        parents = [p for p in PurePosixPath(path).parents if p not in folders and p.name]
        came_with = f"{literal(str(parents[-1]))}/**" if before and parents else literal(path)
        found[came_with] = None
    return tuple(found)


def file_of(name: str) -> str:
    """The file of an influence: `pyproject.toml#tool.pytest` lies in `pyproject.toml`."""
    return name.partition("#")[0]


def _difference(old: Mapping[str, str], new: Mapping[str, str], key: str) -> str:
    if key not in old:
        return "was added"
    return "was changed" if key in new else "was removed"


_MOST_BYTES = 1 << 20
_FILES = ("info/exclude", "info/attributes")
_CONFIG = "config"


def git_rules(root: Path) -> dict[str, str]:
    """Name → digest of every rule that the checkout's git folder adds to the content's own."""
    found = find_checkout(root)
    if found is None:
        return {}
    main = Path(found[1])
    folder = main / ".git" if (main / ".git").is_dir() else main
    rules = {name: _lines(folder / name) for name in _FILES}
    config = read_small(folder / _CONFIG, _MOST_BYTES) or b""
    for name, values in ignore_settings(config.decode("utf-8", "replace")).items():
        rules[f"{_CONFIG}#{name}"] = [part for v in values for part in (v, *_named(folder, v))]
    return {f".git/{name}": digest_of(lines) for name, lines in rules.items() if lines}


def changed_git_rules(
    pins: Pins, root: Path, guard: Guard, texts: Callable[[], Iterable[str]]
) -> tuple[Tampering, ...]:
    """The rules that differ from the approved ones, unless the plan lets them change.

    A check that runs plain tools alone, by all its texts, obeys none of them.
    """
    pinned = pins.git_rules
    if pinned is None or pins.workspace != str(root):
        return ()
    if all(map(is_plain, texts())):
        return ()
    now = git_rules(root)
    names = sorted(n for n in pinned.keys() | now.keys() if pinned.get(n) != now.get(n))
    return tuple(
        Tampering(name, "what git lets tools pass over was changed", unasked=True)
        for name in names
        if not matches_any(guard.may_change, file_of(name))
    )


def _lines(place: Path) -> list[str]:
    """Lines of a file, without comments; a file that cannot be read gives a line as well."""
    data = read_small(place, _MOST_BYTES)
    if data is None:
        return ["unreadable"] if os.path.lexists(place) else []
    lines = (line.rstrip("\r") for line in data.decode("utf-8", "replace").split("\n"))
    return [x for x in lines if x.strip() and not x.startswith("#") and x != MARKER_RULE]


def _named(folder: Path, path: str) -> list[str]:
    """Lines of a file that the configuration names."""
    return _lines(folder / os.path.expanduser(path))  # noqa: PTH111 - joins to an absolute path


class Compared(Struct, frozen=True):
    """Differences from what was approved, and influences that no check may rest on by itself."""

    tampering: tuple[Tampering, ...] = ()
    made: tuple[Influence, ...] = ()  # environments of the check's own tools that came since
    caches: tuple[str, ...] = ()  # compiled Python of those tools that is not as approved


def compare_with_pins(
    contract: Contract, guard: Guard, workspace: Workspace, digest: str, search_path: str
) -> Compared:
    """Compare what protects and influences the contract with what was approved."""
    if not (guard.protects or guard.lasting or guard.produced or guard.influences is not None):
        return Compared()
    manifest = workspace.manifest(digest)
    ignored = Ignored(workspace.root, workspace.byproducts)
    if guard.influences is None:
        return Compared(find_tampering(guard, manifest, {}, ignored))
    seen = ignored if guard.sees_ignored else None
    now = influences_of(contract, manifest, partial(workspace.read, digest), seen, search_path)
    expected = expected_influences(contract, guard, now, workspace, manifest, search_path)
    guard = replace(guard, influences=expected)
    return Compared(
        find_tampering(guard, manifest, now, ignored),
        made_since(expected, now, ignored),
        tuple(n for n, s in now.items() if s.startswith(COMPILED) and expected.get(n) != s),
    )


def expected_influences(
    contract: Contract,
    guard: Guard,
    now: Mapping[str, str],
    workspace: Workspace,
    manifest: Manifest,
    search_path: str,
) -> Mapping[str, str]:
    """Influences as approved, or as the accepted step left them that made them."""
    expected = dict(guard.influences or {})
    for path, product in _of_others(contract, guard, now, manifest).items():
        then: Mapping[str, str] | None = now
        if path not in manifest or fingerprint(manifest[path]) != product.fingerprint:
            then = _influences_then(contract, product, workspace, search_path)
        if then is not None:
            expected = {name: seen for name, seen in expected.items() if file_of(name) != path}
            expected |= {name: seen for name, seen in then.items() if file_of(name) == path}
    return expected


def _of_others(
    contract: Contract, guard: Guard, now: Mapping[str, str], manifest: Manifest
) -> dict[str, Product]:
    """Files of other steps that influence the contract otherwise than approved."""
    approved, products = guard.influences or {}, guard.products
    names = approved.keys() | now.keys()
    files = {file_of(name) for name in names if approved.get(name) != now.get(name)}
    # One that is gone influences nothing any more, and would if it were still there.
    files |= {p for p in analyse(contract.command).names if p in products and p not in manifest}
    found = {path: products[path] for path in sorted(files) if path in products}
    return {path: product for path, product in found.items() if product.step != guard.subject}


def _influences_then(
    contract: Contract, product: Product, workspace: Workspace, search_path: str
) -> Mapping[str, str] | None:
    """Influences on the accepted content: a change elsewhere in the same file is none.

    None in a copy of the workspace, which knows nothing of that content.
    """
    try:
        manifest = workspace.manifest(product.snapshot)
    except StorageFailed:
        return None
    read = partial(workspace.read, product.snapshot)
    return influences_of(contract, manifest, read, search_path=search_path)
