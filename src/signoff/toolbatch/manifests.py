"""Commands that a project documents in its manifests, for the kinds of file a task is about.

A manifest counts only while it is there and says so itself: a test script, a test target, tests.
And only as far as it can be read: what cannot fail is refused, and what nobody can tell about has
to hold but proves nothing by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path

from signoff.commands.proofs import ProjectRecipes, Proof
from signoff.toolbatch.offers import Offered
from signoff.toolbatch.project_files import content_of, files_named, text_of, toml_of
from signoff.toolbatch.pytest_project import by_pytest

_PYTHON = frozenset({".py", ".pyi"})
_NODE = frozenset(
    {".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".vue", ".svelte", ".css", ".html", ".json"}
)
_RUST = frozenset({".rs"})
_GO = frozenset({".go"})
_NODE_SCRIPTS = ("test", "check", "lint")
_MAKE_TARGETS = ("test", "check")
_NO_TEST = "no test specified"  # what npm writes where nobody wrote a test


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
            proving = (command.format(name),)
            return Offered(proving, tuple(additional), tuple(refused), project.rests_on)
        if proof is Proof.CANNOT_FAIL:
            refused.append(f"{what} cannot fail")
        elif not additional:
            additional.append(command.format(name))
            refused.append(f"nobody can tell what {what} proves; a contract could say that it does")
    return Offered((), tuple(additional), tuple(refused), project.rests_on if refused else ())


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
