"""Mutants: one small thing on a changed line that is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

from tree_sitter import Node

from signoff.domain.second_look import VersionKind
from signoff.verification.strength import grammars
from signoff.verification.strength.drafts import TextEdit, VersionDraft, quoted
from signoff.verification.strength.grammars import SyntaxPlace, SyntaxTree

_PAIRS = (
    "< <=", "> >=", "== !=", "=== !==", "&& ||", "and or", "+ -", "* /", "+= -=", "*= /=",
    "<< >>", "& |",
    "is is~not", "in not~in", "-lt -le", "-gt -ge", "-eq -ne", "-z -n", "++ --",
)  # fmt: skip
_SWAPS = {
    a.replace("~", " "): b.replace("~", " ")
    for pair in _PAIRS
    for a, b in (pair.split(), reversed(pair.split()))
} | {"%": "*", "//": "*", "**": "*", "%=": "*=", "//=": "*=", "=": "!="}
_OPERATIONS = (
    "binary_expression", "comparison_operator", "boolean_operator", "binary_operator",
    "augmented_assignment", "augmented_assignment_expression", "assignment_expression",
    "compound_assignment_expr", "update_expression", "inc_statement", "dec_statement",
    "assignment_statement", "unary_expression", "test_operator",
)  # fmt: skip
_BOOLEANS = {"true": "false", "false": "true", "True": "False", "False": "True"}
_BOOLEAN_NODES = ("true", "false", "boolean_literal")
_NUMBER = re.compile(rb"(?!0[xXbBoO])(\d+)([\d_.]*(?:[eE][+-]?\d+)?[A-Za-z]*\d*)")
_LOG = re.compile(
    rb"(?:.*[.:_])?(?:log\w*|debug|info|warn\w*|error|trace|exception|critical)!?"
    rb"|(?:console|slog|_?log\w*)[.:].*",
    re.IGNORECASE,
)
_BLOCKS = (
    "program", "compound_statement", "do_group", "if_statement", "else_clause", "case_item",
)  # fmt: skip
_ASSIGNMENTS = (
    "assignment", "augmented_assignment", "assignment_expression", "compound_assignment_expr",
    "augmented_assignment_expression", "variable_assignment",
)  # fmt: skip
_PRINT = re.compile(
    rb"(?:.*[.:])?(?:e?print(?:ln|f)?|fprintf|perror|puts|format_help|panic|bail)!?|.*(?:Error|Exception)|assert\w*!?"
)
_IDLE = re.compile(rb"assert|(?:return|exit|true|:)\b|set [-+](?!-)")
_RAISED = ("raise_statement", "throw_statement")
_ENTRY = re.compile(rb"\(?(?:__name__\b.*|(?:typing\.)?TYPE_CHECKING)\)?")
_GO_ZERO = {b"string": '""', b"error": "nil", b"int": "0", b"int64": "0", b"float64": "0"}
_JAVA_ZERO = {
    b"int": "0", b"long": "0", b"double": "0", b"float": "0", b"short": "0", b"char": "'0'",
}  # fmt: skip

Found = Iterator[tuple[TextEdit, str]]


def mutants_of(path: str, tree: SyntaxTree, lines: Collection[int]) -> Iterator[VersionDraft]:
    """Every mutant whose first line changed."""
    for place in tree.code(tree.grammar.silent):
        row = place.node.start_point[0] + 1
        if row in lines and not place.node.has_error and not _is_of_entry(tree, place):
            for rule in _RULES:
                for edit, what in rule(tree, place):
                    yield VersionDraft(
                        VersionKind.MUTANT, path, row, what, f"{path}:{row}", (edit,)
                    )


def _is_of_entry(tree: SyntaxTree, place: SyntaxPlace) -> bool:
    """True within `__name__ == "__main__"`, which says what is run and not how."""
    above = place.above.node if place.above is not None else None
    compared = above is not None and above.type == "comparison_operator"
    return compared and _ENTRY.fullmatch(tree.text(above)) is not None


def _instead(tree: SyntaxTree, node: Node, new: str) -> tuple[TextEdit, str]:
    edit = TextEdit(node.start_byte, node.end_byte, new.encode())
    return edit, f"{quoted(new)} instead of {quoted(tree.text(node))}"


def _swapped(tree: SyntaxTree, place: SyntaxPlace) -> Found:
    """Another operator of the same sort."""
    node, above = place.node, place.above
    if (
        above is None
        or above.node.type not in _OPERATIONS
        or (node.is_named and node.type != "test_operator")
    ):
        return
    sign = tree.text(node).decode("utf-8", "replace")
    negated = sign in ("!", "not") and above.node.type == "unary_expression"
    if (sign == "=" and tree.grammar is not grammars.SHELL) or negated:
        return
    joins_text = sign in "+*%" and any(
        n.type in tree.grammar.strings for n in above.node.named_children
    )
    unary = above.node.type == "unary_expression" and tree.grammar is not grammars.SHELL
    if sign in _SWAPS and not joins_text and not unary:
        yield _instead(tree, node, _SWAPS[sign])


def _affirmed(tree: SyntaxTree, place: SyntaxPlace) -> Found:
    """A condition without its `not`."""
    node = place.node
    negations = ("not_operator", "unary_expression", "negated_command")
    if (
        node.type in negations
        and node.child_count == 2
        and tree.text(node.children[0]) in (b"not", b"!")
    ):
        edit = TextEdit(node.start_byte, node.children[1].start_byte, b"")
        yield (
            edit,
            f"without the {quoted(tree.text(node.children[0]))} of {quoted(tree.text(node))}",
        )


def _constant(tree: SyntaxTree, place: SyntaxPlace) -> Found:
    """Another truth value, number or text."""
    node, text = place.node, tree.text(place.node)
    if (
        node.type in _BOOLEAN_NODES
        and node.is_named
        and text.decode("ascii", "replace") in _BOOLEANS
    ):
        yield _instead(tree, node, _BOOLEANS[text.decode()])
    elif (
        node.type in tree.grammar.numbers and (number := _NUMBER.fullmatch(text)) and len(text) < 20
    ):
        more = b"0" if _is_status(place) and text != b"0" else b"%d" % (int(number[1]) + 1)
        yield _instead(tree, node, (more + number[2]).decode())
    elif node.type in tree.grammar.strings and not _is_said(tree, place):
        contents = [n for n in node.named_children if "expansion" not in n.type]
        if node.child_count > 2 and not contents:
            return  # no constant: what a variable holds
        end = node.children[-1].start_byte if node.child_count else node.end_byte - 1
        if tree.grammar is grammars.RUST and node.type.startswith("raw"):
            end = node.named_children[0].end_byte if node.named_children else end
        yield TextEdit(end, end, b"~"), f"{quoted(text)} has one more character (`~`)"


def _is_status(place: SyntaxPlace) -> bool:
    """True of the number behind `return` and `exit` of a shell."""
    command = place.above.node if place.above else None
    name = command.child_by_field_name("name") if command is not None else None
    return name is not None and name.type == "command_name" and name.text in (b"return", b"exit")


def _is_said(tree: SyntaxTree, place: SyntaxPlace) -> bool:
    """True of a text that is printed, logged or raised: wording, not behaviour."""
    for above in place.around:
        node = above.node
        if node.type in (*_RAISED, *tree.grammar.strings) or _is_listing(tree, node):
            return True
        if node.type in tree.grammar.calls:
            called = _called(tree, node)
            return bool(_LOG.fullmatch(called) or _PRINT.fullmatch(called))
    return False


def _is_listing(tree: SyntaxTree, node: Node) -> bool:
    """True of `__all__ = …`, which only tools and star imports read."""
    return node.type == "assignment" and tree.text(node).startswith(b"__all__")


def _called(tree: SyntaxTree, call: Node) -> bytes:
    """The name that is called, with what it belongs to."""
    for field in ("function", "macro"):
        if (named := call.child_by_field_name(field)) is not None:
            return tree.text(named)
    owner, name = call.child_by_field_name("object"), call.child_by_field_name("name")
    return b".".join(tree.text(n) for n in (owner, name) if n is not None)


def _dropped_call(tree: SyntaxTree, place: SyntaxPlace) -> Found:
    """A statement that only calls something, left out."""
    node, nothing = place.node, tree.grammar.nothing
    if tree.grammar is grammars.SHELL:
        call = node if _stands_alone(place) else None
    else:
        call = node if node.type == "expression_statement" else None
        wrappers = ("expression_statement", "await_expression", "await", "try_expression")
        while call is not None and call.type in wrappers:
            call = next(iter(call.named_children), None)
    if call is None or call.type not in tree.grammar.calls:
        return
    called = _called(tree, call)
    idle = tree.text(call) if tree.grammar is grammars.SHELL else called or tree.text(call)
    if _LOG.fullmatch(called) or _IDLE.match(idle):
        return
    yield (
        TextEdit(node.start_byte, node.end_byte, nothing.encode()),
        f"without the call {quoted(tree.text(call))}",
    )


def _dropped_update(tree: SyntaxTree, place: SyntaxPlace) -> Found:
    """A statement that makes something else of a variable's own value, left out."""
    node = place.node
    if tree.grammar is grammars.SHELL:
        update = node if _stands_alone(place) else None
    else:
        update = (
            next(iter(node.named_children), None) if node.type == "expression_statement" else None
        )
    if update is None or update.type not in _ASSIGNMENTS:
        return
    name, value, sign = (
        tree.text(next(filter(None, map(update.child_by_field_name, fields)), None))
        for fields in (("left", "name"), ("right", "value"), ("operator",))
    )
    own = re.search(rb"(?<![\w.])" + re.escape(name) + rb"(?!\w)", value)
    if own or sign not in (b"", b"="):
        edit = TextEdit(node.start_byte, node.end_byte, tree.grammar.nothing.encode())
        yield edit, f"without {quoted(tree.text(update))}"


