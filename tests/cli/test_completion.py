"""`signoff completion`: real shells complete verbs, options and names of plans, and run nothing."""

from __future__ import annotations

import shlex
import shutil
import subprocess

import pytest

from tests.cli.ended import LIMIT_S
from tests.cli.plans import step
from tests.cli.project import Project

# How each shell is asked for what it would offer behind a line.
ASKING = {
    "bash": """
        eval "$(signoff completion bash)"
        COMP_WORDS=({line}); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _signoff; printf '%s\\n' "${COMPREPLY[@]}"
    """,
    # What zsh would insert is what is handed to `compadd`.
    "zsh": """
        compdef() { :; }
        compadd() { shift; print -l -- ${(M)${(P)1}:#${PREFIX}*} }
        _files() { :; }
        eval "$(signoff completion zsh)"
        words=({line}); CURRENT=${#words}; PREFIX={typed}
        _signoff
    """,
    "fish": """
        signoff completion fish | source
        complete --do-complete {quoted}
    """,
}
SHELLS = [
    pytest.param(shell, marks=pytest.mark.skipif(not shutil.which(shell), reason="not installed"))
    for shell in ASKING
]


@pytest.fixture
def plans(project: Project) -> Project:
    project.agent("true").named("auth", step("Log in", "test -s auth"))
    project.named("audio", step("Play", "test -s sound"))
    return project.tool("signoff", f'exec {shlex.join(project.command([]))} "$@"')


def _offered(project: Project, shell: str, line: str) -> set[str]:
    typed = line.rpartition(" ")[2]
    script = ASKING[shell].replace("{line}", line if typed else f'{line} ""')
    script = script.replace("{typed}", shlex.quote(typed)).replace("{quoted}", shlex.quote(line))
    done = subprocess.run(
        [shell, "-c", script],
        cwd=project.workspace,
        env=project.environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.stderr == "", done.stderr
    return {found.partition("\t")[0] for found in done.stdout.splitlines() if found}


@pytest.mark.parametrize("shell", SHELLS)
def test_verbs_options_choices_and_plans_are_completed(plans: Project, shell: str) -> None:
    assert {"resolve-active-plan", "ready", "run", "receipt", "reject"} <= _offered(
        plans, shell, "signoff re"
    ) | _offered(plans, shell, "signoff ru")
    assert _offered(plans, shell, "signoff stat") == {"stats", "status"}
    assert _offered(plans, shell, "signoff run --st") == {"--strict"}
    assert _offered(plans, shell, "signoff run au") == {"auth", "audio"}
    assert _offered(plans, shell, "signoff run --yes aut") == {"auth"}
    assert {"auth", "audio"} <= _offered(plans, shell, "signoff status ")
    assert _offered(plans, shell, "signoff worktree a") == {"add"}
    assert _offered(plans, shell, "signoff worktree add au") == {"auth", "audio"}
    assert _offered(plans, shell, "signoff install q") == {"qwen"}
    assert _offered(plans, shell, "signoff help appr") == {"approve"}
    assert _offered(plans, shell, "signoff completion z") == {"zsh"}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_name_that_an_agent_chose_is_never_run_or_offered(plans: Project, shell: str) -> None:
    for name in ("a$(touch pwned)", "a`touch pwned`", "a; touch pwned", "a b", "a'b"):
        (plans.vault / f"PLAN-{name}.md").write_text("# T\n")
    assert _offered(plans, shell, "signoff run a") == {"auth", "audio"}
    assert not (plans.workspace / "pwned").exists()


def test_names_are_printed_one_a_line_without_the_ledger(plans: Project) -> None:
    assert plans.signoff("list-plans", "--names").exits(0).stdout == "audio\nauth\n"
    assert not plans.home.exists()


def test_a_folder_without_plans_completes_nothing_and_says_nothing(project: Project) -> None:
    project.tool("signoff", f'exec {shlex.join(project.command([]))} "$@"')
    project.vault.rmdir()
    assert _offered(project, "bash", "signoff run x") == set()


def test_an_unknown_shell_is_refused(project: Project) -> None:
    project.signoff("completion", "tcsh").fails(2, "tcsh")
