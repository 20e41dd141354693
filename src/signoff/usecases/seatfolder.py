"""Where seats are kept, on plain text: hooks must know at once whether there are any."""

from __future__ import annotations

import os

from signoff.places import home_folder

# Not `typing.TYPE_CHECKING`: loading `typing` and `pathlib` takes longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SEATS_FOLDER = "seats"
SEAT_SUFFIX = ".seat"


def any_seats(environ: Mapping[str, str]) -> bool:
    """Whether a client ever took a seat that nobody cleared away yet."""
    try:
        names = os.listdir(os.path.join(home_folder(environ), SEATS_FOLDER))
    except OSError:
        return False
    return any(name.endswith(SEAT_SUFFIX) for name in names)
