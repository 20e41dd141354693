"""The evidence key: everything that makes a verdict valid, so equal keys mean equal verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from signoff import __version__
from signoff.domain.digests import digest_of
from signoff.domain.plan import Contract, JudgeIn
from signoff.domain.verdict import Isolation

RUNNER_VERSION = f"signoff {__version__}"


@dataclass(frozen=True)
class EvidenceKey:
    """A struct of everything; its digest is what verdicts are stored and reused under."""

    contract: Contract
    pins: str
    snapshot: str
    environment: str
    workspace: str
    search_path: str
    variables: Mapping[str, str]
    isolation: Isolation
    judged_in: JudgeIn
    runner: str = RUNNER_VERSION

    @property
    def digest(self) -> str:
        """The key itself."""
        return digest_of(self)