def _stands_alone(place: SyntaxPlace) -> bool:
    """True of a statement of a shell that decides no branch."""
    above = place.above.node if place.above is not None else None
    return above is not None and above.type in _BLOCKS and place.node not in _conditions(above)


def _conditions(node: Node) -> list[Node]:
    return [n for n in node.children_by_field_name("condition") if n.is_named]


def _empty_loop(tree: SyntaxTree, place: SyntaxPlace) -> Found:
    """A loop over things that has none to go over."""
    node = place.node
    if node.type == "for_in_statement":
        values, new = node.children_by_field_name("right"), "[]"
    elif node.type == "for_statement" and tree.grammar in (grammars.PYTHON, grammars.SHELL):
        python = tree.grammar is grammars.PYTHON
        values = node.children_by_field_name("right" if python else "value")
        new = "()" if python else "$(:)"
    else:
        return
    if values:
        edit = TextEdit(values[0].start_byte, values[-1].end_byte, new.encode())
        over = tree.source[edit.start : edit.end]
        yield edit, f"the loop over {quoted(over)} is never taken"


def _settled(tree: SyntaxTree, place: SyntaxPlace) -> Found:
    """A branch that is never taken, or always."""
    node = place.node
    if node.type not in ("if_statement", "elif_clause", "if_expression", "while_statement"):
        return
    condition = next(iter(_conditions(node)), None)
    if condition is None or condition.type in ("let_condition", "let_chain"):
        return
    if _ENTRY.fullmatch(tree.text(condition)) or tree.text(condition).strip(b"()") in _CONSTANT:
        return
    true, false = ("1", "0") if tree.grammar is grammars.C else tree.grammar.constants
    loop = node.type == "while_statement"
    if loop and tree.grammar is grammars.JAVA:
        return  # does not compile: its body could not be reached
    for value, when in ((false, "never"),) if loop else ((false, "never"), (true, "always")):
        text = f"({value})" if condition.type == "parenthesized_expression" else value
        edit = TextEdit(condition.start_byte, condition.end_byte, text.encode())
        said = "the loop of" if loop else "the branch of"
        yield edit, f"{said} {quoted(tree.text(condition))} is {when} taken"


