"""Second looks at work whose contract is kept: strength of the contract, opinion of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct, field

from signoff.domain.text import escape_line

DEFAULT_REQUIRED = 80  # per cent, where the policy requires strength and the step says no number


class VersionKind(StrEnum):
    """Ways in which a wrong version is made. Stored words."""

    UNDO = "undo"  # the change, or a part of it, is taken back
    PROBE = "probe"  # a function deceives whoever calls it
    SPECIAL = "special"  # it answers what the visible tests ask, and nothing else
    MUTANT = "mutant"  # a small mistake


class Score(Struct, frozen=True):
    """Wrong versions of one kind: tried, and rejected of those."""

    rejected: int = 0
    tried: int = 0


class Unnoticed(Struct, frozen=True):
    """A wrong version that the contract keeps."""

    kind: VersionKind
    path: str
    line: int
    what: str
    diff: str = ""

    def __str__(self) -> str:
        where = f"`{self.path}:{self.line}` " if self.line else f"`{self.path}` "
        return f"{where if self.path else ''}{self.what}"


class Strength(Struct, frozen=True):
    """Result of judging wrong versions of one change."""

    key: str  # digest of all that it depends on
    kinds: Mapping[VersionKind, Score] = field(default_factory=dict)
    visible: int = 0  # of the rejected, those that the visible contract rejects by itself
    heldout: bool = False  # a held-out check was asked too
    unnoticed: tuple[Unnoticed, ...] = ()
    neither: int = 0  # they could not be loaded, or not be judged
    left_out: int = 0  # more could have been made
    incomplete: str = ""  # why not all of them were judged
    notes: tuple[str, ...] = ()
    duration_s: float = 0.0

    @property
    def tried(self) -> int:
        """Wrong versions that got an answer."""
        return sum(score.tried for score in self.kinds.values())

    @property
    def rejected(self) -> int:
        """Wrong versions that the contract rejects, with its held-out check if it has one."""
        return sum(score.rejected for score in self.kinds.values())

    @property
    def share(self) -> int | None:
        """Per cent rejected, rounded down; None where nothing was tried."""
        return self.rejected * 100 // self.tried if self.tried else None

    def meets(self, per_cent: int) -> bool:
        """True when enough is rejected; what was not measured to its end never is enough."""
        share = self.share
        return not self.incomplete and share is not None and share >= per_cent

    def __str__(self) -> str:
        said = f"rejects {self.rejected} of {self.tried} wrong versions"
        if self.heldout:
            said += f", {self.visible} without the held-out check"
        if not self.tried:
            said = "strength unknown"
        return f"{said}; incomplete: {self.incomplete}" if self.incomplete else said


class RubricAnswer(StrEnum):
    """Answers of a model about one claim of a rubric. Stored words."""

    HOLDS = "holds"
    VIOLATED = "violated"
    CANNOT_TELL = "cannot tell"


class OpinionResult(StrEnum):
    """Results of asking about a whole rubric. Stored words; only the harness says `kept`."""

    HOLDS = "holds"
    VETO = "veto"
    UNDECIDED = "undecided"  # the passes disagree, it cannot tell, or it did not see everything
    VOID = "void"  # no answer that could be checked


class Quote(Struct, frozen=True):
    """A line of a changed file, and where it stands."""

    at: str  # `file:line`
    text: str


class ClaimOpinion(Struct, frozen=True):
    """One pass about one claim."""

    id: str
    answer: RubricAnswer
    cites: tuple[str, ...] = ()
    quotes: tuple[Quote, ...] = ()
    why: str = ""


class OpinionOfClaim(Struct, frozen=True):
    """A claim, and what each pass said of it."""

    claim: str
    passes: tuple[ClaimOpinion, ...] = ()

    def agreed(self, answer: RubricAnswer) -> bool:
        """True when every pass gave this answer."""
        return bool(self.passes) and all(told.answer is answer for told in self.passes)

    def __str__(self) -> str:
        answers = " / ".join(dict.fromkeys(told.answer for told in self.passes))
        told = next((p for p in self.passes if p.answer is not RubricAnswer.HOLDS), None)
        told = told or next(iter(self.passes), None)
        where = f" ({', '.join(quote.at for quote in told.quotes)})" if told and told.quotes else ""
        why = f": {told.why}" if told and told.why else ""
        return escape_line(f"{answers}: {self.claim}{where}{why}")


class OpinionGiven(Struct, frozen=True):
    """An answer about a whole rubric, and all that it is bound to."""

    model: str
    result: OpinionResult
    why: str = ""  # of a result that the claims alone do not explain
    claims: tuple[OpinionOfClaim, ...] = ()
    input: str = ""  # digest of the prompts: task, rubric, change, outputs; and of the model
    about: str = ""  # the same without the outputs, which differ whenever a check runs
    base: str = ""  # the content before the change
    left: str = ""  # and after it
    snapshot: str = ""  # the content on which the contract was kept
    prompts: tuple[str, ...] = ()  # blobs, one per pass
    answers: tuple[str, ...] = ()  # blobs, in the order in which they came
    tokens: int | None = 0
    usd: float | None = 0.0
    duration_s: float = 0.0
    reused_from: int | None = None
    measured: str = ""  # how good this model's opinions were found to be, by then

    @property
    def lines(self) -> tuple[str, ...]:
        """The opinion in words, a claim a line."""
        return (*map(str, self.claims), *((escape_line(self.why),) if self.why else ()))


class ModelSaid(Struct, frozen=True):
    """One answer of a model, or why there is none; None for what it did not tell of its cost."""

    text: str = ""
    failed: str = ""
    tokens: int | None = 0
    usd: float | None = 0.0


class JudgeCalibrated(Struct, frozen=True):
    """Numbers of wrong versions of accepted work that a model vetoed, and of right ones."""

    model: str
    wrong: int
    vetoed: int
    right: int
    false_alarms: int
    tokens: int | None = 0
    usd: float | None = 0.0

    def measured(self, at: str) -> str:
        """The numbers in words, with the day on which they were found."""
        found = f"recall {self.vetoed} of {self.wrong}"
        return f"{found}, false alarms {self.false_alarms} of {self.right}, measured {at[:10]}"


def joined(
    rubric: Sequence[str], passes: Sequence[Sequence[ClaimOpinion]], unseen: Sequence[str]
) -> tuple[OpinionResult, tuple[OpinionOfClaim, ...], str]:
    """One result of all passes: a veto needs every pass, and so does `holds`."""
    claims = tuple(
        OpinionOfClaim(claim, tuple(told[n] for told in passes)) for n, claim in enumerate(rubric)
    )
    if any(claim.agreed(RubricAnswer.VIOLATED) for claim in claims):
        return OpinionResult.VETO, claims, ""
    if not all(claim.agreed(RubricAnswer.HOLDS) for claim in claims):
        return OpinionResult.UNDECIDED, claims, _doubts(claims)
    if unseen:
        why = f"it did not see all of the change: {', '.join(unseen)}"
        return OpinionResult.UNDECIDED, claims, why
    return OpinionResult.HOLDS, claims, ""


def _doubts(claims: Sequence[OpinionOfClaim]) -> str:
    def said() -> Iterator[str]:
        if any(len({told.answer for told in claim.passes}) > 1 for claim in claims):
            yield "with and without comments it does not say the same"
        if any(claim.agreed(RubricAnswer.CANNOT_TELL) for claim in claims):
            yield "it cannot tell"

    return "; ".join(said())
