"""Where contracts run: a clean environment, a fixed search path, the process room's limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from signoff.domain.observation import Ending, Observation
from signoff.domain.plan import Contract, ExpectationKind
from signoff.domain.text import decode_output
from signoff.errors import Interrupted, ListUnreadable
from signoff.process import (
    WORKSPACE_VARIABLE,
    Command,
    Limits,
    clean_environment,
    run,
    shell_command,
)
from signoff.verification.expectations import needles

LONGEST_LIST_BYTES = 16_000_000


@dataclass(frozen=True)
class Bench:
    """Runs contract commands the same way wherever they are judged."""

    search_path: str
    environ: Mapping[str, str]
    cancelled: Callable[[], bool] | None = None
    on_output: Callable[[bytes], None] | None = None
    mark: str | None = None  # of the workspace, to find what outlives a killed driver

    def run(self, contract: Contract, folder: Path) -> Observation:
        """Run the contract's command in a folder and observe it to its end."""
        return self._run(contract, folder, Limits(wall_s=contract.timeout_s))

    def read_list(self, command: str, folder: Path) -> tuple[str, ...]:
        """The lines a `for_each` command prints: stripped, blank and repeated ones left out."""
        contract = Contract(command)
        limits = Limits(wall_s=contract.timeout_s, keep_head=LONGEST_LIST_BYTES)
        observation = self._run(contract, folder, limits)
        if observation.ending is not Ending.EXITED or observation.exit_code != 0:
            raise ListUnreadable(f"the list could not be read: {observation.describe()}")
        if not observation.stdout.complete:
            raise ListUnreadable(f"the list is longer than {LONGEST_LIST_BYTES} bytes")
        lines = decode_output(observation.stdout.kept).split("\n")
        return tuple(dict.fromkeys(line.strip() for line in lines if line.strip()))

    def _run(self, contract: Contract, folder: Path, limits: Limits) -> Observation:
        show = self.on_output
        command = Command(
            argv=shell_command(contract.command),
            cwd=folder,
            env=clean_environment(
                self.environ,
                path=self.search_path,
                passed=contract.env,
                extra={WORKSPACE_VARIABLE: self.mark} if self.mark else {},
            ),
            limits=limits,
            marked_by=WORKSPACE_VARIABLE if self.mark else None,
            find_stdout=needles(contract, ExpectationKind.STDOUT_CONTAINS),
            find_stderr=needles(contract, ExpectationKind.STDERR_CONTAINS),
        )
        observation = run(
            command,
            cancelled=self.cancelled,
            on_output=None if show is None else (lambda _stream, chunk: show(chunk)),
        )
        if observation.ending is Ending.CANCELLED:
            raise Interrupted("interrupted while a contract was judged; state is safe")
        return observation
