"""`signoff agent`: the built-in model loop on a task, streamed to the terminal."""

from __future__ import annotations

import math
import os
import shlex
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

import click
from msgspec import to_builtins

from signoff.cli.events import entry_line
from signoff.cli.options import json_option
from signoff.cli.report import SELF_SET, say_session, session_json, status_json
from signoff.cli.show import answer_json, count, note, say, say_line
from signoff.cli.streams import leave_at_once
from signoff.cli.undo import show_undo, undo_json
from signoff.domain.session import SessionStanding
from signoff.domain.text import escape, shortened
from signoff.errors import Exit, ExtraMissing, UsageError, how_to_install
from signoff.orchestrator.events import Appended, Event
from signoff.usecases.harness import find_plan
from signoff.wiring import open_engine, open_harness
from signoff.workspace.folders import find_repository

if TYPE_CHECKING:
    from signoff.agents.loop.limits import LoopLimits
    from signoff.toolbatch.calls import CallResult
    from signoff.usecases.agent import AgentReport

LONGEST_SHOWN = 160


def _finite(_ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"`{value}` is not a number above 0", param=param)
    return value


def _address(_ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    try:
        parts = urlsplit(value) if value is not None else None
        wrong = parts is not None and (parts.scheme not in ("http", "https") or not parts.hostname)
    except ValueError:
        wrong = True
    if wrong:
        raise click.BadParameter(f"`{value}` is not an address like http://HOST:PORT", param=param)
    return value


@click.command("agent")
@click.argument("task", required=False)
@click.option("--model", metavar="PROVIDER:NAME", help="The model to use (required).")
@click.option(
    "--base-url",
    metavar="URL",
    callback=_address,
    help="Address of the model's API, if not the provider's own.",
)
@click.option("--workspace", type=click.Path(path_type=Path), help="Folder to work in.")
@click.option("--plan", metavar="PLAN", help="Work on this approved plan instead of writing one.")
@click.option("--no-plan", is_flag=True, help="Work without a plan: nothing is checked or signed.")
@click.option("--resume", metavar="ID", help="Continue this session; TASK is added to it.")
@click.option(
    "--max-turns", type=click.IntRange(1), help="Most answers of the model [default: 200]."
)
@click.option("--max-tokens", type=click.IntRange(1), help="Most tokens, in and out together.")
@click.option(
    "--max-usd",
    type=click.FloatRange(0, min_open=True),
    callback=_finite,
    help="Most dollars, where the price is known.",
)
@click.option(
    "--max-minutes", type=click.FloatRange(0, min_open=True), callback=_finite, help="Longest time."
)
@click.option(
    "--context-tokens", type=click.IntRange(1000), help="Size of the model's context window."
)
@click.option(
    "--system",
    type=click.Path(path_type=Path, exists=True, dir_okay=False, readable=True),
    help="File with your system prompt.",
)
@click.option(
    "--confirm", is_flag=True, help="Ask you before every call that may change something."
)
@click.option(
    "--restore", is_flag=True, help="If it gives up, undo what its unfinished step changed."
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1),
    help="Least confidence the model must state for a change, or it is refused.",
)
@click.option(
    "--role-prompt",
    is_flag=True,
    help="Do one attempt for a plan's role; the prompt comes on stdin.",
)
@json_option
def agent_command(
    task: str | None,
    model: str | None,
    base_url: str | None,
    workspace: Path | None,
    plan: str | None,
    no_plan: bool,
    resume: str | None,
    confirm: bool,
    restore: bool,
    role_prompt: bool,
    system: Path | None,
    as_json: bool,
    **limits: Any,
) -> int:
    """Have a model do a task and check what it did.

    The model writes a plan with checks and works with tools; its final answer is refused until
    every step is proved. When it has ended, signoff runs all checks once more and signs. With
    --plan it works on a plan that you approved. Ctrl-C stops it; --resume continues.
    Exit code 0: signed off, 1: not done, 3: no plan or no model, 6: a person has to look."""
    if bool(task or resume) == role_prompt:
        raise click.UsageError("name a TASK, or --resume ID, or --role-prompt; one of them")
    if not model:
        raise click.UsageError("name the model: --model PROVIDER:NAME")
    if no_plan and plan:
        raise click.UsageError("--plan and --no-plan do not go together")
    if confirm and not sys.stdin.isatty():
        raise click.UsageError("--confirm asks at a terminal, and standard input is none")
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's shell may ignore it
    given = _limits(limits)
    if role_prompt:
        return _be_a_role(model, base_url, given)
    report = _work(
        task or "",
        model,
        workspace,
        plan,
        base_url=base_url,
        planned=not no_plan,
        limits=given,
        system=_prompt_in(system) if system is not None else None,
        resume=resume,
        ask=_ask if sys.stdin.isatty() else None,
        confirm=_confirm if confirm else None,
        restore=restore,
        confidence=limits["confidence"],
    )
    if as_json:
        answer_json(**report_json(report))
    else:
        _show(report, _again(report, model, base_url, workspace))
    if report.run is not None:
        leave_at_once(report.exit_code)
    return report.exit_code


