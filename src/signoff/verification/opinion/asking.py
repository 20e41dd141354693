"""Ask about a rubric: in two passes, each asked once more where its answer cannot be checked."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from msgspec import Struct

from signoff.domain.digests import digest_bytes, digest_of
from signoff.domain.plan import Postcondition, Step
from signoff.domain.second_look import (
    ClaimOpinion,
    ModelSaid,
    OpinionGiven,
    OpinionOfClaim,
    OpinionResult,
    joined,
)
from signoff.domain.verdict import Verdict
from signoff.verification.opinion.answer import AnswerVoid, read_claims
from signoff.verification.opinion.material import (
    SYSTEM,
    ChangedFile,
    OpinionMaterial,
    build_material,
)

CHARACTERS_A_TOKEN = 4  # before anybody counted them


class OpinionRequest(Struct, frozen=True):
    """Everything that one opinion is about, and the digests that it is bound to."""

    subject: Step | Postcondition
    model: str
    passes: tuple[OpinionMaterial, ...]

    @classmethod
    def of(
        cls,
        subject: Step | Postcondition,
        model: str,
        files: Sequence[ChangedFile],
        verdict: Verdict | None,
        most: int,
    ) -> OpinionRequest:
        """Two passes, with and without comments; one where there are none to take out."""
        plain, bare = (
            build_material(subject, files, verdict, most, comments=kept) for kept in (True, False)
        )
        return cls(subject, model, (plain,) if bare.lines == plain.lines else (plain, bare))

    @property
    def input(self) -> str:
        """Digest of all that the model is shown, and of its name."""
        prompts = [SYSTEM, *(material.prompt for material in self.passes)]
        return digest_of({"model": self.model, "prompts": prompts})

    @property
    def about(self) -> str:
        """The same without the outputs."""
        return digest_of({"model": self.model, "about": [m.about for m in self.passes]})


class GivenUp(Exception):
    """No answer can be had; the message says why."""


class _Asking:
    """Asks the passes of one request; keeps the answers, and adds up what they cost."""

    def __init__(self, request: OpinionRequest, ask: Callable[[str], ModelSaid], tokens: int):
        self._rubric, self._ask, self._most = request.subject.rubric, ask, tokens
        self.answers: list[str] = []
        self.tokens: int | None = 0
        self.usd: float | None = 0.0

    def claims(self, material: OpinionMaterial) -> tuple[ClaimOpinion, ...]:
        """The answer to one pass; one that cannot be checked is asked for once more."""
        try:
            return read_claims(self._hear(material.prompt), self._rubric, material)
        except AnswerVoid as error:
            again = f"{material.prompt}\nYour answer before this one was void: {error}.\n"
            return read_claims(self._hear(again), self._rubric, material)

    def _hear(self, prompt: str) -> str:
        if (self.tokens or 0) + len(prompt) // CHARACTERS_A_TOKEN > self._most:
            raise GivenUp(f"it would take more than {self._most:,} tokens (`[judge] tokens`)")
        said = self._ask(prompt)
        # What one answer does not tell, nobody knows of the sum.
        untold = self.tokens is None or said.tokens is None
        self.tokens = None if untold else (self.tokens or 0) + (said.tokens or 0)
        unpriced = self.usd is None or said.usd is None
        self.usd = None if unpriced else (self.usd or 0.0) + (said.usd or 0.0)
        if said.failed:
            raise GivenUp(said.failed)
        self.answers.append(said.text)
        return said.text


class Opinion(Struct, frozen=True):
    """An opinion, and the answers that it was read from."""

    given: OpinionGiven
    answers: tuple[str, ...]


def ask_for_opinion(
    request: OpinionRequest, ask: Callable[[str], ModelSaid], tokens: int
) -> Opinion:
    """The model's opinion; void where it has none that can be checked."""
    asking, why = _Asking(request, ask, tokens), ""
    began = time.monotonic()
    result, claims = OpinionResult.VOID, tuple[OpinionOfClaim, ...]()
    try:
        told = [asking.claims(material) for material in request.passes]
        unseen = request.passes[0].unseen
        result, claims, why = joined(request.subject.rubric, told, unseen)
    except AnswerVoid as error:
        why = f"its answer is void: {error}"
    except GivenUp as error:
        why = f"there is no answer: {error}"
    given = OpinionGiven(
        request.model,
        result,
        why,
        claims,
        request.input,
        request.about,
        prompts=tuple(digest_bytes(m.prompt.encode()) for m in request.passes),
        answers=tuple(digest_bytes(answer.encode()) for answer in asking.answers),
        tokens=asking.tokens,
        usd=asking.usd,
        duration_s=round(time.monotonic() - began, 3),
    )
    return Opinion(given, tuple(asking.answers))
