"""The three example plans run as they stand, with a scripted agent in a prepared workspace."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.kit import Desk

FIXTURES = Path(__file__).parents[1] / "planfile" / "fixtures"

# Stand-ins for the tools that the contracts call; each looks at the work, none at the agent's word.
UV = r"""
case "$*" in
  "run pytest tests/auth/ -x") grep -q 'timeout=' src/auth/handler.py && ls tests/auth/test_*.py &&
    echo '===== 2 passed in 0.12s =====' ;;
  "run pytest tests/ -x"*) test -d tests && ! grep -rq BROKEN src &&
    echo '===== 2 passed in 0.12s =====' ;;
  "run ruff check "*) ! grep -rq LINT "$4" ;;
  "run pyright "*) ! grep -rq UNTYPED "$3" ;;
  "run python -c import httpx;"*) grep -q httpx pyproject.toml ;;
  *) echo "unexpected: uv $*" >&2; exit 64 ;;
esac
"""
GH = r"""
pr="${0%/*}/pull-request"
case "$1 $2" in
  "pr create") echo OPEN > "$pr" ;;
  "pr view") cat "$pr" ;;
esac
"""

FIX_LOGIN = r"""
case "$SIGNOFF_STEP" in
  1) mkdir -p docs; seq 12 > docs/analysis-423.md ;;
  2) echo 'connect(timeout=60)  # LINT' > src/auth/handler.py
     echo 'def test_slow(): ...' > tests/auth/test_timeout.py ;;
  3) sed -i 's/  # LINT//' src/auth/handler.py ;;
  4) gh pr create ;;
esac
"""
EXTRACT_CONFIG = r"""
mkdir -p docs
case "$SIGNOFF_STEP" in
  1) echo '- load()' > docs/config-deps.md ;;
  2) echo 'def load(): ...' > src/config.py; echo 'from config import load' > src/app.py ;;
  3) echo APPROVED > docs/review-config-extract.md ;;
esac
"""
MIGRATE_CLIENT = r"""
mkdir -p docs
case "$SIGNOFF_STEP" in
  1) grep -rn 'import requests' src | sed 's/^/- /' > docs/requests-inventory.md ;;
  2) printf '[project]\ndependencies = ["requests", "httpx"]\n' > pyproject.toml ;;
  3*) sed -i 's/requests/httpx/' src/*.py ;;
  N+1) printf '[project]\ndependencies = ["httpx"]\n' > pyproject.toml ;;
esac
"""


def _prepare(desk: Desk, number: int, script: str) -> Desk:
    desk.git().tool("uv", UV).tool("gh", GH)
    desk.agent(script).agent(script, role="reviewer")
    return desk.plan((FIXTURES / f"seed_example_{number}.md").read_text())


def test_the_login_bug_is_fixed(desk: Desk) -> None:
    desk.file("src/auth/handler.py", "connect()\n").file("src/auth/middleware.py", "slow()\n")
    desk.file("tests/auth/test_login.py", "def test_login(): ...\n")
    desk.file(".harness/topics/fix-auth-timeout.md", "Customers are angry.\n")
    _prepare(desk, 1, FIX_LOGIN).about_plan("verify").exits(0).shows("4 steps")
    desk.run("--yes").exits(0).shows("[done]")
    assert desk.dispatched() == ["1", "2", "3", "4"]
    assert desk.read("PLAN.md").count("✅") == 4
    assert "Customers are angry." in desk.attempts()[0].prompt
    desk.about_plan("audit").exits(0)


def test_the_config_module_is_extracted_and_reviewed(desk: Desk) -> None:
    desk.file("src/app.py", "def load(): ...\n").file("tests/test_app.py", "def test(): ...\n")
    _prepare(desk, 2, EXTRACT_CONFIG).run("--yes").exits(0)
    roles = [e["data"]["role"] for e in desk.entries("attempt.started")]
    assert roles == ["coder", "coder", "reviewer"]


def test_the_client_is_migrated_by_steps_with_unusual_numbers(desk: Desk) -> None:
    desk.file("requirements.txt", "requests\n").file("pyproject.toml", "[project]\n")
    desk.file("src/api.py", "import requests\n").file("tests/test_api.py", "def test(): ...\n")
    _prepare(desk, 3, MIGRATE_CLIENT).run("--yes").exits(0)
    assert [s["id"] for s in desk.status()["steps"]] == ["1", "2", "3–N", "N+1"]
    assert desk.dispatched() == ["1", "2", "3–N", "N+1"]
    assert "### N+1. ✅ Remove requests dependency" in desk.read("PLAN.md")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_idle_agent_gets_no_example_done(desk: Desk, number: int) -> None:
    for path in ("src/auth/handler.py", "src/auth/middleware.py", "src/app.py", "requirements.txt"):
        desk.file(path, "connect()\n")
    _prepare(desk, number, "echo 'Everything is done and tested.'").run("--yes").exits(6)
    assert "step.done" not in desk.kinds()
