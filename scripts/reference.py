"""Write the reference pages that come from the code; `--check` says whether they are fresh."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click
from msgspec import to_builtins

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "src"))

from signoff.agents.presets import MODEL_PLACE, PRESETS, Preset  # noqa: E402
from signoff.cli.app import VERBS, signoff  # noqa: E402 - the path comes first
from signoff.domain.ledger import Kind  # noqa: E402
from signoff.errors import SignoffError, all_error_types  # noqa: E402
from signoff.planfile.findinglog import CODES as READING_CODES  # noqa: E402
from signoff.planfile.verify import CODES as VERIFY_CODES  # noqa: E402
from signoff.toolbatch.checkers.subject import CODES as ARTIFACT_CODES  # noqa: E402
from signoff.toolbatch.preflight import PREFLIGHT  # noqa: E402
from signoff.toolbatch.steering import STEERING  # noqa: E402
from signoff.toolbatch.view import BatchLimits  # noqa: E402

DOCS = TOP / "docs"
NOTICE = "<!-- Written by scripts/reference.py from the code; change the code, not this page. -->"
BEGIN, END = "<!-- begin generated -->", "<!-- end generated -->"
WIDTH = 88


@dataclass(frozen=True)
class Page:
    """A generated page: its file below docs/, and its text, given what is there now."""

    name: str
    text: Callable[[str], str]


def main(arguments: list[str]) -> int:
    """Write every page, or with --check compare; 1 when a page is stale."""
    if arguments not in ([], ["--check"]):
        print("usage: reference.py [--check]", file=sys.stderr)
        return 2
    stale = 0
    for page in PAGES:
        path = DOCS / page.name
        now = path.read_text("utf-8") if path.exists() else ""
        wanted = page.text(now)
        if arguments:
            stale += _report(page.name, now, wanted)
        elif wanted != now:
            path.write_text(wanted, "utf-8")
            print(f"wrote docs/{page.name}")
    if stale:
        print("next: python scripts/reference.py", file=sys.stderr)
    return 1 if stale else 0


def _report(name: str, now: str, wanted: str) -> bool:
    if now == wanted:
        return False
    print(f"docs/{name} is stale", file=sys.stderr)
    lines = difflib.unified_diff(
        now.splitlines(), wanted.splitlines(), "as it is", "as the code says", lineterm="", n=0
    )
    print("\n".join(list(lines)[:20]), file=sys.stderr)
    return True


def cli_page(_now: str) -> str:
    """The help of every verb, as a terminal shows it."""
    parts = [
        "# Command line",
        NOTICE,
        "`signoff VERB --help` prints the same. Exit codes are explained in the "
        "[overview](../index.md#exit-codes), JSON output in [json.md](json.md).",
    ]
    root = _root_context()
    parts.append(_help_block(signoff, root))
    for verb in VERBS:
        command = signoff.get_command(root, verb)
        assert command is not None, verb
        context = click.Context(command, info_name=verb, parent=root)
        parts += [f"## signoff {verb}", _help_block(command, context)]
        if isinstance(command, click.Group):
            parts += _inner_verbs(command, context)
    return _joined(parts)


def _inner_verbs(group: click.Group, context: click.Context) -> list[str]:
    """The help of every verb of a verb."""
    parts: list[str] = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, name
        below = click.Context(command, info_name=name, parent=context)
        parts += [f"### {context.command_path} {name}", _help_block(command, below)]
    return parts


def errors_page(_now: str) -> str:
    """Every error with its code, exit code, meaning and default advice."""
    rows = [
        (f"`{e.code}`", str(int(e.exit_code)), _first_line(e.__doc__), e.default_hint)
        for e in all_error_types()
        if e is not SignoffError
    ]
    return _joined(
        [
            "# Errors",
            NOTICE,
            "An error is printed on standard error: `error: ` and the facts, then `next: ` and "
            "what to do. With `--json` it is one JSON object on standard error "
            "([json.md](json.md#errors)). Codes are stable. The hint shown here is the general "
            "one; where more is known, a more precise one is printed.",
            _table(("code", "exit", "meaning", "general hint"), rows),
            f"`{SignoffError.code}` is the code of the base class; nothing is raised with it.",
        ]
    )


def findings_page(_now: str) -> str:
    """Every code that reading or verifying a plan can give."""
    return _joined(
        [
            "# Findings of `signoff verify`",
            NOTICE,
            "Each finding has a severity, a stable code, the line it is about and a hint. Only "
            "errors stop a plan; warnings and notes are for you to read before you approve. "
            "One code can come with different severities: the analysis says *error* where it is "
            "certain and *warning* where it is not.",
            "## Reading the document",
            _table(("code", "meaning"), _codes(READING_CODES)),
            "## Checking what it says",
            _table(("code", "meaning"), _codes(VERIFY_CODES)),
        ]
    )


def artifacts_page(_now: str) -> str:
    """Every code that the built-in checkers of artifacts can give."""
    return _joined(
        [
            "# Findings of `check-artifact`",
            NOTICE,
            "[How to check artifacts](../how-to/check-artifacts.md) says what is looked at and "
            "what the exit codes mean. A checker from elsewhere shows its codes as `name/code`.",
            _table(("code", "meaning"), _codes(ARTIFACT_CODES)),
        ]
    )


def ledger_page(now: str) -> str:
    """The table of kinds, put between the markers of a page that is otherwise written by hand."""
    rows = [(f"[`{kind}`](#{kind.replace('.', '')})", kind.meaning) for kind in Kind]
    table = _table(("kind", "meaning"), rows)
    return _filled(now, "ledger.md", BEGIN, table)


def batches_page(now: str) -> str:
    """The tables of rules and limits, in a page that is otherwise written by hand."""
    tables = {
        "pre-flight": _table(
            ("rule", "about"), [(f"`{r.__name__}`", r.__doc__ or "") for r in PREFLIGHT]
        ),
        "steering": _table(
            ("rule", "about"), [(f"`{r.__name__}`", r.__doc__ or "") for r in STEERING]
        ),
        "limits": _table(("limit", "default"), _limits()),
    }
    for name, table in tables.items():
        now = _filled(now, "tool-batches.md", f"<!-- begin generated: {name} -->", table)
    return now


def _limits() -> list[tuple[str, str]]:
    return [(f"`{k}`", str(value)) for k, value in to_builtins(BatchLimits()).items()]


def _filled(now: str, name: str, opening: str, table: str) -> str:
    before, begin, rest = now.partition(opening)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{name} has no `{opening}` … `{END}` to fill")
    return f"{before}{opening}\n\n{table}\n\n{END}{after}"


def agents_page(now: str) -> str:
    """The table of known agents, in a page that is otherwise written by hand."""
    rows = [_agent_row(preset) for preset in PRESETS.values()]
    head = (
        "agent",
        "command",
        "logged in by",
        "may write",
        "talks to (`@agent`)",
        "tells",
        "tested",
    )
    return _filled(now, "your-agent.md", BEGIN, _table(head, rows))


def _agent_row(preset: Preset) -> tuple[str, ...]:
    words = " ".join(word for word in preset.words if word != MODEL_PLACE)
    login = [*(f"`{n}`" for n in preset.keys), *(f"`~/{file}`" for file in preset.login)]
    places = [f"`~/{place}`" for place in (*preset.folders, *preset.files)]
    told = {"tokens": preset.tells_tokens, "dollars": preset.tells_usd}
    return (
        f"`{preset.name}`",
        f"`{words}`" if words else "signoff itself",
        ", ".join(login) or "the key of its model",
        ", ".join(places) or "-",
        ", ".join(f"`{host}`" for host in preset.hosts),
        ", ".join(name for name, tells in told.items() if tells),
        preset.tested + (f"; {preset.note}" if preset.note else ""),
    )


PAGES = (
    Page("how-to/your-agent.md", agents_page),
    Page("reference/cli.md", cli_page),
    Page("reference/errors.md", errors_page),
    Page("reference/findings.md", findings_page),
    Page("reference/artifact-findings.md", artifacts_page),
    Page("reference/ledger.md", ledger_page),
    Page("explanation/tool-batches.md", batches_page),
)


def _root_context() -> click.Context:
    """Widths are fixed, so that the page does not depend on the terminal of who writes it."""
    return click.Context(
        signoff,
        info_name="signoff",
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        **signoff.context_settings,
    )


def _help_block(command: click.Command, context: click.Context) -> str:
    return f"```text\n{command.get_help(context).rstrip()}\n```"


def _codes(codes: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(f"`{code}`", text) for code, text in sorted(codes.items())]


def _first_line(text: str | None) -> str:
    return (text or "").strip().splitlines()[0].rstrip(".")


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
