"""What programs are known for: builtins, the network, building, and judging a project's files."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

from signoff.commands.launchers import Invocation, invocation_of, python_words, started_by

BUILTINS = frozenset(
    (
        *(".", ":", "[", "[[", "alias", "bg", "bind", "break", "builtin", "caller", "case", "cd"),
        *("command", "compgen", "complete", "compopt", "continue", "coproc", "declare", "dirs"),
        *("disown", "echo", "enable", "eval", "exec", "exit", "export", "false", "fc", "fg", "for"),
        *("function", "getopts", "hash", "help", "history", "if", "jobs", "kill", "let", "local"),
        *("logout", "mapfile", "popd", "printf", "pushd", "pwd", "read", "readarray", "readonly"),
        *("return", "select", "set", "shift", "shopt", "source", "suspend", "test", "time"),
        *("times", "trap", "true", "type", "typeset", "ulimit", "umask", "unalias", "unset"),
        *("until", "wait", "while", "!", "{", "}"),
    )
)
_NETWORKED = frozenset(
    (
        *("curl", "wget", "gh", "glab", "ssh", "scp", "sftp", "rsync", "kubectl", "helm", "aws"),
        *("gcloud", "az", "terraform", "ansible", "twine", "flyctl", "heroku", "vercel", "netlify"),
        *("nc", "telnet", "ftp", "ping", "dig", "nslookup"),
    )
)
_NETWORKED_WORDS = {
    "git": ("push", "pull", "fetch", "clone", "ls-remote"),
    **dict.fromkeys(("docker", "podman"), ("push", "pull")),
    **dict.fromkeys(("npm", "cargo", "uv"), ("publish",)),
    "gem": ("push",),
}
_LOCAL = re.compile(
    r"file://.*|(?:\w+://)?(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0)(?:[:/?].*)?"
)
_ADDRESS = re.compile(rf"{_LOCAL.pattern}|\w+://.*|[\w.-]+:\d+(?:/.*)?")
_BUILDERS = frozenset(
    (
        *("make", "cmake", "ninja", "meson", "bazel", "scons", "just", "swiftc", "nim", "zig"),
        *("cc", "gcc", "g++", "c++", "clang", "clang++", "ld", "rustc", "javac", "tsc", "ghc"),
        *("mvn", "mvnw", "gradle", "gradlew", "kotlinc", "webpack", "vite", "esbuild", "rollup"),
    )
)
_BUILD_WORDS = {
    "cargo": ("build", "install", "run", "test"),
    "go": ("build", "install", "generate"),
    "dotnet": ("build", "publish"),
    "swift": ("build",),
}
_PACKAGE_TOOLS = frozenset(("npm", "pnpm", "yarn", "bun"))

# Runners of tests by their name; where words are given, one of them has to be the first.
_RUNNERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            *("pytest", "unittest", "nose2", "tox", "nox", "jest", "vitest", "mocha", "_mocha"),
            *("ava", "tape", "tap", "bats", "rspec", "phpunit", "pest", "ctest", "prove", "busted"),
            *("karma", "gotestsum", "stestr", "behave", "jasmine", "uvu", "qunit"),
        ),
        (),
    ),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun", "deno"), ("test", "t")),
    **dict.fromkeys(("go", "swift", "dotnet", "mix", "mvn", "gradle", "flutter"), ("test",)),
    "cargo": ("test", "t", "nextest"),
}
_SAME_RUNNER = {"_mocha": "mocha"} | dict.fromkeys(("prove", "bats", "tape", "tap"), "TAP")
_TAP_BY_CHOICE = frozenset(("mocha", "ava"))

# Programs that judge files and fail when they find fault; where words are given, one is needed.
_JUDGES: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        (
            *(name for name, words in _RUNNERS.items() if not words and name != "karma"),
            # Python
            *("mypy", "pyright", "flake8", "pylint", "compileall", "doctest", "bandit", "pyflakes"),
            # JavaScript
            *("lab", "eslint", "standard", "xo", "tsc", "vue-tsc", "svelte-check", "stylelint"),
            *("oxlint", "web-test-runner", "wtr", "htmlhint", "html-validate", "webpack", "rollup"),
            *("tsd",),
            # C and its relatives
            *("cc", "gcc", "clang", "c++", "g++", "clang++", "c99", "cppcheck"),
            # the rest
            *("rubocop", "shellcheck", "hadolint", "yamllint", "markdownlint", "markdownlint-cli2"),
            *("tflint", "staticcheck", "elm-test", "luacheck", "kubeconform", "actionlint"),
            *("codespell", "typos"),
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
    "mix": frozenset({"test"}),
    "dune": frozenset({"test", "runtest", "build"}),
    **dict.fromkeys(
        ("dotnet", "swift", "stack", "cabal", "zig", "bazel"), frozenset({"test", "build"})
    ),
    **dict.fromkeys(("meson", "ninja"), frozenset({"test"})),
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
# To the others `-v` is a question for their version.
_VERBOSE = frozenset(
    ("pytest", "unittest", "go", "tox", "nox", "cargo", "swift", "mypy", "prove", "stestr")
)
_INSTALLED = re.compile(
    r"(?:\S+/)?(?:\.?v?env|\.tox/\w+|node_modules)/\.?bin/[^/]+|(?:\./)?vendor/bin/[\w.-]+"
    r"|/(?:usr/|opt/\S+/)?(?:local/)?bin/[^/]+|\./(?:mvn|gradle)w"
)
_STOPS_EARLY = re.compile(
    r"-x|--exitfirst|--maxfail(?:=\d+)?|--bail(?:=(?!0|false).*)?|-b|--fail-fast|--failfast|-f"
    r"|-failfast|--stop-on-failure"
)
_SELECTS = re.compile(
    r"(?:-k|-m|-t|-g|-run|--lf|--ff|--last-failed|--failed-first|--deselect|--ignore(?:-glob)?"
    r"|--testNamePattern|--testPathPattern|--grep|--filter|--test-name-pattern)(?:=.*)?"
)
_REPORTS = re.compile(
    r"(?:--junit-?xml|--json-report-file|--report-log|--reporters?|--outputFile|--test-reporter"
    r"|--json)(?:=.*)?|-r[fEsxXpPwaAN]+"
)
_TAKES_PATHS = frozenset(("pytest", "jest", "vitest", "mocha", "unittest", "bats", "prove"))
_TAKES_VALUE = frozenset(("-k", "-m", "-t", "-g", "-run", "-p", "-c", "-n", "-o", "-r", "-W"))


@dataclass(frozen=True)
class RunnerCall:
    """One call of a test runner, and which of its words stop it early, select tests or report."""

    runner: str
    call: Invocation
    stops_early: tuple[str, ...]
    selects: tuple[str, ...]
    reports: tuple[str, ...]


def tools_started(name: str, args: tuple[str, ...], folder: str = "") -> Iterator[Invocation]:
    """The call and what it launches; `pnpm vitest` launches a package's command by its name."""
    yield from started_by(name, args, folder)
    words = [arg for arg in args if arg not in ("run", "--")]
    if posixpath.basename(name) in _PACKAGE_TOOLS and words and not words[0].startswith("-"):
        inner = invocation_of(words[0], tuple(words[1:]), folder, name)
        if runner_of(inner):
            yield inner