def _work(
    task: str, model: str, workspace: Path | None, plan: str | None, **chosen: Any
) -> AgentReport:
    from signoff.usecases.agent import AgentRequest, work  # noqa: PLC0415 - takes seconds to load

    cwd = Path.cwd()
    bound = find_plan(cwd, plan, workspace) if plan else None
    folder = bound.workspace if bound is not None else _workspace(cwd, workspace)
    harness = open_harness(dict(os.environ), cwd, folder)
    reporter = TerminalReporter()
    request = AgentRequest(
        task=task,
        model=model,
        workspace=folder,
        bound=bound,
        reporter=reporter,
        engine=lambda: open_engine(harness),
        run_reporter=reporter,
        **chosen,
    )
    try:
        return work(harness, request)
    finally:
        reporter.end_line()


def _prompt_in(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"`{file}` is not text in UTF-8", "name a text file") from error


def _be_a_role(model: str, base_url: str | None, limits: LoopLimits) -> int:
    from signoff.agents.loop.limits import Ended  # noqa: PLC0415 - takes seconds to load
    from signoff.usecases.roleplay import RoleRequest, play_role  # noqa: PLC0415 - as above

    prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    report = play_role(
        RoleRequest(
            prompt=prompt,
            model=model,
            base_url=base_url,
            workspace=Path.cwd(),
            environ=dict(os.environ),
            limits=limits,
            reporter=TerminalReporter(),
        )
    )
    say(report.answer)
    if report.ended is Ended.ANSWERED:
        return Exit.YES
    note(f"{report.ended}: {report.reason}")
    return Exit.NOT_DONE


def _limits(given: dict[str, Any]) -> LoopLimits:
    try:
        # Comes with the extra, like everything that the loop is made of.
        import pydantic_ai  # noqa: F401, PLC0415 - takes seconds to load
    except ModuleNotFoundError as error:
        raise ExtraMissing(
            "the built-in agent needs pydantic-ai, which is not installed",
            how_to_install("llm"),
        ) from error
    from signoff.agents.loop.limits import LoopLimits  # noqa: PLC0415 - as above

    minutes = given["max_minutes"]
    chosen = {
        "turns": given["max_turns"],
        "tokens": given["max_tokens"],
        "usd": given["max_usd"],
        "wall_s": None if minutes is None else minutes * 60,
        "context_tokens": given["context_tokens"],
    }
    return LoopLimits(**{name: value for name, value in chosen.items() if value is not None})


def _workspace(cwd: Path, chosen: Path | None) -> Path:
    if chosen is not None:
        return (cwd / chosen).resolve()
    repository = find_repository(cwd)
    return (repository.top if repository else cwd).resolve()


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _ask(question: str) -> str | None:
    note(f"\nthe agent asks: {question}")
    try:
        return input("your answer: ")
    except EOFError:
        return None


