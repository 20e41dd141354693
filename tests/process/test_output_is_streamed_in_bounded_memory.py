"""All output is counted, hashed and searched; only its head and tail are kept."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from signoff.domain.verdict import Ending
from signoff.process.command import StreamName, StreamRecord
from signoff.process.limits import Limits
from signoff.process.runner import run

from .commands import bash, environment, python


def test_both_streams_are_kept_apart_and_whole(tmp_path: Path) -> None:
    seen = run(bash("echo out; echo err >&2", tmp_path))
    assert (seen.stdout.head, seen.stderr.head) == (b"out\n", b"err\n")
    assert seen.stdout.sha256 == hashlib.sha256(b"out\n").hexdigest()
    assert seen.stdout.complete


def test_a_long_output_keeps_its_head_and_tail(tmp_path: Path) -> None:
    command = bash("seq 1 200000", tmp_path)
    seen = run(replace(command, limits=Limits(wall_s=60, keep_head=8, keep_tail=14)))
    whole = b"".join(b"%d\n" % i for i in range(1, 200_001))
    assert (seen.stdout.head, seen.stdout.tail) == (b"1\n2\n3\n4\n", b"199999\n200000\n")
    assert (seen.stdout.size, seen.stdout.complete) == (len(whole), False)
    assert seen.stdout.sha256 == hashlib.sha256(whole).hexdigest()


def test_text_is_found_in_the_middle_that_is_not_kept(tmp_path: Path) -> None:
    command = bash("seq 1 300000; echo no >&2", tmp_path)
    seen = run(
        replace(
            command,
            limits=Limits(wall_s=60, keep_head=0, keep_tail=0),
            find_stdout=(b"\n150000\n150001\n", b"300001", b""),
            find_stderr=(b"no", b"yes"),
        )
    )
    assert seen.stdout_matches == (True, False, True)
    assert seen.stderr_matches == (True, False)
    assert (seen.stdout.head, seen.stdout.tail) == (b"", b"")


@given(
    chunks=st.lists(st.binary(max_size=12).map(lambda b: bytes(c % 3 + 97 for c in b)), max_size=8),
    needles=st.lists(st.text(alphabet="abc", max_size=6), max_size=3),
    head=st.integers(0, 9),
    tail=st.integers(0, 9),
)
def test_chunk_boundaries_never_matter(
    chunks: list[bytes], needles: list[str], head: int, tail: int
) -> None:
    wanted = tuple(needle.encode() for needle in needles)
    record = StreamRecord(head, tail, wanted)
    for chunk in chunks:
        record.feed(chunk)
    whole = b"".join(chunks)
    output = record.output()
    rest = whole[head:]
    assert record.matches() == tuple(needle in whole for needle in wanted)
    assert (output.size, output.sha256) == (len(whole), hashlib.sha256(whole).hexdigest())
    assert (output.head, output.tail) == (whole[:head], rest[max(0, len(rest) - tail) :])


def test_a_gigabyte_of_output_fits_in_a_small_harness(tmp_path: Path) -> None:
    size = 1 << 30
    measured = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(size), str(tmp_path)],
        env={**environment(), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    counted, found, peak_kb = measured.stdout.split()
    assert (int(counted), found) == (size + 5, "True")
    assert int(peak_kb) < 100 * 1024


_MEASURE = """
import sys
from pathlib import Path
from signoff.process.command import Command
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.shell import shell_command
text = f"head -c {sys.argv[1]} /dev/zero; echo last"
seen = run(Command(shell_command(text), Path(sys.argv[2]), {"PATH": "/usr/bin:/bin"},
                   Limits(wall_s=240), find_stdout=(b"\\0last\\n",)))
status = Path("/proc/self/status").read_text()  # getrusage remembers whoever started us
print(seen.stdout.size, seen.stdout_matches[0], status.split("VmHWM:")[1].split()[0])
"""


def test_a_prompt_of_ten_megabytes_arrives_whole(tmp_path: Path) -> None:
    prompt = bytes(range(256)) * 40_960
    seen = run(bash("cat; echo done >&2", tmp_path, stdin=prompt))
    assert seen.stdout.sha256 == hashlib.sha256(prompt).hexdigest()
    assert seen.stderr.head == b"done\n"


def test_an_agent_that_never_reads_its_prompt_does_not_block(tmp_path: Path) -> None:
    prompt = b"x" * 10_000_000
    unread = run(bash("echo fine", tmp_path, stdin=prompt))
    closed = run(bash("exec <&-; sleep 0.2; echo fine", tmp_path, stdin=prompt))
    assert (unread.exit_code, unread.stdout.head) == (0, b"fine\n")
    assert (closed.exit_code, closed.stdout.head) == (0, b"fine\n")


def test_without_a_prompt_the_input_is_at_its_end(tmp_path: Path) -> None:
    assert run(bash("cat; echo end", tmp_path)).stdout.head == b"end\n"


def test_filling_one_pipe_while_the_other_waits_does_not_deadlock(tmp_path: Path) -> None:
    text = "head -c 3000000 /dev/zero >&2; head -c 3000000 /dev/zero"
    seen = run(bash(text, tmp_path, stdin=b"y" * 3_000_000))
    assert (seen.stdout.size, seen.stderr.size) == (3_000_000, 3_000_000)


def test_closing_both_streams_is_not_ending(tmp_path: Path) -> None:
    seen = run(bash("exec >&- 2>&-; sleep 0.3; exit 5", tmp_path))
    assert (seen.ending, seen.exit_code) == (Ending.EXITED, 5)


def test_a_listener_hears_every_byte_in_order(tmp_path: Path) -> None:
    heard: dict[StreamName, bytes] = {StreamName.STDOUT: b"", StreamName.STDERR: b""}

    def listen(name: StreamName, chunk: bytes) -> None:
        heard[name] += chunk

    run(bash("seq 1 20000; seq 1 9 >&2", tmp_path), on_output=listen)
    assert heard[StreamName.STDOUT] == b"".join(b"%d\n" % i for i in range(1, 20_001))
    assert heard[StreamName.STDERR] == b"1\n2\n3\n4\n5\n6\n7\n8\n9\n"


def test_output_of_the_last_moment_is_not_lost(tmp_path: Path) -> None:
    code = "import os; os.write(1, b'z' * 60000); os.write(2, b'e' * 60000); os._exit(0)"
    for _ in range(20):
        seen = run(python(code, tmp_path))
        assert (seen.stdout.size, seen.stderr.size) == (60_000, 60_000)