def runner_call(name: str, args: tuple[str, ...], folder: str = "") -> RunnerCall | None:
    """How a call runs a project's tests, launchers passed over; None where it runs none."""
    for call in tools_started(name, args, folder):
        runner = runner_of(call)
        if runner and runner not in _PACKAGE_TOOLS:
            stops, selects, reports = (
                tuple(word for word in call.args if pattern.fullmatch(word))
                for pattern in (_STOPS_EARLY, _SELECTS, _REPORTS)
            )
            return RunnerCall(runner, call, stops, (*selects, *_named_tests(call)), reports)
    return None


def _named_tests(call: Invocation) -> tuple[str, ...]:
    """Paths and node ids among the words of a runner that takes such."""
    if call.tool not in _TAKES_PATHS:
        return ()
    pairs = zip(("", *call.args), call.args, strict=False)
    return tuple(w for before, w in pairs if w[:1] != "-" and before not in _TAKES_VALUE)


def runner_of(call: Invocation) -> str:
    """The name of the test runner that is called; empty where it is none that we know."""
    tool, words = call.tool, [arg for arg in call.args if not arg.startswith(("-", "+"))]
    if tool in ("python", "manage.py", "django-admin"):
        return "unittest" if _is_django(call) else ""
    if tool == "node":
        return "node" if "--test" in call.args else ""
    if tool in _TAP_BY_CHOICE and any("tap" in arg for arg in call.args):
        return "TAP"
    if tool in _PACKAGE_TOOLS and words[:1] == ["run"]:
        words = words[1:]
    wanted = _RUNNERS.get(tool)
    if wanted is None or (wanted and not (words and words[0] in wanted)):
        return ""
    return "nextest" if words[:1] == ["nextest"] else _SAME_RUNNER.get(tool, tool)


def _is_django(call: Invocation) -> bool:
    """`python manage.py test` prints what unittest prints."""
    words = python_words(call.args) if call.tool == "python" else (call.tool, *call.args)
    manages = bool(words) and posixpath.basename(words[0]) in ("manage.py", "django-admin")
    return manages and words[1:2] == ("test",)


def judges(call: Invocation) -> bool:
    """Whether a program, called this way, judges files and fails when it finds fault."""
    wanted = _JUDGES.get(call.tool)
    if wanted is None or any(map(_IDLE.fullmatch, call.args)):
        return False
    if call.tool not in _VERBOSE and "-v" in call.args:
        return False
    return not wanted or not wanted.isdisjoint(call.args)


def is_known(tool: str) -> bool:
    """Whether it is a tool that a project's environment brings along as a rule."""
    return tool in _JUDGES or tool in ("python", "coverage")


def idle_word(words: tuple[str, ...]) -> str:
    """The first word that keeps a program from judging."""
    return next((word for word in words if _IDLE.fullmatch(word)), "")


def is_installed(path: str) -> bool:
    """Whether a program's path leads to where package tools or the system install."""
    return _INSTALLED.fullmatch(path) is not None


def builds(name: str, args: tuple[str, ...]) -> bool:
    """Whether a call makes files that its own words need not name."""
    for call in started_by(name, args):
        if call.tool in _BUILDERS:
            return True
        words = [word for word in call.args if not word.startswith("-")]
        if call.tool in _PACKAGE_TOOLS:
            words = words[1:] if words[:1] == ["run"] else words
            if words and words[0].startswith(("build", "compile", "bundle")):
                return True
        elif words and words[0] in _BUILD_WORDS.get(call.tool, ()):
            return True
    return False


def is_networked(name: str, args: tuple[str, ...]) -> bool:
    """Whether a call leaves this machine."""
    if name not in _NETWORKED:
        asked = _NETWORKED_WORDS.get(name, ())
        return bool(asked) and next((a for a in args if not a.startswith("-")), "") in asked
    addresses = [a for a in args if _ADDRESS.fullmatch(a)]
    return not addresses or not all(_LOCAL.fullmatch(a) for a in addresses)
