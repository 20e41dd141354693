"""Where runners and checkers read their settings: one entry per tool."""

from __future__ import annotations

from dataclasses import dataclass, field

from signoff.commands.launchers import Invocation, inside, is_plain
from signoff.verification.steering.content import upwards
from signoff.verification.steering.sections import Section, section
from signoff.verification.steering.trail import Trail


@dataclass(frozen=True)
class Settings:
    """What a tool obeys besides its command line.

    Names are patterns for `files` and `everywhere`, `file#section` for the other two.
    """

    files: tuple[str, ...] = ()  # where the tool runs, around what it is given, and above
    sections: tuple[str, ...] = ()  # likewise, only this part of the file
    everywhere: tuple[str, ...] = ()  # in any folder: the tool collects them as it walks
    sections_everywhere: tuple[str, ...] = ()
    options: tuple[str, ...] = ()  # options that name a settings file
    parts: tuple[Section, ...] = field(init=False, repr=False)
    parts_everywhere: tuple[Section, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(map(section, self.sections)))
        everywhere = tuple(map(section, self.sections_everywhere))
        object.__setattr__(self, "parts_everywhere", everywhere)


def pin_settings(call: Invocation, trail: Trail) -> None:
    """Pin the settings of the called tool."""
    settings = SETTINGS[call.tool]
    for folder in folders_searched(call):
        for pattern in settings.files:
            for path in trail.content.in_folder(folder, pattern):
                trail.pin(path)
        for part in settings.parts:
            trail.pin_section(folder, part)
    for pattern in settings.everywhere:
        for path in trail.content.anywhere(pattern):
            trail.pin(path)
    for part in settings.parts_everywhere:
        for path in trail.content.anywhere(part.file):
            trail.pin_section(path.rpartition("/")[0], part)
    named = inside(call.folder, call.value_of(*settings.options)) if settings.options else None
    if named:
        trail.pin(named)


def folders_searched(call: Invocation) -> tuple[str, ...]:
    """The folder a tool runs in, those of the files it is given, and all above them."""
    given = [a.partition("::")[0] for a in call.args if not a.startswith("-") and is_plain(a)]
    starts = [call.folder, *(inside(call.folder, path) for path in given)]
    found = {f: None for start in starts if start is not None for f in upwards(start)}
    return tuple(found)


