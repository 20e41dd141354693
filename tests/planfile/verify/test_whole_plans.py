"""Plans as people write them, through the parser: sensible reports, right lines, fast."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.commands.analysis import _analyse, analyse, shape_of, with_numbers
from signoff.domain.findings import Finding, Severity, SyntaxProblem
from signoff.planfile.parse import parse
from signoff.planfile.verify import verify

from .plans import World, codes

FIXTURES = Path(__file__).parent.parent / "fixtures"
NOTHING = World()


def seed(number: int) -> str:
    return (FIXTURES / f"seed_example_{number}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_seeds_examples_have_no_errors_once_their_roles_exist(number: int) -> None:
    findings = verify(parse(seed(number)), NOTHING)
    assert codes(findings, Severity.ERROR) == []


@pytest.mark.parametrize(("number", "steps"), [(1, 4), (2, 3), (3, 4)])
def test_without_roles_each_step_of_the_seeds_examples_says_so(number: int, steps: int) -> None:
    findings = verify(parse(seed(number)), replace(NOTHING, role_names=frozenset()))
    assert codes(findings, Severity.ERROR) == ["unknown-role"] * steps
    assert all(f.text.startswith("**target:**") for f in findings if f.code == "unknown-role")


def test_the_first_example_is_reported_line_by_line() -> None:
    world = replace(NOTHING, missing_tools=frozenset({"uv", "gh"}))
    text = seed(1)
    lines = text.split("\n")
    findings = verify(parse(text), world)
    assert {(f.code, f.severity, f.text, f.step) for f in findings} == {
        ("subscription-missing", Severity.WARNING, "- file:src/auth/handler.py", "1"),
        ("subscription-missing", Severity.WARNING, "- file:src/auth/middleware.py", "1"),
        ("subscription-missing", Severity.WARNING, "- file:src/auth/handler.py", "2"),
        ("subscription-missing", Severity.WARNING, "- file:src/auth/handler.py", "3"),
        ("subscription-missing", Severity.WARNING, "- topic:fix-auth-timeout", "1"),
        ("subscription-missing", Severity.WARNING, "- topic:fix-auth-timeout", "4"),
        ("tool-missing", Severity.WARNING, "uv run pytest tests/auth/ -x", "2"),
        (
            "network-needed",
            Severity.WARNING,
            "gh pr view --json state -q '.state' | grep -q OPEN",
            "4",
        ),
        (
            "tool-missing",
            Severity.WARNING,
            "gh pr view --json state -q '.state' | grep -q OPEN",
            "4",
        ),
        (
            "weak-contract",
            Severity.WARNING,
            'test -f docs/analysis-423.md && test "$(wc -l < docs/analysis-423.md)" -gt 10',
            "1",
        ),
    }
    assert all(lines[f.line - 1] == f.text for f in findings)


PLAN = """# A plan

## Steps

### 1. First

**target:** coder
**task:**
Do it.

**contract:**
```shell
test -f x

COMMAND
```
exit_code == 0

## Postconditions

1. It works
   ```shell
   test -f x
   COMMAND
   ```
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_finding_names_the_line_of_the_file(newline: str) -> None:
    text = PLAN.replace("COMMAND", "echo 'open").replace("\n", newline)
    wrong = [i for i, line in enumerate(text.split("\n"), 1) if "open" in line]
    found = [f for f in verify(parse(text), NOTHING) if f.code == "contract-syntax"]
    assert [f.line for f in found] == wrong
    assert [f.text.strip() for f in found] == ["echo 'open"] * 2


def test_an_empty_contract_is_refused() -> None:
    text = PLAN.replace("test -f x\n\nCOMMAND", "# nothing").replace("COMMAND", "test -f y")
    assert "cannot-fail" in codes(verify(parse(text), NOTHING), Severity.ERROR)


@settings(max_examples=200)
@given(st.text(max_size=200))
def test_no_text_in_a_contract_makes_verification_stumble(command: str) -> None:
    parsed = parse(PLAN.replace("COMMAND", command))
    assert verify(parsed, NOTHING) == verify(parsed, NOTHING)


