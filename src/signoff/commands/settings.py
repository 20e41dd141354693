"""Settings files of runners and checkers: one entry per tool.

Of a file that holds more than settings only a section counts, so that work on the others goes
unnoticed.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from msgspec import Struct

from signoff.domain.digests import digest_bytes
from signoff.domain.globs import has_wildcard

_TOML_NAMES = frozenset(("Pipfile",))
_HEADER = re.compile(r"\s*\[\s*([^\]]*?)\s*\]")
_DEFAULTS = "DEFAULT"


class Section(Struct, frozen=True):
    """One section of a settings file: keys of a table, or the header of an ini section.

    An ini header that ends in `*` stands for every section that begins so.
    """

    file: str
    keys: tuple[str, ...]

    @property
    def name(self) -> str:
        """Name of the section behind the `#`."""
        return ".".join(self.keys).rstrip("*")


@lru_cache
def section(text: str) -> Section:
    """A section written as `file#a.b` for tables and `file#header` for ini files."""
    file, _, name = text.partition("#")
    return Section(file, tuple(name.split(".")) if is_table(file) else (name,))


def is_table(file: str) -> bool:
    """True when the file holds nested tables (TOML, JSON) and not ini sections."""
    return file.endswith((".toml", ".json")) or file in _TOML_NAMES


def section_digest(wanted: Section, data: bytes) -> str | None:
    """The digest of the section, None when it is not there; of the whole file when unreadable."""
    if not is_table(wanted.file):
        return _ini_digest(wanted.keys[0], data)
    try:
        value = lookup(wanted, data)
    except (ValueError, RecursionError):
        return digest_bytes(data)
    if value is None:
        return None
    return digest_bytes(json.dumps(value, sort_keys=True, default=str).encode())


def lookup(wanted: Section, data: bytes) -> Any:
    """The value of a table's section, None when it is not there; ValueError when unreadable."""
    loads: Callable[[str], Any] = json.loads if wanted.file.endswith(".json") else tomllib.loads
    value: Any = loads(data.decode("utf-8-sig"))
    for key in wanted.keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


# Of each manifest of a project the tables that say what it needs.
_NEEDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "pyproject.toml": (
        *(("project", "dependencies"), ("project", "optional-dependencies")),
        *(("dependency-groups",), ("tool", "poetry", "dependencies")),
    ),
    "package.json": (("dependencies",), ("devDependencies",), ("peerDependencies",)),
    "Cargo.toml": (("dependencies",), ("dev-dependencies",), ("build-dependencies",)),
}
_ELSEWHERE = re.compile(r"[:/@\\]|\bpath\b|\bgit\b")  # what is needed comes from no index


def only_needs_differ(path: str, before: bytes, now: bytes) -> bool:
    """True when two texts of a project's manifest differ only in what it needs from an index."""
    tables = _NEEDS.get(path.rpartition("/")[2])
    if tables is None:
        return False
    try:
        (rest, _), (rest_now, needs) = (_without_needs(path, tables, t) for t in (before, now))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return False  # no manifest, or one of another form
    return rest == rest_now and not any(_ELSEWHERE.search(need) for need in needs)


def _without_needs(
    path: str, tables: tuple[tuple[str, ...], ...], data: bytes
) -> tuple[Any, list[str]]:
    """A manifest without the tables, and the values in them as text, without their names."""
    whole, needs = lookup(Section(path, ()), data), []
    for *above, last in tables:
        inside = whole
        for key in above:
            inside = inside.setdefault(key, {})
        value = inside.pop(last, None)
        listed = value.values() if isinstance(value, dict) else value or ()
        needs += [json.dumps(need, default=str) for need in listed]
    return whole, needs


def command_in(wanted: Section, data: bytes | None) -> str:
    """The shell text that a table's section holds, itself or as its `cmd`; empty where none."""
    try:
        value = None if data is None else lookup(wanted, data)
    except (ValueError, RecursionError):
        return ""
    text = value.get("cmd") if isinstance(value, dict) else value
    return text if isinstance(text, str) else ""


def _ini_digest(header: str, data: bytes) -> str | None:
    """The section's lines without comments.

    Tools read ini files in different dialects, so this takes every line that any of them could
    count: it reads no values, and it does not end a section at an indented header.
    """
    lines = data.decode("utf-8-sig", "surrogateescape").splitlines()
    found = list(_ini_lines(header, lines))
    if not found:
        return None
    found += _ini_lines(_DEFAULTS, lines)
    return digest_bytes("\n".join(found).encode("utf-8", "surrogateescape"))