_PYTEST = Settings(
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
_PACKAGE_SETTINGS = Settings(
    files=(
        *(".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "bunfig.toml"),
        *("jest.config.*", "vitest.config.*", "vitest.workspace.*", ".mocharc.*", "ava.config.*"),
        *("karma.conf.*", "playwright.config.*", "cypress.config.*"),
    ),
    sections=("package.json#jest", "package.json#mocha", "package.json#ava"),
)
_ESLINT = Settings(
    files=("eslint.config.*",),
    everywhere=(".eslintrc", ".eslintrc.*", ".eslintignore"),
    sections_everywhere=("package.json#eslintConfig", "package.json#eslintIgnore"),
    options=("-c", "--config"),
)
_GRADLE = Settings(
    files=(
        "gradle/wrapper/gradle-wrapper.jar",
        "gradle/wrapper/gradle-wrapper.properties",
        "gradle.properties",
    ),
)
_MAVEN = Settings(
    files=(
        *(".mvn/maven.config", ".mvn/jvm.config", ".mvn/extensions.xml"),
        ".mvn/wrapper/maven-wrapper.properties",
    ),
)
_SEARCH = Settings(everywhere=(".ignore", ".rgignore", ".agignore", ".fdignore", ".gitignore"))

SETTINGS: dict[str, Settings] = {
    "pytest": _PYTEST,
    "tox": Settings(
        files=("tox.ini", "tox.toml"),
        sections=("pyproject.toml#tool.tox", "setup.cfg#tox*"),
        options=("-c", "--conf"),
    ),
    "nox": Settings(files=("noxfile.py",), options=("-f", "--noxfile")),
    "coverage": Settings(
        files=(".coveragerc", ".coveragerc.toml"),
        sections=("pyproject.toml#tool.coverage", "setup.cfg#coverage*", "tox.ini#coverage*"),
        options=("--rcfile",),
    ),
    "ruff": Settings(
        everywhere=("ruff.toml", ".ruff.toml", ".ignore"),
        sections_everywhere=("pyproject.toml#tool.ruff",),
        options=("--config",),
    ),
    "black": Settings(sections=("pyproject.toml#tool.black",), options=("--config",)),
    "isort": Settings(
        files=(".isort.cfg",),
        sections=("pyproject.toml#tool.isort", "setup.cfg#isort", "tox.ini#isort"),
        options=("--settings-path", "--settings-file"),
    ),
    "flake8": Settings(
        files=(".flake8",), sections=("setup.cfg#flake8", "tox.ini#flake8"), options=("--config",)
    ),
    "pylint": Settings(
        files=("pylintrc", ".pylintrc", "pylintrc.toml", ".pylintrc.toml"),
        sections=("pyproject.toml#tool.pylint", "setup.cfg#pylint*", "tox.ini#pylint*"),
        options=("--rcfile",),
    ),
    "mypy": Settings(
        files=("mypy.ini", ".mypy.ini"),
        sections=("pyproject.toml#tool.mypy", "setup.cfg#mypy*"),
        options=("--config-file",),
    ),
    "pyright": Settings(
        files=("pyrightconfig.json",),
        sections=("pyproject.toml#tool.pyright", "pyproject.toml#tool.basedpyright"),
        options=("-p", "--project"),
    ),
    "bandit": Settings(files=(".bandit",), options=("-c", "--configfile", "--ini")),
    "lint-imports": Settings(
        files=(".importlinter",),
        sections=("pyproject.toml#tool.importlinter", "setup.cfg#importlinter*"),
        options=("--config",),
    ),
    "pre-commit": Settings(files=(".pre-commit-config.yaml",), options=("-c", "--config")),
    "uv": Settings(
        files=("uv.toml",),
        sections=tuple(
            f"pyproject.toml#tool.uv.{key}"
            for key in ("sources", "index", "index-url", "find-links", "override-dependencies")
        ),
        options=("--config-file", "--env-file"),
    ),
    "poetry": Settings(files=("poetry.toml",)),
    "pdm": Settings(files=("pdm.toml",)),
    "hatch": Settings(files=("hatch.toml",), sections=("pyproject.toml#tool.hatch.envs",)),
    "npm": _PACKAGE_SETTINGS,
    "npx": _PACKAGE_SETTINGS,
    "yarn": _PACKAGE_SETTINGS,
    "pnpm": _PACKAGE_SETTINGS,
    "bun": _PACKAGE_SETTINGS,
    "jest": Settings(
        files=("jest.config.*",), sections=("package.json#jest",), options=("-c", "--config")
    ),
    "vitest": Settings(
        files=("vitest.config.*", "vitest.workspace.*", "vite.config.*"),
        options=("-c", "--config"),
    ),
    "mocha": Settings(
        files=(".mocharc.*",), sections=("package.json#mocha",), options=("--config",)
    ),
    "eslint": _ESLINT,
    "prettier": Settings(
        files=("prettier.config.*",),
        everywhere=(".prettierrc", ".prettierrc.*", ".prettierignore"),
        sections=("package.json#prettier",),
        options=("--config", "--ignore-path"),
    ),
    "tsc": Settings(files=("tsconfig.json",), options=("-p", "--project")),
    "turbo": Settings(files=("turbo.json",)),
    "nx": Settings(files=("nx.json",)),
    "cargo": Settings(
        files=(
            *(".cargo/config.toml", ".cargo/config", "rust-toolchain", "rust-toolchain.toml"),
            *("clippy.toml", ".clippy.toml"),
        ),
        sections=("Cargo.toml#package.autotests", "Cargo.toml#lib.test", "Cargo.toml#lib.harness"),
    ),
    "go": Settings(files=("go.work",)),
    "gradle": _GRADLE,
    "mvn": _MAVEN,
    "golangci-lint": Settings(files=(".golangci.*",), options=("-c", "--config")),
    "just": Settings(files=("justfile", "Justfile", ".justfile"), options=("-f", "--justfile")),
    "task": Settings(files=("Taskfile.*", "taskfile.*"), options=("-t", "--taskfile")),
    "rake": Settings(files=("Rakefile", "rakefile"), options=("-f", "--rakefile")),
    "rspec": Settings(files=(".rspec",), options=("-O", "--options")),
    "phpunit": Settings(files=("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml")),
    "shellcheck": Settings(files=(".shellcheckrc", "shellcheckrc")),
    "bazel": Settings(files=(".bazelrc",)),
    "rg": _SEARCH,
    "ag": _SEARCH,
    "fd": _SEARCH,
}
