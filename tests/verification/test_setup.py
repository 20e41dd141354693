"""Set-up: what a command made on known content, when it is made again, what it never makes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from signoff.domain.redaction import NOTHING_SECRET
from signoff.errors import SetupFailed
from signoff.process.environment import safe_search_path
from signoff.settings.loading import Setup
from signoff.verification.check_runner import CheckRunner
from signoff.verification.enclosure import JudgingPlace
from signoff.verification.pins import Pins
from signoff.verification.setup import ScratchSetUp
from signoff.workspace.ignore import IgnoreFile, IgnoreRules
from signoff.workspace.workspace import Workspace

MAKES = (
    "mkdir -p vendor build; cp lock vendor/lib.py; echo strict > build/mode; date +%s%N > build/at"
)
Make = Callable[..., ScratchSetUp]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A folder with content, and its set-up."""
    root = tmp_path / "scratch"
    root.mkdir()
    (root / "lock").write_text("good\n")

    def made(command: str = MAKES, timeout_s: float = 60) -> ScratchSetUp:
        rules = IgnoreRules((IgnoreFile("", "vendor/\nbuild/\n*.log\n"),))
        runner = CheckRunner(safe_search_path(os.environ["PATH"], root), dict(os.environ))
        return ScratchSetUp(
            Setup(command, timeout_s),
            runner,
            JudgingPlace(root),
            Workspace(root, tmp_path / "store", rules),
            NOTHING_SECRET,
        )

    return made


def _made_at(setup: ScratchSetUp) -> str:
    return (setup.workspace.root / "build/at").read_text()


def test_what_lies_there_as_it_was_made_is_not_made_again(make: Make) -> None:
    setup = make()
    setup.refresh()
    first = _made_at(setup)
    setup.refresh()
    assert _made_at(setup) == first
    assert setup.paths == ("build", "vendor") and setup.opened.files == {"lock"}


@pytest.mark.parametrize(
    "poison",
    [
        "echo lenient > build/mode",
        "rm vendor/lib.py",
        "echo x > vendor/more.py",
        "touch -r vendor/lib.py t; echo gode > vendor/lib.py; touch -r t vendor/lib.py; rm t",
        "ln -sf /dev/null vendor/lib.py",
        "chmod +x vendor/lib.py",
        "rm -rf build; ln -s vendor build",
    ],
)
def test_what_a_contract_changed_is_made_anew(make: Make, poison: str) -> None:
    setup = make()
    setup.refresh()
    first = _made_at(setup)
    os.system(f"cd {setup.workspace.root}; {poison}")
    setup.refresh()
    assert _made_at(setup) != first
    assert (setup.workspace.root / "vendor/lib.py").read_text() == "good\n"
    assert (setup.workspace.root / "build/mode").read_text() == "strict\n"
    assert not (setup.workspace.root / "vendor/more.py").exists()


def test_compiled_python_that_came_is_taken_away_and_nothing_made_again(make: Make) -> None:
    setup = make()
    setup.refresh()
    first = _made_at(setup)
    cache = setup.workspace.root / "vendor/__pycache__"
    cache.mkdir()
    (cache / "lib.cpython-311.pyc").write_bytes(b"forged")
    setup.refresh()
    assert _made_at(setup) == first
    assert list(cache.iterdir()) == []


def test_other_content_has_other_by_products(make: Make) -> None:
    setup = make()
    setup.refresh()
    (setup.workspace.root / "lock").write_text("better\n")
    (setup.workspace.root / "left.log").write_text("by a contract\n")
    setup.refresh()
    assert (setup.workspace.root / "vendor/lib.py").read_text() == "better\n"
    assert not (setup.workspace.root / "left.log").exists()


def test_what_it_makes_of_the_content_itself_is_undone(make: Make) -> None:
    setup = make(f"{MAKES}; echo more >> lock; echo x > untracked.txt")
    before = setup.workspace.snapshot().digest
    setup.refresh()
    assert setup.workspace.snapshot().digest == before
    assert (setup.workspace.root / "vendor/lib.py").is_file()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("echo no such package; exit 7", "exit code 7"),
        ("sleep 60", "timed out"),
        ("kill -9 $$", "signal 9"),
        ("nosuchtool", "exit code 127"),
    ],
)
def test_a_command_that_does_not_end_well_made_nothing(make: Make, command: str, said: str) -> None:
    with pytest.raises(SetupFailed) as failed:
        make(command, timeout_s=1).refresh()
    assert failed.value.message.startswith("set-up failed: `") and said in failed.value.message


def test_pins_from_before_are_read_and_say_nothing_of_dependencies() -> None:
    stored = {"plan_digest": "", "plan_text": "", "settings": {}, "config_text": ""}
    stored |= {"search_path": "", "workspace": "", "ignore_rules": {}, "snapshot": ""}
    stored |= {"protected": {}, "steering": {}}
    assert Pins.from_bytes(json.dumps(stored).encode()).dependencies is None