_CONSTANT = (b"true", b"false", b"True", b"False", b"1", b"0")


def _answered(tree: SyntaxTree, place: SyntaxPlace) -> Found:
    """Another value that is given back."""
    node = place.node
    value = (
        next(iter(node.named_children), None)
        if node.type in ("return_statement", "return_expression")
        else None
    )
    if tree.grammar is grammars.RUST and value is None and place.above is not None:
        body = place.above.above.node if place.above.above is not None else None
        last = (
            place.above.node.type == "block" and body is not None and body.type == "function_item"
        )
        ended = place.above.node.named_children[-1:] if last else []
        returns = body.child_by_field_name("return_type") if body is not None and last else None
        value = (
            node
            if ended == [node] and returns and not node.type.endswith(("statement", "_item"))
            else None
        )
    if value is None:
        return
    new = _zero(tree, place, value)
    old = tree.text(value)
    if (
        new is not None
        and old.decode("utf-8", "replace").strip("()") != new
        and value.type not in _SIMPLE
    ):
        yield (
            TextEdit(value.start_byte, value.end_byte, new.encode()),
            f"returns {quoted(new)} instead of {quoted(old)}",
        )


_SIMPLE = (
    *_BOOLEAN_NODES, "if_expression", "match_expression", "for_expression", "while_expression",
    "loop_expression",
)  # fmt: skip


def _zero(tree: SyntaxTree, place: SyntaxPlace, value: Node) -> str | None:
    """A value that says nothing, of a type that fits where the language asks for one."""
    grammar, old = tree.grammar, tree.text(value).decode("utf-8", "replace")
    if grammar is grammars.PYTHON:
        return "None"
    if grammar.functions is grammars.JAVASCRIPT.functions:
        return (
            None
            if old in ("null", "undefined")
            else "null" + (" as any" if grammar.title == "TypeScript" else "")
        )
    if grammar is grammars.RUST:
        return "Default::default()"
    if grammar is grammars.C:
        return "0"
    owner = next((a.node for a in place.around if a.node.type in grammar.functions), None)
    if owner is None:
        return None
    field, zeros = ("result", _GO_ZERO) if grammar is grammars.GO else ("type", _JAVA_ZERO)
    returned = tree.text(owner.child_by_field_name(field))
    if returned in (b"bool", b"boolean"):
        return f"!({old})"
    return zeros.get(returned, "null" if grammar is grammars.JAVA else None)


_RULES: tuple[Callable[[SyntaxTree, SyntaxPlace], Found], ...] = (
    _swapped, _affirmed, _constant, _dropped_call, _dropped_update, _empty_loop, _settled,
    _answered,
)  # fmt: skip
