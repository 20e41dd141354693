"""Asks the user's model, or a client of theirs, for an opinion: a text in, a text out, no tools."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from signoff.agents.assignment import Assignment
from signoff.agents.command import CommandAgent
from signoff.agents.presets import with_preset
from signoff.domain.second_look import ModelSaid
from signoff.domain.text import decode_output
from signoff.domain.verdict import Ending, Isolation
from signoff.errors import Interrupted, ModelUnusable, how_to_install
from signoff.settings.policy import JudgeModel
from signoff.settings.roles import Price, Role, RoleKind, price_of

_T = TypeVar("_T")
_LOOK_EVERY_S = 0.2
_RETRIES = 2
_LONGEST_WAIT_S = 30.0
_MILLION = 1_000_000


class AskedProvider(Struct, frozen=True):
    """Asks a model over its provider's interface."""

    settings: JudgeModel
    environ: Mapping[str, str]
    prices: Mapping[str, Price] = field(default_factory=dict)

    def ask(self, system: str, text: str, cancelled: Callable[[], bool]) -> ModelSaid:
        """One answer; passing failures are tried again a few times."""
        try:
            # The libraries of models load slowly, and are an extra.
            from pydantic_ai.messages import ModelRequest, UserPromptPart  # noqa: PLC0415

            from signoff.agents.loop.asking import (  # noqa: PLC0415 - likewise
                Asker,
                ContextFull,
                ModelGaveUp,
                open_model,
            )
            from signoff.agents.loop.limits import LoopLimits  # noqa: PLC0415 - likewise
        except ImportError:
            return ModelSaid(failed=f"models need another package: {how_to_install('llm')}")
        wanted = self.settings
        limits = LoopLimits(
            request_s=wanted.timeout_s, retries=_RETRIES, longest_wait_s=_LONGEST_WAIT_S
        )
        request = ModelRequest(parts=[UserPromptPart(text)])
        try:
            model = open_model(wanted.model, wanted.base_url, self.environ)
            with asyncio.Runner() as runner:

                def run(work: Coroutine[Any, Any, _T]) -> _T:
                    return runner.run(_until_cancelled(work, cancelled))

                asker = Asker(model, run, limits, lambda _: None, lambda _: None)
                reply = asker.ask([request], system, left_s=wanted.timeout_s)
        except ModelUnusable as error:
            return ModelSaid(failed=error.message)
        except (ModelGaveUp, ContextFull) as error:
            return ModelSaid(failed=str(error))
        used, price = reply.used, price_of(wanted.model, self.prices)
        usd = used.usd
        if price is not None:  # the user's word, before the library's
            usd = (used.tokens_in * price.input + used.tokens_out * price.output) / _MILLION
        return ModelSaid(reply.text, tokens=used.tokens, usd=usd)


async def _until_cancelled(work: Coroutine[Any, Any, _T], cancelled: Callable[[], bool]) -> _T:
    task = asyncio.ensure_future(work)
    while not (await asyncio.wait({task}, timeout=_LOOK_EVERY_S))[0]:
        if cancelled():
            task.cancel()
            await asyncio.wait({task})
            raise Interrupted("interrupted while a model was asked; state is safe")
    return task.result()


class AskedClient(Struct, frozen=True):
    """Asks a client: confined, in an empty folder, where nothing of the workspace can be seen."""

    settings: JudgeModel
    agent: CommandAgent
    workspace: Path  # that it must not see: what it is to know is in the prompt

    def ask(self, system: str, text: str, cancelled: Callable[[], bool]) -> ModelSaid:
        """The client's last words."""
        wanted, enclosure = self.settings, self.agent.enclosure
        if enclosure.of_agents is Isolation.NONE:
            why = "it reads what an untrusted agent wrote, and no sandbox confines it here"
            return ModelSaid(failed=f"`{wanted.agent}` is not asked: {why}")
        role = Role("judge", wanted.agent, agent=wanted.agent, model=wanted.model)
        hidden = replace(enclosure, hidden=(*enclosure.hidden, self.workspace))
        with tempfile.TemporaryDirectory(prefix="signoff-opinion-") as folder:
            empty, reports = Path(folder, "empty"), Path(folder, "reports")
            empty.mkdir()
            reports.mkdir()
            report = replace(self.agent, enclosure=hidden).work(
                Assignment(
                    role=with_preset(replace(role, kind=RoleKind.REVIEW)),
                    prompt=f"{system}\n\n{text}",
                    workspace=empty,
                    usage_file=reports / "usage",
                    answer_file=reports / "answer",
                    timeout_s=wanted.timeout_s,
                    variables={},
                    cancelled=cancelled,
                    prompt_file=reports / "prompt",
                    tokens_left=wanted.tokens,
                )
            )
        seen, used = report.observation, report.usage
        if seen.ending is Ending.CANCELLED:
            raise Interrupted("interrupted while a model was asked; state is safe")
        cost = (None, None) if used is None else (used.tokens, used.usd)
        words = report.words or decode_output(seen.stdout.kept)
        if seen.ending is not Ending.EXITED or seen.exit_code != 0:
            why = report.limit.said if report.limit is not None else report.why
            failed = f"`{wanted.agent}` failed: {seen.describe()}{f': {why}' if why else ''}"
            return ModelSaid("", failed, *cost)
        return ModelSaid(words, "", *cost)


def open_asker(
    settings: JudgeModel,
    agent: CommandAgent,
    environ: Mapping[str, str],
    prices: Mapping[str, Price],
    workspace: Path,
) -> AskedClient | AskedProvider:
    """The user's model or client."""
    if settings.agent:
        return AskedClient(settings, agent, workspace)
    return AskedProvider(settings, environ, prices)
