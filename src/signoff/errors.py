"""Every error signoff raises on purpose: stable code, exit code, facts, what to do next."""

from __future__ import annotations

from enum import IntEnum

# Not `typing.TYPE_CHECKING`: what must answer at once raises these, and `typing` loads slowly.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, ClassVar


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """The known word that somebody may have meant; empty when none is near."""
    import difflib  # noqa: PLC0415 - only needed when something is misspelt

    return next(iter(difflib.get_close_matches(word, known, n=1, cutoff=cutoff)), "")


class Exit(IntEnum):
    """Meanings of a command's exit code."""

    YES = 0
    NOT_DONE = 1
    USAGE = 2
    CANNOT_JUDGE = 3
    INVALID = 4
    CONFLICT = 5
    WAITING = 6
    INTERRUPTED = 130


class SignoffError(Exception):
    """Base of all errors: `message` states the facts, `hint` is a command or an act to do next."""

    code: ClassVar[str] = "error"  # of each error its name: `NoVault` is `no-vault`
    exit_code: ClassVar[Exit] = Exit.CANNOT_JUDGE
    default_hint: ClassVar[str] = "run it again with SIGNOFF_DEBUG=1 and report what it prints"

    def __init__(self, message: str, hint: str | None = None, facts: dict[str, Any] | None = None):
        super().__init__(message)
        self.message = message
        self.hint = hint or self.default_hint
        self.facts = facts or {}

    def __init_subclass__(cls) -> None:
        words = (f"-{c.lower()}" if c.isupper() else c for c in cls.__name__.removesuffix("Error"))
        cls.code = "".join(words).removeprefix("-")

    def __reduce__(self) -> tuple[Any, ...]:
        # The durable engine pickles step errors; rebuilding from plain arguments keeps replay safe.
        return (type(self), (self.message, self.hint, self.facts))

    def __str__(self) -> str:
        return self.message


class UsageError(SignoffError):
    """The command line asks for something that does not exist or does not fit together."""

    exit_code = Exit.USAGE
    default_hint = "signoff --help"


class PlanNameInvalid(UsageError, ValueError):
    """A text that cannot be the name of a plan."""

    default_hint = "choose a name of letters, digits and dashes"


class ActivePlanError(SignoffError):
    """The worktree's binding to a plan cannot be trusted; nothing falls back to another plan."""

    exit_code = Exit.USAGE
    default_hint = "signoff bind NAME, or signoff unbind"


class NoVault(SignoffError):
    """There is no folder of plans around here."""

    exit_code = Exit.INVALID
    default_hint = "signoff init"


class VaultClash(SignoffError):
    """Two repositories would keep their plans in the same folder of a shared vault."""

    exit_code = Exit.INVALID
    default_hint = "set SIGNOFF_PROJECT, or a name under [projects] in your own configuration"


class UnfinishedWork(SignoffError):
    """Removing a worktree would lose work that is nowhere else."""

    exit_code = Exit.CONFLICT
    default_hint = "merge or commit it first, or use --force"


class NotReady(SignoffError):
    """The plan depends on others that are not signed off and merged."""

    exit_code = Exit.NOT_DONE
    default_hint = "signoff ready"


class NotSignedOff(SignoffError):
    """The request needs a plan whose content, as it is now, was signed off."""

    exit_code = Exit.NOT_DONE
    default_hint = "signoff run PLAN"


class PlanNotFound(SignoffError, ValueError):
    """No plan at the given path or name."""

    exit_code = Exit.INVALID
    default_hint = "signoff init"


class PlanUnreadable(SignoffError):
    """The plan file exists but is not a readable text file within the limits."""

    exit_code = Exit.INVALID
    default_hint = "name a regular UTF-8 markdown file"


class PlanInvalid(SignoffError):
    """The plan has errors that static verification found; nothing ran."""

    exit_code = Exit.INVALID
    default_hint = "signoff verify PLAN"


class ConfigInvalid(SignoffError):
    """`signoff.toml` or the user's configuration cannot be used."""

    exit_code = Exit.INVALID
    default_hint = "correct what is named in the configuration file"


class UnknownRole(SignoffError):
    """A step's target names a role that nobody configured."""

    exit_code = Exit.INVALID
    default_hint = "name an agent (--agent claude) or add the role to signoff.toml"


class NotApproved(SignoffError):
    """The plan as it stands was not approved by a person."""

    exit_code = Exit.WAITING
    default_hint = "signoff approve PLAN"


class ApprovalRefused(SignoffError):
    """An approval, answer or waiver was given inside an agent's attempt or session."""

    exit_code = Exit.USAGE
    default_hint = "decide at a terminal of your own, outside the agent's attempt"


class PlanConflict(SignoffError):
    """A file changed since it was read; nothing was overwritten."""

    exit_code = Exit.CONFLICT
    default_hint = "read the current version and apply your change again"


class BranchConflict(SignoffError):
    """A branch moved, or files of a checkout would be overwritten; nothing was changed."""

    exit_code = Exit.CONFLICT
    default_hint = "look at what is there now, then run the same command again"


class Held(SignoffError):
    """Somebody else is driving this plan or working in this workspace."""

    exit_code = Exit.CONFLICT
    default_hint = "wait until the holder is done, then run the same command again"


class Fenced(SignoffError):
    """A newer driver took this run over; the late one may not write any more."""

    exit_code = Exit.CONFLICT
    default_hint = "signoff status PLAN"


