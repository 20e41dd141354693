"""What programs are known for: builtins, the network, building, and judging a project's files."""

from __future__ import annotations

import re

from signoff.commands.launchers import Invocation, started_by
from signoff.commands.operands import FABRICATORS, FILE_READERS, PATTERN_FIRST
from signoff.commands.runners import PACKAGE_TOOLS, RUNNERS

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
        *("mvn", "gradle", "kotlinc", "webpack", "vite", "esbuild", "rollup"),
    )
)
_BUILD_WORDS = {
    "cargo": ("build", "install", "run", "test"),
    "go": ("build", "install", "generate"),
    "dotnet": ("build", "publish"),
    "swift": ("build",),
}
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
_INSTALLED = re.compile(
    r"(?:\S+/)?(?:\.?v?env|\.tox/\w+|node_modules)/\.?bin/[^/]+|(?:\./)?vendor/bin/[\w.-]+"
    r"|/(?:usr/|opt/\S+/)?(?:local/)?bin/[^/]+|\./(?:mvn|gradle)w"
)


def judges(call: Invocation) -> bool:
    """Whether a program, called this way, judges files and fails when it finds fault."""
    wanted = _JUDGES.get(call.tool)
    if wanted is None or any(map(_IDLE.fullmatch, call.args)):
        return False
    if call.tool not in _VERBOSE and "-v" in call.args:
        return False
    return not wanted or not wanted.isdisjoint(call.args)


def is_plain(tool: str) -> bool:
    """Whether it is one of the shell's or the system's small tools."""
    return tool in _PLAIN


def starts_no_tests(call: Invocation) -> bool:
    """Whether a call cannot lead to a test runner."""
    plain = (call.tool in _PLAIN or call.tool in _CHECKERS) and not call.path
    return plain or _prepares(call)


def prints_no_results(call: Invocation) -> bool:
    """Whether a call beside a test runner cannot print what one prints."""
    return (call.tool in _SILENT and not call.path) or _prepares(call)


def _prepares(call: Invocation) -> bool:
    return bool(call.args) and call.args[0] in _PREPARING.get(call.tool, ())


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
        if call.tool in PACKAGE_TOOLS:
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
