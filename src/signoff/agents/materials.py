"""Subscriptions turned into material for the prompt; a missing one is named, never fatal."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from signoff.agents.prompt import LONGEST_MATERIAL, Material
from signoff.domain.plan import Subscription, SubscriptionKind
from signoff.domain.text import decode_output
from signoff.errors import SignoffError


def gather(
    subscriptions: tuple[Subscription, ...],
    workspace: Path,
    read_topic: Callable[[str], str | None],
) -> tuple[Material, ...]:
    """Read every subscription as it is now."""
    return tuple(_read(s, workspace, read_topic) for s in subscriptions)


def _read(
    subscription: Subscription, workspace: Path, read_topic: Callable[[str], str | None]
) -> Material:
    name = str(subscription)
    try:
        if subscription.kind is SubscriptionKind.TOPIC:
            text = read_topic(subscription.target)
            return Material(name, text, "" if text is not None else "no such topic in the vault")
        return Material(name, _read_file(workspace, subscription.target))
    except SignoffError as error:
        return Material(name, None, error.message)
    except OSError as error:
        return Material(name, None, error.strerror or "cannot be read")
    except (RuntimeError, ValueError):
        # A loop of links, or a name that no file can have.
        return Material(name, None, "its name leads nowhere")


def _read_file(workspace: Path, target: str) -> str:
    """Only regular files inside the workspace: a link must not pull in what lies outside."""
    root = workspace.resolve()
    path = (root / target).resolve()
    if not path.is_relative_to(root):
        raise PermissionError(0, "it lies outside the workspace")
    # Opening a FIFO would wait for a writer, so it is opened without blocking and then refused.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise PermissionError(0, "it is not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            return decode_output(file.read(LONGEST_MATERIAL * 4))
    finally:
        os.close(descriptor)