def _confirm(name: str, arguments: str) -> bool:
    note(f"\nmay it call {name} {_short(arguments)}?")
    try:
        return input("y to allow it, anything else declines: ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


class TerminalReporter:
    """Everything while it happens, on stderr; what the model says is escaped."""

    def __init__(self) -> None:
        self._in_text = False

    def said(self, chunk: str) -> None:
        """A piece of the answer."""
        sys.stderr.write(escape(chunk))
        sys.stderr.flush()
        self._in_text = not chunk.endswith("\n")

    def called(self, name: str, arguments: str) -> None:
        """A call."""
        self._line(f"→ {name} {_short(arguments)}")

    def returned(self, name: str, result: CallResult) -> None:
        """A result."""
        del name
        self._line(f"{'←' if result.ok else '✗'} {_short(result.text)}")

    def noted(self, text: str) -> None:
        """Show an act of the harness."""
        self._line(f"· {text}")

    def tell(self, event: Event) -> None:
        """Show the entries of the run that signs a person's plan."""
        if isinstance(event, Appended):
            self._line(entry_line(event.entry))

    def end_line(self) -> None:
        """End a line of the model's text, so that the next output begins a line of its own."""
        if self._in_text:
            sys.stderr.write("\n")
            self._in_text = False

    def _line(self, text: str) -> None:
        self.end_line()
        note(text)


def _short(text: str) -> str:
    return shortened(" ".join(text.split()), LONGEST_SHOWN)


def _again(report: AgentReport, model: str, base_url: str | None, workspace: Path | None) -> str:
    """The command that goes on with this session, from here."""
    words = ["signoff", "agent", "--resume", report.loop.session, "--model", model]
    words += ["--base-url", base_url] if base_url is not None else []
    words += ["--workspace", str(workspace)] if workspace is not None else []
    return shlex.join(words)


def _next(report: AgentReport, again: str) -> str:
    """The next command for the person; nothing where only a new task would help."""
    session = report.loop.session
    if report.standing is SessionStanding.KEPT_SELF_SET:
        return f"{SELF_SET}; then signoff sign {session}"
    if report.standing in (SessionStanding.WAITING, SessionStanding.ESCALATED):
        return "signoff inbox"
    if report.standing is SessionStanding.AWAITING_SIGN_OFF:
        return f"signoff sign {session}, at a terminal of your own"
    return "" if report.standing in (SessionStanding.DONE, SessionStanding.ENDED) else again


def _show(report: AgentReport, again: str) -> None:
    loop, plan = report.loop, report.plan
    # At a terminal it was read while it was said.
    if loop.answer and not (sys.stdout.isatty() and sys.stderr.isatty()):
        say(loop.answer.rstrip("\n"))
    if loop.answer:
        say()
    say_line(f"{loop.session}: {report.standing}")
    say_line(f"  {loop.ended}: {loop.reason}")
    used = f"{count(loop.turns, 'turn')}, {loop.tokens:,} tokens"
    used += f", ${loop.usd:.4f}" if loop.usd is not None else ""
    say_line(f"  {used}, {count(loop.calls, 'call')} ({loop.failed_calls} failed)")
    if plan is not None and plan.gate.planned:
        say_session(plan)
    if report.restored is not None:
        say_line("  it gave up, so its unfinished step was undone:")
        show_undo(report.restored)
    if hint := _next(report, again):
        say_line(f"next: {hint}")


def report_json(report: AgentReport) -> dict[str, Any]:
    """The report as data."""
    plan = report.plan
    return {
        "session": report.loop.session,
        "standing": report.standing,
        "done": report.done,
        "loop": to_builtins(report.loop, enc_hook=str),
        "plan": None if plan is None else session_json(plan),
        "restored": None if report.restored is None else undo_json(report.restored),
        "run": None if report.run is None else status_json(report.run.status),
    }
