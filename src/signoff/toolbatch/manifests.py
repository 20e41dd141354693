"""Commands that a project documents in its manifests, for the kinds of file a task is about.

A manifest counts only while it is there and says so itself: a test script, a test target, tests.
And only as far as it can be read: what cannot fail is refused, and what nobody can tell about has
to hold but proves nothing by itself.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from signoff.toolbatch.makefile import Makefile, Unread, read_makefile
from signoff.toolbatch.offers import Offered
from signoff.toolbatch.project_files import files_named, text_of, toml_of
from signoff.toolbatch.pytest_project import by_pytest
from signoff.toolbatch.recipes import DEEPEST, Proof, proof_of

_PYTHON = frozenset({".py", ".pyi"})
_NODE = frozenset(
    {".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".vue", ".svelte", ".css", ".html", ".json"}
)
_RUST = frozenset({".rs"})
_GO = frozenset({".go"})
_NODE_SCRIPTS = ("test", "check", "lint")
_MAKE_TARGETS = ("test", "check")
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_NO_TEST = "no test specified"  # what npm writes where nobody wrote a test
_NODE_SETTINGS = tuple(
    f"{name}.{suffix}"
    for name in ("jest.config", "vitest.config", "vite.config", ".mocharc")
    for suffix in ("js", "cjs", "mjs", "ts", "json", "yml", "yaml")
)
_FORGIVES = re.compile(r"pass-?with-?no-?tests\W{1,9}true|\bdry-?run\W{1,9}true", re.IGNORECASE)
_SHELL_FILES = frozenset({"", ".sh", ".bash"})
# By what a program of the project can fail at all.
_CAN_FAIL = {
    **dict.fromkeys(
        (".js", ".mjs", ".cjs", ".ts"),
        re.compile(
            r"\bassert\b|\bexpect\s*\(|\bthrow\b|\bexit\s*\((?!\s*0?\s*\))|exitCode|node:test"
        ),
    ),
    ".py": re.compile(
        r"\bassert\b|\braise\b|\bunittest\b|\bdoctest\b|\bexit\s*\((?!\s*0?\s*\))|\bcheck_call\b"
    ),
}


def offers(root: Path) -> tuple[Offered, ...]:
    """What every manifest of the project offers, the nearest first, make last."""
    found = ((kinds, read(root)) for kinds, read in _MANIFESTS)
    return tuple(replace(offered, kinds=kinds) for kinds, offered in found if offered != Offered())


def documented(offered: Collection[Offered], kinds: Collection[str]) -> Offered:
    """What is offered for one of these suffixes; make only where nothing else is."""
    found = [one for one in offered if one.is_about(kinds)]
    if kinds and not any(one.commands for one in found):
        found += [one for one in offered if not one.kinds]
    return Offered(
        tuple(command for one in found for command in one.commands),
        tuple(command for one in found for command in one.additional),
        tuple(said for one in found for said in one.refused),
    )


def _npm(root: Path) -> Offered:
    project = _Project(root)
    scripts = ((name, project.scripts.get(name, "")) for name in _NODE_SCRIPTS)
    meant = [name for name, script in scripts if script.strip() and _NO_TEST not in script]
    return _first(project, "npm", meant, "npm run --silent {}", "the npm script `{}`")


def _make(root: Path) -> Offered:
    """A target with the name of a file that is there would be up to date: it is always made."""
    project = _Project(root)
    there = [name for name in _MAKE_TARGETS if name in project.makefile.targets]
    return _first(project, "make", there, "make --always-make {}", "the make target `{}`")


def _first(
    project: _Project, kind: str, names: Iterable[str], command: str, called: str
) -> Offered:
    """The first recipe that proves something, and what stands before it."""
    additional, refused = list[str](), list[str]()
    for name in names:
        proof, what = project.proof(kind, name), called.format(name)
        if proof is Proof.PROVES:
            proving = (command.format(name),)
            return Offered(proving, tuple(additional), tuple(refused), project.rests_on)
        if proof is Proof.CANNOT_FAIL:
            refused.append(f"{what} cannot fail")
        elif not additional:
            additional.append(command.format(name))
            refused.append(f"nobody can tell what {what} proves; a contract could say that it does")
    return Offered((), tuple(additional), tuple(refused), project.rests_on if refused else ())


class _Project:
    """Recipes that run each other, read as far as they can be; what was read is kept in mind."""

    def __init__(self, root: Path):
        self._root = root
        self._under_way: list[tuple[str, str]] = []
        self._read: dict[str, None] = {}

    @cached_property
    def scripts(self) -> Mapping[str, str]:
        """Those of npm."""
        return _npm_scripts(self._root)

    @cached_property
    def makefile(self) -> Makefile:
        """The one that make would take."""
        texts = (text_of(self._root / name) for name in _MAKEFILES)
        return read_makefile(next(filter(None, texts), ""))

    @property
    def rests_on(self) -> tuple[str, ...]:
        """What decides about the recipes that were asked for."""
        return tuple(self._read)

    def proof(self, kind: str, name: str) -> Proof:
        """What a script, a target or a file proves; one that runs itself is not understood."""
        if (kind, name) in self._under_way or len(self._under_way) >= DEEPEST:
            return Proof.CANNOT_TELL
        self._under_way.append((kind, name))
        try:
            return {"npm": self._script, "make": self._target}.get(kind, self._file)(name)
        finally:
            self._under_way.pop()

    def _script(self, name: str) -> Proof:
        self._read |= dict.fromkeys(("package.json", ".npmrc", *_NODE_SETTINGS))
        settings = text_of(self._root / ".npmrc").lower()
        if "script-shell" in settings or "if-present" in settings:
            return Proof.CANNOT_TELL
        if any(_FORGIVES.search(text_of(self._root / path)) for path in self._read):
            return Proof.CANNOT_TELL
        script = self.scripts.get(name)
        return proof_of(script, self.proof) if script is not None else Proof.CANNOT_TELL

    def _target(self, name: str) -> Proof:
        self._read |= dict.fromkeys(_MAKEFILES)
        if name not in self.makefile.targets:
            return Proof.CANNOT_TELL
        try:
            texts, needs = self.makefile.recipe(name), self.makefile.needs(name)
        except Unread:
            return Proof.CANNOT_TELL
        found = [proof_of(text, self.proof) for text in texts]
        found += [self.proof("make", need) for need in needs]
        return max(found, default=Proof.CANNOT_FAIL)

    def _file(self, name: str) -> Proof:
        path = os.path.normpath(name)
        if path.startswith(("/", "..")):
            return Proof.CANNOT_TELL
        self._read[path] = None
        text, suffix = text_of(self._root / path), Path(path).suffix
        if not text:
            return Proof.CANNOT_TELL
        if suffix in _CAN_FAIL:
            return Proof.PROVES if _CAN_FAIL[suffix].search(text) else Proof.CANNOT_TELL
        first = text.partition("\n")[0]
        is_shell = suffix in _SHELL_FILES and re.search(r"\b(?:ba|da)?sh\b|^(?!#!)", first)
        if not is_shell:
            return Proof.CANNOT_TELL
        stops = re.search(r"^#!.*\s-[a-z]*e", first) is not None
        return proof_of(f"set -e\n{text}" if stops else text, self.proof)


def _npm_scripts(root: Path) -> dict[str, str]:
    try:
        manifest = json.loads(text_of(root / "package.json") or "null")
    except (ValueError, RecursionError):
        return {}
    scripts = manifest.get("scripts") if isinstance(manifest, dict) else None
    if not isinstance(scripts, dict):
        return {}
    return {name: text for name, text in scripts.items() if isinstance(text, str)}


def _cargo(root: Path) -> Offered:
    manifest = toml_of(root / "Cargo.toml")
    if not {"package", "workspace"} & set(manifest):
        return Offered()
    rests_on: tuple[str, ...] = ("Cargo.toml", ".cargo/config.toml", "build.rs")
    tests = tuple(
        files_named(root, re.compile(r".*\.rs"), saying=re.compile(r"#\[(?:\w+::)?test\b"))
    )
    # Once there were tests, there must be some: cargo is content with none.
    some = (
        "grep -rqsE --exclude-dir=target --include='*.rs' '#\\[(\\w+::)?test\\b' . && "
        if tests
        else ""
    )
    run, rests_on = f"{some}cargo test --quiet", (*rests_on, *tests)
    library = manifest.get("lib")
    if isinstance(library, dict) and library.get("test") is False:
        return Offered((), (run,), ("`Cargo.toml` turns its tests off",), rests_on)
    if re.search(r"\b(?:runner|alias|rustc|rustc-wrapper)\b", text_of(root / rests_on[1])):
        return Offered((), (run,), (f"`{rests_on[1]}` runs something else",), rests_on)
    return Offered((run,), rests_on=rests_on)


def _go(root: Path) -> Offered:
    if re.search(r"^module\s+\S", text_of(root / "go.mod"), re.MULTILINE) is None:
        return Offered()
    tests = tuple(files_named(root, re.compile(r".*_test\.go")))
    some = "test -n \"$(find . -name '*_test.go' -print -quit)\" && " if tests else ""
    # Vet compiles packages that have no test, which a test run alone would not.
    return Offered((f"{some}go vet ./... && go test ./...",), rests_on=("go.mod", *tests))


_MANIFESTS: tuple[tuple[frozenset[str], Callable[[Path], Offered]], ...] = (
    (_PYTHON, by_pytest),
    (_NODE, _npm),
    (_RUST, _cargo),
    (_GO, _go),
    (frozenset(), _make),
)
