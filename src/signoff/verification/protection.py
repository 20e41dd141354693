"""Protected files: compared byte for byte with their pin, additions and removals included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from signoff.domain.globs import matches_any
from signoff.domain.languages import is_settings, language_of
from signoff.domain.product import NO_PRODUCTS, Products
from signoff.domain.snapshot import Manifest
from signoff.verification.ignored import Ignored
from signoff.verification.pins import fingerprint, protected_by
from signoff.verification.steering import COMPILED, INSTALLED


@dataclass(frozen=True)
class Guard:
    """What must not have changed when a subject is judged."""

    protects: tuple[str, ...] = ()
    may_change: tuple[str, ...] = ()
    pinned: Mapping[str, str] | None = None  # approved fingerprints of protected files
    produced: Mapping[str, str] | None = None  # fingerprints of files that accepted steps produced
    steering: Mapping[str, str] | None = None  # what steers the contract's runner, as approved
    sees_ignored: bool = True  # whether ignored files were looked at for `steering`
    writes: tuple[str, ...] = ()  # what contracts of the plan write themselves
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

    def allowing(self, globs: tuple[str, ...]) -> Guard:
        """The same with more files that may change."""
        return replace(
            self,
            may_change=(*self.may_change, *globs),
            touches=(*self.touches, *globs) if self.touches else (),
            own_touches=(*self.own_touches, *globs) if self.own_touches else (),
        )

    def is_written(self, path: str) -> bool:
        """Whether a contract of the plan writes the file itself, and says so."""
        return matches_any(self.writes, path)

    def extends(self, path: str) -> bool:
        """Whether the plan lets tests be edited and added here; settings among them are none."""
        is_module = language_of(path) is not None and not is_settings(path)
        return is_module and matches_any(self.may_extend, path)


@dataclass(frozen=True)
class Tampering:
    """One path that differs from its pin, and the rule it breaks."""

    path: str
    rule: str
    unasked: bool = False  # protected because it decides the check, not because the plan says so


def find_tampering(
    guard: Guard,
    manifest: Manifest,
    steering_now: Mapping[str, str],
    ignored: Ignored | None = None,
) -> tuple[Tampering, ...]:
    """Every protected thing that is not as pinned, unless the step says it may change."""
    files = [*_protected_changes(guard, manifest, ignored), *_produced_changes(guard, manifest)]
    steering = _steering_changes(guard, steering_now)
    allowed = guard.may_change
    # Only steering names a part of a file by `#`: elsewhere it belongs to the file's own name.
    return (
        *(t for t in files if not (matches_any(allowed, t.path) or guard.extends(t.path))),
        *(t for t in steering if not matches_any(allowed, file_of(t.path))),
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
    actual = protected_by(globs, manifest, ignored, guard.writes)
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


def _steering_changes(guard: Guard, now: Mapping[str, str]) -> list[Tampering]:
    if guard.steering is None:
        return []
    produced = guard.produced or {}
    return [
        Tampering(
            name,
            f"what steers the check {_difference(guard.steering, now, name)}",
            unasked=not matches_any(guard.protects, file_of(name)),
        )
        for name in sorted(guard.steering.keys() | now.keys())
        if guard.steering.get(name) != now.get(name)
        and COMPILED not in f"{guard.steering.get(name)}{now.get(name)}"
        and file_of(name) not in produced
        and not (name not in guard.steering and now[name].startswith(INSTALLED))
    ]


def file_of(name: str) -> str:
    """The file of a steering name: `pyproject.toml#tool.pytest` lies in `pyproject.toml`."""
    return name.partition("#")[0]


def _difference(old: Mapping[str, str], new: Mapping[str, str], key: str) -> str:
    if key not in old:
        return "was added"
    return "was changed" if key in new else "was removed"
