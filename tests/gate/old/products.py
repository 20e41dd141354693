"""Which accepted step answers for which file, folded from the ledger."""

from __future__ import annotations

from dataclasses import replace

from signoff.domain.ledger import Entry
from signoff.domain.product import Product


def remember_products(products: dict[str, Product], entry: Entry) -> None:
    """Take in what an acceptance says: files declared, files named, files its check relied on.

    The newest step that names a file answers for it, since steps build on each other. Once an
    accepted check relied on it, only its own step does, or one that the plan allows to change it:
    naming a check must not be a way to replace it.
    """
    step, data = entry.step or "", entry.data
    for path, seen in data.get("named", {}).items():
        known = products.get(path)
        if known is None or known.step == step or not known.relied_on:
            relied_on = known is not None and known.relied_on
            products[path] = Product(step, data["snapshot"], seen, relied_on)
    for path, seen in data.get("produced", {}).items():
        products[path] = Product(step, data["snapshot"], seen, relied_on=True)
    for path in data.get("relies_on", ()):
        if path in products:
            products[path] = replace(products[path], relied_on=True)
