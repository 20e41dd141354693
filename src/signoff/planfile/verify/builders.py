"""Which calls build programs: what they make is nothing that the agent wrote."""

from __future__ import annotations

from signoff.commands.uses import Call

_BUILDERS = frozenset(
    (
        *("make", "gmake", "cmake", "ninja", "meson", "bazel", "scons", "just"),
        *("cc", "gcc", "g++", "c++", "clang", "clang++", "ld", "rustc", "javac", "tsc", "ghc"),
        *("mvn", "mvnw", "gradle", "gradlew", "swiftc", "nim", "zig", "kotlinc"),
    )
)
_BUILD_WORDS = {
    "cargo": ("build", "install", "run", "test"),
    "go": ("build", "install", "generate"),
    "dotnet": ("build", "publish"),
    "swift": ("build",),
    "npx": ("tsc", "webpack", "vite", "esbuild", "rollup"),
}
_SCRIPT_RUNNERS = frozenset(("npm", "pnpm", "yarn", "bun"))


def builds(call: Call) -> bool:
    """Whether a call makes files that its own words need not name."""
    name = call.name.rpartition("/")[2]
    if name in _BUILDERS:
        return True
    words = [word for word in call.args if not word.startswith("-")]
    if name in _SCRIPT_RUNNERS:
        words = words[1:] if words[:1] == ["run"] else words
        return bool(words) and words[0].startswith(("build", "compile", "bundle"))
    return bool(words) and words[0] in _BUILD_WORDS.get(name, ())
