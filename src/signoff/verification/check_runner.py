"""Run contracts: in a clean environment, with a fixed search path, limits, and an enclosure."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from signoff.commands.reading import lower
from signoff.commands.tree import NodeKind
from signoff.domain.plan import Contract, ExpectationKind
from signoff.domain.text import decode_output
from signoff.domain.verdict import Ending, Isolation, Observation, Reason, Result
from signoff.errors import Interrupted, ListUnreadable, StorageFailed
from signoff.process.command import Command
from signoff.process.environment import clean_environment
from signoff.process.leftovers import WORKSPACE_VARIABLE
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.shell import input_command, script_command
from signoff.verification.counting.reports import REPORT_DIR_VARIABLE, read_reports
from signoff.verification.enclosure import UNCONFINED, Enclosure, JudgingPlace
from signoff.verification.heldout import (
    CONTRACT_FILE,
    FOLDER_VARIABLE,
    OUTPUT_FILE,
    REFUSED,
    HeldOut,
    answer_of,
    failing_product,
)
from signoff.verification.verdicts import UnboundVerdict, needles
from signoff.workspace.opened import OpenWatch

LONGEST_LIST_BYTES = 16_000_000
MOST_PROCESSES = 4_096
_SIGNALS = 128  # what a shell adds to the number of a signal
LARGEST_FILE_BYTES = 64 * 1024**3


class ContractRun(Struct, frozen=True):
    """One run of a contract: what the process did, and the reports it left."""

    observation: Observation
    reports: Mapping[str, bytes]


class CheckRunner(Struct, frozen=True):
    """Runs contract commands the same way wherever they are judged."""

    search_path: str
    environ: Mapping[str, str]
    cancelled: Callable[[], bool] | None = None
    on_output: Callable[[bytes], None] | None = None
    mark: str | None = None  # of the workspace, to find what outlives a killed driver
    enclosure: Enclosure = UNCONFINED

    def run(
        self, contract: Contract, spot: JudgingPlace, watch: OpenWatch | None = None
    ) -> ContractRun:
        """Run the contract's command and observe it, and what it opens, to its end."""
        limits = _limits(contract)
        # Made only for contracts that speak of it.
        if REPORT_DIR_VARIABLE not in contract.command:
            return ContractRun(self._run(contract, spot, limits, watch=watch), {})
        with _own_folder("signoff-report-") as reports:
            extra = {REPORT_DIR_VARIABLE: str(reports)}
            seen = self._run(contract, spot, limits, extra=extra, writable=(reports,), watch=watch)
            return ContractRun(seen, read_reports(reports))

    def run_product(self, product: Contract, spot: JudgingPlace) -> Observation:
        """Run the product for a check that sees only its output; no file of the check is there."""
        most = LONGEST_LIST_BYTES
        limits = replace(_limits(product), keep_head=most, max_output=most)
        return self._run(product, spot, limits, silent=True)

    def ask_heldout(
        self,
        check: HeldOut,
        hidden: Contract,
        spot: JudgingPlace,
        linked: tuple[str, ...],
        approved: Callable[[Path], None] | None = None,
    ) -> tuple[UnboundVerdict, Observation]:
        """Ask a held-out check about the product itself, or about what the product printed.

        One that cannot run is asked again on the content that `approved` puts into a folder: if it
        can run there, it is the product that keeps it from running.
        """
        printed: bytes | None = None
        if check.product is not None:
            product = replace(hidden, command=check.product)
            seen = self.run_product(product, spot)
            failing = failing_product(product, seen)
            if failing is not None:
                return failing, seen
            printed = seen.stdout.kept
        observation = self.run_heldout(hidden, spot, check.folder, printed, linked)
        answer = answer_of(hidden, observation)
        if answer.reason is Reason.INFRASTRUCTURE and approved is not None and printed is None:
            with suppress(StorageFailed):  # that content is not known here
                then = self.run_heldout(hidden, spot, check.folder, None, linked, approved)
                able = answer_of(hidden, then).result is not Result.UNKNOWN
                answer = REFUSED if able else answer
        return answer, observation

    def run_heldout(
        self,
        contract: Contract,
        spot: JudgingPlace,
        folder: Path,
        printed: bytes | None = None,
        linked: Collection[str] = (),
        fill: Callable[[Path], None] | None = None,
    ) -> Observation:
        """Run a held-out check; what it prints is shown to nobody who watches the agent.

        It works on a copy that only it is shown: the rest of the home folder stays invisible, and
        so does the copy to agents that work meanwhile. Its text
        is read from there too: arguments of a process can be read by the product it runs. Where
        the product has `printed` already, the check works in an empty folder. Otherwise it runs
        the product: not in the workspace itself, where that could leave a note for the next agent.
        With `fill` it is run on other content, which that puts into a folder.
        """
        with _own_folder(".", folder.parent) as place:
            workspace, copy = spot.folder, place / "files"
            shutil.copytree(folder, copy, symlinks=True)
            # Without settings near its tests pytest lists every folder up to the one that they
            # share with the workspace, and a sandbox may hide what lies there.
            (place / "pytest.ini").touch()
            if printed is not None:
                (copy / OUTPUT_FILE).write_bytes(printed)
                spot = JudgingPlace(place / "empty")
                spot.folder.mkdir()
            elif fill is not None or not (
                self.enclosure.isolation is Isolation.NONE or spot.mounts
            ):
                spot = _disposable(spot.folder, linked, place / "work", fill)
            return self._run(
                contract,
                spot,
                _limits(contract),
                argv=script_command(copy / CONTRACT_FILE),
                extra={FOLDER_VARIABLE: str(copy)},
                stdin=printed or b"",
                readable=(workspace,),
                shown=(place,),
                silent=True,
            )

    def read_list(self, command: str, folder: Path) -> tuple[str, ...]:
        """The lines a `for_each` command prints: stripped, blank and repeated ones left out."""
        contract = Contract(command)
        limits = Limits(wall_s=contract.timeout_s, keep_head=LONGEST_LIST_BYTES)
        observation = self._run(contract, JudgingPlace(folder), limits)
        if observation.ending is not Ending.EXITED or observation.exit_code != 0:
            raise ListUnreadable(f"the list could not be read: {observation.describe()}")
        if not observation.stdout.complete:
            raise ListUnreadable(f"the list is longer than {LONGEST_LIST_BYTES} bytes")
        lines = decode_output(observation.stdout.kept).split("\n")
        return tuple(dict.fromkeys(line.strip() for line in lines if line.strip()))

    def _run(
        self,
        contract: Contract,
        spot: JudgingPlace,
        limits: Limits,
        *,
        argv: tuple[str, ...] | None = None,
        stdin: bytes = b"",
        extra: Mapping[str, str] | None = None,
        readable: tuple[Path, ...] = (),
        writable: tuple[Path, ...] = (),
        shown: tuple[Path, ...] = (),
        silent: bool = False,
        watch: OpenWatch | None = None,
    ) -> Observation:
        show = None if silent else self.on_output
        shell, text = input_command(contract.command)
        command = Command(
            argv=argv or shell,
            cwd=spot.folder,
            env=clean_environment(
                self.environ,
                path=self.search_path,
                passed=contract.env,
                extra={
                    **self.enclosure.variables(self.enclosure.isolation),
                    **(extra or {}),
                },
            ),
            limits=limits,
            stdin=stdin if argv else text,
            born_with=(WORKSPACE_VARIABLE, self.mark) if self.mark else None,
            find_stdout=needles(contract, ExpectationKind.STDOUT_CONTAINS),
            find_stderr=needles(contract, ExpectationKind.STDERR_CONTAINS),
            confinement=self.enclosure.for_contract(contract, spot, readable, writable, shown),
        )
        observation = run(
            command,
            cancelled=self.cancelled,
            on_output=None if show is None else (lambda _stream, chunk: show(chunk)),
            also=(watch.fd, watch.take_in) if watch is not None and watch.fd >= 0 else None,
        )
        if observation.ending is Ending.CANCELLED:
            raise Interrupted("interrupted while a contract was judged; state is safe")
        return observation if argv else _as_its_one_command(contract.command, observation)


