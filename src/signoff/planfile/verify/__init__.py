"""Static verification: everything that can be said about a plan before anything runs."""

from __future__ import annotations

from dataclasses import replace

from signoff.domain.findings import Finding
from signoff.planfile.parse import Parsed, without_collection
from signoff.planfile.verify.item_quotes import unfit_items
from signoff.planfile.verify.subjects import demanded_files
from signoff.planfile.verify.surroundings import Anywhere, Surroundings
from signoff.planfile.verify.table import CODES, rule_findings
from signoff.planfile.verify.view import VerifyView

__all__ = [
    "CODES",
    "Anywhere",
    "Surroundings",
    "demanded_files",
    "unfit_items",
    "verify",
]


@without_collection
def verify(parsed: Parsed, surroundings: Surroundings) -> tuple[Finding, ...]:
    """The parser's findings and those of every rule, by line."""
    view = VerifyView(parsed, surroundings)
    told = (replace(f, text=view.text_at(f.line)) for f in rule_findings(view))
    found = [*parsed.findings, *told]
    return tuple(sorted(found, key=lambda f: (f.line, f.code)))
