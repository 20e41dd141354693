"""What steers a check because an earlier step made it: it counts as that step left it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from signoff.commands.analysis import analyse
from signoff.domain.plan import Contract
from signoff.domain.product import Product
from signoff.domain.snapshot import Manifest, Snapshot
from signoff.errors import StorageFailed
from signoff.verification.ignored import Ignored
from signoff.verification.pins import fingerprint
from signoff.verification.protection import Guard, Tampering, file_of, find_tampering
from signoff.verification.steering import steering_of
from signoff.workspace.workspace import Workspace


def tampering_of(
    contract: Contract,
    guard: Guard,
    workspace: Workspace,
    content: Snapshot,
    ignored: Ignored,
    search_path: str,
) -> tuple[Tampering, ...]:
    """Everything protected that is not as pinned, or as the accepted step left it that made it."""
    if not (guard.protects or guard.lasting or guard.produced or guard.steering is not None):
        return ()
    manifest = workspace.manifest(content.digest)
    now: Mapping[str, str] = {}
    if guard.steering is not None:
        beside = ignored if guard.sees_ignored else None
        read = partial(workspace.read, content.digest)
        now = steering_of(contract, manifest, read, beside, search_path)
        expected = _expected_steering(contract, guard, now, workspace, manifest, search_path)
        guard = replace(guard, steering=expected)
    return find_tampering(guard, manifest, now, ignored)


def _expected_steering(
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
