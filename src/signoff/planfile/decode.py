"""Bytes to text within the limits; encoding the text as UTF-8 gives the same bytes back."""

from __future__ import annotations

from dataclasses import dataclass

from signoff.errors import PlanUnreadable


@dataclass(frozen=True)
class PlanLimits:
    """What a plan may at most be; checked before anything expensive."""

    max_bytes: int = 20_000_000
    max_steps: int = 100_000


DEFAULT_LIMITS = PlanLimits()


def decode(data: bytes, name: str, limits: PlanLimits = DEFAULT_LIMITS) -> str:
    """The text of a plan file, byte order mark and line ends included."""
    check_size(len(data), limits, f"`{name}`")
    nul = data.find(b"\0")
    if nul >= 0:
        raise PlanUnreadable(
            f"`{name}` has a NUL byte at offset {nul} (line {_line_at(data, nul)}): "
            "it is not a text file",
            facts={"offset": nul, "line": _line_at(data, nul)},
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = _line_at(data, error.start)
        raise PlanUnreadable(
            f"`{name}` is not UTF-8: byte 0x{data[error.start]:02x} "
            f"at offset {error.start} (line {line})",
            hint="save the plan as UTF-8",
            facts={"offset": error.start, "line": line},
        ) from None


def check_size(size: int, limits: PlanLimits, what: str = "the plan") -> None:
    """Refuse what is too large to be read at all."""
    if size > limits.max_bytes:
        raise PlanUnreadable(
            f"{what} has {size:,} bytes, the limit is {limits.max_bytes:,}",
            hint="split the plan into several plans",
            facts={"bytes": size, "max_bytes": limits.max_bytes},
        )


def check_steps(count: int, limits: PlanLimits) -> None:
    """Refuse more steps than anybody can oversee."""
    if count > limits.max_steps:
        raise PlanUnreadable(
            f"the plan has {count:,} steps, the limit is {limits.max_steps:,}",
            hint="split the plan into several plans, or use `**for_each:**`",
            facts={"steps": count, "max_steps": limits.max_steps},
        )


def _line_at(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1
