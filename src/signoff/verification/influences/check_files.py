"""Find the source files of a check: loaded by its script, or by the settings of its tools."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from signoff.commands.analysis import analyse, invocations_of
from signoff.domain.globs import matches_any
from signoff.domain.languages import is_settings, is_test, is_work, language_of
from signoff.domain.snapshot import Manifest
from signoff.verification.suppressions import CHECKERS

MOST_FOLLOWED = 100

_PACKAGE_MARKS = ("__init__.py", "package.json")
_INDEX = re.compile(r"/(?:__init__|__main__|index|mod)$")
# A line that loads or reads, in the languages that scripts are written in.
_LOADS = re.compile(r"import|require|include|source|load|exec|open|read|run_|\b(?:use|from|do)\b")
_SOURCES = re.compile(r"(?:^|[\s;&|({])(?:\.|source)\s")
# What is started as a program of its own is looked at from outside.
_STARTS = re.compile(
    r"subprocess|[Pp]open|\bsystem\b|check_(?:call|output)|spawn|child_process|exec(?:File|Sync)"
    r"|\brun\(\["
)
# A line that is passed over when there is no such file.
_OPTIONAL = re.compile(r"[ \t]|.*(?:exists|isfile|find_spec|suppress|\bif\b|-[ef] )")
_READERS = r"(?:[ef]?grep|diff|cmp|awk|jq|head|sort|sed|wc|tr|cut)\b"
_CHECKS = re.compile(r"check|test|verif|valid|lint|grade|judge|assert|accept|(?<![a-z])ci(?![a-z])")
# An interpreter that is given whatever a pattern or a search finds.
_INTERPRETER = r"\b(?:(?:ba|da|k|z)?sh|python[\d.]*|node|perl|ruby)"
_RUNS_ANY = re.compile(
    rf"{_INTERPRETER}(?:\s+-[eux]+)*\s+[\"']?(?:\$\{{?\w|\{{\}})"
    r"|(?:^|[;&|\s])(?:source|\.)\s+[\"']?\$\{?\w"
    rf"|\bxargs\b[^\n;|]*\s{_INTERPRETER}\s*(?:$|[;&|])"
    r"|\bdo\s+[\"']?(?:\./)?[\"']?\$\{?\w",
    re.MULTILINE,
)
_PATTERN = re.compile(r"(?<![\w$])[\w.][\w./-]*/?\*[\w.*/-]*")
_SEARCHED = re.compile(r"\bfind\s+([\w.][\w./-]*)")


class CheckScripts(Struct, frozen=True, dict=True):
    """The scripts that are the check, as approved."""

    manifest: Manifest
    read: Callable[[str], str]
    texts: tuple[tuple[str, str], ...]  # shell texts of the check, each with its folder
    scripts: frozenset[str]  # files that the check runs
    allowed: tuple[str, ...]  # globs of what the step may change

    def why(self, path: str, *, added: bool) -> str:
        """The reason why a source file belongs to the check; empty when it does not."""
        if path.startswith(self.folders):
            return "part of the check's own script"
        was_there = not added or _base(path) in self._bases
        if was_there and (path in self._modules or self._is_above(path)):
            return "run by the check"
        if matches_any(self.found_and_run, path):
            return "run by the check"
        for script, text in self._closure.items():
            lines = list(self._lines_naming(script, text, path))
            if lines and (was_there or any(map(_OPTIONAL.match, lines))):
                return f"loaded by `{script}`, the check's own script"
        return ""

    @cached_property
    def own(self) -> tuple[str, ...]:
        """Scripts that are the check; one that the plan lets the step change is the work.

        A test is none of them: what it imports from outside the tests is what it is about.
        """
        modules = {p for p in self._modules if not p.endswith("/__main__.py")}
        named = self.scripts | (modules & self.manifest.keys())
        scripts = (p for p in sorted(named) if language_of(p) and not is_test(p))
        own = (p for p in scripts if not matches_any(self.allowed, p))
        return tuple(p for p in own if not self._is_looked_at(p))

    def _is_looked_at(self, script: str) -> bool:
        """True when its output is looked at: then it is a program, unless it is named a check."""
        name = re.escape(posixpath.basename(script))
        read = re.compile(rf"{name}[^\n;&|]*\|\s*{_READERS}|\$\([^()\n]*{name}")
        return not _CHECKS.search(script) and any(read.search(text) for text, _ in self.texts)

    @cached_property
    def folders(self) -> tuple[str, ...]:
        """Folders that belong to the check as a whole: not the root, and no package."""
        folders = {posixpath.dirname(path) for path in self.own}
        packages = {f for f in folders if any(f"{f}/{m}" in self.manifest for m in _PACKAGE_MARKS)}
        return tuple(f"{f}/" for f in sorted(folders) if f and f not in packages)

    @cached_property
    def _modules(self) -> frozenset[str]:
        """Modules that the check runs by name: `python -m tools.check` is a script like another."""
        named = (
            posixpath.normpath(posixpath.join(call.folder, name.replace(".", "/")))
            for text, folder in self.texts
            for call in invocations_of(analyse(text), folder)
            if call.tool == "python"
            for option, name in zip(call.args, call.args[1:], strict=False)
            if option == "-m"
        )
        return frozenset(p for base in named for p in (f"{base}.py", f"{base}/__main__.py"))

    def _is_above(self, path: str) -> bool:
        """True when it is loaded on the way to a module that the check runs by name."""
        folder, name = posixpath.split(path)
        runs = (p for p in self._modules if p in self.own)
        return name == "__init__.py" and any(p.startswith(f"{folder}/") for p in runs)

    @cached_property
    def _bases(self) -> frozenset[str]:
        return frozenset(_base(path) for path in self.manifest if language_of(path))

    @cached_property
    def _closure(self) -> dict[str, str]:
        """The texts of the scripts, and of what they load from the folder that they lie in."""
        found: dict[str, str] = {}
        ahead = [*self.own, *(p for p in self.manifest if p.startswith(self.folders))]
        while ahead and len(found) < MOST_FOLLOWED:
            script = ahead.pop(0)
            if script in found or not language_of(script):
                continue
            text = found[script] = self.read(script)
            ahead += [
                path
                for path in self._beside(posixpath.dirname(script))
                if not matches_any(self.allowed, path)
                and any(self._lines_naming(script, text, path))
            ]
        return found

    def _beside(self, folder: str) -> Iterator[str]:
        if f"{folder}/".startswith(self.folders):
            return iter(())  # in there as a whole
        return (p for p in self.manifest if posixpath.dirname(p) == folder and language_of(p))

    def _lines_naming(self, script: str, text: str, path: str) -> Iterator[str]:
        """Lines of a script by which it loads a file: by its path, or a module of its own folder.

        What a script in a folder of its own imports from elsewhere is what it is about.
        """
        folder = posixpath.dirname(script)
        names = [_as_path(path), _as_path(posixpath.relpath(path, folder or "."))]
        if not f"{folder}/".startswith(self.folders) and language_of(script) != "shell":
            names.append(_as_module(path, folder))
        named = re.compile("|".join(names))
        loads = _SOURCES if language_of(script) == "shell" else _LOADS
        for line in text.split("\n") if path != script else ():
            if named.search(line) and loads.search(line) and not _STARTS.search(line):
                yield line

    @cached_property
    def found_and_run(self) -> tuple[str, ...]:
        """Globs of places where a shell runs whatever it finds."""
        found: list[str] = []
        for text, folder in self.texts:
            if _RUNS_ANY.search(text):
                places = [*_PATTERN.findall(text), *(f"{p}/**" for p in _SEARCHED.findall(text))]
                found += (posixpath.normpath(posixpath.join(folder, place)) for place in places)
        return tuple(found)


def _base(path: str) -> str:
    """The name that imports a module: `a/b` for `a/b.py` and for `a/b/__init__.py`."""
    return _INDEX.sub("", path.rpartition(".")[0])


def _as_path(path: str) -> str:
    """A pattern of the path, whatever stands for the folder in front of it."""
    return rf"(?:\$\w+/|(?<![\w.-])(?<!\w/)){re.escape(path)}(?![\w/-])"


def _as_module(path: str, folder: str) -> str:
    """A pattern of a module's name as one in this folder would spell it."""
    base = _base(path)
    near = posixpath.relpath(base, folder or ".")
    names = {base, near, base.replace("/", "."), near.replace("/", ".")}
    either = "|".join(map(re.escape, names))
    return rf"(?<![\w-])(?<!\w[./])(?:{either})(?![\w-])"


