"""The command `signoff`; what must answer at once is answered before anything else is imported."""

from __future__ import annotations

import gc
import sys

from signoff import __version__, load_structs

_COLLECT_AFTER = 50_000  # new values; by default 700, which every second import reaches


def main() -> None:
    """Run the command line and exit with its code."""
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["version"]):
        print(f"signoff {__version__}")
        return
    # A short command keeps what it makes while it loads, and all of it goes with the process:
    # looking for garbage is waste, at the end too.
    gc.set_threshold(_COLLECT_AFTER)
    code = _run(arguments)
    gc.freeze()
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    if arguments[:1] == ["hook"] and not {"-h", "--help"} & set(arguments):
        from signoff.hooks import answer_hook  # noqa: PLC0415 - keeps --version fast

        return answer_hook(arguments[1:])
    from signoff.fastpath import answer_at_once  # noqa: PLC0415 - keeps --version fast

    try:
        code = answer_at_once(arguments)
        if code is None:
            load_structs()
            verb = next((word for word in arguments if word != "--json"), "")
            if verb in ("status", "verify"):
                from signoff.cli.plain import answer_plainly  # noqa: PLC0415 - needs no click

                code = answer_plainly(arguments)
    except (Exception, KeyboardInterrupt) as failure:
        from signoff.cli.app import show_failure  # noqa: PLC0415 - slow, for what goes wrong

        return show_failure(failure, "--json" in arguments)
    if code is not None:
        return code
    from signoff.cli.app import run_command_line  # noqa: PLC0415 - slow, for all other verbs

    return run_command_line(arguments)


if __name__ == "__main__":
    main()
