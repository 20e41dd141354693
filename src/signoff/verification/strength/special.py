"""Special cases: functions that answer the inputs of the visible tests and nothing else."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from msgspec import Struct
from tree_sitter import Node

from signoff.domain.second_look import VersionKind
from signoff.verification.strength import grammars
from signoff.verification.strength.drafts import TextEdit, VersionDraft, quoted
from signoff.verification.strength.grammars import ChangedFunction, SyntaxPlace, SyntaxTree, read
from signoff.verification.strength.probes import parameters, python_body, script_body

_LANGUAGES = ("Python", "JavaScript", "TypeScript")
_MOST_CASES = 200
_LONGEST_LITERAL = 2_000
_COMPARISONS = ("comparison_operator", "binary_expression")
_EQUALITY = (b"==", b"!=", b"is", b"===", b"!==")
_LISTS = ("argument_list", "arguments")
_MATCHERS = (
    "toBe", "toEqual", "toStrictEqual", "equal", "equals", "eql", "deepEqual", "toBeCloseTo",
)  # fmt: skip
_EQUAL = re.compile(r"assert\w*|equals?|deepEqual|strictEqual|deepStrictEqual|is|same|eql?")
_TRUTHS = {"assertTrue": 0, "assertFalse": 1, "ok": 0, "assert": 0, "isTrue": 0, "isFalse": 1}
_JS_LITERALS = (
    "number", "string", "template_string", "true", "false", "null", "undefined", "array", "object",
    "pair", "unary_expression", "string_fragment", "property_identifier", "escape_sequence",
)  # fmt: skip
_ROWS = ("list", "tuple", "array")
_SHELLS = ("bash", "sh", "dash", "zsh")
Row = Mapping[str, str]


class UsedInput(Struct, frozen=True):
    """One input that a test uses, with the answer that it wants; texts of literals."""

    args: tuple[tuple[str, str], ...]  # parameter, or "" for the next one, and value
    answer: str


class VisibleTests:
    """Calls in the visible tests, read once for all functions that changed."""

    def __init__(self, tests: Mapping[str, bytes]) -> None:
        self._cases = defaultdict[tuple[bool, str], dict[UsedInput, None]](dict)
        for path, text in sorted(tests.items()):
            test = read(path, text)
            if isinstance(test, SyntaxTree) and test.grammar.title in _LANGUAGES:
                for name, case in _cases(test):
                    self._cases[test.grammar is grammars.PYTHON, name][case] = None
            elif isinstance(test, SyntaxTree) and test.grammar is grammars.SHELL:
                for name, case in _runs(test):
                    self._cases[False, name][case] = None

    def cases(self, tree: SyntaxTree, function: ChangedFunction) -> list[UsedInput]:
        """Uses of a function by the tests in its own language."""
        return list(self._cases[tree.grammar is grammars.PYTHON, function.name])[:_MOST_CASES]

    def runs(self, path: str) -> list[UsedInput]:
        """Uses of a script by tests that are scripts."""
        return list(self._cases[False, path.rpartition("/")[2]])[:_MOST_CASES]


def special_cases(
    path: str, tree: SyntaxTree, functions: list[ChangedFunction], tests: VisibleTests
) -> Iterator[VersionDraft]:
    """A lookup table, and the most usual answer, where tests call a function or script plainly."""
    for function in functions if tree.grammar.title in _LANGUAGES else ():
        names = parameters(tree, function)
        cases = tests.cases(tree, function) if names is not None else []
        bound = [b for case in cases if (b := _bound(case, names or ())) is not None]
        if not bound:
            continue
        python = tree.grammar is grammars.PYTHON
        table = _python_table(bound) if python else _script_table(bound, names or ())
        usual = Counter(answer for _, answer in bound).most_common(1)[0][0]
        for what, code in (
            (f"only the inputs that the tests use ({len(bound)})", table),
            (f"{quoted(usual)} whatever it is asked", f"return {usual}" + ("" if python else ";")),
        ):
            body = python_body if python else script_body
            edit = body(tree, function, code, instead=True)
            said, group = f"`{function.name}` answers {what}", f"{path}:{function.line}:{what}"
            yield VersionDraft(VersionKind.SPECIAL, path, function.line, said, group, (edit,))
    runs = tests.runs(path) if tree.grammar is grammars.SHELL else []
    start = next((node for node in tree.root.named_children if node.type != "comment"), None)
    if runs and start is not None:
        for what, code in _script_answers(runs):
            edit = TextEdit(start.start_byte, tree.root.end_byte, code.encode())
            yield VersionDraft(VersionKind.SPECIAL, path, 0, f"answers {what}", what, (edit,))


def _script_answers(runs: list[UsedInput]) -> Iterator[tuple[str, str]]:
    """A shell script that knows the runs of the tests, and one that knows one answer."""
    usual = Counter(run.answer for run in runs).most_common(1)[0][0]
    rows = "".join(
        f"set -- {' '.join(value for _, value in run.args)}\n"
        f'if [ "$given" = "$*" ]; then printf \'%s\\n\' {run.answer}; exit 0; fi\n'
        for run in runs
    )
    table = f'given="$*"\n{rows}echo "no test uses this input" >&2\nexit 1\n'
    yield f"only the inputs that the tests use ({len(runs)})", table
    yield f"{quoted(usual)} whatever it is asked", f"printf '%s\\n' {usual}\n"


def _bound(case: UsedInput, names: tuple[str, ...]) -> tuple[dict[str, str], str] | None:
    """The case with every value at the name of its parameter."""
    left, args = list(names), {}
    for name, value in case.args:
        if not left or (name and name not in left):
            return None
        parameter = name or left[0]
        left.remove(parameter)
        args[parameter] = value
    return args, case.answer


def _python_table(cases: list[tuple[dict[str, str], str]]) -> str:
    rows = []
    for args, answer in cases:
        pairs = ", ".join(f"{name!r}: {value}" for name, value in args.items())
        rows.append(f"    ({{{pairs}}}, {answer}),")
    return "\n".join(
        (
            "given = dict(locals())",
            "for args, answer in [",
            *rows,
            "]:",
            "    if all(given[name] == value for name, value in args.items()):",
            "        return answer",
            'raise ValueError("no test uses this input")',
        )
    )


def _script_table(cases: list[tuple[dict[str, str], str]], names: tuple[str, ...]) -> str:
    rows = []
    for args, answer in cases:
        rows.append(f"  [[{', '.join(args.values())}], {answer}],")
    return "\n".join(
        (
            "const table = [",
            *rows,
            "]ANY;",
            f"const given = [{', '.join(names)}]ANY;",
            "for (const [args, answer] of table) {",
            "  const same = given.slice(0, args.length);",
            "  if (JSON.stringify(args) === JSON.stringify(same)) return answer;",
            "}",
            'throw new Error("no test uses this input");',
        )
    )


def _cases(test: SyntaxTree) -> Iterator[tuple[str, UsedInput]]:
    """Every call in one test file whose input and answer are plain, also by way of a variable."""
    constants: dict[str, str] = {}
    tables: dict[str, Node] = {}
    results: dict[bytes, SyntaxPlace] = {}
    for place in test.walk():
        node = place.node
        target, value = _assigned(node)
        if target is not None and value is not None:
            key = test.text(target).decode("utf-8", "replace")
            if value.type in _ROWS:
                tables[key] = value
            elif (text := _literal(test, value, constants)) is not None:
                constants[key] = text
        call = place if node.type in test.grammar.calls else results.get(test.text(node))
        if call is None or (call is not place and node.type != "identifier"):
            continue
        if call is place and place.above is not None:
            holder, _ = _assigned(place.above.node)
            if holder is not None:
                results[test.text(holder)] = place
        name = _last_word(test, call.node)
        for case in _of_call(test, place, call, constants, tables):
            yield name, case


def _runs(test: SyntaxTree) -> Iterator[tuple[str, UsedInput]]:
    """Every run of a script with plain arguments whose output is compared with a plain text."""
    for place in test.walk():
        run = next(iter(place.node.named_children), None)
        if place.node.type != "command_substitution" or run is None or run.type != "command":
            continue
        words = [test.text(node).decode("utf-8", "replace") for node in run.named_children]
        words = words[1:] if words[0] in _SHELLS else words
        around = list(place.around)
        holder = around[around[0].node.type == "string"].node
        sides = (n for n in holder.named_children if n.start_byte > place.node.start_byte)
        answers = [test.text(node) for node in sides if _is_plain(node)]
        values = [answer.decode("utf-8", "replace") for answer in answers if answer.strip(b"=")]
        if words and len(values) == 1 and all(map(_is_plain, run.named_children[1:])):
            args = tuple(("", word) for word in words[1:])
            yield words[0].rpartition("/")[2], UsedInput(args, values[0])


def _is_plain(node: Node) -> bool:
    """True of a word of a shell in which nothing is expanded."""
    return node.type in ("word", "number", "raw_string") or (
        node.type == "string" and all(n.type == "string_content" for n in node.named_children)
    )


def _of_call(
    test: SyntaxTree,
    seen: SyntaxPlace,
    call: SyntaxPlace,
    constants: Row,
    tables: Mapping[str, Node],
) -> Iterator[UsedInput]:
    """A case per row of the table that a call stands in, where input and answer are literals."""
    wanted = _wanted(test, seen)
    arguments = call.node.child_by_field_name("arguments")
    if wanted is None or arguments is None:
        return
    for row in _rows(test, call, tables):
        known = {**constants, **row}
        args: list[tuple[str, str]] = []
        for argument in (n for n in arguments.named_children if n.type != "comment"):
            keyword = argument.type == "keyword_argument"
            name = test.text(argument.child_by_field_name("name")).decode() if keyword else ""
            value = argument.child_by_field_name("value") if keyword else argument
            text = _literal(test, value, known)
            if text is None:
                break
            args.append((name, text))
        else:
            answer = wanted if isinstance(wanted, str) else _literal(test, wanted, known)
            if answer is not None:
                yield UsedInput(tuple(args), answer)


def _assigned(node: Node) -> tuple[Node | None, Node | None]:
    left, right = ("name", "value") if node.type == "variable_declarator" else ("left", "right")
    if node.type not in ("assignment", "variable_declarator"):
        return None, None
    return node.child_by_field_name(left), node.child_by_field_name(right)


def _literal(test: SyntaxTree, node: Node | None, known: Row) -> str | None:
    """The source of a plain value; None of anything that has to be worked out."""
    if node is None:
        return None
    text = test.text(node).decode("utf-8", "replace")
    if node.type == "identifier" and text in known:
        return known[text]
    if len(text) > _LONGEST_LITERAL:
        return None
    if test.grammar is grammars.PYTHON:
        try:
            ast.literal_eval(text)
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
            return None
        return text
    plain = text == "undefined" or (
        node.type in _JS_LITERALS
        and all(p.node.type in _JS_LITERALS for p in test.walk(root=node) if p.node.is_named)
        and not re.match(r"!|typeof|void", text)
    )
    return text if plain else None


def _last_word(test: SyntaxTree, call: Node) -> str:
    """The name that a call ends in: `equal` of `assert.strict.equal(…)`."""
    called = test.text(call.child_by_field_name("function")).decode("utf-8", "replace")
    return re.split(r"\W+", called)[-1]


def _wanted(test: SyntaxTree, place: SyntaxPlace) -> Node | str | None:
    """The value that a test compares with, or the text of the truth that it asserts."""
    truths = ("True", "False") if test.grammar is grammars.PYTHON else ("true", "false")
    node, around = place.node, list(place.around)
    wrappers = ("await_expression", "await", "parenthesized_expression")
    while around and around[0].node.type in wrappers:
        node = around.pop(0).node
    if not around:
        return None
    above = around[0].node
    if above.type in _COMPARISONS:
        named = above.named_children
        signs = {test.text(n) for n in above.children if not n.is_named} & set(_EQUALITY)
        return named[named[0] == node] if len(named) == 2 and signs else None
    if above.type == "assert_statement":
        return truths[0]
    if (
        above.type == "not_operator"
        and len(around) > 1
        and around[1].node.type == "assert_statement"
    ):
        return truths[1]
    if above.type not in _LISTS or len(around) < 2:
        return None
    checker = _last_word(test, around[1].node)
    if checker == "expect":
        return _matched(test, around[1:])
    values = [n for n in above.named_children if n.type != "comment"]
    if checker in _TRUTHS and (len(values) == 1 or checker.startswith("assert")):
        return truths[_TRUTHS[checker]] if values[0] == node else None
    if _EQUAL.fullmatch(checker) and len(values) > 1 and node in values[:2]:
        return values[values[0] == node]
    return None


def _matched(test: SyntaxTree, around: list[SyntaxPlace]) -> Node | None:
    """The value behind `expect(…)` in `.toBe(value)`."""
    chain = around[1:]
    while chain and chain[0].node.type == "member_expression":
        if re.search(rb"\.not\b", test.text(chain.pop(0).node)[-40:]):
            return None
    if not chain or chain[0].node.type != "call_expression":
        return None
    arguments = chain[0].node.child_by_field_name("arguments")
    fits = _last_word(test, chain[0].node) in _MATCHERS and arguments is not None
    return next(iter(arguments.named_children), None) if fits and arguments else None


def _rows(test: SyntaxTree, call: SyntaxPlace, tables: Mapping[str, Node]) -> Iterator[Row]:
    """Values of the names that a loop or a parametrised test gives; one empty row without."""
    for place in call.around:
        names, table = _table(test, place)
        if table is not None and table.type == "identifier":
            table = tables.get(test.text(table).decode("utf-8", "replace"))
        if names and table is not None and table.type in _ROWS:
            for row in table.named_children[:_MOST_CASES]:
                values = _values(row) if len(names) > 1 else [row]
                texts = [_literal(test, value, {}) for value in values]
                yield {n: t for n, t in zip(names, texts, strict=False) if t is not None}
            return
    yield {}


def _values(row: Node) -> list[Node]:
    """The values of one row; `pytest.param(…)` is a row too."""
    if row.type == "call" and (arguments := row.child_by_field_name("arguments")) is not None:
        return [n for n in arguments.named_children if n.type != "keyword_argument"]
    return row.named_children if row.type in _ROWS else []


def _table(test: SyntaxTree, place: SyntaxPlace) -> tuple[list[str], Node | None]:
    """Names that something around a call gives, and the node of the rows they come from."""
    node = place.node
    if node.type in ("for_statement", "for_in_statement"):
        left = node.child_by_field_name("left")
        return _words(test.text(left)), node.child_by_field_name("right")
    if node.type == "decorated_definition":
        for decorator in (n for n in node.named_children if n.type == "decorator"):
            call = decorator.named_children[0]
            arguments = call.child_by_field_name("arguments")
            if call.type == "call" and _last_word(test, call) == "parametrize" and arguments:
                names, rows = (*arguments.named_children, None, None)[:2]
                return _words(test.text(names)), rows
    above = list(place.around)[:2]
    if node.type in ("arrow_function", "function_expression") and len(above) > 1:
        called = above[1].node.child_by_field_name("function")
        given = node.child_by_field_name("parameters")
        inner = called.child_by_field_name("function") if called is not None else None
        arguments = called.child_by_field_name("arguments") if called is not None else None
        if inner is not None and arguments is not None and test.text(inner).endswith(b".each"):
            return _names(test, given), next(iter(arguments.named_children), None)
        if called is not None and test.text(called).endswith(b".forEach"):
            return _names(test, given), called.child_by_field_name("object")
    return [], None


def _names(test: SyntaxTree, parameters_: Node | None) -> list[str]:
    """Names of parameters, those in a pattern too, without their types."""
    if parameters_ is None:
        return []
    places = test.walk(("type_annotation",), parameters_)
    return [
        test.text(p.node).decode("utf-8", "replace") for p in places if p.node.type == "identifier"
    ]


def _words(text: bytes) -> list[str]:
    return re.findall(r"[^\W\d]\w*", text.decode("utf-8", "replace"))
