"""The budget of the house: short functions, short files, a first line that says why it is there."""

from __future__ import annotations

import ast
import re

from tests.architecture.source import REPOSITORY, functions, modules, tracked_files

LONGEST_FUNCTION, NINE_OF_TEN, LONGEST_FILE = 60, 30, 400
VAGUE = ("utils", "util", "helpers", "helper", "common", "manager", "misc")
# Written in two parts, so that this file does not name them itself.
OURS = [re.compile(r"(?<![\w.~$}])/" + name + r"/[\w.-]") for name in ("ro" + "ot", "wo" + "rk")]
HOMES = re.compile(
    r"/ho" + r"me/(?!user|you|me|agent|ada|someone)[a-z]\w*/|/Us" + r"ers/[A-Za-z]\w+/"
)
INDEX = re.compile(r"https?://[\w.-]*(?:py" + r"pi|pythonhosted|artifactory|nexus)[\w.-]*", re.I)
UNFINISHED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|X" + r"XX)\b")


def test_no_function_is_longer_than_a_screen() -> None:
    long = [f"{f.place}: {f.lines} lines" for f in functions() if f.lines > LONGEST_FUNCTION]
    assert long == []


def test_nine_of_ten_functions_are_short() -> None:
    lengths = sorted(f.lines for f in functions())
    assert lengths[int(len(lengths) * 0.9)] <= NINE_OF_TEN


def test_no_file_outgrows_its_room() -> None:
    long = {name: text.count("\n") for name, text in modules().items()}
    assert {name: n for name, n in long.items() if n > LONGEST_FILE} == {}


def test_the_first_line_says_what_the_module_is_for() -> None:
    silent = [
        name
        for name, text in modules().items()
        if not re.match(r'"""[\w`].{12,}', text) or not ast.get_docstring(ast.parse(text))
    ]
    assert silent == []


def test_an_import_inside_a_function_gives_its_reason() -> None:
    hidden = [
        f"{name}:{number}"
        for name, text in modules().items()
        for number in _hidden_imports(text)
        if not _has_reason(text.split("\n"), number)
    ]
    assert hidden == []


def _hidden_imports(text: str) -> set[int]:
    return {
        inner.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Import | ast.ImportFrom)
    }


def _has_reason(lines: list[str], number: int) -> bool:
    line, above = lines[number - 1], lines[number - 2].strip()
    said_there = re.search(r"# noqa: PLC0415 - \w+", line) is not None
    return said_there or above.startswith("#") or '"""' in above


def test_names_of_modules_say_something() -> None:
    stems = {name.rsplit("/", 1)[-1].removesuffix(".py") for name in modules()}
    assert stems.isdisjoint(VAGUE)


def test_no_file_names_this_machine_or_a_package_index() -> None:
    found = []
    for path in tracked_files():
        try:
            text = path.read_text("utf-8")
        except (UnicodeDecodeError, OSError):
            continue
        for pattern in (*OURS, HOMES, INDEX):
            found += [
                f"{path.relative_to(REPOSITORY)}: {m.group()}" for m in pattern.finditer(text)
            ]
    assert found == []


def test_nothing_is_left_unfinished() -> None:
    found = [
        f"{name}: {match.group()}"
        for name, text in modules().items()
        for match in UNFINISHED.finditer(text)
    ]
    assert found == []
    assert not [n for n, t in modules().items() if re.search(r"raise NotImplementedError", t)]