MOST_READ = 500

# What settings call the code that a tool is to load, shortly before they name it.
_NAMES_CODE = (
    r"(?:plugins?|setup_?files\w*|global_?setup|preload|transform\w*|presets?|loaders?|hooks?"
    r"|reporters?|test_?(?:runner|environment)|extends?|(?<=\s)-[pr]\s)[^\]}]{0,120}?"
)
# What settings, and options of a command, call the work itself.
_ABOUT_WORK = re.compile(
    r"(?:main|module|browser|types|typings|bin|name|exports?|files?|include|exclude|ignore\w*|src"
    r"|sources?|packages?|package_dir|py_modules|entry\w*|inputs?|scripts?|targets?|roots?|paths?"
    r"|omit|per-file\w*|out\w*|dest|version\w*|cov|content|assets|routes|pages|command|cmd|start"
    r"|serve|build|dev|app|server|service|handler|lambda|o|f|i|I|C)",
    re.IGNORECASE,
)
_PROJECT_MARKS = frozenset(
    ("pyproject.toml", "setup.cfg", "setup.py", "package.json", "tox.ini", "Makefile", "Gemfile")
)
_LOADED_BY_NAME = frozenset(("python", "javascript", "ruby", "perl", "php", "lua"))
_ENTRIES = frozenset(("__main__", "main", "index", "app", "server", "cli", "__init__"))
_TAKES_CODE = re.compile(
    r"^r$|conf|require|import|plugin|load|setup|rule|hook|boot|init|resolve|report|preset|transform"
)
_KEY = re.compile(r"[\"']?([\w.-]+)[\"']?\s*[:=]|<([\w.-]+)")
_REACH = 300


