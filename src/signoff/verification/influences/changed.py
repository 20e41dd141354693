"""Tells the work from what influences its check: which changed files are influences.

Work is source code in a language that the project has, outside tests and protected places. All
else that an attempt changed and the check read is an influence: it decides nothing unless the plan
says that it may. What a contract looks at by name is its subject, not its judge.
"""

from __future__ import annotations

import os
import posixpath
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cached_property

from msgspec import Struct, field

from signoff.commands.analysis import analyse, invocations_of
from signoff.commands.programs import runner_call
from signoff.domain.globs import has_wildcard, literal, matches_any
from signoff.domain.languages import (
    LANGUAGE_OF_PROGRAM,
    is_document,
    is_settings,
    is_test,
    language_of,
)
from signoff.domain.plan import Contract
from signoff.domain.snapshot import Change, ChangeKind, FileKind, Manifest
from signoff.errors import StorageFailed
from signoff.planfile.subjects import demanded_files, is_plain, looked_at, measures, mentions, says
from signoff.verification.ignored import ENVIRONMENTS
from signoff.verification.influences.check_files import (
    CheckScripts,
    LoadingSettings,
    is_header_of_system,
    words_of,
)
from signoff.verification.pins import fingerprint
from signoff.workspace.byproducts import DEPENDENCY_FOLDERS
from signoff.workspace.opened import OpenedFiles

LARGEST_SETTINGS_BYTES = 200_000

# What builds the work names it too.
_BUILDS = re.compile(
    r"(?:GNU)?[Mm]akefile|.*\.mk|CMakeLists\.txt|tsconfig.*|Cargo\.toml|go\.mod|pom\.xml|meson\..*"
    r"|BUILD(?:\.\w+)?|.*\.(?:csproj|sln|gradle)"
)
_LIBRARY_FOLDERS = DEPENDENCY_FOLDERS | ENVIRONMENTS | {"third_party", "_vendor", "site-packages"}
# Tests in words of their own, with the code that carries them out beside or below them.
_SCRIPTED = re.compile(r".*\.(?:feature|robot|bats|story)")
_HEADERS = (".h", ".hh", ".hpp", ".hxx")


class Influence(Struct, frozen=True):
    """One changed file that influences the check, and how that is known."""

    path: str
    why: str


class Approved(Struct, frozen=True, dict=True):
    """The content as it was approved, and how to read a file of it."""

    manifest: Manifest
    read: Callable[[str], bytes]

    @cached_property
    def languages(self) -> frozenset[str]:
        """Languages of the project; empty while it has no source at all."""
        return frozenset(found for path in self.manifest if (found := language_of(path)))

    def text(self, path: str) -> str:
        """A file's text; empty when it is none, or too large to be settings or a script."""
        state = self.manifest.get(path)
        if state is None or state.kind is not FileKind.FILE or state.size > LARGEST_SETTINGS_BYTES:
            return ""
        return self.bytes_of(path).decode("utf-8", "replace")

    def bytes_of(self, path: str) -> bytes:
        """Content of a file, or of a link; of ignored ones nothing is kept."""
        try:
            return self.read(path)
        except StorageFailed:
            return b""


class CheckFacts(Struct, frozen=True):
    """Facts about the check that read the files."""

    texts: tuple[tuple[str, str], ...]  # all shell text of the check, each with its folder
    task: str = ""  # what the step was asked for
    allowed: tuple[str, ...] = ()  # globs of `may_change`
    produces: tuple[str, ...] = ()  # the step's own files; globs among them allow nothing here
    protects: tuple[str, ...] = ()  # by any step of the plan
    scripts: frozenset[str] = frozenset()  # files that the check runs, pinned
    left: Mapping[str, str] = field(default_factory=dict)  # fingerprints that accepted steps left
    libraries: frozenset[str] = frozenset()  # names of modules that are installed
    makes: bool = False  # it makes by-products: the files that it names are not what it is about


