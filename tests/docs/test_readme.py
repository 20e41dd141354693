"""README and overview say what is so: the transcript, the commands, the exit codes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from signoff.errors import Exit
from tests.docs.book import TOP, blocks, prose
from tests.docs.typist import assert_shows, desk

README = TOP / "README.md"
OVERVIEW = TOP / "docs" / "index.md"
LONGEST = 110


def test_the_transcript_is_what_the_demo_prints_today(tmp_path: Path) -> None:
    at = desk(tmp_path)
    environment = {**at.environment, "PYTHONPATH": str(TOP / "src")}
    demo = subprocess.run(
        [sys.executable, str(TOP / "examples" / "demo" / "run_demo.py")],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        check=False,
    )
    assert demo.returncode == 0, demo.stdout
    (transcript,) = [b for b in blocks(README) if b.text.startswith("$ signoff run")]
    assert_shows(demo.stdout, f"…\n{transcript.text}", at, f"README.md:{transcript.line}")


def test_the_transcript_shows_each_of_the_four_lies_refused() -> None:
    (transcript,) = [b for b in blocks(README) if b.text.startswith("$ signoff run")]
    for refusal in (
        "attempt 1 · 1 test fails",
        "tampered: `tests/test_discount.py`",
        "no summary for notes/",
        "broken again by step 3, attempt 1",
    ):
        assert refusal in transcript.text


def test_the_readme_is_read_in_one_go() -> None:
    assert len(README.read_text("utf-8").splitlines()) <= LONGEST


def test_the_two_commands_are_targets_of_make() -> None:
    makefile = (TOP / "Makefile").read_text("utf-8")
    named = set[str]()
    for page in (README, OVERVIEW):
        named |= {m for b in blocks(page) for m in re.findall(r"^make (\S+)", b.text, re.M)}
        named |= set(re.findall(r"`make (\S+)`", prose(page)))
    assert {"demo", "test"} <= named
    for target in named:
        assert re.search(rf"^{re.escape(target)}:", makefile, re.M), target


def test_the_table_of_exit_codes_has_every_code_and_no_other() -> None:
    section = prose(OVERVIEW).partition("## Exit codes")[2].partition("\n## ")[0]
    listed = [int(code) for code in re.findall(r"^\| (\d+) \|", section, re.M)]
    assert listed == [int(code) for code in Exit]


def test_the_readme_names_what_is_not_protected() -> None:
    section = prose(README).partition("## What it does not protect against")[2]
    section = " ".join(section.partition("\n## ")[0].split())
    for gap in ("isolation: none", "write to the home folder", "stop the driver", "cannot tell"):
        assert gap in section


def test_the_example_plan_of_the_overview_verifies(tmp_path: Path) -> None:
    (example,) = [b for b in blocks(OVERVIEW) if b.language == "markdown"]
    at = desk(tmp_path)
    (at.folder / "tests" / "auth").mkdir(parents=True)
    (at.folder / "tests" / "auth" / "test_login.py").write_text("")
    (at.folder / "PLAN.md").write_text(example.text)
    done = at.signoff("verify", "PLAN.md", "--role", "coder=true")
    assert done.returncode == 0, done.stdout
