"""Recognise source code by file names, and tests and settings among it."""

from __future__ import annotations

import posixpath
import re

_EXTENSIONS = {
    "python": "py pyi pyx pxd",
    "javascript": "js mjs cjs jsx ts tsx mts cts vue svelte",
    "go": "go",
    "rust": "rs",
    "c": "c h cc cpp cxx hh hpp hxx m mm inl",
    "java": "java kt kts scala groovy",
    "csharp": "cs fs vb",
    "ruby": "rb",
    "php": "php",
    "perl": "pl pm",
    "shell": "sh bash zsh fish",
    "lua": "lua",
    "swift": "swift",
    "dart": "dart",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "haskell": "hs lhs",
    "ocaml": "ml mli",
    "clojure": "clj cljs cljc",
    "lisp": "lisp el scm rkt",
    "julia": "jl",
    "r": "r",
    "zig": "zig",
    "nim": "nim",
    "crystal": "cr",
    "d": "d",
    "fortran": "f f90 f95",
    "ada": "adb ads",
    "pascal": "pas",
    "solidity": "sol",
    "sql": "sql",
    "web": "html htm css scss less",
    "protocol": "proto graphql",
}
_PROGRAMS = {
    "python": "python pytest",
    "javascript": "node npm npx",
    "go": "go",
    "rust": "cargo rustc",
    "c": "gcc cc",
    "shell": "bash sh",
    "ruby": "ruby",
    "perl": "perl",
    "php": "php",
    "java": "java javac",
}
LANGUAGE_OF_PROGRAM = {word: name for name, words in _PROGRAMS.items() for word in words.split()}
_LANGUAGE_OF = {word: name for name, words in _EXTENSIONS.items() for word in words.split()}
_DOCUMENT = r"(?i).*\.(?:md|markdown|rst|adoc|org|png|jpe?g|gif|svg|pdf)"
_TEST_FOLDER = (
    r"(?i)(?:.*[_.-])?tests?(?:[_.-].*)?|test(?:ing|data|utils?|helpers?|lib|kit|suites?|cases?)"
    r"|unittests?|(?-i:[a-z][A-Za-z]*Tests?)|specs?|fixtures?|mocks|snapshots|goldens?|t"
    r"|e2e|cypress|checks|step_definitions|__(?:tests|mocks|fixtures|snapshots)__"
)
_TEST_FILE = (
    r"tests?|tests?[_-].*|test(?:[A-Z].*|utils?|helpers?|case|base)|conftest"
    r"|.*[_.-](?:test|tests|spec|specs|cy|snap)|.*(?:Test|Tests|Spec|IT)"
    r"|(?:.*[_.-])?(?:expected|golden|fixtures?|snapshots?|approved|baseline)(?:[_.-].*)?"
)
# Code by its language, settings by its job: what builds, collects or starts other code.
_SETTINGS = r"(?i).*\.(?:config|conf|setup|gradle|d)|conf|conftest|sitecustomize|usercustomize"
# At the top of a project, where tools look for them; `vitest.workspace.ts` is one more.
_SETTINGS_OF_THE_ROOT = r"(?i)setup|build|extconf|\w+file|tasks|mix|project|package|.+\..+"


def language_of(path: str) -> str | None:
    """The language of a source file; None of anything else."""
    name = posixpath.basename(path)
    stem, dot, extension = name.rpartition(".")
    return _LANGUAGE_OF.get(extension.lower()) if dot and stem else None


def is_work(path: str) -> bool:
    """True when the name is that of source code which is neither a test nor settings."""
    return language_of(path) is not None and not is_test(path) and not is_settings(path)


def is_document(path: str) -> bool:
    """True for prose and pictures: no tool obeys them, though a check may look at them."""
    return re.fullmatch(_DOCUMENT, path) is not None


def is_test(path: str) -> bool:
    """True when the file lies in a folder of tests, or is named like a test."""
    *folders, name = path.split("/")
    stem = name.rpartition(".")[0] or name
    return any(re.fullmatch(_TEST_FOLDER, folder) for folder in folders) or bool(
        re.fullmatch(_TEST_FILE, stem)
    )


def is_settings(path: str) -> bool:
    """True when a source file is named like one that configures tools, such as `setup.py`."""
    *folders, name = path.split("/")
    hidden = any(part.startswith(".") for part in (*folders, name))
    stem = name.rpartition(".")[0]
    at_root = not folders and re.fullmatch(_SETTINGS_OF_THE_ROOT, stem)
    return hidden or name == "build.rs" or bool(at_root or re.fullmatch(_SETTINGS, stem))
