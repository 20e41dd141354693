"""Only text that bash refuses is a syntax error, and text that bash refuses is one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.commands.analysis import analyse, is_plain
from signoff.domain.findings import Severity
from signoff.process.shell import syntax_problems

from .plans import codes, of_command

VALID = [
    "test -f x",
    "! grep -r 'import requests' src/ && uv run pytest tests/ -x",
    'test -f a && test "$(wc -l < a)" -gt 10',
    "gh pr view --json state -q '.state' | grep -q OPEN",
    "grep -c '^-' a | awk '{exit ($1 > 0 ? 0 : 1)}'",
    "if test -f a; then b; elif c; then d; else e; fi > out",
    "for f in a b c; do test -f $f || exit 1; done",
    'for f in *.py\ndo\n  test -s "$f"\ndone',
    "for ((i=0;i<3;i++)); do test -f $i; done",
    'while read -r line; do test -f "$line"; done < list',
    "until curl -sf localhost:80; do sleep 1; done",
    "case $x in a|b) c ;; (d) e;; *) f;; esac",
    "case $x in\n  a)\n    b\n    ;;\n  *) ;&\nesac",
    "case x in esac",
    "cat <<EOF | grep x\nit's (open\nEOF",
    "cat <<'EOF' && test -f a\n$( ` \"\nEOF",
    "cat <<-X\n\tfi done\n\tX\ntest -f a",
    "cat <<A <<B\n(\nA\n'\nB",
    "diff <(sort a) <(sort b)",
    "a=(1 2 'three four'); test ${#a[@]} -eq 3",
    "a+=(x\n  y # comment\n)",
    "declare -a b=(1 2)",
    "f() { true; }; f",
    "f() ( cd x; test -f y )",
    "function f { a; }\nf",
    "function f() { a; }; f",
    "(( x > 1 )) || exit 1",
    "((a)); ((b))",
    "( (a); b )",
    "((a); b)",
    "echo $((1 + (2 * 3)))",
    "echo $( (a) )",
    "[[ -f x && $y =~ ^a(b|c)$ ]]",
    "[[ ! ( -f a || -d b ) ]]",
    "[[ a < b ]]",
    "[ -f a -a -f b ]",
    "! test -f x",
    "! ! true",
    "time pytest",
    "time -p { a; b; }",
    "coproc foo { a; }",
    "select x in a b; do break; done",
    "a 2>&1 >/dev/null &>x <in 3<>y >|z",
    "exec 3>&1 4<file",
    "a & b & wait",
    "a |\n  b |&\n  c",
    "a &&\n\n  b ||\n  c",
    "{ a; b; } 2>&1 | c",
    "{ a; b; } > out 2> err",
    "if a; then b; fi 2>/dev/null",
    "echo fi done } then",
    "echo if then",
    "echo a#b # 'comment",
    "# it's a comment with ( and \"\ntest -f x",
    "echo \\' \\\" \\( \\`",
    "echo $'it\\'s' \"a\\\"b\" 'c\"d'",
    'echo "$(echo "$(echo \')\')")"',
    'echo "${x:-$(y)}" ${z#*/} ${a[@]:1:2}',
    'echo "${x:-a}"',
    'echo ${x:-"a b"}',
    "echo `a \\`b\\` c`",
    "echo {a,b}.txt {1..3} a{b",
    "A=1 B='2 3' c",
    "test -f {item}",
    "a;",
    "a; b &",
    "",
    "\n\n",
    "   ",
    "# only a comment",
    "ls a\\\n  b",
    "x=$(cat <<E\nhi (\nE\n)",
    "trap 'rm -f \"$t\"' EXIT; t=$(mktemp)",
    "cat <<EOF\nno end",
    "!",
    "if ! a | b; then c; fi",
    "while a; b; do c; done",
    "if a; then\n# why\nb\nfi",
    "[ \"$(git status --porcelain)\" = '' ]",
    "python3 - <<'PY'\nimport sys\nprint('(')\nPY",
    "jq -e '.a | select(.b == \"c\")' f.json",
    "find . -name '*.py' -exec grep -l x {} \\;",
    "find . \\( -name a -o -name b \\) -print",
    "echo a; ( b ) ; { c; }",
    "until a; do b; done & wait",
    "case x in a) b; esac",
    "for x in a; { b; }",
    "for x do b; done",
    "for x\ndo b; done",
    "cat <<$X\n(\n$X",
    "echo $(( 'a' ))",
    '(( a["x"] ))',
    "echo $((a); b)",
    "if a; then { b; } fi",
    "if a; then (b) fi",
    "{ a; } 2>f",
    "[[ a == !(b) ]]",
    "a >&- 2>&-",
    "a && b > f || c",
    "! a > f",
    "function f\n{ a; }",
]

BROKEN = [
    ("echo 'abc", 0),
    ('echo "abc', 0),
    ("a\nb\necho 'abc\nd", 2),
    ("echo `abc", 0),
    ("echo $(abc", 0),
    ("echo ${abc", 0),
    ("echo $((1 + 2", 0),
    ("echo $'abc", 0),
    ("( a", 0),
    ("a )", 0),
    ("{ a; ", 0),
    ("{ a }", 0),
    ("a }; }", 0),
    ("if a; then b", 0),
    ("true\nif a; then\n b\n", 1),
    ("test -f x\nif test -f y; then\n  true", 1),
    ("a\n(b; c) && d\nfor x in y; do\n  z\n", 2),
    ("if a; b; fi", 0),
    ("if a; then fi", 0),
    ("if a; then b; else fi", 0),
    ("if ; then b; fi", 0),
    ("fi", 0),
    ("a; done", 0),
    ("a\nthen b", 1),
    ("while a; do b", 0),
    ("while a; b; done", 0),
    ("for x in a b; echo $x; done", 0),
    ("for x in a b; do echo $x", 0),
    ("for; do a; done", 0),
    ("case x in a) b", 0),
    ("case x a) b;; esac", 0),
    ("case", 0),
    ("case x in a b) c;; esac", 0),
    ("case x in a", 0),
    ("a &&", 0),
    ("a ||", 0),
    ("a |", 0),
    ("&& a", 0),
    ("| a", 0),
    ("a && && b", 0),
    ("a | | b", 0),
    ("a;; b", 0),
    ("a & ; b", 0),
    ("; a", 0),
    ("a >", 0),
    ("a > ; b", 0),
    ("a < \n b", 0),
    ("echo (", 0),
    ("echo a(b)", 0),
    ("f( { a; }", 0),
    ("f()", 0),
    ("function", 0),
    ("[[ -f x", 0),
    ("[[ -f x ] && a", 0),
    ("]] a", 0),
    ("a=(1 2", 0),
    ("a=(1 ; 2)", 0),
    ("x=$(if a; then b)", 0),
    ('test "$(wc -l < a" -gt 10', 0),
    ("a\n\n  b &&\n", 2),
    ("{ a; } b", 0),
    ("!  | a", 0),
    ("f() &&", 0),
]


def refuses(command: str, folder: Path) -> bool:
    """What bash itself says; it warns about open here-documents and runs them all the same."""
    script = folder / "contract"
    script.write_bytes(command.encode("utf-8", "surrogateescape"))
    shell = ["bash", "--noprofile", "--norc", "-n", str(script)]
    said = subprocess.run(shell, capture_output=True, text=True, errors="replace", check=False)
    return any(": warning: " not in line for line in said.stderr.splitlines())


@pytest.mark.parametrize("command", VALID)
def test_what_bash_accepts_is_never_a_syntax_error(command: str, tmp_path: Path) -> None:
    assert not refuses(command, tmp_path)
    assert "contract-syntax" not in codes(of_command(command))


@pytest.mark.parametrize(("command", "line"), BROKEN)
def test_what_bash_refuses_is_a_syntax_error_on_its_line(
    command: str, line: int, tmp_path: Path
) -> None:
    assert refuses(command, tmp_path)
    (finding,) = [f for f in of_command(command) if f.code == "contract-syntax"]
    assert finding.severity is Severity.ERROR
    assert finding.line == line


PIECES = [
    *("a", "b", "x=1", "echo", "test", "if", "then", "fi", "else", "elif", "while", "do", "done"),
    *(
        "for",
        "in",
        "case",
        "esac",
        ";;",
        "{",
        "}",
        "(",
        ")",
        "&&",
        "||",
        "|",
        ";",
        "&",
        "!",
        "time",
    ),
    *("[[", "]]", "[", "]", "f()", "function", "$(", "`", '"', "'", "$'", "${", "\\", "a=(", "<("),
    *("$((", "))", ">", "<", "2>&1", "&>", "<<E", "E", "=", "#", "\n", "\n"),
]


@settings(max_examples=150)
@given(st.lists(st.sampled_from(PIECES), max_size=10))
def test_no_mixture_of_shell_words_that_bash_accepts_is_called_an_error(pieces: list[str]) -> None:
    command = " ".join(pieces)
    if syntax_problems([command]):
        shell = ["bash", "--noprofile", "--norc", "-n"]
        said = subprocess.run(
            [*shell, "/dev/stdin"], input=command.encode(), capture_output=True, check=False
        )
        assert any(b": warning: " not in line for line in said.stderr.splitlines()), command


@settings(max_examples=300)
@given(st.text(max_size=80) | st.text(alphabet="a \n\t;&|<>(){}[]'\"`$\\#!=*?~-/.0", max_size=60))
def test_any_text_gets_the_same_answer_twice_and_never_an_accident(text: str) -> None:
    first = of_command(text)
    assert first == of_command(text)


@pytest.mark.parametrize("opener", ["(", "$(", "{ ", "if a; then ", "`", '"$(', "[[ ! ", "a=("])
def test_deep_nesting_is_answered_and_not_a_crash(opener: str) -> None:
    findings = of_command(opener * 3000)
    assert set(codes(findings)) & {"contract-syntax", "cannot-tell", "cannot-hold"}


def test_valid_nesting_beyond_all_reason_is_a_cannot_tell() -> None:
    command = "( " * 150 + "true" + " )" * 150
    assert codes(of_command(command)) == ["cannot-tell"]


def test_a_command_too_long_to_analyse_says_so() -> None:
    assert codes(of_command("test -f " + "x" * 200_000)) == ["cannot-tell"]


def test_a_long_chain_is_read_to_its_end() -> None:
    assert codes(of_command(" && ".join(["test -f x"] * 1000) + " || true")) == ["cannot-fail"]


@pytest.mark.parametrize(
    "command",
    [
        "eval " * 3000 + "true",
        "echo " + '"$(echo ' * 70 + "x" + ')"' * 70,
    ],
    ids=["eval", "substitution"],
)
def test_what_nests_too_deeply_to_read_is_a_cannot_tell(command: str) -> None:
    assert "cannot-tell" in codes(of_command(command))


@pytest.mark.parametrize(
    "piece",
    [
        "(",
        "((",
        "$(",
        "`",
        "if a; then ",
        "a && ",
        "${",
        "<<E\n",
        "'a' ",
        "a{item}'",
        "$((",
        "f() { f; }; ",
    ],
)
def test_twenty_thousand_odd_characters_take_no_more_than_seconds(piece: str) -> None:
    started_s = time.process_time()
    of_command((piece * 20_000)[:20_000])
    assert time.process_time() - started_s < 60


def test_functions_that_call_each_other_many_times_are_not_followed_for_ever() -> None:
    calls = "\n".join(f"f{i}() {{ {f'(f{i + 1}); ' * 40}}}" for i in range(8))
    assert "cannot-fail" not in codes(of_command(f"{calls}\nf8() {{ true; }}\nf0"))


def test_a_pattern_that_needs_an_option_of_the_shell_is_no_error() -> None:
    assert "contract-syntax" not in codes(of_command("shopt -s extglob\nls !(a)"))


@pytest.mark.parametrize(
    "char", ["é", "日", "\u2028", "\U0001f600", "\U000f0001", "\x00", "\ud800"]
)
def test_no_character_after_a_brace_ends_the_process(char: str) -> None:
    program = "from signoff.commands.analysis import analyse\nanalyse(eval(input()))"
    for text in (f"t{{{char}", f"echo {{{char}..{char}}}", f"[[ {char} =~ {{{char} ]]"):
        ran = subprocess.run(
            [sys.executable, "-c", program],
            input=ascii(text),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr


def test_names_beyond_ascii_are_kept_as_written() -> None:
    assert analyse("test -f größe/日本.md && cat 'ü b'").names == ("größe/日本.md", "ü b")


_PIECES = st.sampled_from(
    [
        *("a", "if", "fi", "then", "do", "done", "in", "time", "!", "{", "}", "[", "]", "[[", "]]"),
        *("'x y'", '"x y"', "'", '"', "a=b", "a.b/c-d", "-n", "#", "$x", "(", ")", "<", ">", "\\"),
        *(" ", " ", " ", "\t", "\n", ";", "&&", "||", "|", "&", "é"),
    ]
)


@settings(max_examples=500)
@given(st.lists(_PIECES, max_size=10).map("".join))
def test_text_that_is_taken_for_plain_is_never_refused_by_bash(text: str) -> None:
    if is_plain(text):
        shell = ["bash", "--noprofile", "--norc", "-n"]
        ran = subprocess.run(shell, input=text.encode(), capture_output=True, check=False)
        assert ran.returncode == 0


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("test -f a && grep -q 'x y' b.txt\npytest -q | tail -1", True),
        ("[ -f a ] && [ -s b ]; iffy", True),
        ("if a", False),
        ("a &&", False),
        ("a 'b", False),
        ("(a", False),
        ("done", False),
    ],
)
def test_what_is_plain_is_known_without_a_closer_look(text: str, plain: bool) -> None:
    assert is_plain(text) is plain
