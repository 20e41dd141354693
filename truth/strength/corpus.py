"""The corpus: kinds of contracts × tasks × languages, made from the tables."""

from __future__ import annotations

from collections.abc import Iterator

from truth.strength.case import Kind, StrengthCase
from truth.strength.languages import LANGUAGES, SHELL, Files, Language
from truth.strength.tasks import TASKS, Task

_EXITS = {
    "python": "import os\n\nos._exit(0)\n",
    "javascript": "export const {name} = 0;\nprocess.exit(0);\n",
}
_CHECKER = {
    "python": (
        "check.py",
        "from {name} import {name}\n\n",
        "assert {name}([{words}]) == {printed}\n",
    ),
    "javascript": (
        "check.mjs",
        "import {{ {name} }} from './{name}.mjs';\n\n",
        "if ({name}([{words}]) !== {printed}) process.exit(1);\n",
    ),
}


def load() -> tuple[StrengthCase, ...]:
    """Every case, weak ones first."""
    found = [*_weak(), *_good()]
    assert len({case.name for case in found}) == len(found)
    return tuple(found)


def _case(
    language: Language,
    task: Task,
    kind: Kind,
    contract: str,
    *,
    tests: Files | None = None,
    cheat: Files | None = None,
    more: Files | None = None,
    least: int = 0,
) -> StrengthCase:
    product = language.product(task)
    return StrengthCase(
        name=f"{kind} {task.name} {language.name}",
        language=language.name,
        kind=kind,
        task=f"Write {product}, which {task.says}.",
        product=product,
        before=tests or {},
        after={**language.program(task), **(more or {})},
        contract=contract,
        tests=tuple(tests or {}),
        cheat=cheat or {},
        least=least,
    )


def _weak() -> Iterator[StrengthCase]:
    for language in LANGUAGES:
        for task in TASKS[:3]:
            yield from _of_looks(language, task)
            yield from _of_tests(language, task)
            if language is not SHELL:
                yield _importing(language, task)


def _of_looks(language: Language, task: Task) -> Iterator[StrengthCase]:
    """Contracts that run nothing of the work, or compare it with itself."""
    product = language.product(task)
    comment = f"{language.comment} to do\n"
    yield _case(language, task, Kind.EXISTENCE, f"test -s {product}", cheat={product: comment})
    lines = len(language.program(task)[product].splitlines())
    counts = f'test "$(wc -l < {product})" -ge {lines}'
    yield _case(language, task, Kind.COUNT, counts, cheat={product: comment * lines})
    word = language.definition.format(task.name) if language is not SHELL else "set -eu"
    searches = f"grep -q '{word}' {product}"
    yield _case(
        language, task, Kind.WORD, searches, cheat={product: f"{language.comment} {word}\n"}
    )
    arguments, printed = task.examples[0]
    yield _case(
        language,
        task,
        Kind.SELF_COMPARED,
        f"diff <({language.call(task, arguments)}) wanted.txt",
        cheat={**language.constant(task, "0"), "wanted.txt": "0\n"},
        more={"wanted.txt": f"{printed}\n"},
    )


def _of_tests(language: Language, task: Task) -> Iterator[StrengthCase]:
    """Real tests that ask too little, or ask something else."""
    thin, command = language.suite(task, [task.thin])
    cheat = language.constant(task, task.thin[1])
    yield _case(language, task, Kind.THIN, command, tests=thin, cheat=cheat)
    other = TASKS[(TASKS.index(task) + 3) % len(TASKS)]
    tests, command = language.suite(other, other.examples)
    around = {**tests, **language.program(other)}
    cheat = language.constant(task, "0")
    yield _case(language, task, Kind.UNCOVERED, command, tests=around, cheat=cheat)


def _importing(language: Language, task: Task) -> StrengthCase:
    """A script of the project's own that loads the product and asserts."""
    path, text, line = _CHECKER[language.name]
    text = text.format(name=task.name)
    for arguments, printed in task.examples:
        words = ", ".join(f'"{word}"' for word in arguments.split())
        text += line.format(name=task.name, words=words, printed=printed)
    exits = {language.product(task): _EXITS[language.name].format(name=task.name)}
    contract = f"{language.runs} {path}"
    return _case(language, task, Kind.IMPORTING, contract, tests={path: text}, cheat=exits)


def _good() -> Iterator[StrengthCase]:
    for language in LANGUAGES:
        for task in TASKS:
            tests, command = language.suite(task, task.examples, whole=True)
            asks = len(task.examples) + len(task.examples[::2])
            counted = 0 if language is SHELL else asks
            yield _case(language, task, Kind.SUITE, command, tests=tests, least=counted)
            asked = [
                f'test "$({language.call(task, arguments)})" = "{printed}"'
                for arguments, printed in task.examples
            ]
            yield _case(language, task, Kind.PROCESS, " &&\n".join(asked))
            calls = "; ".join(language.call(task, arguments) for arguments, _ in task.examples)
            printed = {"wanted.txt": "".join(f"{said}\n" for _, said in task.examples)}
            diffs = f"diff <({calls}) wanted.txt"
            yield _case(language, task, Kind.EXPECTED, diffs, tests=printed)
