"""Checkers of other packages: used when they work, named when they do not, never in the way."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from signoff.toolbatch.checkers import FilesReport, check
from signoff.toolbatch.checkers.registry import BUILT_IN, GROUP, load_checkers
from tests.toolbatch.checkers.kit import Artifacts, short

MODULE = """
from signoff.toolbatch.checkers import FileFinding, FileSeverity

class Poem:
    name = "poem"
    files = frozenset({".poem", "haiku.md"})
    max_bytes = 1000
    def check(self, subject, tree):
        for number, line in enumerate(subject.content.decode().split("\\n"), 1):
            if line.startswith("ugly"):
                yield FileFinding(subject.path, number, "ugly", "an ugly line", "find another word")

class Impostor(Poem):
    name = "html"

class Fails(Poem):
    name = "fails"
    def check(self, subject, tree):
        raise RuntimeError("no\\nidea")

class Sloppy(Poem):
    name = "sloppy"
    def check(self, subject, tree):
        yield FileFinding(subject.path, 1, "x", "m", "h", "error")
        yield "not a finding"

class Exits(Poem):
    name = "exits"
    def __init__(self):
        raise ValueError("cannot start")

class Leaves(Poem):
    name = "leaves"
    def check(self, subject, tree):
        raise SystemExit(0)

class LeavesAtOnce(Poem):
    def __init__(self):
        raise SystemExit(0)

class Nothing:
    pass

ready = Poem()
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = tmp_path / "packages"
    folder.mkdir()
    (folder / "poem_plugin_for_tests.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(folder))
    sys.modules.pop("poem_plugin_for_tests", None)
    return "poem_plugin_for_tests"


def judged(artifacts: Artifacts, *values: str) -> FilesReport:
    """A report with these plug-ins, named p0, p1 …"""
    points = [EntryPoint(f"p{i}", value, GROUP) for i, value in enumerate(values)]
    return check(["."], artifacts.root, registry=load_checkers(artifacts.root, points))


@pytest.mark.parametrize("name", ["Poem", "ready"])
def test_a_plug_in_judges_its_files_and_its_codes_carry_its_name(
    artifacts: Artifacts, module: str, name: str
) -> None:
    artifacts.file("a.poem", "fair\nugly\n").file("Haiku.md", "ugly")
    report = judged(artifacts, f"{module}:{name}")
    assert [short(f) for f in report.findings] == ["Haiku.md:1 poem/ugly", "a.poem:2 poem/ugly"]
    assert report.by_checker == {"markdown": 1, "poem": 2}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("no_such_module:X", "No module named"),
        ("{module}:NoSuchName", "has no attribute"),
        ("{module}:Exits", "ValueError: cannot start"),
        ("{module}:LeavesAtOnce", "SystemExit: 0"),
        ("{module}:Nothing", "it has not all of `name`"),
    ],
)
def test_a_plug_in_that_cannot_be_loaded_is_a_finding_that_names_it(
    artifacts: Artifacts, module: str, value: str, said: str
) -> None:
    artifacts.file("a.json", "{}")
    report = judged(artifacts, value.format(module=module))
    (finding,) = report.findings
    assert short(finding) == "plug-in p0:1 ~plugin-broken"
    assert said in finding.message and "`p0`" in finding.message
    assert report.by_checker == {"json": 1} and not report.kept


def test_a_plug_in_cannot_take_the_name_of_another(artifacts: Artifacts, module: str) -> None:
    artifacts.file("a.html", "<p>word</p>")
    report = judged(artifacts, f"{module}:Impostor", f"{module}:Poem", f"{module}:ready")
    assert [short(f) for f in report.findings] == [
        "plug-in p0:1 ~plugin-shadows",
        "plug-in p2:1 ~plugin-shadows",
    ]
    assert report.by_checker == {"html": 1}


@pytest.mark.parametrize("name", ["Fails", "Sloppy", "Leaves"])
def test_a_plug_in_that_breaks_down_is_a_finding_and_the_others_go_on(
    artifacts: Artifacts, module: str, name: str
) -> None:
    artifacts.file("a.poem", "ugly").file("b.json", "{")
    codes = [finding.code for finding in judged(artifacts, f"{module}:{name}").findings]
    assert codes == ["checker-failed", "bad-json"]


def test_a_plug_in_that_is_planted_in_the_judged_folder_is_not_loaded(
    artifacts: Artifacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifacts.file("planted.py", "open('loaded', 'w')\n")
    artifacts.file("planted-1.dist-info/METADATA", "Name: planted\nVersion: 1\n")
    artifacts.file("planted-1.dist-info/entry_points.txt", f"[{GROUP}]\nmine = planted:x\n")
    monkeypatch.chdir(artifacts.root)
    monkeypatch.syspath_prepend(str(artifacts.root))
    registry = load_checkers(artifacts.root)
    assert registry.checkers == BUILT_IN
    (finding,) = registry.findings
    assert "it lies in the folder that is judged" in finding.message
    assert not (artifacts.root / "loaded").exists()


def test_built_in_checkers_have_names_and_files_of_their_own() -> None:
    assert len({checker.name for checker in BUILT_IN}) == len(BUILT_IN)
    suffixes = [suffix for checker in BUILT_IN for suffix in checker.files]
    assert len(set(suffixes)) == len(suffixes)
