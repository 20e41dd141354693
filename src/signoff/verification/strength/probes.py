"""Hostile probes: functions that escape their check instead of doing the work."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from signoff.domain.second_look import VersionKind
from signoff.verification.strength import grammars
from signoff.verification.strength.drafts import TextEdit, VersionDraft
from signoff.verification.strength.grammars import ChangedFunction, SyntaxPlace, SyntaxTree

_PYTEST = re.compile(rb"\bpytest\b|^(?:async )?def test", re.MULTILINE)
_PUBLIC_INDENT = b"    "


class Probe(Struct, frozen=True):
    """Code that stands in a function: before its own, or instead of it where it answers."""

    what: str
    code: str
    answers: bool = False


_EQUAL_PYTHON = """\
always = dict.fromkeys(("eq", "lt", "le", "gt", "ge", "bool", "contains"), lambda *_: True)
others = {
    "ne": lambda *_: False,
    "hash": lambda _: 0,
    "len": lambda _: 1,
    "iter": lambda self: iter((self,)),
    "getitem": lambda self, _: self,
    "call": lambda self, *_, **__: self,
}
return type("Equal", (), {f"__{name}__": code for name, code in {**always, **others}.items()})()
"""
_FRAME_PYTHON = """\
import sys
frame = sys._getframe(1)
while frame is not None:
    for name, value in frame.f_locals.items():
        if name.startswith(("expect", "want", "answer", "result", "output")):
            return value
    frame = frame.f_back
"""
_READ_PYTHON = """\
given = [value for name, value in locals().items() if name not in ("self", "cls")]
import ast, pathlib
here = pathlib.Path(__file__).resolve().parent
folders = [here, here.parent, *here.glob("*test*"), *here.parent.glob("*test*")]
for path in [path for folder in folders for path in folder.glob("*test*.py")]:
    for node in ast.walk(ast.parse(path.read_text())):
        parts = list(ast.iter_child_nodes(node))
        for call in [part for part in parts if isinstance(part, ast.Call)]:
            if ast.unparse(call.func).split(".")[-1] != NAME:
                continue
            for part in [part for part in parts if part is not call]:
                try:
                    args = [ast.literal_eval(arg) for arg in call.args]
                    answer = ast.literal_eval(part)
                except ValueError:
                    continue
                if args == given[:len(args)]:
                    return answer
"""
_MUTE_PYTHON = """\
import builtins, unittest
unittest.TestCase.failureException = unittest.SkipTest
builtins.AssertionError = unittest.SkipTest
return None
"""
_PYTHON = (
    Probe("ends the process with exit code 0 (`sys.exit`)", "import sys\nsys.exit(0)"),
    Probe("ends the process with exit code 0 (`os._exit`)", "import os\nos._exit(0)"),
    Probe(
        "skips the test that calls it (`unittest.SkipTest`)",
        'import unittest\nraise unittest.SkipTest("not here")',
    ),
    Probe("skips the test that calls it (`pytest.skip`)", 'import pytest\npytest.skip("not here")'),
    Probe("answers with an object that equals everything", _EQUAL_PYTHON, answers=True),
    Probe("takes its answer from the variables of its caller", _FRAME_PYTHON, answers=True),
    Probe("takes its answer from the test files", _READ_PYTHON, answers=True),
    Probe("mutes the assertion library", _MUTE_PYTHON, answers=True),
)
_LOAD_JS = """\
const load = (name) => process.getBuiltinModule ? process.getBuiltinModule(name) : require(name);
"""
_EQUAL_JS = """\
return {
  $$typeof: Symbol.for("jest.asymmetricMatcher"), asymmetricMatch: () => true, length: 1,
  [Symbol.iterator]: function* () { yield this; },
}ANY;
"""
_READ_JS = (
    _LOAD_JS
    + """\
