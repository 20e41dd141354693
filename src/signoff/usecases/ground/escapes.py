"""Ways out of the sandbox that this machine leaves open, and what a person's word is worth then.

Under Landlock an agent reaches the sockets of the user's other programs. One that listens for
commands, such as a terminal multiplexer, could type an approval: whose word it is, nobody can tell.
"""

from __future__ import annotations

from collections.abc import Mapping

from signoff.domain.text import storable_path
from signoff.domain.verdict import Isolation
from signoff.process.sandboxes import best_isolation, reachable_sockets
from signoff.settings.loading import SandboxChoice, Settings

ADVICE = (
    "install bubblewrap, which hides them; or end the programs that listen there, and work where"
    " they do not run"
)
UNPROVEN = "person not proven"
_NAMED = 5


def open_sockets(settings: Settings, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Sockets that an agent of this machine could use from inside its sandbox."""
    chosen = settings.sandbox.isolation
    if chosen not in (SandboxChoice.AUTO, SandboxChoice.LANDLOCK):
        return ()
    found = reachable_sockets(environ)
    if not found:
        return ()
    boxed = best_isolation(Isolation.LANDLOCK if chosen is SandboxChoice.LANDLOCK else None)
    return tuple(map(storable_path, found)) if boxed is Isolation.LANDLOCK else ()


def in_words(sockets: tuple[str, ...]) -> str:
    """What is open, in one line."""
    named = ", ".join(f"`{path}`" for path in sockets[:_NAMED])
    more = f" and {len(sockets) - _NAMED} more" if len(sockets) > _NAMED else ""
    return f"Landlock does not keep agents from programs that listen on {named}{more}"


def word_of(by: str, sockets: tuple[str, ...]) -> dict[str, object]:
    """Who decided, as it is recorded and shown; with what was open to somebody else."""
    if not sockets:
        return {"by": by}
    return {"by": f"{by} ({UNPROVEN})", "open_sockets": list(sockets)}
