"""Reference pages: generated ones are fresh, described shapes are the real ones."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from signoff.errors import all_error_types
from signoff.planfile.fields import HEADER_FIELDS, STEP_FIELDS
from signoff.planfile.findinglog import CODES as READING_CODES
from signoff.planfile.verify import CODES as VERIFY_CODES
from signoff.settings.loading import Settings
from signoff.settings.policy import Policy
from signoff.settings.roles import Role
from tests.docs.book import TOP
from tests.docs.typist import Desk, check_page, desk

REFERENCE = TOP / "docs" / "reference"


def _generate(top: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(top / "scripts" / "reference.py"), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_generated_pages_are_what_the_code_says() -> None:
    done = _generate(TOP, "--check")
    assert done.returncode == 0, done.stderr


def test_a_stale_page_is_named_with_its_difference_and_written_again(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "src").symlink_to(TOP / "src")
    script = (TOP / "scripts" / "reference.py").read_text("utf-8")
    (tmp_path / "scripts" / "reference.py").write_text(script)
    shutil.copytree(TOP / "docs", tmp_path / "docs")
    pages = tmp_path / "docs" / "reference"
    fresh = (pages / "errors.md").read_text("utf-8")
    (pages / "errors.md").write_text(fresh.replace("`held`", "`hold`"))
    stale = _generate(tmp_path, "--check")
    assert stale.returncode == 1
    assert "docs/reference/errors.md is stale" in stale.stderr and "`hold`" in stale.stderr
    assert "next: python scripts/reference.py" in stale.stderr
    assert _generate(tmp_path).returncode == 0
    assert (pages / "errors.md").read_text("utf-8") == fresh


def test_every_error_code_is_documented() -> None:
    page = (REFERENCE / "errors.md").read_text("utf-8")
    for error in all_error_types():
        assert f"`{error.code}`" in page


def test_every_finding_code_is_documented() -> None:
    page = (REFERENCE / "findings.md").read_text("utf-8")
    for code in (*READING_CODES, *VERIFY_CODES):
        assert f"| `{code}` |" in page


def test_every_field_of_the_plan_format_is_documented() -> None:
    page = (REFERENCE / "plan-format.md").read_text("utf-8").lower()
    for field in STEP_FIELDS:
        assert f"| `{field}` |" in page, field
    for field in HEADER_FIELDS:
        assert f"| `**{field}:**` |" in page, field


def test_every_setting_is_documented() -> None:
    page = (REFERENCE / "configuration.md").read_text("utf-8")
    for name in Policy.__struct_fields__:
        assert f"`policy.{name}`" in page
    for name in Role.__struct_fields__:
        assert name == "name" or f"`roles.NAME.{name}`" in page
    renamed = {
        "database_url": "database",
        "quota": "disk.quota",
        "jobs": "run.jobs",
        "on_workers": "run.on",
        "remote": "content.remote",
        "share": "lanes.share",
    }
    for name in Settings.__struct_fields__:
        assert f"| `{renamed.get(name, name)}" in page or f"[{name}" in page, name


def test_every_environment_variable_is_documented() -> None:
    page = (REFERENCE / "configuration.md").read_text("utf-8")
    source = "\n".join(
        p.read_text("utf-8") for p in (TOP / "src").rglob("*.py") if "testing" not in p.parts
    )
    for name in set(re.findall(r"\bSIGNOFF_[A-Z_]+[A-Z]\b", source)):
        assert f"| `{name}` |" in page, name


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A plan that met a retry and was signed off, as the page on protecting tests makes it."""
    at = desk(tmp_path_factory.mktemp("finished"))
    check_page(TOP / "docs" / "how-to" / "protect-tests.md", at)
    (made,) = at.folder.glob("tmp.*/project")
    return replace(at, folder=made)


def test_the_ledger_page_names_every_field_that_entries_carry(finished: Desk) -> None:
    page = (REFERENCE / "ledger.md").read_text("utf-8")
    finished.signoff("audit", "PLAN.md")
    log = finished.signoff("log", "PLAN.md", "--json").stdout
    entries: list[dict[str, Any]] = [json.loads(line) for line in log.splitlines()]
    assert {e["kind"] for e in entries} >= {"plan.approved", "verdict", "step.done", "audited"}
    for entry in entries:
        for name in ("seq", "at", "kind", "run", "step", "attempt", "data", "prev", "hash"):
            assert name in entry and f"| `{name}` |" in page
        section = page.partition(f"### {entry['kind']}\n")[2].partition("\n### ")[0]
        for name in entry["data"]:
            assert f"`{name}`" in section, f"{entry['kind']}: {name}"


@pytest.mark.parametrize(
    "arguments",
    [
        ("verify", "PLAN.md", "--role", "coder=true"),
        ("status", "PLAN.md"),
        ("show", "PLAN.md"),
        ("audit", "PLAN.md"),
        ("strength", "PLAN.md"),
        ("diff", "PLAN.md"),
        ("new", "another"),
        ("list-plans",),
        ("session-start",),
        ("conflicts",),
        ("doctor",),
        ("reject", "PLAN.md"),
    ],
    ids=lambda arguments: str(arguments[0]),
)
def test_the_json_page_names_exactly_the_fields_that_a_verb_prints(
    finished: Desk, arguments: tuple[str, ...]
) -> None:
    _assert_described(arguments[0], json.loads(finished.signoff(*arguments, "--json").stdout))


def test_the_json_page_names_exactly_the_fields_of_verbs_about_a_vault(tmp_path: Path) -> None:
    at = desk(tmp_path)
    at.signoff("init")
    at.signoff("new", "later", "--staged")
    for arguments in (
        ("resolve-active-plan",),
        ("list-plans",),
        ("check",),
        ("progress", "--add", "begun"),
        ("edit", "--from", "signoff.toml"),
        ("activate", "later"),
    ):
        _assert_described(arguments[0], json.loads(at.signoff(*arguments, "--json").stdout))


def _assert_described(verb: str, printed: dict[str, Any]) -> None:
    page = (REFERENCE / "json.md").read_text("utf-8")
    title = next(t for t in re.findall(r"^## (.+)$", page, re.M) if verb in t.split(", "))
    section = page.partition(f"## {title}\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(\w+)`", section))
    for name in _names(printed):
        assert name in named, f"{verb}: `{name}` is printed and not described"
    # The first sentence up to a colon names the fields themselves; brackets hold their values.
    own = re.sub(r"\([^)]*\)", "", section.partition("\n\nEach of")[0]).partition(":")[0]
    for name in re.findall(r"`(\w+)`", own):
        assert name in printed, f"{verb}: `{name}` is described and not printed"


def _names(value: object) -> set[str]:
    """Every key of the printed value and of the objects in its lists."""
    if isinstance(value, dict):
        return set(value).union(*(_names(v) for v in value.values()))
    if isinstance(value, list):
        return set[str]().union(*(_names(v) for v in value))
    return set()


def test_an_error_as_json_has_the_shape_of_the_page(tmp_path: Path) -> None:
    done = desk(tmp_path).signoff("--json", "status", "nowhere.md")
    page = (REFERENCE / "json.md").read_text("utf-8")
    example = json.loads(page.partition("```json\n")[2].partition("\n```")[0])
    printed = json.loads(done.stderr)
    assert done.stdout == ""
    assert set(printed) == set(example) and set(printed["error"]) == set(example["error"])
    assert printed["error"]["code"] == example["error"]["code"]
    assert done.returncode == printed["error"]["exit_code"] == example["error"]["exit_code"]
