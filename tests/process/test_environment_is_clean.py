"""Only listed variables reach a contract, and no search path leads into the workspace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signoff.process.environment import (
    STANDARD_PATH,
    activated_in,
    clean_environment,
    contract_search_path,
    safe_search_path,
)
from signoff.process.runner import run

from .commands import bash

_STEERING = [
    "BASH_ENV",
    "ENV",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "PYTHONHASHSEED",
    "NODE_OPTIONS",
    "GIT_DIR",
    "GIT_CONFIG_GLOBAL",
    "SIGNOFF_HOME",
    "SIGNOFF_ATTEMPT",
    "PS4",
    "SHELLOPTS",
    "BASHOPTS",
    "CDPATH",
    "IFS",
    "PROMPT_COMMAND",
    "BASH_FUNC_test%%",
    "PERL5OPT",
    "RUBYOPT",
    "MAKEFLAGS",
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "JAVA_TOOL_OPTIONS",
    "CI",
    "GCONV_PATH",
    "LOCPATH",
    "DYLD_INSERT_LIBRARIES",
]


@pytest.mark.parametrize("name", _STEERING)
def test_a_variable_that_steers_tools_gets_in_only_by_name(name: str) -> None:
    source = {name: "x", "HOME": "/home/me"}
    assert name not in clean_environment(source, path="/bin")
    assert clean_environment(source, path="/bin", passed=[name])[name] == "x"


def test_the_person_and_the_language_are_kept() -> None:
    source = {
        "HOME": "/home/me",
        "USER": "me",
        "LOGNAME": "me",
        "LANG": "de_DE.UTF-8",
        "LC_ALL": "C",
        "TZ": "UTC",
        "TMPDIR": "/tmp",
        "TERM": "xterm",
        "PATH": "/evil",
        "OPENAI_API_KEY": "k",
    }
    assert clean_environment(source, path="/bin", passed=["MISSING"]) == {
        "HOME": "/home/me",
        "USER": "me",
        "LOGNAME": "me",
        "LANG": "de_DE.UTF-8",
        "LC_ALL": "C",
        "TZ": "UTC",
        "TMPDIR": "/tmp",
        "TERM": "dumb",
        "PATH": "/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def test_the_search_path_is_never_passed_through_but_extra_has_the_last_word() -> None:
    source = {"PATH": "/evil", "TERM": "xterm"}
    passed = clean_environment(source, path="/bin", passed=["PATH", "TERM"])
    assert (passed["PATH"], passed["TERM"]) == ("/bin", "xterm")
    extra = clean_environment(source, path="/bin", extra={"SIGNOFF_STEP": "1", "TERM": "vt100"})
    assert (extra["SIGNOFF_STEP"], extra["TERM"]) == ("1", "vt100")


def test_a_process_sees_exactly_the_given_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = tmp_path / "trap"
    trap.write_text("echo trapped; exit 0\n")
    for name in ("BASH_ENV", "ENV"):
        monkeypatch.setenv(name, str(trap))
    seen = run(bash("env -0 | cut -z -d= -f1 | sort -z | tr '\\0' ' '", tmp_path))
    names = set(seen.stdout.head.decode().split()) - {"_", "PWD", "SHLVL", "OLDPWD"}
    assert names == set(clean_environment(os.environ, path=STANDARD_PATH))


def _folders(tmp_path: Path) -> tuple[Path, Path]:
    workspace, tools = tmp_path / "ws", tmp_path / "tools"
    (workspace / "bin").mkdir(parents=True)
    tools.mkdir()
    return workspace, tools


def test_relative_empty_missing_and_repeated_entries_go(tmp_path: Path) -> None:
    workspace, tools = _folders(tmp_path)
    (tmp_path / "file").touch()
    value = f":{tools}:.:bin::{tools}/:/no/such:{tmp_path}/file:../tools:/usr/bin:"
    assert safe_search_path(value, workspace) == f"{tools}:/usr/bin"


def test_nothing_left_falls_back_to_the_standard_path(tmp_path: Path) -> None:
    workspace, _ = _folders(tmp_path)
    fallback = safe_search_path(f"{workspace}/bin:.:", workspace)
    assert fallback
    assert set(fallback.split(":")) <= set(STANDARD_PATH.split(":"))


def _ways_into(tmp_path: Path, workspace: Path, tools: Path) -> dict[str, str]:
    (tmp_path / "direct").symlink_to(workspace / "bin")
    (tmp_path / "alias").symlink_to(workspace)
    (workspace / "out").symlink_to(tools)
    (tmp_path / "through").symlink_to(workspace / "out")
    (tmp_path / "relative").symlink_to("ws/../ws/bin")
    (tmp_path / "loop").symlink_to("loop")
    return {
        "itself": f"{workspace}",
        "below": f"{workspace}/bin",
        "dots": f"{tools}/../ws/bin",
        "doubled slashes": f"/{workspace}//bin",
        "a link into it": f"{tmp_path}/direct",
        "an alias of it": f"{tmp_path}/alias/bin",
        "out of it again by a link the agent can turn": f"{workspace}/out",
        "through it by two links": f"{tmp_path}/through",
        "through its alias and out": f"{tmp_path}/alias/out",
        "a relative link": f"{tmp_path}/relative",
        "through it and back by dots": f"{workspace}/../tools",
        "a link to itself": f"{tmp_path}/loop",
    }


def test_no_way_into_the_workspace_stays_on_the_path(tmp_path: Path) -> None:
    workspace, tools = _folders(tmp_path)
    ways = _ways_into(tmp_path, workspace, tools)
    kept = {way: safe_search_path(f"{entry}:{tools}", workspace) for way, entry in ways.items()}
    assert kept == dict.fromkeys(ways, str(tools))


def test_a_workspace_named_by_a_link_is_recognised(tmp_path: Path) -> None:
    workspace, tools = _folders(tmp_path)
    alias = tmp_path / "alias"
    alias.symlink_to(workspace)
    value = f"{workspace}/bin:{alias}/bin:{tools}"
    assert safe_search_path(value, alias) == str(tools)


def test_a_neighbour_with_a_similar_name_stays(tmp_path: Path) -> None:
    workspace, _ = _folders(tmp_path)
    neighbour = tmp_path / "ws-tools"
    neighbour.mkdir()
    assert safe_search_path(str(neighbour), workspace) == str(neighbour)


def test_activated_environments_of_the_workspace_stay_in_their_order(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    for place in (root / ".venv", root / ".direnv" / "python-3", elsewhere):
        (place / "bin").mkdir(parents=True)
        (place / "pyvenv.cfg").touch()
    (root / "node_modules" / ".bin").mkdir(parents=True)
    (root / "bin").mkdir()
    (root / "pyvenv.cfg").touch()  # the workspace itself is no environment
    (root / "linked").symlink_to(elsewhere)
    named = ["node_modules/.bin", "bin", ".venv/bin", ".direnv/python-3/bin", "linked/bin", "gone"]
    given = ":".join([*(f"{root}/{name}" for name in named), "/usr/bin", ".venv/bin"])
    found = contract_search_path(given, root)
    assert found.split(":") == [
        f"{root}/node_modules/.bin",
        f"{root}/.venv/bin",
        f"{root}/.direnv/python-3/bin",
        f"{elsewhere}/bin",
        "/usr/bin",
    ]
    assert activated_in(found, root) == ("node_modules/.bin", ".venv/bin", ".direnv/python-3/bin")


def test_an_activated_environment_alone_still_has_the_machine_behind_it(tmp_path: Path) -> None:
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "pyvenv.cfg").touch()
    found = contract_search_path(f"{tmp_path}/.venv/bin", tmp_path)
    assert found.split(":") == [
        f"{tmp_path}/.venv/bin",
        *safe_search_path("", tmp_path).split(":"),
    ]
