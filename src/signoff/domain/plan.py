"""The plan and its parts, as frozen values; where they came from is recorded as line numbers."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.digests import ByMeaning, digest_of
from signoff.domain.globs import literal

DEFAULT_CONTRACT_TIMEOUT_S = 60.0
DEFAULT_STEP_TIMEOUT_S = 600.0
DEFAULT_RETRIES = 2

POSTCONDITION_PREFIX = "postcondition:"


class PlanStatus(StrEnum):
    """Phases of a plan's lifecycle."""

    DRAFT = "draft"
    VERIFIED = "verified"
    APPROVED = "approved"
    IN_PROGRESS = "in-progress"
    DONE = "done"
    FAILED = "failed"


class Author(StrEnum):
    """Authors of plans."""

    PERSON = "person"
    AGENT = "agent"  # its checks are self-set
    DERIVED = "derived"  # by the harness, from a task without a plan


class Mark(StrEnum):
    """The sign in front of a step's title: a projection for readers, never proof."""

    NONE = ""
    DONE = "✅"
    FAILED = "❌"
    RUNNING = "⏳"
    BLOCKED = "⛔"


class ExpectationKind(StrEnum):
    """Kinds of expectations: the part of an observation, and the comparison."""

    EXIT_CODE = "exit_code =="
    STDOUT_CONTAINS = "stdout contains"
    STDERR_CONTAINS = "stderr contains"
    STDOUT_EQUALS = "stdout equals"
    TESTS_AT_LEAST = "tests >="


class Expectation(ByMeaning, frozen=True):
    """One line below a contract's fence; all of them must hold."""

    kind: ExpectationKind
    value: str | int
    line: int = 0

    def __str__(self) -> str:
        quoted = f'"{self.value}"' if isinstance(self.value, str) else str(self.value)
        return f"{self.kind} {quoted}"


class RedFirst(StrEnum):
    """Treatment of a contract that already held before the first attempt."""

    RECORD = "record"
    REQUIRED = "required"
    OFF = "off"


class Holds(StrEnum):
    """Says if a kept contract must still hold at the end of the plan."""

    ALWAYS = "always"
    AT_STEP = "at_step"


class Effects(StrEnum):
    """Says if judging reaches outside the workspace; such a contract is judged once."""

    NONE = "none"
    EXTERNAL = "external"


class JudgeIn(StrEnum):
    """Place in which the contract runs."""

    WORKSPACE = "workspace"
    CLEAN = "clean"


class Contract(ByMeaning, frozen=True):
    """A shell command and what it must show; only the harness runs it."""

    command: str
    expectations: tuple[Expectation, ...] = ()
    timeout_s: float = DEFAULT_CONTRACT_TIMEOUT_S
    network: bool | None = None
    env: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    effects: Effects = Effects.NONE
    holds: Holds = Holds.ALWAYS
    red_first: RedFirst = RedFirst.RECORD
    red_first_reason: str = ""
    may_change: tuple[str, ...] = ()
    may_shrink: bool = False
    judge_in: JudgeIn | None = None
    heldout: str | None = None
    may_extend: tuple[str, ...] = ()
    strength: int = 0  # per cent of wrong versions that it must reject; 0: nobody asks
    line: int = 0

    def all_expectations(self) -> tuple[Expectation, ...]:
        """The stated expectations, with the exit code 0 that is implied when none is stated."""
        if any(e.kind is ExpectationKind.EXIT_CODE for e in self.expectations):
            return self.expectations
        return (Expectation(ExpectationKind.EXIT_CODE, 0), *self.expectations)

    def essence(self) -> dict[str, Any]:
        """Options that are not the default: an option added later changes no older contract."""
        said = self.meaning().items()
        return {k: value for k, value in said if k == "command" or value != _PLAIN_CONTRACT[k]}

    @property
    def judged_once(self) -> bool:
        """True when a kept verdict is final, because judging again is wrong or meaningless."""
        return self.effects is Effects.EXTERNAL or self.holds is Holds.AT_STEP


_PLAIN_CONTRACT = Contract("").meaning()


class Then(StrEnum):
    """Action when the retries are used up."""

    ESCALATE = "escalate"
    ABORT = "abort"


class PickBy(StrEnum):
    """The rule for choosing among candidates whose contract is kept."""

    FIRST = "first"
    SMALLEST = "smallest"
    CHEAPEST = "cheapest"


class OnFail(Struct, frozen=True):
    """The whole policy for a broken contract; the orchestrator does not improvise beyond it."""

    retries: int = DEFAULT_RETRIES
    then: Then = Then.ESCALATE

    def __str__(self) -> str:
        return f"retry({self.retries}), then {self.then}" if self.retries else str(self.then)


class SubscriptionKind(StrEnum):
    """Kinds of things that a subscription brings into the prompt."""

    FILE = "file"
    TOPIC = "topic"


class Subscription(ByMeaning, frozen=True):
    """Context that a step's prompt carries: a file of the workspace, or a topic of the vault."""

    kind: SubscriptionKind
    target: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.kind}:{self.target}"


class Cost(Struct, frozen=True):
    """Tokens and money, used or estimated."""

    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.tokens + other.tokens, round(self.usd + other.usd, 9))


class Budget(ByMeaning, frozen=True):
    """Limits on the cost of the whole plan; None where the plan sets no limit."""

    tokens: int | None = None
    usd: float | None = None
    wall_s: float | None = None
    line: int = 0


class UnknownField(Struct, frozen=True):
    """A `**name:**` we do not know: kept in the file, warned about."""

    name: str
    line: int


