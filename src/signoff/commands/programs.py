"""Tables of programs: test runners, builtins, network tools, builders, checkers of files."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from signoff.commands.launchers import Invocation, invocation_of, python_words, started_by
from signoff.commands.operands import FABRICATORS, FILE_READERS, PATTERN_FIRST

_BAIL = r"-b|--bail(?:=(?!0|false).*)?|--fail-?fast|--stop-on-failure"
_REPORT = "a report in `$SIGNOFF_REPORT_DIR`"


class Runner(Struct, frozen=True):
    """One row of the table; the patterns are for whole words of a call.

    A call that has none of the words it `needs`, or one that `mutes` it, does not say how many
    tests there were; `remedy` is what helps.
    """

    words: tuple[str, ...] = ()  # one of them comes first
    prints: str = ""  # whose summary it ends with, where it is not its own
    stops: str = _BAIL  # at a failure, before the tests that follow
    goes_on: str = ""  # it stops at a failure unless told so
    needs: str = ""
    mutes: str = ""
    remedy: str = _REPORT
    takes_paths: bool = False
    several: bool = False  # it ends with a summary for each part of the project


_TAP = Runner(prints="TAP")
RUNNERS: Mapping[str, Runner] = {
    "pytest": Runner(
        stops=r"-[lqsv]*x[lqsv]*|--exitfirst|--maxfail.*|--sw|--stepwise.*",
        mutes=r"-\w*qq\w*",
        remedy="`-q` at most once",
        takes_paths=True,
    ),
    "unittest": Runner(stops=r"-[a-z]*f[a-z]*|--failfast", takes_paths=True),
    "node": Runner(mutes=r"--test-reporter=dot", remedy="`--test-reporter=spec`"),
    "go": Runner(("test",), stops=r"--?failfast", needs=r"--?(?:test\.)?(?:v|json)(?:=true)?",
                 remedy="`-v`"),
    "gotestsum": Runner(stops=r"--?failfast|--max-fails.*"),
    "cargo": Runner(("test", "t", "nextest"), goes_on="--no-fail-fast"),
    "nextest": Runner(goes_on="--no-fail-fast"),
    "gradle": Runner(("test", "check", "build"), needs=r"(?!)"),
    "mvn": Runner(("test", "verify", "package", "install"), several=True),
    "hatch": Runner(("test",), prints="pytest"),
    **dict.fromkeys(("jest", "vitest", "mocha"), Runner(takes_paths=True)),
    "_mocha": Runner(prints="mocha"),
    "nose2": Runner(prints="unittest"),
    **dict.fromkeys(("tape", "tap"), _TAP),
    **dict.fromkeys(("prove", "bats"), replace(_TAP, takes_paths=True)),
    **dict.fromkeys(
        (
            *("tox", "nox", "ava", "rspec", "phpunit", "pest", "ctest", "busted", "stestr"),
            *("jasmine", "uvu", "qunit"),
        ),
        Runner(),
    ),
    **dict.fromkeys(("behave", "karma"), Runner(several=True)),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun", "deno"), Runner(("test", "t"))),
    **dict.fromkeys(("swift", "dotnet", "mix", "flutter"), Runner(("test",), several=True)),
}  # fmt: skip
PACKAGE_TOOLS = frozenset(("npm", "pnpm", "yarn", "bun"))
_START_OTHERS = frozenset(("npm", "pnpm", "yarn", "tox", "nox"))
_TAP_BY_CHOICE = frozenset(("mocha", "ava"))
_SELECTS = (
    r"(?:-k|-m|-t|-g|-run|--lf|--ff|--last-failed|--failed-first|--deselect|--ignore(?:-glob)?"
    r"|--testNamePattern|--testPathPattern|--grep|--filter|--test-name-pattern)(?:=.*)?"
)
_REPORTS = (
    r"(?:--junit-?xml|--json-report-file|--report-log|--reporters?|--outputFile|--test-reporter"
    r"|--json)(?:=.*)?|-r[fEsxXpPwaAN]+"
)
_TAKES_VALUE = frozenset(("-k", "-m", "-t", "-g", "-run", "-p", "-c", "-n", "-o", "-r", "-W"))


class RunnerCall(Struct, frozen=True):
    """One call of a test runner, and which of its words stop it early, select tests or report.

    `runner` is whose summary it prints; `untold` what would make it say how many tests there were,
    where it does not.
    """

    runner: str
    call: Invocation
    stops_early: bool
    selects: tuple[str, ...]
    reports: tuple[str, ...]
    untold: str = ""
    several: bool = False


def tools_started(name: str, args: tuple[str, ...], folder: str = "") -> Iterator[Invocation]:
    """The call and what it launches; `pnpm vitest` launches a package's command by its name."""
    yield from started_by(name, args, folder)
    words = [arg for arg in args if arg not in ("run", "--")]
    if posixpath.basename(name) in PACKAGE_TOOLS and words and not words[0].startswith("-"):
        inner = invocation_of(words[0], tuple(words[1:]), folder, name)
        if runner_of(inner):
            yield inner


