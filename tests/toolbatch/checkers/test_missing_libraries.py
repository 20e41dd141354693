"""Without the extra `checkers` some kinds are unknown, never kept; all others are checked."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.toolbatch.checkers import pictures
from tests.toolbatch.checkers.kit import Artifacts

LIBRARIES = ("PIL", "pypdf", "nbformat")
NEED: dict[str, str | bytes] = {
    "a.png": pictures.picture(),
    "a.pdf": pictures.document(),
    "a.ipynb": pictures.notebook(pictures.cell("1", 1, pictures.shown())),
}


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where signoff was installed without the extra."""
    for library in LIBRARIES:
        monkeypatch.setitem(sys.modules, library, None)


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("name", NEED)
def test_a_kind_that_needs_a_library_is_unknown_and_says_what_to_install(
    artifacts: Artifacts, name: str
) -> None:
    for content in (NEED[name], b"", b"broken"):
        assert artifacts.of(name, content) == ["1 ~tool-missing"]
    report = artifacts.report(name)
    assert not report.kept and report.files == 0
    assert report.findings[0].message.startswith("cannot tell: install signoff[checkers]")


@pytest.mark.usefixtures("bare")
def test_every_other_kind_is_checked_without_a_library(artifacts: Artifacts) -> None:
    good = {
        "a.json": "{}",
        "a.jsonl": "{}\n",
        "a.toml": "a = 1",
        "a.yaml": "a: 1",
        "a.csv": "a,b\n1,2\n",
        "a.py": "a = 1",
        "a.sh": "true",
        "a.md": "words",
        "index.html": "<p>words <a href='a.md'>a</a>",
        "a.svg": pictures.SVG.decode(),
    }
    for name, content in good.items():
        artifacts.file(name, content)
    report = artifacts.report()
    assert report.findings == () and report.files == len(good)


def test_no_check_is_derived_that_a_missing_library_could_never_keep() -> None:
    told = (
        "import sys; sys.modules['pypdf'] = None\n"
        "from signoff.toolbatch.deriving import checker_known as known\n"
        "assert (known('a.pdf'), known('a.png'), known('a.md')) == (False, True, True)"
    )
    subprocess.run([sys.executable, "-c", told], check=True)


def test_libraries_are_loaded_only_by_the_kind_that_needs_them(artifacts: Artifacts) -> None:
    artifacts.file("a.json", "{}").file("a.svg", pictures.SVG)
    told = (
        "import sys\nfrom pathlib import Path\n"
        "from signoff.toolbatch.checkers import check\n"
        f"assert check(['.'], Path({str(artifacts.root)!r})).kept\n"
        f"assert not set({LIBRARIES}) & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", told], check=True)