class LoadingSettings(Struct, frozen=True, dict=True):
    """The settings that a check's tools read, as approved, and the code that they lead to."""

    manifest: Manifest
    read: Callable[[str], str]
    texts: tuple[tuple[str, str], ...]  # shell texts of the check, each with its folder
    settings: Mapping[str, str]
    check_folders: tuple[str, ...]  # where the check's own scripts lie

    def is_settings(self, path: str) -> bool:
        """True when it is named like settings, at the top of a project where that matters."""
        tops = (i for i, c in enumerate(path) if c == "/" and path[:i] in self._projects)
        return is_settings(path) or any(is_settings(path[i + 1 :]) for i in tops)

    def why(self, path: str, *, added: bool) -> str:
        """The way in which a tool of the check loads a source file; empty when it is the work."""
        if any(given_by_option(text, path) for text, _ in self.texts):
            return "given to a tool by an option"
        for name, text in self.settings.items():
            if loads(text, path, only_where_said=language_of(name) == "python"):
                # What the work reads itself speaks of the work.
                return "" if self._is_read_by_work(name) else f"loaded by `{name}`"
        is_found = not added and self._is_found_by_convention(path)
        return "at the top of a project, and named by no other file" if is_found else ""

    @cached_property
    def _projects(self) -> frozenset[str]:
        marks = (p for p in self.manifest if posixpath.basename(p) in _PROJECT_MARKS)
        return frozenset(("", *map(posixpath.dirname, marks)))

    def _is_read_by_work(self, settings: str) -> bool:
        name = posixpath.basename(settings)
        own = (p for p in self._sources if is_work(p) and not p.startswith(self.check_folders))
        return any(name in self._sources[path] for path in own)

    @cached_property
    def _sources(self) -> dict[str, str]:
        paths = [p for p in self.manifest if language_of(p)]
        return {p: self.read(p) for p in paths[: MOST_READ + 1]}

    def _is_found_by_convention(self, path: str) -> bool:
        """True when nothing but a tool's own convention can lead to a file."""
        folder, name = posixpath.split(path)
        stem = name.partition(".")[0]
        if folder not in self._projects or language_of(path) not in _LOADED_BY_NAME:
            return False
        if stem in _ENTRIES or self._is_walked(folder) or len(self._sources) > MOST_READ:
            return False
        others = (text for other, text in self._sources.items() if other != path)
        texts = (*(text for text, _ in self.texts), *self.settings.values(), *others)
        word = re.compile(rf"(?<![\w-]){re.escape(stem)}(?![\w-])")
        return not any(map(word.search, texts))

    def _is_walked(self, folder: str) -> bool:
        """True when the check looks at everything in a folder, as linters do."""
        for text, within in self.texts:
            for call in invocations_of(analyse(text), within):
                words = (posixpath.join(call.folder, w) for w in call.args if w[:1] != "-")
                if call.tool in CHECKERS or (folder or ".") in map(posixpath.normpath, words):
                    return True
        return False


