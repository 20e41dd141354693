"""The content compared with its pins; what an accepted step made counts as that step left it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from signoff.commands.analysis import analyse
from signoff.domain.plan import Contract
from signoff.domain.product import Product
from signoff.domain.snapshot import Manifest
from signoff.errors import StorageFailed
from signoff.verification.ignored import Ignored
from signoff.verification.ignored_influences import made_since
from signoff.verification.influences import Influence
from signoff.verification.pins import fingerprint
from signoff.verification.protection import Guard, Tampering, file_of, find_tampering
from signoff.verification.steering import COMPILED, steering_of
from signoff.workspace.workspace import Workspace


@dataclass(frozen=True)
class Compared:
    """What is not as approved, and what no check may rest on by itself."""

    tampering: tuple[Tampering, ...] = ()
    made: tuple[Influence, ...] = ()  # environments of the check's own tools that came since
    caches: tuple[str, ...] = ()  # compiled Python of those tools that is not as approved


def compare_with_pins(
    contract: Contract, guard: Guard, workspace: Workspace, digest: str, search_path: str
) -> Compared:
    """What protects and steers the contract, held against what was approved."""
    if not (guard.protects or guard.lasting or guard.produced or guard.steering is not None):
        return Compared()
    manifest = workspace.manifest(digest)
    ignored = Ignored(workspace.root, workspace.byproducts)
    if guard.steering is None:
        return Compared(find_tampering(guard, manifest, {}, ignored))
    seen = ignored if guard.sees_ignored else None
    now = steering_of(contract, manifest, partial(workspace.read, digest), seen, search_path)
    expected = expected_steering(contract, guard, now, workspace, manifest, search_path)
    guard = replace(guard, steering=expected)
    return Compared(
        find_tampering(guard, manifest, now, ignored),
        made_since(expected, now, ignored),
        tuple(n for n, s in now.items() if s.startswith(COMPILED) and expected.get(n) != s),
    )


def expected_steering(
    contract: Contract,
    guard: Guard,
    now: Mapping[str, str],
    workspace: Workspace,
    manifest: Manifest,
    search_path: str,
) -> Mapping[str, str]:
    """What should steer the contract: as approved, or as the accepted step left it that made it."""
    expected = dict(guard.steering or {})
    for path, product in _of_others(contract, guard, now, manifest).items():
        then: Mapping[str, str] | None = now
        if path not in manifest or fingerprint(manifest[path]) != product.fingerprint:
            then = _steering_then(contract, product, workspace, search_path)
        if then is not None:
            expected = {name: seen for name, seen in expected.items() if file_of(name) != path}
            expected |= {name: seen for name, seen in then.items() if file_of(name) == path}
    return expected


def _of_others(
    contract: Contract, guard: Guard, now: Mapping[str, str], manifest: Manifest
) -> dict[str, Product]:
    """Files of other steps that steer the contract otherwise than approved."""
    approved, products = guard.steering or {}, guard.products
    names = approved.keys() | now.keys()
    files = {file_of(name) for name in names if approved.get(name) != now.get(name)}
    # One that is gone steers nothing any more, and would if it were still there.
    files |= {p for p in analyse(contract.command).names if p in products and p not in manifest}
    found = {path: products[path] for path in sorted(files) if path in products}
    return {path: product for path, product in found.items() if product.step != guard.subject}


def _steering_then(
    contract: Contract, product: Product, workspace: Workspace, search_path: str
) -> Mapping[str, str] | None:
    """What steered it on the accepted content: a change elsewhere in the same file is none.

    None in a copy of the workspace, which knows nothing of that content.
    """
    try:
        manifest = workspace.manifest(product.snapshot)
    except StorageFailed:
        return None
    read = partial(workspace.read, product.snapshot)
    return steering_of(contract, manifest, read, search_path=search_path)