NUMBERED = [
    "test -f out/f{a}.md && test -s out/f{b}.md",
    'test "$(wc -l < out/{a}/f{b}.md)" -gt {a}',
    "touch d{a}.txt && test -f d{b}.txt",
    "echo v{a} > r{a}.txt; grep v{b} r{b}.txt",
    "./run{a}.sh | head -{b}",
    "python3 tools/c{a}.py && sha256sum f{b}.bin",
    "f{a}() {{ true; }}; f{b}",
    "cat <<E{a}\nx{b}\nE{a}\ntest -f y{b}",
    "exit {a}",
    "timeout {a}s t{b} x{a}.txt 2>&1",
    "x{a}=1; test $x{b} = a{a}",
    "[ a{a} = a{b} ]",
    "cp a{a}.txt b{b}.txt; test -f b{a}.txt",
    "echo 'it{a}",
    "$T{a} x{b}.txt > y{a}.txt",
    "curl http://127.0.0.{a}/x{b}",
    "echo {{{a}..{b}}}.txt",
    "test -s f{a}.txt && grep -q 'x{b}' f{a}.txt && pytest t{b}.py | tail -{a}",
    "head -n {a} f{b}.txt | grep x; tail -{b} x{a}.txt",
    'test "$(wc -l < f)" -gt {a} && [ $(cat f) -eq {b} ]',
    "[ {a} -gt {b} ] && [ a -eq {a} ]",
    "grep -q . f | head -{a} other{b}.txt",
    "head -{a}c f{b}; tail -n {a}.5 f",
    "tail -{a} > out{b}.txt; test -s out{a}.txt",
]


@given(st.sampled_from(NUMBERED), st.integers(0, 300), st.integers(0, 300))
def test_commands_of_one_shape_are_analysed_as_if_alone(template: str, a: int, b: int) -> None:
    text = template.format(a=a, b=b)
    alone = _analyse(text)
    assert msgspec.structs.replace(analyse(text), unchecked=alone.unchecked) == alone
    shape, numbers = shape_of(text)
    if not alone.unseen:
        alike = with_numbers(_analyse(shape), numbers)
        assert msgspec.structs.replace(alike, unchecked=alone.unchecked) == alone


class Everything(World):
    """Surroundings in which nothing is missing, so that only the rules take time."""

    def file_exists(self, path: str) -> bool:
        return bool(path)

    def topic_exists(self, name: str) -> bool:
        return bool(name)

    def syntax_problems(self, texts: Collection[str]) -> Mapping[str, SyntaxProblem]:
        assert len(texts) == 1, "texts that differ in numbers only are asked about once"
        return {}


STARTS = frozenset({"subprocess.Popen", "os.fork", "os.posix_spawn", "os.system", "os.exec"})


def _starts_during(act: Callable[[], object]) -> list[str]:
    """The audit events of starting a process; a hook cannot be taken away, only fall silent."""
    seen: list[str] = []
    listening = True

    def hear(event: str, _arguments: object) -> None:
        if listening and event in STARTS:
            seen.append(event)

    sys.addaudithook(hear)
    act()
    listening = False
    return seen


@pytest.mark.parametrize(
    "command",
    ["test -f out/f{i}.md", 'test -f out/f{i}.md && test "$(wc -l < out/f{i}.md)" -gt 10'],
)
def test_ten_thousand_contracts_are_verified_without_starting_a_process(command: str) -> None:
    steps = "".join(
        f"### {i}. Do {i}\n\n**target:** coder\n**task:**\nDo it.\n\n**contract:**\n"
        f"```shell\n{command.format(i=i)}\n```\n\n"
        for i in range(1, 10_001)
    )
    parsed = parse(f"# Big\n\n## Steps\n\n{steps}")
    findings: list[Finding] = []
    assert _starts_during(lambda: findings.extend(verify(parsed, Everything()))) == []
    assert set(codes(tuple(findings))) == {"weak-contract"}
    assert _starts_during(lambda: subprocess.run(["true"], check=True)) != [], "the ear is deaf"