def loads(settings: str, path: str, *, only_where_said: bool = False) -> bool:
    """True when settings name a source file as something to be loaded.

    By its path, or as a module with a dot, they name nothing else; by a mere word only where the
    key says that it is loaded.
    """
    stem = path.rpartition(".")[0]
    module = stem.removesuffix("/__init__").replace("/", ".")
    words = {path, stem, module, module.removeprefix("src."), module.removeprefix("lib.")}
    word = rf"(?<![\w./-])(?:\./)?(?:{'|'.join(map(re.escape, words))})(?![\w/-])"
    said = re.search(f"{_NAMES_CODE}{word}", settings, re.IGNORECASE | re.DOTALL) is not None
    if said or only_where_said:
        return said
    plain = {w for w in words if "/" in w or "." in w}
    named = rf"(?<![\w./-])(?:\.\.?/)*(?:{'|'.join(map(re.escape, plain))})(?![\w/:-])"
    return any(not _is_about_work(settings, place) for place in re.finditer(named, settings))


def given_by_option(command: str, path: str) -> bool:
    """True when a command gives a tool the file by an option that does not say it is the work.

    An option that is set apart from the word behind it may take none.
    """
    named = rf"(?<=\s)-{{1,2}}([\w-]+)(=|\s+)[\"']?(?:\./)?{re.escape(path)}(?![\w/-])"
    found = re.findall(named, command)
    return any(
        not _ABOUT_WORK.fullmatch(option) if between == "=" else _TAKES_CODE.search(option)
        for option, between in found
    )


# Where compilers look for headers by themselves, below `/usr`.
_INCLUDED = ("include", "local/include", "include/*-linux-*", "lib/gcc/*/*/include")


def is_header_of_system(names: Collection[str]) -> bool:
    """True when a header of the system, or of an installed library, has one of these names."""
    places = (place for pattern in _INCLUDED for place in Path("/usr").glob(pattern))
    return any((place / name).exists() for place in places for name in names)


def words_of(name: str, texts: Iterable[str]) -> Iterator[str]:
    """The words that a setting of this name has, in the ways that settings are written."""
    pattern = re.compile(rf"^[ \t]*{name}[ \t]*=[ \t]*\[?([^\]\n]*(?:\n[ \t]+[^\]\n=]*)*)", re.M)
    for text in texts:
        for found in pattern.findall(text):
            yield from (word.rstrip("/") for word in re.split(r"[\s,\"']+", found) if word)


def _is_about_work(text: str, place: re.Match[str]) -> bool:
    """True when the key in front says so, the file is itself a key, or a command runs it."""
    before, after = text[max(0, place.start() - _REACH) : place.start()], text[place.end() :]
    is_key = re.match(r"[\"']?\s*[:=\]]", after) is not None
    in_command = re.search(r"(?<![-\w])\w[\w.-]*[ \t]+[\"']?$", before) is not None
    keys = [key or element for key, element in _KEY.findall(before)]
    return is_key or in_command or not keys or bool(_ABOUT_WORK.fullmatch(keys[-1]))
