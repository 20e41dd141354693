"""What evidence cites outside the ledger: files, digested by the harness, and URLs, asked by it.

A sandboxed contract has no network, and what a shell would call to ask differs from machine to
machine; so a URL is asked from here: one GET, no proxy, no redirect followed, because a redirect
could lead to a host that nobody allowed.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import shlex
import stat
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from signoff.domain.plan import Contract
from signoff.domain.text import escape_line

URL_CHECK = "signoff-url-responds"  # never run: a shell that met it would not find it
URL_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class CitedFiles:
    """Regular files of the workspace, and of the folders that the user lets agents read."""

    workspace: Path
    readable: tuple[str, ...] = ()

    def name(self, path: str) -> str:
        """The one name of a file: relative inside the workspace, absolute elsewhere."""
        whole = os.path.normpath(self.workspace / path)
        root = str(self.workspace)
        return whole[len(root) + 1 :] if whole.startswith(root + os.sep) else whole

    def digest(self, path: str) -> str:
        """The sha256 of what lies there now; empty for what is gone or may not be read."""
        try:
            real = Path(os.path.realpath(self.workspace / path))
            return _sha256(real) if self._allowed(real) else ""
        except (OSError, ValueError):
            return ""

    def _allowed(self, real: Path) -> bool:
        """By where a path leads, because an agent can lay links."""
        roots = (self.workspace, *(Path(r).expanduser() for r in self.readable))
        return any(real.is_relative_to(os.path.realpath(root)) for root in roots)


def _sha256(path: Path) -> str:
    # Opening a FIFO would wait for a writer, so it is opened without blocking and then refused.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return hashlib.file_digest(file, "sha256").hexdigest()


def url_command(url: str) -> str:
    """The command by which a plan names the check of a URL."""
    return f"{URL_CHECK} {shlex.quote(url)}"


def url_in(contract: Contract) -> str | None:
    """The URL that a contract is about, if it is this check and nothing else."""
    if not contract.command.startswith(f"{URL_CHECK} "):
        return None
    try:
        words = shlex.split(contract.command)
    except ValueError:
        return None
    return words[1] if len(words) == 2 else None


def url_problem(url: str, hosts: tuple[str, ...]) -> str:
    """Why this URL is not asked; an empty text when it may be."""
    shown = f"`{escape_line(url[:200])}`"
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return f"{shown} is not a URL"
    if parts.scheme not in ("http", "https") or not host:
        return f"{shown} is not an http or https URL"
    if parts.username or parts.password or not url.isascii() or not url.isprintable():
        return f"{shown} holds what a URL here must not: a name or odd letters"
    if host in hosts or (port is not None and f"{host}:{port}" in hosts):
        return ""
    return f"`{host}` is not among the hosts the user allows; use another check, or ask the user"


def ask_url(url: str, hosts: tuple[str, ...]) -> tuple[bool, str]:
    """Ask once, and say what came of it; any answer below 300 counts."""
    problem = url_problem(url, hosts)
    if problem:
        return False, problem
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())
    try:
        with opener.open(url, timeout=URL_TIMEOUT_S) as answer:
            return True, f"`{url}` answered {answer.status}"
    except urllib.error.HTTPError as error:
        error.close()
        return False, f"`{url}` answered {error.code}"
    except (OSError, http.client.HTTPException, ValueError) as error:
        return False, f"`{url}` did not answer: {escape_line(str(error)[:200])}"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Not followed: it then counts as the error it is reported as."""
