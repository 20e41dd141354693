"""Static verification: everything that can be said about a plan before anything runs."""

from __future__ import annotations

from signoff.domain.findings import Finding
from signoff.planfile.bulk import without_collection
from signoff.planfile.verify.item_quotes import unfit_items
from signoff.planfile.verify.subjects import demanded_files
from signoff.planfile.verify.surroundings import Anywhere, ParsedPlan, Surroundings
from signoff.planfile.verify.table import CODES, RULES
from signoff.planfile.verify.view import View

__all__ = [
    "CODES",
    "RULES",
    "Anywhere",
    "ParsedPlan",
    "Surroundings",
    "demanded_files",
    "unfit_items",
    "verify",
]


@without_collection
def verify(parsed: ParsedPlan, surroundings: Surroundings) -> tuple[Finding, ...]:
    """The parser's findings and those of every rule, by line."""
    view = View(parsed, surroundings)
    found = [*parsed.findings, *(finding for rule in RULES for finding in rule(view))]
    return tuple(sorted(found, key=lambda f: (f.line, f.code)))