def _ini_lines(header: str, lines: list[str]) -> Iterator[str]:
    within = False
    for line in lines:
        match = _HEADER.match(line)
        if match and (_is_header(header, match[1]) or not line[:1].isspace()):
            within = _is_header(header, match[1])
        if within and line.strip() and line.lstrip()[0] not in "#;":
            yield line.rstrip()


def _is_header(wanted: str, found: str) -> bool:
    return found.startswith(wanted[:-1]) if wanted.endswith("*") else found == wanted


class ToolSettings(Struct, frozen=True):
    """Files that a tool obeys besides its command line.

    Names are patterns for `files` and `everywhere`, `file#section` for the other two.
    """

    files: tuple[str, ...] = ()  # where the tool runs, around what it is given, and above
    sections: tuple[str, ...] = ()  # likewise, only this part of the file
    everywhere: tuple[str, ...] = ()  # in any folder: the tool collects them as it walks
    sections_everywhere: tuple[str, ...] = ()
    options: tuple[str, ...] = ()  # options that name a settings file


_PYTEST = ToolSettings(
    files=("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"),
    sections=(
        "pyproject.toml#tool.pytest",
        "pyproject.toml#project.entry-points.pytest11",
        "pyproject.toml#tool.poetry.plugins.pytest11",
        "tox.ini#pytest",
        "setup.cfg#tool:pytest",
    ),
    everywhere=("conftest.py",),
    sections_everywhere=("entry_points.txt#pytest11",),
    options=("-c", "--config-file"),
)
_PACKAGE_SETTINGS = ToolSettings(
    files=(
        *(".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "bunfig.toml"),
        *("jest.config.*", "vitest.config.*", "vitest.workspace.*", ".mocharc.*", "ava.config.*"),
        *("karma.conf.*", "playwright.config.*", "cypress.config.*"),
    ),
    sections=("package.json#jest", "package.json#mocha", "package.json#ava"),
)
_ESLINT = ToolSettings(
    files=("eslint.config.*",),
    everywhere=(".eslintrc", ".eslintrc.*", ".eslintignore"),
    sections_everywhere=("package.json#eslintConfig", "package.json#eslintIgnore"),
    options=("-c", "--config"),
)
_GRADLE = ToolSettings(
    files=(
        "gradle/wrapper/gradle-wrapper.jar",
        "gradle/wrapper/gradle-wrapper.properties",
        "gradle.properties",
    ),
)
_MAVEN = ToolSettings(
    files=(
        *(".mvn/maven.config", ".mvn/jvm.config", ".mvn/extensions.xml"),
        ".mvn/wrapper/maven-wrapper.properties",
    ),
)
_SEARCH = ToolSettings(everywhere=(".ignore", ".rgignore", ".agignore", ".fdignore", ".gitignore"))

SETTINGS: dict[str, ToolSettings] = {
    "pytest": _PYTEST,
    "tox": ToolSettings(
        files=("tox.ini", "tox.toml"),
        sections=("pyproject.toml#tool.tox", "setup.cfg#tox*"),
        options=("-c", "--conf"),
    ),
    "nox": ToolSettings(files=("noxfile.py",), options=("-f", "--noxfile")),
    "coverage": ToolSettings(
        files=(".coveragerc", ".coveragerc.toml"),
        sections=("pyproject.toml#tool.coverage", "setup.cfg#coverage*", "tox.ini#coverage*"),
        options=("--rcfile",),
    ),
    "ruff": ToolSettings(
        everywhere=("ruff.toml", ".ruff.toml", ".ignore"),
        sections_everywhere=("pyproject.toml#tool.ruff",),
        options=("--config",),
    ),
    "black": ToolSettings(sections=("pyproject.toml#tool.black",), options=("--config",)),
    "isort": ToolSettings(
        files=(".isort.cfg",),
        sections=("pyproject.toml#tool.isort", "setup.cfg#isort", "tox.ini#isort"),
        options=("--settings-path", "--settings-file"),
    ),
    "flake8": ToolSettings(
        files=(".flake8",), sections=("setup.cfg#flake8", "tox.ini#flake8"), options=("--config",)
    ),
    "pylint": ToolSettings(
        files=("pylintrc", ".pylintrc", "pylintrc.toml", ".pylintrc.toml"),
        sections=("pyproject.toml#tool.pylint", "setup.cfg#pylint*", "tox.ini#pylint*"),
        options=("--rcfile",),
    ),
    "mypy": ToolSettings(
        files=("mypy.ini", ".mypy.ini"),
        sections=("pyproject.toml#tool.mypy", "setup.cfg#mypy*"),
        options=("--config-file",),
    ),
    "pyright": ToolSettings(
        files=("pyrightconfig.json",),
        sections=("pyproject.toml#tool.pyright", "pyproject.toml#tool.basedpyright"),
        options=("-p", "--project"),
    ),
    "bandit": ToolSettings(files=(".bandit",), options=("-c", "--configfile", "--ini")),
    "lint-imports": ToolSettings(
        files=(".importlinter",),
        sections=("pyproject.toml#tool.importlinter", "setup.cfg#importlinter*"),
        options=("--config",),
    ),
    "pre-commit": ToolSettings(files=(".pre-commit-config.yaml",), options=("-c", "--config")),
    "uv": ToolSettings(
        files=("uv.toml",),
        sections=tuple(
            f"pyproject.toml#tool.uv.{key}"
            for key in ("sources", "index", "index-url", "find-links", "override-dependencies")
        ),
        options=("--config-file", "--env-file"),
    ),
    "poetry": ToolSettings(files=("poetry.toml",)),
    "pdm": ToolSettings(files=("pdm.toml",)),
    "hatch": ToolSettings(files=("hatch.toml",), sections=("pyproject.toml#tool.hatch.envs",)),
    "npm": _PACKAGE_SETTINGS,
    "npx": _PACKAGE_SETTINGS,
    "yarn": _PACKAGE_SETTINGS,
    "pnpm": _PACKAGE_SETTINGS,
    "bun": _PACKAGE_SETTINGS,
    "jest": ToolSettings(
        files=("jest.config.*",), sections=("package.json#jest",), options=("-c", "--config")
    ),
    "vitest": ToolSettings(
        files=("vitest.config.*", "vitest.workspace.*", "vite.config.*"),
        options=("-c", "--config"),
    ),
    "mocha": ToolSettings(
        files=(".mocharc.*",), sections=("package.json#mocha",), options=("--config",)
    ),
    "eslint": _ESLINT,
    "prettier": ToolSettings(
        files=("prettier.config.*",),
        everywhere=(".prettierrc", ".prettierrc.*", ".prettierignore"),
        sections=("package.json#prettier",),
        options=("--config", "--ignore-path"),
    ),
    "tsc": ToolSettings(files=("tsconfig.json",), options=("-p", "--project")),
    "turbo": ToolSettings(files=("turbo.json",)),
    "nx": ToolSettings(files=("nx.json",)),
    "cargo": ToolSettings(
        files=(
            *(".cargo/config.toml", ".cargo/config", "rust-toolchain", "rust-toolchain.toml"),
            *("clippy.toml", ".clippy.toml"),
        ),
        sections=("Cargo.toml#package.autotests", "Cargo.toml#lib.test", "Cargo.toml#lib.harness"),
    ),
    "go": ToolSettings(files=("go.work",)),
    "gradle": _GRADLE,
    "mvn": _MAVEN,
    "golangci-lint": ToolSettings(files=(".golangci.*",), options=("-c", "--config")),
    "just": ToolSettings(files=("justfile", "Justfile", ".justfile"), options=("-f", "--justfile")),
    "task": ToolSettings(files=("Taskfile.*", "taskfile.*"), options=("-t", "--taskfile")),
    "rake": ToolSettings(files=("Rakefile", "rakefile"), options=("-f", "--rakefile")),
    "rspec": ToolSettings(files=(".rspec",), options=("-O", "--options")),
    "phpunit": ToolSettings(files=("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml")),
    "shellcheck": ToolSettings(files=(".shellcheckrc", "shellcheckrc")),
    "bazel": ToolSettings(files=(".bazelrc",)),
    "rg": _SEARCH,
    "ag": _SEARCH,
    "fd": _SEARCH,
}


def settings_files(tool: str) -> tuple[str, ...]:
    """Files that a tool obeys as a whole, besides its command line; patterns left out."""
    known = SETTINGS.get(tool)
    named = (*known.files, *known.everywhere) if known is not None else ()
    return tuple(name for name in named if not has_wildcard(name))
