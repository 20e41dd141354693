"""A real command with every call of signoff's own functions noted: `traced.py FILE ARGUMENTS…`.

Nothing is patched: the interpreter's profile hook sees the calls in every thread. Lines of FILE are
`room/module.py:function<TAB>detail`, in order; written at once, because `run` leaves by `_exit`.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

PARSE = "planfile/parse.py:_parse"
FOLD = "gate/fold.py:fold"
SUMMARY = "usecases/history.py:PlanHistory.continued"


class Traced(NamedTuple):
    """One call; `detail` says which text was parsed, or into which state was folded."""

    function: str
    detail: str


def command(out: Path, *arguments: str) -> list[str]:
    """The command line that runs `signoff ARGUMENTS` and notes its calls in a file."""
    return [sys.executable, __file__, str(out), *arguments]


def calls(out: Path) -> list[Traced]:
    """The calls that a command noted, in order."""
    lines = out.read_text("utf-8").splitlines()
    return [Traced(*line.split("\t", 1)) for line in lines]


@contextmanager
def traced_calls(out: Path) -> Iterator[None]:
    """Note the calls that are made within this block, in every thread that it starts."""
    import signoff

    file = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    top = f"{Path(signoff.__file__).parent}/"
    names: dict[CodeType, str] = {}
    kept: list[object] = []  # or another state would get the same address

    def detail(name: str, frame: FrameType) -> str:
        if name == PARSE:
            return str(hash(frame.f_locals["text"]))
        if name == FOLD:
            state = frame.f_locals["state"]
            kept.append(state)
            return f"{state.run} {state.driven} {id(state)}"
        if name == SUMMARY:
            history = frame.f_locals["self"]
            new = tuple(frame.f_locals["entries"])
            return f"{new[0].plan} {len(history.entries)}" if new else "-"
        return ""

    def note(frame: FrameType, event: str, _arg: object) -> None:
        if event != "call":
            return
        code = frame.f_code
        name = names.get(code)
        if name is None:
            inside = code.co_filename.startswith(top)
            name = f"{code.co_filename.removeprefix(top)}:{code.co_qualname}" if inside else ""
            names[code] = name
        if name:
            os.write(file, f"{name}\t{detail(name, frame)}\n".encode())

    hook: Callable[..., None] = note
    threading.setprofile(hook)
    sys.setprofile(hook)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        os.close(file)


def _main() -> None:
    out = Path(sys.argv[1])
    sys.argv = ["signoff", *sys.argv[2:]]
    from signoff.__main__ import main

    with traced_calls(out):
        main()


if __name__ == "__main__":
    _main()
