"""Replay a public corpus that lies in a folder of yours through the real `signoff run`.

Nothing is downloaded. `--from DIR` is laid out as its project lays it out:

quixbugs   python_programs/X.py (broken), correct_python_programs/X.py, python_testcases/test_X.py,
           and where they are there json_testcases/X.json and conftest.py
exercism   exercises/practice/NAME/ with .meta/example.py, a stub and NAME_test.py
patches    DIR/NAME/ with before/, after/, tests/, contract.sh, and perhaps heldout.sh and special/
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

# Its own folder gives way to the repository, where the package lies.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from truth.strength.playing import (  # noqa: E402 - by the line above
    SIGNOFF,
    agent_that_leaves,
    isolated,
    measured,
    run,
    write,
)

Files = dict[str, str]
PYTHON = shlex.quote(sys.executable)
VARIANTS = ("honest", "lying", "special-casing", "impossible")
_IMPOSSIBLE = "impossible.sh"


@dataclass(frozen=True)
class Item:
    """One task of a corpus; without `special` nobody can answer its visible inputs only."""

    name: str
    before: Files
    after: Files
    contract: str
    tests: tuple[str, ...]
    heldout: str = ""
    special: Files = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """How one variant of a task ended."""

    item: str
    variant: str
    signed: bool
    unknown: bool
    strength: float | None = None


def quixbugs(top: Path) -> Iterator[Item]:
    """One item per program that has a corrected version and tests."""
    around = _read(top, "conftest.py", "python_testcases/load_testdata.py")
    for path in sorted((top / "python_programs").glob("*.py")):
        name, test = path.stem, f"python_testcases/test_{path.stem}.py"
        program, table = f"python_programs/{path.name}", f"json_testcases/{path.stem}.json"
        corrected = top / "correct_python_programs" / path.name
        if not corrected.is_file() or not (top / test).is_file():
            continue
        tests = _read(top, test, table)
        special = {program: _table(name, tests[table])} if table in tests else {}
        yield Item(
            name,
            {**around, **tests, program: path.read_text(encoding="utf-8")},
            {program: corrected.read_text(encoding="utf-8")},
            f"{PYTHON} -m pytest -q {test}",
            (*around, *tests),
            special=special,
        )


def _table(name: str, lines: str) -> str:
    """A program that answers the visible inputs and nothing else; a line is `[arguments, out]`."""
    known = [json.loads(line) for line in lines.splitlines() if line.strip()]
    return (
        f"KNOWN = {known!r}\n\n\ndef {name}(*given):\n    for arguments, out in KNOWN:\n"
        "        if list(given) == (arguments if isinstance(arguments, list) else [arguments]):\n"
        "            return out\n"
    )


def exercism(top: Path) -> Iterator[Item]:
    """One item per practice exercise; its tests cannot be turned into a table, so nobody does."""
    for folder in sorted((top / "exercises" / "practice").iterdir()):
        example, tests = folder / ".meta" / "example.py", sorted(folder.glob("*_test.py"))
        stub = folder / f"{folder.name.replace('-', '_')}.py"
        if not example.is_file() or not tests or not stub.is_file():
            continue
        modules = " ".join(test.stem for test in tests)
        yield Item(
            folder.name,
            _read(folder, stub.name, *(test.name for test in tests)),
            {stub.name: example.read_text(encoding="utf-8")},
            f"{PYTHON} -m unittest -q {modules}",
            tuple(test.name for test in tests),
        )


def patches(top: Path) -> Iterator[Item]:
    """One item per folder: what was there, the patch, its tests and the contract."""
    for folder in sorted(path for path in top.iterdir() if (path / "contract.sh").is_file()):
        tests = {f"tests/{path}": text for path, text in _below(folder / "tests").items()}
        tests |= _read(folder, "contract.sh")
        yield Item(
            folder.name,
            {**_below(folder / "before"), **tests},
            _below(folder / "after"),
            "bash contract.sh",
            tuple(tests),
            _read(folder, "heldout.sh").get("heldout.sh", ""),
            _below(folder / "special"),
        )


CORPORA: dict[str, Callable[[Path], Iterator[Item]]] = {
    "quixbugs": quixbugs,
    "exercism": exercism,
    "patches": patches,
}


def _read(top: Path, *paths: str) -> Files:
    found = (path for path in paths if (top / path).is_file())
    return {path: (top / path).read_text(encoding="utf-8") for path in found}


def _below(top: Path) -> Files:
    paths = [path.relative_to(top).as_posix() for path in sorted(top.rglob("*")) if path.is_file()]
    return _read(top, *paths)


def replay(item: Item, variant: str, *, measure: bool = False) -> Outcome | None:
    """One variant through the real command, in a home of its own; None where it cannot be made."""
    work_of = {"special-casing": item.special, "lying": {}}
    left = work_of.get(variant, item.after)
    if not left and variant == "special-casing":
        return None
    with TemporaryDirectory() as folder:
        top = Path(folder)
        work, around = top / "work", isolated(top, top / "left")
        write(top / "left", left)
        (top / "left").mkdir(exist_ok=True)
        if item.heldout:
            write(top / "home" / "heldout" / "replayed", {"contract": item.heldout})
        never = {_IMPOSSIBLE: "exit 1\n"} if variant == "impossible" else {}
        write(work, {**item.before, **never, "PLAN.md": _plan(item, bool(never))})
        write(work, agent_that_leaves(top / "left"))
        ended = run([*SIGNOFF, "run", "PLAN.md", "--yes"], work, around)
        said = run([*SIGNOFF, "status", "PLAN.md", "--json"], work, around)
        verdicts = [step["verdict"] for step in json.loads(said.stdout)["steps"]]
        signed = ended.returncode == 0
        share = measured(work, around) if measure and signed and variant == "honest" else None
        return Outcome(item.name, variant, signed, "unknown" in verdicts, share)


def _plan(item: Item, impossible: bool) -> str:
    contract = f"{item.contract} && bash {_IMPOSSIBLE}" if impossible else item.contract
    tests = (*item.tests, *([_IMPOSSIBLE] if impossible else ()))
    protects = "".join(f"- {path}\n" for path in tests)
    names = ", ".join(f"`{path}`" for path in item.after)
    heldout = "**heldout:** replayed\n" if item.heldout else ""
    return (
        f"# {item.name}\n\n## Steps\n\n### 1. Mend it\n\n**target:** coder\n"
        f"**protects:**\n{protects}{heldout}**may_change:** {', '.join(item.after)}\n"
        f"**task:**\nMend {names}.\n\n"
        f"**contract:**\n```shell\n{contract}\n```\nexit_code == 0\n**on_fail:** escalate\n"
    )


def summary(outcomes: list[Outcome]) -> dict[str, Any]:
    """The numbers of the table; a variant that no item could be made of has none."""
    rows: dict[str, Any] = {}
    for variant in VARIANTS:
        played = [o for o in outcomes if o.variant == variant]
        measured = [o.strength for o in played if o.strength is not None]
        signed, honest = sum(o.signed for o in played), variant == "honest"
        rows[variant] = {
            "played": len(played),
            "false_sign_offs": 0 if honest else signed,
            "wrong_refusals": len(played) - signed if honest else 0,
            "unknown": sum(o.unknown for o in played),
            "strength": round(sum(measured) / len(measured), 3) if measured else None,
        }
    return rows


def main() -> int:
    """Exit 0 when it was played; the numbers are for the reader to judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", choices=list(CORPORA), required=True)
    parser.add_argument("--from", dest="folder", type=Path, required=True, metavar="DIR")
    parser.add_argument("--measure", action="store_true", help="ask `signoff strength` too")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    given = parser.parse_args()
    items = list(CORPORA[given.corpus](given.folder))
    if not items:
        parser.error(f"`{given.folder}` has no item as {given.corpus} lays them out")
    each = (replay(i, variant, measure=given.measure) for i in items for variant in VARIANTS)
    rows = summary([outcome for outcome in each if outcome is not None])
    if given.json:
        print(json.dumps({"corpus": given.corpus, "items": len(items), "variants": rows}))
        return 0
    columns = ("played", "false_sign_offs", "wrong_refusals", "unknown", "strength")
    print("".join(["variant".ljust(16), *(name.rjust(17) for name in columns)]))
    for variant, row in rows.items():
        shown = ["-" if row[name] is None else str(row[name]) for name in columns]
        print("".join([variant.ljust(16), *(text.rjust(17) for text in shown)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
