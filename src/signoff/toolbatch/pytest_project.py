"""Projects that pytest judges: where its tests lie, and what would keep it from judging them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path

from signoff.commands.programs import idle_word
from signoff.toolbatch.offers import Offered
from signoff.toolbatch.project_files import files_named, ini_of, text_of, toml_of

_PYTEST_FILES = (
    "pytest.ini",
    ".pytest.ini",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
    "conftest.py",
)
_PYTEST_NAME = re.compile(r"test_.*\.py|.*_test\.py")
# Where pytest would load something else under its own name.
_SHADOWS = ("pytest.py", "pytest", "_pytest.py", "_pytest", "pluggy.py", "pluggy")
_FORCED_END = re.compile(
    r"\bexitstatus\s*=(?!=)|\b_exit\s*\(|pytest\.exit\([^)\n]*\b0\s*\)|\.outcome\s*=\s*.passed"
    r"|^collect_ignore(?:_glob)?\b",
    re.MULTILINE,
)


def by_pytest(root: Path) -> Offered:
    """Where pytest is configured, or tests lie where it looks for them."""
    tests = tuple(files_named(root, _PYTEST_NAME, within=("tests", "test")))
    if not (_pytest_is_configured(root) or tests):
        return Offered()
    conftests = tuple(files_named(root, re.compile(r"conftest\.py"), within=("tests", "test")))
    rests_on = tuple(dict.fromkeys((*_PYTEST_FILES, *_SHADOWS, *conftests, *tests)))
    why = _pytest_is_idle(root, conftests, tests)
    # Without pytest nothing was tested: that is unknown (127), not broken. Without tests it fails.
    run = "python3 -m pytest -q -p no:cacheprovider"
    run = f"python3 -c 'import pytest' || exit 127; {run}"
    if why:
        return Offered((), (run,), (f"pytest is kept from judging: {why}",), rests_on)
    return Offered((run,), rests_on=rests_on)


def _pytest_is_configured(root: Path) -> bool:
    if (root / "pytest.ini").is_file():
        return True
    tool = toml_of(root / "pyproject.toml").get("tool")
    if isinstance(tool, dict) and "pytest" in tool:
        return True
    return "tool:pytest" in ini_of(root / "setup.cfg") or "pytest" in ini_of(root / "tox.ini")


def _pytest_is_idle(root: Path, conftests: Collection[str], tests: Collection[str]) -> str:
    for name in _SHADOWS:
        if (root / name).exists():
            return f"`{name}` stands in its place"
    for path, settings in _pytest_settings(root):
        options = settings.get("addopts", "")
        word = idle_word(tuple(options.split()))
        if word:
            return f"`{path}` gives it `{word}`"
        plugins = re.findall(r"(?<!\S)-p\s*=?\s*([\w.]+)", options)
        if any((root / f"{name.replace('.', '/')}.py").exists() for name in plugins):
            return f"`{path}` gives it a plug-in of the project"
        if tests and not any(_is_collected(test, settings) for test in tests):
            return f"`{path}` has it pass over every test"
    for path in {"conftest.py", *conftests}:
        if _FORCED_END.search(text_of(root / path)):
            return f"`{path}` decides how it ends"
    return ""


def _is_collected(test: str, settings: Mapping[str, str]) -> bool:
    """Whether pytest would look into a file, by its settings."""
    names = settings.get("python_files", "").replace(",", " ").split()
    folders = [folder.strip("./") for folder in settings.get("testpaths", "").split()]
    ignored = re.findall(r"--ignore[=\s]\s*(\S+)", settings.get("addopts", ""))
    return (
        (not names or any(fnmatch(Path(test).name, name) for name in names))
        and (not folders or any(_is_below(test, folder) for folder in folders))
        and not any(_is_below(test, folder.strip("./")) for folder in ignored)
    )


def _is_below(path: str, folder: str) -> bool:
    wild = fnmatch(path, folder) or fnmatch(path, f"{folder}/*")
    return not folder or wild or path == folder or path.startswith(f"{folder}/")


def _pytest_settings(root: Path) -> Iterator[tuple[str, dict[str, str]]]:
    tool = toml_of(root / "pyproject.toml").get("tool")
    section = tool.get("pytest") if isinstance(tool, dict) else None
    section = section.get("ini_options", section) if isinstance(section, dict) else None
    if isinstance(section, dict):
        yield (
            "pyproject.toml",
            {
                name: " ".join(map(str, value)) if isinstance(value, list) else str(value)
                for name, value in section.items()
            },
        )
    for path in ("pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg"):
        read = ini_of(root / path)
        for name in ("pytest", "tool:pytest"):
            if name in read:
                yield path, {key: value or "" for key, value in read[name].items()}