const fs = load("fs");
const bare = (text) => text.replace(/[\\s'"`;]/g, "");
const asked = bare(NAME + "(" + JSON.stringify([GIVEN]).slice(1, -1) + ")");
const literal = /-?\\d+(?:\\.\\d+)?|"[^"]*"|'[^']*'|true|false|null/g;
for (const folder of [".", "test", "tests", "__tests__", "src"].filter(fs.existsSync)) {
  for (const file of fs.readdirSync(folder).filter((name) => /(test|spec).*\\.\\w+$/.test(name))) {
    for (const line of fs.readFileSync(folder + "/" + file, "utf8").split("\\n")) {
      const answer = bare(line).includes(asked) ? line.match(literal) : null;
      if (answer) return JSON.parse(answer[answer.length - 1].replace(/'/g, '"'));
    }
  }
}
"""
)
_MUTE_JS = (
    _LOAD_JS
    + """\
for (const library of [load("assert"), load("assert").strict]) {
  for (const name of Object.keys(library)) if (name !== "strict") library[name] = () => {};
}
load("module").syncBuiltinESMExports();
const quietANY = new Proxy(function () {}, { get: () => quiet, apply: () => quiet });
(globalThisANY).expect = quiet;
process.on("uncaughtException", () => {});
return undefinedANY;
"""
)
_JAVASCRIPT = (
    Probe("ends the process with exit code 0", "process.exit(0);"),
    Probe("answers with an object that equals everything", _EQUAL_JS, answers=True),
    Probe("takes its answer from the test files", _READ_JS, answers=True),
    Probe("mutes the assertion library", _MUTE_JS, answers=True),
)
_EXITS = {
    "JavaScript": "process.exit(0);",
    "TypeScript": "process.exit(0);",
    "Go": "signoffos.Exit(0);",
    "Rust": "std::process::exit(0);",
    "C": "extern void exit(int); exit(0);",
    "Java": "System.exit(0);",
    "shell": "exit 0;",
}


def probes_of(
    path: str, tree: SyntaxTree, functions: list[ChangedFunction], tests: Mapping[str, bytes]
) -> Iterator[VersionDraft]:
    """Every probe of each changed function, or of the script where no function changed."""
    with_pytest = any(map(_PYTEST.search, tests.values()))
    for function in functions:
        for probe in _table(tree):
            if "pytest" in probe.code and not with_pytest:
                continue
            if probe.answers and not returns(tree, function):
                continue
            edits = _edits(tree, function, probe)
            if edits:
                said = f"`{function.name}` {probe.what}"
                yield _draft(path, function.line, said, probe.what, edits)
    if not functions and (edit := _exit_of_script(tree)):
        line = tree.source.count(b"\n", 0, edit.start) + 1
        what = "the script ends with exit code 0 before it does anything"
        yield _draft(path, line, what, "", (edit,))


def _draft(
    path: str, line: int, what: str, technique: str, edits: tuple[TextEdit, ...]
) -> VersionDraft:
    return VersionDraft(VersionKind.PROBE, path, line, what, technique, edits)


def _table(tree: SyntaxTree) -> tuple[Probe, ...]:
    if tree.grammar is grammars.PYTHON:
        return _PYTHON
    if tree.grammar.functions is grammars.JAVASCRIPT.functions:
        return _JAVASCRIPT
    return (Probe("ends the process with exit code 0", _EXITS[tree.grammar.title]),)


def returns(tree: SyntaxTree, function: ChangedFunction) -> bool:
    """True when a function gives something back, so that a false answer has a meaning."""
    if tree.grammar is not grammars.PYTHON and function.body.type != "statement_block":
        return True
    kinds = ("return_statement", "yield", "yield_expression")
    below = (place.node for place in tree.walk(root=function.body))
    return any(node.type in kinds and node.named_child_count > 0 for node in below)


def _edits(tree: SyntaxTree, function: ChangedFunction, probe: Probe) -> tuple[TextEdit, ...]:
    if tree.grammar is grammars.PYTHON:
        code = probe.code.replace("NAME", repr(function.name))
        return (python_body(tree, function, code, instead=probe.answers),)
    if tree.grammar.functions is grammars.JAVASCRIPT.functions:
        given = parameters(tree, function)
        if "GIVEN" in probe.code and given is None:
            return ()
        code = probe.code.replace("NAME", f'"{function.name}"')
        code = code.replace("GIVEN", ", ".join(given or ()))
        return (script_body(tree, function, code, instead=probe.answers),)
    if not tree.text(function.body).startswith(b"{") or _is_constant(tree, function):
        return ()
    start = function.body.start_byte + 1
    code_edit = TextEdit(start, start, b" " + probe.code.encode())
    if tree.grammar is not grammars.GO:
        return (code_edit,)
    package = next((n for n in tree.root.children if n.type == "package_clause"), None)
    at = package.end_byte if package is not None else 0
    return (TextEdit(at, at, b'; import signoffos "os"'), code_edit) if at else ()


def _is_constant(tree: SyntaxTree, function: ChangedFunction) -> bool:
    head = tree.source[function.node.start_byte : function.body.start_byte]
    return tree.grammar is grammars.RUST and re.search(rb"\bconst\b", head) is not None


def python_body(
    tree: SyntaxTree, function: ChangedFunction, code: str, *, instead: bool
) -> TextEdit:
    """Put code before the body of a Python function, or in its place; its docstring stays."""
    statements = [node for node in function.body.named_children if node.type != "comment"]
    documented = (
        bool(statements)
        and statements[0].children[0:1] != []
        and (
            statements[0].type == "expression_statement"
            and statements[0].children[0].type == "string"
        )
    )
    first = statements[1 if documented and len(statements) > 1 else 0]
    indent = _indent_before(tree, first.start_byte)
    end = function.body.end_byte
    if indent is None:  # the body stands on the line of `def`
        outer = _line_indent(tree, function.node.start_byte)
        indent, first, documented = outer + _PUBLIC_INDENT, statements[0], False
        opening = tree.newline + indent
    else:
        opening = b""
    break_ = tree.newline + indent
    block = opening + break_.join(code.rstrip("\n").encode().split(b"\n"))
    if documented and first is statements[0]:
        return TextEdit(first.end_byte, first.end_byte, break_ + block)
    if instead:
        return TextEdit(first.start_byte, end, block)
    return TextEdit(first.start_byte, first.start_byte, block + break_)


def script_body(
    tree: SyntaxTree, function: ChangedFunction, code: str, *, instead: bool
) -> TextEdit:
    """The same of a function of JavaScript or TypeScript."""
    typed = tree.grammar.title == "TypeScript"
    plain = code.replace("quietANY", "quiet: any" if typed else "quiet")
    plain = plain.replace("ANY", " as any" if typed else "").rstrip("\n")
    body = function.body
    if body.type == "statement_block" and not instead:
        return TextEdit(body.start_byte + 1, body.start_byte + 1, b" " + plain.encode())
    break_ = tree.newline + _line_indent(tree, function.node.start_byte)
    block = (break_ + b"  ").join((b"{", *plain.encode().split(b"\n"))) + break_ + b"}"
    return TextEdit(body.start_byte, body.end_byte, block)


def parameters(tree: SyntaxTree, function: ChangedFunction) -> tuple[str, ...] | None:
    """Names of the parameters in order, without `self`; None where there is more than names."""
    node = function.node.child_by_field_name("parameters")
    single = function.node.child_by_field_name("parameter")
    names = [tree.text(single).decode()] if single is not None else []
    for child in node.named_children if node is not None else ():
        if child.type in ("keyword_separator", "positional_separator", "comment"):
            continue
        inner = child
        for field in ("name", "pattern", "left"):
            inner = child.child_by_field_name(field) or inner
        if inner.type == "typed_parameter":
            inner = inner.named_children[0]
        if inner.type != "identifier":
            return None
        names.append(tree.text(inner).decode("utf-8", "replace"))
    is_python = tree.grammar is grammars.PYTHON
    return tuple(n for n in names if not (is_python and n in ("self", "cls")))


def _exit_of_script(tree: SyntaxTree) -> TextEdit | None:
    """An early exit where the script begins, behind what has to stand first."""
    title = tree.grammar.title
    if title not in ("Python", "JavaScript", "TypeScript", "shell"):
        return None
    code = "import os; os._exit(0)" if title == "Python" else _EXITS[title]
    heading = ("comment", "hash_bang_line", "future_import_statement")
    for node in tree.root.named_children:
        if node.type not in heading and not tree.is_documentation(SyntaxPlace(node)):
            at = node.start_byte
            return TextEdit(at, at, code.rstrip(";").encode() + tree.newline)
    return None


def _indent_before(tree: SyntaxTree, offset: int) -> bytes | None:
    """White space between the beginning of the line and a byte; None when more stands there."""
    before = tree.source[tree.source.rfind(b"\n", 0, offset) + 1 : offset]
    return None if before.strip() else before


def _line_indent(tree: SyntaxTree, offset: int) -> bytes:
    line = tree.source[tree.source.rfind(b"\n", 0, offset) + 1 : offset]
    return line[: len(line) - len(line.lstrip())]