def _as_its_one_command(text: str, seen: Observation) -> Observation:
    """The ending of a contract that is one command: by a signal, where the shell tells of one."""
    number = (seen.exit_code or 0) - _SIGNALS
    if number < 1 or seen.ending is not Ending.EXITED or number not in signal.valid_signals():
        return seen
    block, clear = lower(text)
    if not clear or [part.kind for part in block.parts] != [NodeKind.COMMAND]:
        return seen
    return replace(seen, ending=Ending.SIGNALLED, exit_code=None, signal=number)


def _disposable(
    folder: Path, linked: Collection[str], copy: Path, fill: Callable[[Path], None] | None
) -> JudgingPlace:
    """A copy of the folder to work in; what is `linked` stays where it is and cannot be changed."""
    kept_there = {folder / path for path in linked}

    def left_out(here: str, names: list[str]) -> list[str]:
        # Pipes and sockets are no content; reading one would wait for whoever writes.
        paths = [Path(here, name) for name in names]
        plain = {p for p in paths if p.is_symlink() or p.is_file() or p.is_dir()}
        return [p.name for p in paths if p in kept_there or p not in plain]

    if fill is not None:
        fill(copy)
    else:
        shutil.copytree(folder, copy, symlinks=True, ignore=left_out)
    for path in linked:
        if os.path.lexists(folder / path) and (copy / path).parent.is_dir():
            (copy / path).symlink_to(folder / path)
    return JudgingPlace(copy)


def _limits(contract: Contract) -> Limits:
    return Limits(
        wall_s=contract.timeout_s,
        processes=MOST_PROCESSES,
        file_size=LARGEST_FILE_BYTES,
    )


@contextmanager
def _own_folder(prefix: str, where: Path | None = None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=prefix, dir=where, ignore_cleanup_errors=True) as name:
        yield Path(name).resolve()
