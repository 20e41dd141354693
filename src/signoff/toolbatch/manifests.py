"""Commands that a project documents in its manifests, for the kinds of file a task is about.

A manifest counts only while it is there and says so itself: a test script, a test target, tests.
And only as far as it can be read: what cannot fail is refused, and what nobody can tell about has
to hold but proves nothing by itself.
"""

from __future__ import annotations

import configparser
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from signoff.commands.programs import idle_word
from signoff.commands.proofs import ProjectRecipes, Proof
from signoff.toolbatch.disk import entries_below
from signoff.workspace.folders import open_regular

LARGEST_MANIFEST = 1_000_000
MOST_LOOKED_AT = 20_000  # entries of a project, in search of its tests
MOST_TESTS = 500  # that a command is said to rest on
_PYTHON = frozenset({".py", ".pyi"})
_NODE = frozenset(
    {".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".vue", ".svelte", ".css", ".html", ".json"}
)
_RUST = frozenset({".rs"})
_GO = frozenset({".go"})
_NODE_SCRIPTS = ("test", "check", "lint")
_MAKE_TARGETS = ("test", "check")
_NO_TEST = "no test specified"  # what npm writes where nobody wrote a test
_PYTEST_NAME = re.compile(r"test_.*\.py|.*_test\.py")
# Where pytest would load something else under its own name.
_SHADOWS = ("pytest.py", "pytest", "_pytest.py", "_pytest", "pluggy.py", "pluggy")
_FORCED_END = re.compile(
    r"\bexitstatus\s*=(?!=)|\b_exit\s*\(|pytest\.exit\([^)\n]*\b0\s*\)|\.outcome\s*=\s*.passed"
    r"|^collect_ignore(?:_glob)?\b",
    re.MULTILINE,
)


Settings = tuple[str, Mapping[str, str]]  # where they stand, and what they say


class Offered(Struct, frozen=True):
    """Checks that a manifest offers; or what it pretends to offer, and why that is nothing.

    `additional` are commands of which nobody can tell what they prove: they have to hold, but
    prove nothing by themselves.
    """

    commands: tuple[str, ...] = ()
    additional: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    kinds: frozenset[str] = frozenset()  # suffixes it is about; none: whatever nobody else is

    def is_about(self, kinds: Collection[str]) -> bool:
        """True when it speaks about one of these kinds of file."""
        return not self.kinds.isdisjoint(kinds)


def offers(root: Path) -> tuple[Offered, ...]:
    """Offers of every manifest of the project, the nearest first, make last."""
    found = ((kinds, read(root)) for kinds, read in _MANIFESTS)
    return tuple(replace(offered, kinds=kinds) for kinds, offered in found if offered != Offered())


def documented(offered: Collection[Offered], kinds: Collection[str]) -> Offered:
    """Offers for one of these suffixes; make only where nothing else is."""
    found = [one for one in offered if one.is_about(kinds)]
    if kinds and not any(one.commands for one in found):
        found += [one for one in offered if not one.kinds]
    return Offered(
        tuple(command for one in found for command in one.commands),
        tuple(command for one in found for command in one.additional),
        tuple(said for one in found for said in one.refused),
    )


def _npm(root: Path) -> Offered:
    project = ProjectRecipes(lambda path: content_of(root / path))
    scripts = ((name, project.scripts.get(name, "")) for name in _NODE_SCRIPTS)
    meant = [name for name, script in scripts if script.strip() and _NO_TEST not in script]
    return _first(project, "npm", meant, "npm run --silent {}", "the npm script `{}`")


def _make(root: Path) -> Offered:
    """A target with the name of a file that is there would be up to date: it is always made."""
    project = ProjectRecipes(lambda path: content_of(root / path))
    there = [name for name in _MAKE_TARGETS if project.makefile.has(name)]
    return _first(project, "make", there, "make --always-make {}", "the make target `{}`")


def _first(
    project: ProjectRecipes, kind: str, names: Iterable[str], command: str, called: str
) -> Offered:
    """The first recipe that proves something, and what stands before it."""
    additional, refused = list[str](), list[str]()
    for name in names:
        proof, what = project.proof(kind, name), called.format(name)
        if proof is Proof.PROVES:
            return Offered((command.format(name),), tuple(additional), tuple(refused))
        if proof is Proof.CANNOT_FAIL:
            refused.append(f"{what} cannot fail")
        elif not additional:
            additional.append(command.format(name))
            refused.append(f"nobody can tell what {what} proves; a contract could say that it does")
    return Offered((), tuple(additional), tuple(refused))


def _cargo(root: Path) -> Offered:
    manifest = toml_of(root / "Cargo.toml")
    if not {"package", "workspace"} & set(manifest):
        return Offered()
    tests = any(files_named(root, re.compile(r".*\.rs"), saying=re.compile(r"#\[(?:\w+::)?test\b")))
    # Once there were tests, there must be some: cargo is content with none.
    some = (
        "grep -rqsE --exclude-dir=target --include='*.rs' '#\\[(\\w+::)?test\\b' . && "
        if tests
        else ""
    )
    run, settings = f"{some}cargo test --quiet", ".cargo/config.toml"
    library = manifest.get("lib")
    if isinstance(library, dict) and library.get("test") is False:
        return Offered((), (run,), ("`Cargo.toml` turns its tests off",))
    if re.search(r"\b(?:runner|alias|rustc|rustc-wrapper)\b", text_of(root / settings)):
        return Offered((), (run,), (f"`{settings}` runs something else",))
    return Offered((run,))


def _go(root: Path) -> Offered:
    if re.search(r"^module\s+\S", text_of(root / "go.mod"), re.MULTILINE) is None:
        return Offered()
    tests = any(files_named(root, re.compile(r".*_test\.go")))
    some = "test -n \"$(find . -name '*_test.go' -print -quit)\" && " if tests else ""
    # Vet compiles packages that have no test, which a test run alone would not.
    return Offered((f"{some}go vet ./... && go test ./...",))


def _pytest(root: Path) -> Offered:
    """Offer pytest where it is configured, or where tests lie in its places."""
    tests = tuple(files_named(root, _PYTEST_NAME, within=("tests", "test")))
    settings = tuple(_pytest_settings(root))
    if not (settings or tests or (root / "pytest.ini").is_file()):
        return Offered()
    why = _pytest_is_idle(root, settings, tests)
    # Without pytest nothing was tested: that is unknown (127), not broken. Without tests it fails.
    run = "python3 -m pytest -q -p no:cacheprovider"
    run = f"python3 -c 'import pytest' || exit 127; {run}"
    if why:
        return Offered((), (run,), (f"pytest is kept from judging: {why}",))
    return Offered((run,))


def _pytest_is_idle(root: Path, found: Iterable[Settings], tests: Collection[str]) -> str:
    for name in _SHADOWS:
        if (root / name).exists():
            return f"`{name}` stands in its place"
    for path, settings in found:
        options = settings.get("addopts", "")
        word = idle_word(tuple(options.split()))
        if word:
            return f"`{path}` gives it `{word}`"
        plugins = re.findall(r"(?<!\S)-p\s*=?\s*([\w.]+)", options)
        if any((root / f"{name.replace('.', '/')}.py").exists() for name in plugins):
            return f"`{path}` gives it a plug-in of the project"
        if tests and not any(_is_collected(test, settings) for test in tests):
            return f"`{path}` has it pass over every test"
    conftests = files_named(root, re.compile(r"conftest\.py"), within=("tests", "test"))
    for path in {"conftest.py", *conftests}:
        if _FORCED_END.search(text_of(root / path)):
            return f"`{path}` decides how it ends"
    return ""


def _is_collected(test: str, settings: Mapping[str, str]) -> bool:
    """True when pytest would look into a file, by its settings."""
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


def _pytest_settings(root: Path) -> Iterator[Settings]:
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


_MANIFESTS: tuple[tuple[frozenset[str], Callable[[Path], Offered]], ...] = (
    (_PYTHON, _pytest),
    (_NODE, _npm),
    (_RUST, _cargo),
    (_GO, _go),
    (frozenset(), _make),
)


def files_named(
    root: Path,
    name: re.Pattern[str],
    within: Collection[str] = (),
    saying: re.Pattern[str] | None = None,
) -> Iterator[str]:
    """Files of this name, at the top or below a folder called one of `within`; with an end."""

    def is_meant(path: str) -> bool:
        above, _, file = path.rpartition("/")
        placed = not within or not above or not set(within).isdisjoint(above.split("/"))
        if not name.fullmatch(file) or not placed or not (root / path).is_file():
            return False
        return saying is None or saying.search(text_of(root / path)) is not None

    return islice(filter(is_meant, entries_below(root, MOST_LOOKED_AT)), MOST_TESTS)


def content_of(path: Path) -> bytes | None:
    """A manifest that lies in the project itself and has a reasonable size; else nothing."""
    try:
        with open_regular(path) as file:
            data = file.read(LARGEST_MANIFEST + 1)
    except (OSError, ValueError):
        return None
    return data if len(data) <= LARGEST_MANIFEST else None


def text_of(path: Path) -> str:
    """A manifest as text; empty where there is none."""
    return (content_of(path) or b"").decode("utf-8", "replace").replace("\r\n", "\n")


def toml_of(path: Path) -> dict[str, Any]:
    """Content of a TOML file; empty when it is none."""
    try:
        return tomllib.loads(text_of(path))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def ini_of(path: Path) -> Mapping[str, Mapping[str, str]]:
    """The sections of a settings file; none when it is none."""
    text = text_of(path)
    if not text:
        return {}  # making a parser takes longer than all the looking
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return {}
    return parser
