"""URLs as evidence: asked by the harness itself, only where the user allows, without a shell.

A sandboxed contract has no network, and what a shell would call to ask differs from machine to
machine; so a URL is asked from here: one GET, no proxy, no redirect followed, because a redirect
could lead to a host that nobody allowed.
"""

from __future__ import annotations

import http.client
import shlex
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any

from signoff.domain.digests import digest_of
from signoff.domain.plan import Contract
from signoff.domain.text import escape_line
from signoff.domain.verdict import Phase, Reason, Result, Verdict

URL_TIMEOUT_S = 10.0
_COMMAND = "signoff-url-responds"  # never run: a shell that met it would not find it


@dataclass(frozen=True)
class Response:
    """What came of asking."""

    ok: bool
    said: str


def url_command(url: str) -> str:
    """The command by which a plan names the check."""
    return f"{_COMMAND} {shlex.quote(url)}"


def url_in(contract: Contract) -> str | None:
    """The URL that a contract is about, if it is this check and nothing else."""
    if not contract.command.startswith(f"{_COMMAND} "):
        return None
    try:
        words = shlex.split(contract.command)
    except ValueError:
        return None
    return words[1] if len(words) == 2 else None


def names_url_check(command: str) -> bool:
    """Whether a command is this check, or begins like it."""
    return command.startswith(_COMMAND)


def url_problem(url: str, hosts: tuple[str, ...]) -> str:
    """Why this URL is not asked; an empty text when it may be."""
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return f"`{escape_line(url[:200])}` is not a URL"
    if parts.scheme not in ("http", "https") or not host:
        return f"`{escape_line(url[:200])}` is not an http or https URL"
    if parts.username or parts.password or not url.isascii() or not url.isprintable():
        return f"`{escape_line(url[:200])}` holds what a URL here must not: a name or odd letters"
    if host in hosts or (port is not None and f"{host}:{port}" in hosts):
        return ""
    return f"`{host}` is not among the hosts the user allows; use another check, or ask the user"


def ask_url(url: str, hosts: tuple[str, ...]) -> Response:
    """Ask once; any answer below 300 counts."""
    problem = url_problem(url, hosts)
    if problem:
        return Response(False, problem)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())
    try:
        with opener.open(url, timeout=URL_TIMEOUT_S) as answer:
            return Response(True, f"`{url}` answered {answer.status}")
    except urllib.error.HTTPError as error:
        error.close()
        return Response(False, f"`{url}` answered {error.code}")
    except (OSError, http.client.HTTPException, ValueError) as error:
        return Response(False, f"`{url}` did not answer: {escape_line(str(error)[:200])}")


def judge_url(
    subject: str, contract: Contract, url: str, content: str, answer: Response, provisional: bool
) -> Verdict:
    """The answer as a verdict; the content is noted, though nothing in it was looked at."""
    return Verdict(
        subject=subject,
        phase=Phase.ATTEMPT,
        result=Result.KEPT if answer.ok else Result.BROKEN,
        reason=Reason.HELD if answer.ok else Reason.EXPECTATION,
        message=answer.said,
        key=digest_of({"url": url, "contract": contract.essence(), "content": content}),
        snapshot=content,
        exit_code=0 if answer.ok else 1,
        provisional=provisional,
    )


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Not followed: it then counts as the error it is reported as."""