def runner_call(name: str, args: tuple[str, ...], folder: str = "") -> RunnerCall | None:
    """Read a call as a run of a project's tests, past launchers; None where it runs none itself."""
    for call in tools_started(name, args, folder):
        runner = runner_of(call)
        if not runner or runner in _START_OTHERS or (runner == "bun" and "run" in call.args):
            continue
        own = RUNNERS.get(call.tool, Runner())
        row = RUNNERS.get(runner, own)
        selects, reports = (
            tuple(word for word in call.args if re.fullmatch(pattern, word))
            for pattern in (_SELECTS, _REPORTS)
        )
        if own.takes_paths:
            pairs = zip(("", *call.args), call.args, strict=False)
            named = (w for before, w in pairs if w[:1] != "-" and before not in _TAKES_VALUE)
            selects = (*selects, *named)
        stops = row.goes_on not in call.args if row.goes_on else _has(call, row.stops)
        untold = (row.needs and not _has(call, row.needs)) or _has(call, row.mutes)
        remedy = row.remedy if untold else ""
        return RunnerCall(runner, call, stops, selects, reports, remedy, row.several)
    return None


def _has(call: Invocation, pattern: str) -> bool:
    return any(re.fullmatch(pattern, word) for word in call.args)


def runner_of(call: Invocation) -> str:
    """The name of the test runner that is called; empty where it is none that we know."""
    tool, words = call.tool, [arg for arg in call.args if not arg.startswith(("-", "+"))]
    if tool in ("python", "manage.py", "django-admin"):
        return "unittest" if _is_django(call) else ""
    if tool == "node":
        return "node" if "--test" in call.args else ""
    if tool in _TAP_BY_CHOICE and any("tap" in arg for arg in call.args):
        return "TAP"
    if tool in PACKAGE_TOOLS and words[:1] == ["run"]:
        words = words[1:]
    row = RUNNERS.get(tool)
    if row is None or (row.words and not (words and words[0] in row.words)):
        return ""
    return "nextest" if words[:1] == ["nextest"] else row.prints or tool


