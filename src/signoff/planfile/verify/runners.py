"""Which calls run a project's tests."""

from __future__ import annotations

from signoff.commands.uses import Call

_RUNNERS = frozenset(
    (
        *("pytest", "py.test", "unittest", "nose2", "tox", "nox", "jest", "vitest", "mocha", "ava"),
        *("bats", "rspec", "phpunit", "pest", "ctest", "prove", "busted", "karma"),
    )
)
_FIRST_WORDS = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun", "deno"), ("test", "t")),
    **dict.fromkeys(("go", "swift", "dotnet", "mix", "mvn", "gradle", "flutter"), ("test",)),
    "cargo": ("test", "nextest"),
    "node": ("--test",),
}
# What they start stands among their words: `uv run pytest`, `python -m unittest`.
_LAUNCHERS = frozenset(
    (
        *("python", "python3", "uv", "poetry", "pipenv", "hatch", "pdm", "rye", "coverage"),
        *("npx", "pnpx", "bunx", "uvx", "pnpm", "npm", "yarn", "bundle"),
    )
)


def runs_tests(call: Call) -> bool:
    """Whether a call runs tests with a tool that we know."""
    name = call.name.rpartition("/")[2]
    if name in _RUNNERS:
        return True
    words = call.args[1:] if call.args[:1] == ("run",) else call.args
    if words and words[0] in _FIRST_WORDS.get(name, ()):
        return True
    return name in _LAUNCHERS and not _RUNNERS.isdisjoint(words)
