"""Read a model's answer about a rubric: every id must exist, and every quote must stand there."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import DecodeError, Struct, ValidationError, convert
from msgspec.json import decode
from msgspec.structs import replace

from signoff.domain.second_look import ClaimOpinion, RubricAnswer
from signoff.domain.text import escape_line
from signoff.verification.opinion.material import OpinionMaterial

LONGEST_ANSWER = 200_000
LONGEST_WHY = 400
MOST_CITED = 50


class AnswerVoid(Exception):
    """The answer counts for nothing; the message says why."""


class _Answer(Struct, frozen=True):
    claims: tuple[ClaimOpinion, ...]


def read_claims(
    text: str, rubric: Sequence[str], material: OpinionMaterial
) -> tuple[ClaimOpinion, ...]:
    """The answers about all claims, in their order; AnswerVoid unless each can be checked."""
    answers = _read(text).claims
    told = {answer.id: answer for answer in answers}
    claims = [f"c{number}" for number in range(1, len(rubric) + 1)]
    if len(told) != len(answers):
        raise AnswerVoid("a claim is answered twice")
    for name in told.keys() - set(claims):
        raise AnswerVoid(f"there is no claim `{_short(name)}`")
    for name in claims:
        if name not in told:
            raise AnswerVoid(f"claim {name} is not answered")
        _check(told[name], material)
    return tuple(replace(told[name], why=_short(told[name].why)) for name in claims)


def _read(text: str) -> _Answer:
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start or len(text) > LONGEST_ANSWER:
        raise AnswerVoid("it is not a JSON object")
    try:
        return convert(decode(text[start : end + 1]), _Answer)
    except ValidationError as error:
        raise AnswerVoid(f"it has another form: {_short(str(error))}") from error
    except (DecodeError, RecursionError) as error:
        raise AnswerVoid("it is not a JSON object") from error


def _check(claim: ClaimOpinion, material: OpinionMaterial) -> None:
    unknown = [name for name in claim.cites if name not in material.ids]
    if unknown:
        raise AnswerVoid(f"claim {claim.id} cites `{_short(unknown[0])}`, which is not there")
    if not claim.cites and claim.answer is not RubricAnswer.CANNOT_TELL:
        raise AnswerVoid(f"claim {claim.id} cites nothing")
    if len(claim.cites) + len(claim.quotes) > MOST_CITED:
        raise AnswerVoid(f"claim {claim.id} cites too much")
    for quote in claim.quotes:
        words = " ".join(quote.text.split())
        there = " ".join(material.lines.get(quote.at, "").split())
        if not words or words not in there:
            raise AnswerVoid(f"what claim {claim.id} quotes does not stand at `{_short(quote.at)}`")


def _short(text: str) -> str:
    return escape_line(text)[:LONGEST_WHY]
