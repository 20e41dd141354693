"""What click refuses, worded as we word every refusal: lower case, names in backticks."""

from __future__ import annotations

import re

import click

_QUOTED = re.compile(r"(?<![=\w])'([^'`]*)'")


def in_our_words(failure: click.ClickException) -> str:
    """The same facts in our style."""
    if isinstance(failure, click.MissingParameter):
        return f"{_name(failure.param)} is missing"
    if isinstance(failure, click.NoSuchOption):
        close = [f"`{option}`" for option in failure.possibilities or ()]
        hint = f" (did you mean {' or '.join(close)}?)" if close else ""
        return f"no such option `{failure.option_name}`{hint}"
    if isinstance(failure, click.BadParameter) and failure.param is not None:
        return f"{_name(failure.param)}: {_styled(failure.message)}"
    return _styled(failure.format_message())


def _name(param: click.Parameter | None) -> str:
    if isinstance(param, click.Argument):
        # A metavar that lists the choices is no name.
        named = param.metavar or (param.name or "").upper()
        return f"`{named.strip('[].')}`"
    return f"`{max(param.opts, key=len)}`" if param is not None and param.opts else "an argument"


def _styled(message: str) -> str:
    text = _QUOTED.sub(r"`\1`", message.rstrip("."))
    return text[:1].lower() + text[1:]
