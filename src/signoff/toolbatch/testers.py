"""Programs that are known to judge files, how they are called, and what keeps them from judging."""

from __future__ import annotations

import re

# A program, and the words of which one has to be among its arguments; none: it always judges.
_TESTERS: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        (
            # Python
            *("pytest", "py.test", "tox", "nox", "unittest", "mypy", "pyright", "flake8"),
            *("pylint", "compileall", "doctest", "stestr", "behave", "bandit", "pyflakes"),
            # JavaScript
            *("jest", "vitest", "mocha", "ava", "tap", "tape", "uvu", "jasmine", "qunit", "lab"),
            *("eslint", "standard", "xo", "tsc", "vue-tsc", "svelte-check", "stylelint", "oxlint"),
            *("web-test-runner", "wtr", "htmlhint", "html-validate", "webpack", "rollup", "tsd"),
            # C and its relatives
            *("ctest", "cc", "gcc", "clang", "c++", "g++", "clang++", "c99", "cppcheck"),
            # the rest
            *("rspec", "rubocop", "phpunit", "pest", "bats", "shellcheck", "hadolint", "yamllint"),
            *("markdownlint", "markdownlint-cli2", "tflint", "staticcheck", "elm-test", "prove"),
            *("busted", "luacheck", "kubeconform", "actionlint", "codespell", "typos"),
        ),
        frozenset[str](),
    ),
    "ruff": frozenset({"check", "--check"}),
    "black": frozenset({"--check"}),
    "isort": frozenset({"--check", "--check-only", "-c"}),
    "prettier": frozenset({"--check", "-c", "--list-different", "-l"}),
    "biome": frozenset({"check", "ci", "lint"}),
    "karma": frozenset({"start"}),
    "cypress": frozenset({"run"}),
    "playwright": frozenset({"test"}),
    "react-scripts": frozenset({"test", "build"}),
    "ng": frozenset({"test", "lint", "build"}),
    "vue-cli-service": frozenset({"test:unit", "test:e2e", "lint", "build"}),
    "next": frozenset({"lint", "build"}),
    "vite": frozenset({"build"}),
    "astro": frozenset({"check", "build"}),
    "node": frozenset({"--test", "--check", "-c"}),
    "bun": frozenset({"test"}),
    "deno": frozenset({"test", "lint", "check"}),
    "cargo": frozenset({"test", "check", "clippy", "nextest", "build"}),
    "go": frozenset({"test", "vet", "build"}),
    "golangci-lint": frozenset({"run"}),
    "mvn": frozenset({"test", "verify", "package", "install"}),
    "gradle": frozenset({"test", "check", "build"}),
    "dotnet": frozenset({"test", "build"}),
    "swift": frozenset({"test", "build"}),
    "mix": frozenset({"test"}),
    "stack": frozenset({"test", "build"}),
    "cabal": frozenset({"test", "build"}),
    "zig": frozenset({"test", "build"}),
    "dune": frozenset({"test", "runtest", "build"}),
    "bazel": frozenset({"test", "build"}),
    "meson": frozenset({"test"}),
    "ninja": frozenset({"test"}),
    "pre-commit": frozenset({"run"}),
    "terraform": frozenset({"validate"}),
    "helm": frozenset({"lint"}),
    "phpstan": frozenset({"analyse", "analyze"}),
    "signoff": frozenset({"check-artifact"}),
}
# With one of these a program lists, explains or forgives instead of judging.
_IDLE = re.compile(
    r"--(?:version|help|collect-only|co|pass-?with-?no-?tests|no-?run|dry-?run|listtests|list"
    r"|list-tests|show-?config|print-?config|env-info|init|setup-(?:plan|only)|fixtures|markers"
    r"|exit-zero|if-present|no-?check|show-only|no-error-on-unmatched-pattern"
    r"|just-print|ignore-errors|suppress-tests)(?:=.*)?|-h|-V|-DskipTests.*|-Dmaven\.test\..*|-fn",
    re.IGNORECASE,
)
_VERBOSE = frozenset(
    (
        "pytest",
        "py.test",
        "unittest",
        "go",
        "tox",
        "nox",
        "cargo",
        "swift",
        "mypy",
        "prove",
        "stestr",
    )
)
_INSTALLED = re.compile(
    r"(?:\./)?(?:node_modules/\.bin|\.?v?env/bin|vendor/bin)/([\w.-]+)"
    r"|/usr/(?:local/)?bin/([\w.+-]+)|\./(mvn|gradle)w"
)
_PYTHON = re.compile(r"python(?:3(?:\.\d+)?)?")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
# What only runs another program; options of their own are not known, so they may have none.
_RUNNERS: tuple[tuple[str, ...], ...] = (
    *(("npm", "exec"), ("pnpm", "exec"), ("pnpm", "dlx"), ("yarn", "exec"), ("yarn", "dlx")),
    *(("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("rye", "run")),
    *(("bundle", "exec"), ("coverage", "run"), ("npx",), ("bunx",), ("uvx",), ("cross-env",)),
    *(("c8",), ("nyc",), ("xvfb-run",), ("dotenv",), ("cross-env-shell",)),
)
_RUNNER_OPTIONS = frozenset(
    ("--", "-y", "--yes", "--no", "--no-install", "--no-sync", "--frozen", "--locked", "--branch")
)
_NPM = frozenset({"npm", "pnpm", "yarn", "bun"})
_NPM_OWN = frozenset(
    ("install", "i", "ci", "add", "exec", "dlx", "audit", "pack", "publish", "version", "init")
)
_SCRIPTS_AFTER = frozenset({"npm-run-all", "run-s", "run-p"})
_QUIET = frozenset({"--silent", "-s", "--no-print-directory", "--quiet", "-q", "--"})


def unwrapped(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The program that is really run and its arguments; empty when that cannot be seen."""
    for _ in range(8):
        if not texts:
            return ()
        found = _INSTALLED.fullmatch(texts[0])
        name = next(filter(None, found.groups())) if found else texts[0]
        texts = (name, *texts[1:])
        runner = next((r for r in _RUNNERS if texts[: len(r)] == r), None)
        if runner is not None:
            texts = texts[len(runner) :]
            while texts and (texts[0] in _RUNNER_OPTIONS or _ASSIGNMENT.match(texts[0])):
                texts = texts[1:]
            # `coverage run` is a python.
            texts = ("python3", *texts) if runner[0] == "coverage" else texts
        elif _PYTHON.fullmatch(name) and texts[1:2] == ("-m",):
            texts = texts[2:]
        elif _PYTHON.fullmatch(name):
            return ("python3", *texts[1:])
        else:
            return texts
    return ()


def runs(texts: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The scripts of npm and targets of make that a command runs, as (`npm` or `make`, name)."""
    name, rest = texts[0], [word for word in texts[1:] if word not in _QUIET]
    if name in _SCRIPTS_AFTER:
        plain = all(not word.startswith("-") and "*" not in word for word in rest)
        return tuple(("npm", word) for word in rest) if plain else ()
    if name == "make":
        plain = all(not word.startswith("-") and "=" not in word for word in rest)
        return tuple(("make", word) for word in rest) if plain else ()
    if name not in _NPM or not rest or texts[:2] == ("bun", "test"):
        return ()
    if rest[0] in ("run", "run-script") and len(rest) > 1 and not rest[1].startswith("-"):
        return () if any(map(_IDLE.fullmatch, rest)) else (("npm", rest[1]),)
    if rest[0] in ("test", "t", "tst"):
        return () if any(map(_IDLE.fullmatch, rest)) else (("npm", "test"),)
    own = name == "npm" or rest[0].startswith("-") or rest[0] in _NPM_OWN
    return () if own or any(map(_IDLE.fullmatch, rest)) else (("npm", rest[0]),)


def is_tester(texts: tuple[str, ...]) -> bool:
    """Whether a program, called this way, judges files and fails when it finds fault."""
    name, rest = texts[0], texts[1:]
    wanted = _TESTERS.get(name)
    if wanted is None or any(map(_IDLE.fullmatch, rest)):
        return False
    if name not in _VERBOSE and "-v" in rest:
        return False
    return not wanted or not wanted.isdisjoint(rest)


def keeps_from_judging(options: str) -> str:
    """The first word among options that keeps a program from judging."""
    return next((word for word in options.split() if _IDLE.fullmatch(word)), "")
