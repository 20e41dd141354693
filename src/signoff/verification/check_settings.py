"""Which source files the settings of a check's tools load: a plugin, a set-up file, a resolver."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from signoff.commands.analysis import analyse, invocations_of
from signoff.domain.languages import is_settings, is_work, language_of
from signoff.domain.snapshot import Manifest
from signoff.verification.suppressions import CHECKERS

MOST_READ = 500

# What settings call the code that a tool is to load, shortly before they name it.
_LOADS = (
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


@dataclass(frozen=True)
class LoadingSettings:
    """The settings that a check's tools read, as approved, and the code that they lead to."""

    manifest: Manifest
    read: Callable[[str], str]
    texts: tuple[tuple[str, str], ...]  # shell texts of the check, each with its folder
    settings: Mapping[str, str]
    check_folders: tuple[str, ...]  # where the check's own scripts lie

    def is_settings(self, path: str) -> bool:
        """Whether it is named like settings, at the top of a project where that matters."""
        tops = (i for i, c in enumerate(path) if c == "/" and path[:i] in self._projects)
        return is_settings(path) or any(is_settings(path[i + 1 :]) for i in tops)

    def why(self, path: str, *, added: bool) -> str:
        """How a tool of the check comes to load a source file; empty when it is the work."""
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
        """Whether nothing but a tool's own convention can lead to a file."""
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
        """Whether the check looks at whatever lies in a folder, as linters do."""
        for text, within in self.texts:
            for call in invocations_of(analyse(text), within):
                words = (posixpath.join(call.folder, w) for w in call.args if w[:1] != "-")
                if call.tool in CHECKERS or (folder or ".") in map(posixpath.normpath, words):
                    return True
        return False


def loads(settings: str, path: str, *, only_where_said: bool = False) -> bool:
    """Whether settings name a source file as something to be loaded.

    By its path, or as a module with a dot, they name nothing else; by a mere word only where the
    key says that it is loaded.
    """
    stem = path.rpartition(".")[0]
    module = stem.removesuffix("/__init__").replace("/", ".")
    words = {path, stem, module, module.removeprefix("src."), module.removeprefix("lib.")}
    word = rf"(?<![\w./-])(?:\./)?(?:{'|'.join(map(re.escape, words))})(?![\w/-])"
    said = re.search(f"{_LOADS}{word}", settings, re.IGNORECASE | re.DOTALL) is not None
    if said or only_where_said:
        return said
    plain = {w for w in words if "/" in w or "." in w}
    named = rf"(?<![\w./-])(?:\.\.?/)*(?:{'|'.join(map(re.escape, plain))})(?![\w/:-])"
    return any(not _is_about_work(settings, place) for place in re.finditer(named, settings))


def given_by_option(command: str, path: str) -> bool:
    """Whether a command gives a tool the file by an option that does not say it is the work.

    An option that is set apart from the word behind it may take none.
    """
    named = rf"(?<=\s)-{{1,2}}([\w-]+)(=|\s+)[\"']?(?:\./)?{re.escape(path)}(?![\w/-])"
    found = re.findall(named, command)
    return any(
        not _ABOUT_WORK.fullmatch(option) if between == "=" else _TAKES_CODE.search(option)
        for option, between in found
    )


def words_of(name: str, texts: Iterable[str]) -> Iterator[str]:
    """The words that a setting of this name has, in the ways that settings are written."""
    pattern = re.compile(rf"^[ \t]*{name}[ \t]*=[ \t]*\[?([^\]\n]*(?:\n[ \t]+[^\]\n=]*)*)", re.M)
    for text in texts:
        for found in pattern.findall(text):
            yield from (word.rstrip("/") for word in re.split(r"[\s,\"']+", found) if word)


def _is_about_work(text: str, place: re.Match[str]) -> bool:
    """Whether the key in front says so, the file is itself a key, or a command runs it."""
    before, after = text[max(0, place.start() - _REACH) : place.start()], text[place.end() :]
    is_key = re.match(r"[\"']?\s*[:=\]]", after) is not None
    in_command = re.search(r"(?<![-\w])\w[\w.-]*[ \t]+[\"']?$", before) is not None
    keys = [key or element for key, element in _KEY.findall(before)]
    return is_key or in_command or not keys or bool(_ABOUT_WORK.fullmatch(keys[-1]))
