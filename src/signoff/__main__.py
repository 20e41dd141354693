"""The command `signoff`; what must answer at once is answered before anything else is imported."""

from __future__ import annotations

import sys

from signoff import __version__


def main() -> None:
    """Run the command line and exit with its code."""
    if sys.argv[1:] == ["--version"]:
        print(f"signoff {__version__}")
        return
    from signoff.cli.app import run_command_line  # noqa: PLC0415 - keeps --version fast

    sys.exit(run_command_line(sys.argv[1:]))


if __name__ == "__main__":
    main()