def find_influences(
    changes: Iterable[Change],
    now: Manifest,
    approved: Approved,
    facts: CheckFacts,
    opened: OpenedFiles,
    *,
    ignored: bool = False,
) -> tuple[Influence, ...]:
    """The changed files that count as read and are no work, each with the reason."""
    finder = _Finder(now, approved, facts, opened)
    candidates = (c for c in changes if not finder.is_settled(c.path))
    other = "no content" if ignored else None  # it reaches nobody else, so it is never work
    found = ((change, finder.why_not_work(change) or other) for change in candidates)
    return tuple(
        Influence(change.path, why)
        for change, why in found
        if why is not None and finder.counts_as_read(change)
    )


class _Finder(Struct, frozen=True, dict=True):
    now: Manifest
    approved: Approved
    facts: CheckFacts
    opened: OpenedFiles

    def is_settled(self, path: str) -> bool:
        """True when the plan allows it, the contract is about it, or an accepted step left it."""
        facts = self.facts
        if matches_any(facts.allowed, path) or path in self._named:
            return True
        if self._obeys_nothing and path not in self._measures and not facts.makes:
            return True
        if self._is_asked_for(path):
            return True
        state = self.now.get(path)
        return state is not None and facts.left.get(path) == fingerprint(state)

    @cached_property
    def _obeys_nothing(self) -> bool:
        """True when the check runs plain tools alone: they obey no settings."""
        texts = self.facts.texts
        run = {_in(at, s.path) for text, at in texts for s in analyse(text).scripts}
        plain = all(is_plain(text) for text, _ in texts) and all(map(self._is_followed, run))
        return plain and not self._scripts.found_and_run

    def _is_followed(self, script: str) -> bool:
        """True when the check's texts include all that a script runs: only shell, only content."""
        if script not in self.approved.manifest:
            return script in self.now
        text = self.approved.text(script)
        if text.startswith("#!"):
            return "sh" in text.partition("\n")[0]
        return language_of(script) in (None, "shell")

    @cached_property
    def _measures(self) -> frozenset[str]:
        there = self.approved.manifest
        found = {_in(folder, p) for text, folder in self.facts.texts for p in measures(text)}
        found -= self._compared_with_safe
        if not found:
            return frozenset()
        within = tuple(f"{path}/" for path in found)
        return frozenset(path for path in there if path in found or path.startswith(within))

    @cached_property
    def _compared_with_safe(self) -> frozenset[str]:
        """Files that are compared with a protected one: that one is the measure."""
        found: set[str] = set()
        for text, folder in self.facts.texts:
            for reference in analyse(text).references:
                paths = [_in(folder, path) for path in reference.paths]
                safe = {p for p in paths if matches_any(self.facts.protects, p)}
                found.update(p for p in paths if reference.compares and safe and p not in safe)
        return frozenset(found)

    def _is_asked_for(self, path: str) -> bool:
        """True when words of the task or the check name the file, and it was not there yet."""
        # A mere word, such as the name of a target, may mean something else than a file.
        is_name = "." in posixpath.basename(path)[1:]
        if path in self.approved.manifest or is_settings(path) or is_test(path) or not is_name:
            return False
        texts = () if self.facts.makes else self.facts.texts
        return self._is_named_by_task(path) or any(mentions(text, path) for text, _ in texts)

    def _is_named_by_task(self, path: str) -> bool:
        """True when the task names a new file: by path, or by a name that no other file has.

        What lies with the check's own script is meant only where the path says so.
        """
        task, name = self.facts.task, posixpath.basename(path)
        if says(task, path) or not says(task, name):
            return says(task, path)
        known = any(posixpath.basename(p) == name for p in self.approved.manifest)
        return not known and not path.startswith(self._scripts.folders)

    @cached_property
    def _named(self) -> frozenset[str]:
        exact = self._exact
        if self.facts.makes:
            return exact
        asked = (
            _in(folder, path)
            for text, folder in self.facts.texts
            # Beside another tool, a plain one may be there to tell that tool what to do.
            for path in looked_at(text)
            if is_plain(text) or path in demanded_files(Contract(text))
        )
        return exact.union(asked)

    @cached_property
    def _exact(self) -> frozenset[str]:
        """Exact paths that the plan says the step makes; a glob allows nothing."""
        return frozenset(p for p in self.facts.produces if not has_wildcard(p))

    def why_not_work(self, change: Change) -> str | None:
        """The reason why a changed file is no work; None when it is."""
        path, language = change.path, language_of(change.path)
        state = self.now.get(path) or self.approved.manifest.get(path)
        if state is None:
            return None
        if state.kind is FileKind.DIRECTORY:
            return "an empty folder"
        if state.kind is not FileKind.FILE:
            return "a link or special file"
        if language is None and not self._is_script(path):
            return "no source code"
        if any(matches_any(self.facts.protects, name) for name in self._names_of(path)):
            return "in a protected place"
        if not _LIBRARY_FOLDERS.isdisjoint(path.split("/")[:-1]):
            return "a library's"
        if is_test(path) or self._is_given_to_a_runner(path):
            return "a test, or beside tests"
        if self._loading.is_settings(path):
            return "named like settings"
        known = self.approved.languages
        if known and language and language not in known | self._called_languages:
            return f"{language}, which the project was not written in"
        return self._why_influence(change)

    def _is_script(self, path: str) -> bool:
        """True when a name without suffix was, when approved, a program in a language we know."""
        first = self.approved.text(path).partition("\n")[0]
        words = first[2:].split() if first.startswith("#!") else ()
        called = {posixpath.basename(word).rstrip("0123456789.") for word in words}
        return "." not in posixpath.basename(path) and bool(called & LANGUAGE_OF_PROGRAM.keys())

    def _names_of(self, path: str) -> Iterator[str]:
        """A path, and what it is called by way of links that lead to a folder above it."""
        yield path
        for link, target in self._links.items():
            if path.startswith(f"{target}/"):
                yield f"{link}{path[len(target) :]}"

    @cached_property
    def _links(self) -> dict[str, str]:
        there = self.approved.manifest
        links = (path for path, state in there.items() if state.kind is FileKind.LINK)
        return {
            path: _in(posixpath.dirname(path), os.fsdecode(self.approved.bytes_of(path)))
            for path in links
        }

    def _is_given_to_a_runner(self, path: str) -> bool:
        """True when a test runner is told to look there, for tests not named like tests."""
        name = posixpath.basename(path)
        if any(fnmatchcase(name, pattern) for pattern in self._test_patterns):
            return True
        return any(path == place or path.startswith(f"{place}/") for place in self._test_places)

    @cached_property
    def _test_patterns(self) -> frozenset[str]:
        return frozenset(words_of("python_files", self._settings.values()))

    @cached_property
    def _test_places(self) -> frozenset[str]:
        """Places named to a runner that hold nothing named like a test: all in there are tests."""
        named = {
            _in(started.folder, word.partition("::")[0])
            for text, folder in self.facts.texts
            for started in invocations_of(analyse(text), folder)
            if (call := runner_call(started.tool, started.args, started.folder)) is not None
            for word in call.selects
        }
        named.update(words_of("testpaths", self._settings.values()))
        scripted = {posixpath.dirname(p) for p in self.approved.manifest if _SCRIPTED.fullmatch(p)}
        there = self.approved.manifest
        inside = {n: [p for p in there if f"{p}/".startswith(f"{n}/")] for n in named}
        unnamed = (n for n, paths in inside.items() if paths and not any(map(is_test, paths)))
        return frozenset(unnamed) | scripted - {""}

    @cached_property
    def _called_languages(self) -> frozenset[str]:
        calls = [call for text, _ in self.facts.texts for call in analyse(text).calls]
        names = {posixpath.basename(call.name).rstrip("0123456789.") for call in calls}
        return frozenset(LANGUAGE_OF_PROGRAM[n] for n in names & LANGUAGE_OF_PROGRAM.keys())

    def _why_influence(self, change: Change) -> str | None:
        path, added = change.path, change.kind is ChangeKind.ADDED
        why = self._scripts.why(path, added=added)
        if added and not why and self._shadows(path):
            return "in the place of a library or standard module"
        return why or self._loading.why(path, added=added) or None

    @cached_property
    def _scripts(self) -> CheckScripts:
        facts, approved = self.facts, self.approved
        return CheckScripts(
            approved.manifest,
            approved.text,
            facts.texts,
            facts.scripts,
            (*facts.allowed, *map(literal, self._exact)),
        )

    def _shadows(self, path: str) -> bool:
        """True when an import would find this new module in the place of another."""
        if language_of(path) == "c":
            parts = path.split("/")
            names = ["/".join(parts[i:]) for i in range(len(parts))]
            texts = (self.approved.text(p) for p in self.approved.manifest if language_of(p) == "c")
            named = any(f"<{name}>" in text for text in texts for name in names)
            return path.endswith(_HEADERS) and (named or is_header_of_system(names))
        if language_of(path) != "python":
            return False
        folder, name = posixpath.split(path)
        module = name.partition(".")[0]
        if module == "__init__":
            folder, module = posixpath.split(folder)
        known = module in sys.stdlib_module_names or module in self.facts.libraries
        return known and (not self._is_package(folder) or self._is_searched(folder))

    def _is_package(self, folder: str) -> bool:
        """True when modules in there have names of their own; not one that became a package now."""
        mark = posixpath.join(folder, "__init__.py")
        known = mark in self.approved.manifest or mark not in self.now
        siblings = (p for p in self.approved.manifest if posixpath.dirname(p) == folder)
        return mark in self.now if known else not any(siblings)

    def _is_searched(self, folder: str) -> bool:
        """True when a search path of the check leads into the folder."""
        texts = (*(text for text, _ in self.facts.texts), *self._settings.values())
        leads = re.compile(rf"(?i:path)\b.*(?<![\w.-]){re.escape(folder)}(?![\w/-])")
        return bool(folder) and any(map(leads.search, texts))

    @cached_property
    def _loading(self) -> LoadingSettings:
        return LoadingSettings(
            self.approved.manifest,
            self.approved.text,
            self.facts.texts,
            self._settings,
            self._scripts.folders,
        )

    @cached_property
    def _settings(self) -> dict[str, str]:
        """Texts that influence tools, of those that the check read."""
        found: dict[str, str] = {}
        for path in self.approved.manifest:
            # Of tests, `conftest.py` alone says what is to be loaded; the others import the work.
            is_code = not is_settings(path) or is_test(path)
            if language_of(path) and is_code and posixpath.basename(path) != "conftest.py":
                continue
            read = path in self.opened.files if self.opened.complete else "/" not in path
            if is_document(path) or not read:
                continue
            if _BUILDS.fullmatch(posixpath.basename(path)):
                continue
            found[path] = self.approved.text(path)
        return found

    def counts_as_read(self, change: Change) -> bool:
        """True when the check may know of the change."""
        if not self.opened.complete or change.path in self.opened.files:
            return True
        if is_document(change.path) or change.kind is not ChangeKind.MODIFIED:
            return not is_document(change.path)
        before, now = self.approved.manifest.get(change.path), self.now.get(change.path)
        only_content = before is not None and now is not None and before[:2] == now[:2]
        if not only_content or posixpath.dirname(change.path) in self.opened.folders:
            return True
        # A look at its time is not seen; what the check does not name, it hardly looks at.
        return any(mentions(text, change.path) for text, _ in self.facts.texts)


def _in(folder: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(folder, path))