def _is_django(call: Invocation) -> bool:
    """`python manage.py test` prints what unittest prints."""
    words = python_words(call.args) if call.tool == "python" else (call.tool, *call.args)
    manages = bool(words) and posixpath.basename(words[0]) in ("manage.py", "django-admin")
    return manages and words[1:2] == ("test",)


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
_LOCAL = r"file://.*|(?:\w+://)?(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0)(?:[:/?].*)?"
_ADDRESS = rf"{_LOCAL}|\w+://.*|[\w.-]+:\d+(?:/.*)?"
# Linters, type checkers and compilers; where words are given, one of them is needed.
_CHECKERS: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        (
            *("mypy", "dmypy", "pyright", "flake8", "pylint", "compileall", "bandit", "pyflakes"),
            *("eslint", "standard", "xo", "tsc", "vue-tsc", "svelte-check", "stylelint", "oxlint"),
            *("htmlhint", "html-validate", "webpack", "rollup", "tsd"),
            *("cc", "gcc", "clang", "c++", "g++", "clang++", "c99", "cppcheck"),
            *("rubocop", "shellcheck", "hadolint", "yamllint", "markdownlint", "markdownlint-cli2"),
            *("tflint", "staticcheck", "luacheck", "kubeconform", "actionlint", "codespell"),
            *("typos",),
        ),
        frozenset[str](),
    ),
    "ruff": frozenset({"check", "--check"}),
    "black": frozenset({"--check"}),
    "isort": frozenset({"--check", "--check-only", "-c"}),
    "prettier": frozenset({"--check", "-c", "--list-different", "-l"}),
    "biome": frozenset({"check", "ci", "lint"}),
    "golangci-lint": frozenset({"run"}),
    "phpstan": frozenset({"analyse", "analyze"}),
}
# Programs that judge files and fail when they find fault.
_JUDGES: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        (
            *(name for name, row in RUNNERS.items() if not row.words and name != "karma"),
            *("doctest", "lab", "web-test-runner", "wtr", "elm-test"),
        ),
        frozenset[str](),
    ),
    **_CHECKERS,
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
    "signoff": frozenset({"check-artifact"}),
}
# With one of these a program lists, explains or forgives instead of judging.
_IDLE = (
    r"(?i)--(?:version|help|collect-only|co|pass-?with-?no-?tests|no-?run|dry-?run|listtests|list"
    r"|list-tests|show-?config|print-?config|env-info|init|setup-(?:plan|only)|fixtures|markers"
    r"|exit-zero|if-present|no-?check|show-only|no-error-on-unmatched-pattern"
    r"|just-print|ignore-errors|suppress-tests)(?:=.*)?|-h|-V|-DskipTests.*|-Dmaven\.test\..*|-fn"
)
# To the others `-v` is a question for their version.
_VERBOSE = frozenset(
    ("pytest", "unittest", "go", "tox", "nox", "cargo", "swift", "mypy", "prove", "stestr")
)
# Tools that start no tests, whatever they are given.
_PLAIN = BUILTINS | FILE_READERS | FABRICATORS | PATTERN_FIRST - {"perl"} | {
    *("rm", "chmod", "tr", "tee", "which", "basename", "dirname", "sleep", "date", "seq", "mktemp"),
    *("git", "pip", "pip3", "curl", "wget", "tar", "unzip", "rustfmt", "gofmt"),
}  # fmt: skip
_SILENT = frozenset(
    (
        *("cd", "pushd", "popd", "export", "set", "unset", "true", ":", "test", "[", "umask"),
        *("mkdir", "rm", "source", "."),
    )
)
_PREPARING = {
    "uv": ("sync", "pip", "lock", "venv"),
    "poetry": ("install", "sync", "lock"),
    "yarn": ("install",),
    **dict.fromkeys(("npm", "pnpm", "bun"), ("ci", "install", "i")),
    "cargo": ("build", "check", "fmt", "clippy", "fetch"),
    "go": ("build", "vet", "mod", "fmt"),
}
_INSTALLED = (
    r"(?:\S+/)?(?:\.?v?env|\.tox/\w+|node_modules)/\.?bin/[^/]+|(?:\./)?vendor/bin/[\w.-]+"
    r"|/(?:usr/|opt/\S+/)?(?:local/)?bin/[^/]+|\./(?:mvn|gradle)w"
)


def judges(call: Invocation) -> bool:
    """True when a program, called this way, judges files and fails when it finds fault."""
    wanted = _JUDGES.get(call.tool)
    if wanted is None or any(re.fullmatch(_IDLE, word) for word in call.args):
        return False
    if call.tool not in _VERBOSE and "-v" in call.args:
        return False
    return not wanted or not wanted.isdisjoint(call.args)


def is_plain(tool: str) -> bool:
    """True for the small tools of the shell and the system."""
    return tool in _PLAIN


def starts_no_tests(call: Invocation) -> bool:
    """True when a call cannot lead to a test runner."""
    plain = (call.tool in _PLAIN or call.tool in _CHECKERS) and not call.path
    return plain or _prepares(call)


def prints_no_results(call: Invocation) -> bool:
    """True when a call beside a test runner cannot print test results."""
    return (call.tool in _SILENT and not call.path) or _prepares(call)


def _prepares(call: Invocation) -> bool:
    return bool(call.args) and call.args[0] in _PREPARING.get(call.tool, ())


def is_known(tool: str) -> bool:
    """True for a tool that a project's environment usually contains."""
    return tool in _JUDGES or tool in ("python", "coverage")


def idle_word(words: tuple[str, ...]) -> str:
    """The first word that keeps a program from judging."""
    return next((word for word in words if re.fullmatch(_IDLE, word)), "")


def is_installed(path: str) -> bool:
    """True when the path leads to a folder into which package tools or the system install."""
    return re.fullmatch(_INSTALLED, path) is not None


def is_networked(name: str, args: tuple[str, ...]) -> bool:
    """True when a call leaves this machine."""
    if name not in _NETWORKED:
        asked = _NETWORKED_WORDS.get(name, ())
        return bool(asked) and next((a for a in args if not a.startswith("-")), "") in asked
    addresses = [a for a in args if re.fullmatch(_ADDRESS, a)]
    return not addresses or not all(re.fullmatch(_LOCAL, a) for a in addresses)