class AlreadyAccepted(SignoffError):
    """The step was accepted before in this run; a step is accepted once."""

    exit_code = Exit.CONFLICT
    default_hint = "signoff log PLAN"


class LedgerBroken(SignoffError):
    """The hash chain does not hold: an entry was changed, removed or reordered."""

    default_hint = "restore the home folder from a backup, and do not trust the entries named"


class StorageFailed(SignoffError):
    """The database or the disk refused; what was acknowledged before is safe."""

    default_hint = "free disk space or correct the permissions, then run the same command again"


class SnapshotTooSlow(SignoffError):
    """Reading the workspace took longer than the step may take."""

    default_hint = "remove or ignore what is large, or raise **timeout:** of the step"


class SchemaTooNew(SignoffError):
    """The database was written by a newer signoff."""

    default_hint = "upgrade signoff, or point SIGNOFF_HOME at another folder"


class WorkspaceMissing(SignoffError):
    """The workspace is not a folder, or vanished while in use."""

    default_hint = "create the folder or pass --workspace DIR"


class HomeUnsafe(SignoffError):
    """The home folder lies where an agent could write: inside the workspace, or open to others."""

    exit_code = Exit.INVALID
    default_hint = "set SIGNOFF_HOME to a folder of your own outside the workspace"


class NothingToAnswer(SignoffError):
    """No open escalation has this id, or it does not offer this choice."""

    exit_code = Exit.USAGE
    default_hint = "signoff inbox"


class NoSuchRun(SignoffError):
    """The plan has no run to show, cancel or compare."""

    exit_code = Exit.USAGE
    default_hint = "signoff run PLAN"


class ProcessFailed(SignoffError):
    """The operating system refused to start or control a process."""

    default_hint = "check the command, its permissions and the system's process limits"


class ContentMoved(SignoffError):
    """The workspace kept changing while it was judged, so no verdict is about one content."""

    default_hint = (
        "stop whatever else writes into the workspace (a log of this command, perhaps), "
        "then run the same command again"
    )


class SandboxMissing(SignoffError):
    """The sandbox that was chosen, or is required, does not work here; nothing was run."""

    default_hint = "signoff doctor"


class RoomTooDear(SignoffError):
    """A clean room for this content would cost more than judging it is worth."""

    default_hint = "have the step judged in the workspace: `**judge_in:** workspace`"


class SetupFailed(SignoffError):
    """The set-up command of the repository failed, so nothing was judged."""

    default_hint = "run the command of [setup] in a fresh clone; `network = true` if it needs that"


class ListUnreadable(SignoffError):
    """The command of a `for_each` step did not give a list."""

    default_hint = "run the command of `**for_each:**` in the workspace and see what it prints"


class Interrupted(SignoffError):
    """A person stopped the run; its state is safe."""

    exit_code = Exit.INTERRUPTED
    default_hint = "run the same command again to go on"


class ProofInvalid(SignoffError):
    """A receipt or bundle is not what it claims to be; nothing in it is to be trusted."""

    exit_code = Exit.NOT_DONE
    default_hint = "ask whoever made it for it again, and compare the sha256 of the file"


class ContentUnreachable(SignoffError):
    """Content could not be sent to, or fetched from, the remote that workers share."""

    default_hint = "check `[content] remote` in your own configuration, and git's access to it"


class KeyUnusable(SignoffError):
    """A key for receipts cannot be used; the one in the home folder is never replaced."""

    exit_code = Exit.INVALID
    default_hint = "put the key back from a backup; with another key old receipts cannot be checked"


class ExtraMissing(SignoffError):
    """The command needs a library that comes with an optional part of signoff."""

    exit_code = Exit.USAGE
    default_hint = "install the part that is named where signoff itself is installed"


class ScriptUnusable(SignoffError):
    """A scripted model was asked for more than its script says, or its script cannot be used."""

    exit_code = Exit.USAGE
    default_hint = "correct the script of the scripted model"


class ModelUnusable(SignoffError):
    """The model that was named cannot be asked: no such name, no key, no package."""

    exit_code = Exit.INVALID
    default_hint = "set the provider's key, such as OPENAI_API_KEY, or name another --model"


class TranscriptUnusable(SignoffError):
    """There is no conversation of this session to resume, or it cannot be read."""

    exit_code = Exit.USAGE
    default_hint = "start a new session: signoff agent TASK --model PROVIDER:NAME"


class InternalError(SignoffError):
    """A bug in signoff itself; what the ledger acknowledged before is safe."""

    default_hint = "run it again with SIGNOFF_DEBUG=1 and report what it prints"


def all_error_types() -> list[type[SignoffError]]:
    """Every concrete error, for the reference page and the test over all of them."""
    found: list[type[SignoffError]] = [SignoffError]
    for error in found:
        found.extend(error.__subclasses__())
    return found


def how_to_install(extra: str) -> str:
    """The command that adds an optional part to this very installation, wherever it came from."""
    import json  # noqa: PLC0415 - errors are loaded by what must answer at once
    import shlex  # noqa: PLC0415 - as above
    import sys  # noqa: PLC0415 - as above
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - as above
    from importlib.util import find_spec  # noqa: PLC0415 - as above
    from urllib.parse import unquote, urlsplit  # noqa: PLC0415 - as above

    try:
        origin = json.loads(distribution("signoff").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        origin = {}
    source = unquote(urlsplit(origin["url"]).path) if "dir_info" in origin else "signoff"
    python = shlex.quote(sys.executable)
    pip = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    return f"{pip} {shlex.quote(f'{source}[{extra}]')}"
