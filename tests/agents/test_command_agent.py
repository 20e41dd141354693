"""Any command line as an agent: prompt in, work in the workspace, everything it started ended."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from signoff.agents.assignment import Assignment, AttemptReport, Usage
from signoff.agents.command import CommandAgent
from signoff.agents.troubles import check_role
from signoff.domain.verdict import Ending
from signoff.errors import ConfigInvalid
from signoff.places import ATTEMPT_VARIABLE
from signoff.settings.roles import Role

PATH = "/usr/local/bin:/usr/bin:/bin"


def _work(tmp_path: Path, command: str, prompt: str = "do it", **options: Any) -> AttemptReport:
    environ = options.pop("environ", {"HOME": str(tmp_path)})
    env = options.pop("env", ())
    workspace, exchange = tmp_path / "work", tmp_path / "exchange"
    workspace.mkdir(exist_ok=True)
    exchange.mkdir(exist_ok=True)
    assignment = Assignment(
        role=Role("coder", command, env=env),
        prompt=prompt,
        workspace=workspace,
        usage_file=exchange / "usage.json",
        answer_file=exchange / "answer",
        timeout_s=options.pop("timeout_s", 60.0),
        variables={"SIGNOFF_STEP": "1", ATTEMPT_VARIABLE: f"test:{tmp_path}:1"},
        **options,
    )
    return CommandAgent(environ, PATH).work(assignment)


def test_the_prompt_arrives_on_standard_input(tmp_path: Path) -> None:
    report = _work(tmp_path, "cat", "line one\nzwei – drei")
    assert report.observation.stdout.kept.decode() == "line one\nzwei – drei"


def test_the_prompt_takes_the_place_of_its_name_as_one_argument(tmp_path: Path) -> None:
    prompt = "a b; touch planted $(touch planted) `touch planted`\n'\""
    report = _work(tmp_path, "printf '<%s>' before {prompt} after={prompt}", prompt)
    assert report.observation.stdout.kept.decode() == f"<before><{prompt}><after={prompt}>"
    assert list((tmp_path / "work").iterdir()) == []


def test_no_shell_is_between_the_role_and_its_words(tmp_path: Path) -> None:
    report = _work(tmp_path, "printf '%s|' $HOME '*' \"two words\" a;b")
    assert report.observation.stdout.kept == b"$HOME|*|two words|a;b|"


def test_standard_input_is_empty_when_the_prompt_is_an_argument(tmp_path: Path) -> None:
    report = _work(tmp_path, "sh -c 'wc -c' {prompt}")
    assert report.observation.stdout.kept.split() == [b"0"]


def test_a_null_byte_in_the_prompt_does_not_keep_the_agent_from_starting(tmp_path: Path) -> None:
    report = _work(tmp_path, "printf %s {prompt}", "a\0b")
    assert report.observation.stdout.kept.decode() == "a\ufffdb"


def test_a_prompt_too_long_for_an_argument_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        _work(tmp_path, "printf %s {prompt}", "ä" * 60_001)
    assert caught.value.message == "role `coder`: the prompt is too long for an argument"
    assert "standard input" in caught.value.hint
    long_but_fine = _work(tmp_path, "printf %s {prompt}", "ä" * 60_000)
    assert long_but_fine.observation.stdout.size == 120_000
    assert _work(tmp_path, "wc -c", "ä" * 500_000).observation.stdout.kept.strip() == b"1000000"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("sh -c 'unclosed", "role `coder`: command is not a command line: No closing quotation"),
        ("   ", "role `coder` has an empty command"),
        ("no-such-agent --now", "role `coder`: command `no-such-agent` was not found"),
        ("./agent.sh", "role `coder`: command `./agent.sh` was not found"),
    ],
)
def test_a_command_that_cannot_start_is_refused_before_any_work(
    tmp_path: Path, command: str, message: str
) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        check_role(Role("coder", command), PATH, tmp_path)
    assert caught.value.message == message


def test_a_command_that_can_start_passes(tmp_path: Path) -> None:
    check_role(Role("coder", f"'{sys.executable}' -c pass"), PATH, tmp_path)
    check_role(Role("coder", "sh -c 'exit 1' {prompt}"), PATH, tmp_path)


def test_an_agent_works_in_the_workspace_with_a_clean_environment(tmp_path: Path) -> None:
    environ = {**os.environ, "SECRET": "s", "PASSED": "p", "BASH_ENV": "x", "PATH": "/evil"}
    report = _work(tmp_path, "sh -c 'pwd; env'", environ=environ, env=("PASSED",))
    folder, *lines = report.observation.stdout.kept.decode().splitlines()
    assert folder == str((tmp_path / "work").resolve())
    seen = dict(line.split("=", 1) for line in lines if "=" in line)
    assert seen["PATH"] == PATH
    assert seen["PASSED"] == "p"
    assert seen["SIGNOFF_STEP"] == "1"
    assert seen["SIGNOFF_USAGE_FILE"] == str(tmp_path / "exchange" / "usage.json")
    assert not {"SECRET", "BASH_ENV"} & seen.keys()


def test_usage_is_what_the_agent_reports(tmp_path: Path) -> None:
    script = """sh -c 'echo "{\\"tokens\\": 7, \\"usd\\": 0.5}" > "$SIGNOFF_USAGE_FILE"'"""
    assert _work(tmp_path, script).usage == Usage(7, 0.5)


def test_an_agent_that_takes_too_long_is_ended_with_everything_it_started(tmp_path: Path) -> None:
    script = "sh -c 'setsid sleep 600 & sleep 600'"
    report = _work(tmp_path, script, timeout_s=0.5)
    assert report.observation.ending is Ending.TIMED_OUT
    marker = f"{ATTEMPT_VARIABLE}=test:{tmp_path}:1".encode()
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            assert marker not in environ.read_bytes().split(b"\0")
        except OSError:
            continue


def test_an_agents_failure_is_reported_and_raises_nothing(tmp_path: Path) -> None:
    assert _work(tmp_path, "sh -c 'exit 3'").observation.exit_code == 3
    assert _work(tmp_path, "no-such-agent").observation.ending is Ending.NOT_FOUND


def test_output_is_told_while_the_agent_works_and_a_person_can_stop_it(tmp_path: Path) -> None:
    heard: list[bytes] = []
    report = _work(
        tmp_path,
        "sh -c 'echo begun; sleep 600'",
        on_output=heard.append,
        cancelled=lambda: bool(heard),
    )
    assert heard == [b"begun\n"]
    assert report.observation.ending is Ending.CANCELLED
