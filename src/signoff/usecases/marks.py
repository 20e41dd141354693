"""Status written into the plan file outside a run; the ledger stays the truth."""

from __future__ import annotations

from signoff.domain.plan import PlanStatus
from signoff.errors import SignoffError
from signoff.planfile import file_digest, mark_text
from signoff.storage import swap_file
from signoff.usecases.site import PlanPlace


def write_status(place: PlanPlace, status: PlanStatus) -> bool:
    """Show the status in the frontmatter; False when the file cannot be written."""
    try:
        text = place.read()
        marked = mark_text(text, {}, status)
        if marked != text:
            swap_file(place.path, file_digest(text), marked.encode())
    except SignoffError:
        return False
    return True