class Step(ByMeaning, frozen=True, dict=True):
    """One unit of work; its id is its number as written."""

    beside = frozenset({"line", "mark", "unknown_fields"})

    id: str
    title: str
    target: str = ""
    task: str = ""
    contract: Contract | None = None
    needs: tuple[str, ...] = ()
    subscriptions: tuple[Subscription, ...] = ()
    produces: tuple[str, ...] = ()
    protects: tuple[str, ...] = ()
    touches: tuple[str, ...] = ()
    timeout_s: float = DEFAULT_STEP_TIMEOUT_S
    on_fail: OnFail = OnFail()
    estimate: Cost | None = None
    for_each: str | None = None
    item: str | None = None
    parent: str | None = None
    candidates: tuple[str, ...] = ()  # roles that work on it at once; empty: the target alone
    pick: PickBy = PickBy.FIRST
    rubric: tuple[str, ...] = ()  # claims that a model gives its opinion on
    mark: Mark = Mark.NONE
    unknown_fields: tuple[UnknownField, ...] = ()
    line: int = 0

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that may work on it, one per candidate."""
        return self.candidates or (self.target,)

    @property
    def wording(self) -> str:
        """The task, in the plan's own words."""
        return self.task

    @cached_property
    def digest(self) -> str:
        """Digest of id, task and contract: equal for the same step across revisions."""
        said = {"id": self.id, "task": self.task}
        return _digest(said, self.contract, self.rubric)


class Postcondition(ByMeaning, frozen=True):
    """A condition that must hold for the whole plan at the end."""

    number: int
    text: str
    contract: Contract | None = None
    rubric: tuple[str, ...] = ()  # claims that a model gives its opinion on
    line: int = 0

    @property
    def id(self) -> str:
        """The subject under which its verdicts stand in the ledger."""
        return f"{POSTCONDITION_PREFIX}{self.number}"

    @property
    def title(self) -> str:
        """The text that is shown for it."""
        return self.text

    @property
    def wording(self) -> str:
        """The demand, in the plan's own words."""
        return self.text

    @property
    def digest(self) -> str:
        """Digest of id, text and contract: equal for the same postcondition across revisions."""
        said = {"id": self.id, "text": self.text}
        return _digest(said, self.contract, self.rubric)


def _digest(said: dict[str, Any], contract: Contract | None, rubric: tuple[str, ...]) -> str:
    """Digest of what is demanded; a rubric counts where there is one."""
    said["contract"] = contract.essence() if contract else None
    return digest_of(said | {"rubric": rubric} if rubric else said)


class Plan(ByMeaning, frozen=True, dict=True):
    """One document, wherever it came from."""

    beside = frozenset({"status", "file_digest"})

    title: str
    steps: tuple[Step, ...]
    postconditions: tuple[Postcondition, ...] = ()
    context: str = ""
    budget: Budget = Budget()
    priority: str = "normal"
    status: PlanStatus = PlanStatus.DRAFT
    owner: str = ""
    depends_on: tuple[str, ...] = ()
    touches: tuple[str, ...] = ()
    file_digest: str = ""
    plan_digest: str = ""

    @property
    def subjects(self) -> tuple[Step | Postcondition, ...]:
        """Everything that is judged: the steps, then the postconditions."""
        return (*self.steps, *self.postconditions)

    @property
    def roles(self) -> tuple[str, ...]:
        """Every role that a step goes to, once."""
        return tuple(dict.fromkeys(role for step in self.steps for role in step.roles))

    def step(self, step_id: str) -> Step:
        """The step with this id; KeyError when the plan has none."""
        for step in self.steps:
            if step.id == step_id:
                return step
        raise KeyError(step_id)


def expand(step: Step, items: tuple[str, ...], quote: bool = True) -> tuple[Step, ...]:
    """One step per item of a `for_each` list; the item is shell-quoted inside the contract."""
    return tuple(_with_item(step, item, quote) for item in items)


def _with_item(step: Step, item: str, quote: bool) -> Step:
    def fill(text: str) -> str:
        return text.replace("{item}", item)

    def fill_globs(globs: tuple[str, ...]) -> tuple[str, ...]:
        # An agent can name a file `*`: an item stands for itself, never for other files.
        return tuple(glob.replace("{item}", literal(item)) for glob in globs)

    contract = step.contract
    if contract is not None:
        shown = _shell_quote(item) if quote else item
        contract = replace(
            contract,
            command=contract.command.replace("{item}", shown),
            expectations=tuple(_expecting(e, item) for e in contract.expectations),
            writes=fill_globs(contract.writes),
            may_change=fill_globs(contract.may_change),
            may_extend=fill_globs(contract.may_extend),
        )
    return replace(
        step,
        id=f"{step.id}[{item}]",
        title=fill(step.title),
        task=fill(step.task),
        contract=contract,
        produces=fill_globs(step.produces),
        protects=fill_globs(step.protects),
        touches=fill_globs(step.touches),
        subscriptions=tuple(replace(s, target=fill(s.target)) for s in step.subscriptions),
        rubric=tuple(map(fill, step.rubric)),
        for_each=None,
        item=item,
        parent=step.id,
    )


def _expecting(expectation: Expectation, item: str) -> Expectation:
    value = expectation.value
    return replace(
        expectation, value=value.replace("{item}", item) if isinstance(value, str) else value
    )


def _shell_quote(text: str) -> str:
    return "'" + text.replace("'", "'\"'\"'") + "'"
