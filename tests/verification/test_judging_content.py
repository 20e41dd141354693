"""A verdict is about one content, in a clean environment, and rests on nothing an agent left."""

from __future__ import annotations

import os
import py_compile
import sys
from pathlib import Path

import pytest

from signoff.domain.plan import Contract
from signoff.domain.verdict import Phase, Reason, Result
from signoff.process.environment import safe_search_path
from signoff.verification.protection import Guard
from tests.verification.courtroom import Courtroom, stdout_equals

PYTHON = sys.executable


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("echo more >> file.txt", "`file.txt` modified"),
        ("rm file.txt", "`file.txt` removed"),
        ("chmod +x file.txt", "`file.txt` modified"),
        ("ln -sf /etc/passwd file.txt", "`file.txt` modified"),
    ],
)
def test_content_that_moves_while_it_is_judged_is_unknown_and_named(
    court: Courtroom, command: str, named: str
) -> None:
    court.write("file.txt")
    verdict = court.judge(command)
    assert (verdict.result, verdict.reason) == (Result.UNKNOWN, Reason.MOVED)
    assert verdict.message == (
        f"content moved while it was judged: {named}; if the contract wrote it, declare "
        "`**writes:**`; if not, stop whatever else writes to the workspace"
    )


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("echo new > new.txt", "**writes:** new.txt"),
        ("mkdir -p .foo/deep; echo x > .foo/deep/a; echo x > .foo/b", "**writes:** .foo/**"),
        ("echo x > src/gen.c; echo x > out", "**writes:** out, src/gen.c"),
        ("echo x > 'a, b'", "**writes:**"),
        ("echo x > 'a*'", "**writes:**"),
        ("touch f{1..6}", "**writes:**"),
        ("echo x > new.txt; echo more >> file.txt", "**writes:**"),
    ],
)
def test_what_a_contract_wrote_comes_with_the_line_that_declares_it(
    court: Courtroom, command: str, line: str
) -> None:
    """Only for what is new: of what was there before, it might be what the contract looks at."""
    court.write("file.txt")
    court.write("src/a.c")
    assert f"declare `{line}`;" in court.judge(command).message


def test_many_moved_files_are_counted_rather_than_listed(court: Courtroom) -> None:
    verdict = court.judge("touch a{01..25}.txt")
    assert "`a20.txt` added and 5 more" in verdict.message
    assert "a21" not in verdict.message


def test_content_that_moved_and_came_back_is_judged_as_it_was(court: Courtroom) -> None:
    court.write("file.txt", "same\n")
    verdict = court.judge("echo other > file.txt; echo same > file.txt")
    assert verdict.result is Result.KEPT


def test_a_verdict_carries_the_content_from_before_the_contract_ran(court: Courtroom) -> None:
    court.write("file.txt")
    before = court.snapshot()
    assert court.judge("echo more >> file.txt").snapshot == before
    assert court.snapshot() != before


def test_by_products_may_change_while_judged_and_that_is_recorded(tmp_path: Path) -> None:
    court = Courtroom(tmp_path, ignored="/build\n")
    court.write("build/old.o")
    quiet = court.judge("true")
    assert not quiet.environment_changed
    loud = court.judge("echo made > build/new.o")
    assert loud.result is Result.KEPT
    assert loud.environment_changed


def test_a_poisoned_compiled_cache_does_not_decide(court: Courtroom) -> None:
    """The honest source fails; the planted byte code would pass and claims the same time stamp."""
    honest = court.write("product.py", "def answer():\n    return 41\n")
    lie = court.write("lie.py", "def answer():\n    return 42\n")
    state = honest.stat()
    target = honest.parent / "__pycache__" / f"product.{sys.implementation.cache_tag}.pyc"
    os.utime(lie, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert lie.stat().st_size == state.st_size
    py_compile.compile(str(lie), cfile=str(target))
    lie.unlink()
    check = f'{PYTHON} -c "import product; print(product.answer())"'
    verdict = court.judge(Contract(check, (stdout_equals("42"),)))
    assert verdict.result is Result.BROKEN, "the planted byte code was run"
    assert court.judge(Contract(check, (stdout_equals("41"),))).kept
    assert not target.exists()


def test_byte_code_beside_its_source_is_removed_before_judging(court: Courtroom) -> None:
    lie = court.write("only_compiled.py", "ANSWER = 42\n")
    py_compile.compile(str(lie), cfile=str(lie.with_suffix(".pyc")))
    lie.unlink()
    assert not court.judge(f'{PYTHON} -c "import only_compiled"').kept


@pytest.mark.parametrize(
    "name", ["BASH_ENV", "ENV", "PYTHONPATH", "PYTHONSTARTUP", "LD_PRELOAD", "GIT_DIR", "SECRET"]
)
def test_a_contract_sees_no_variable_that_was_not_asked_for(court: Courtroom, name: str) -> None:
    court.environ[name] = str(court.root / "planted.sh")
    court.write("planted.sh", "exit 0\n")
    assert court.judge(f'test -z "${{{name}+set}}"').kept


def test_a_planted_start_up_file_does_not_run(court: Courtroom) -> None:
    court.environ |= {"BASH_ENV": str(court.write("planted.sh", "exit 0\n"))}
    court.environ["HOME"] = str(court.root)
    court.write(".bashrc", "exit 0\n")
    court.write(".bash_profile", "exit 0\n")
    assert court.judge("exit 7").exit_code == 7


def test_a_variable_the_contract_names_is_passed_on(court: Courtroom) -> None:
    court.environ["TOKEN"] = "a b"
    asked = Contract('printf %s "$TOKEN"', (stdout_equals("a b"),), env=("TOKEN", "ABSENT"))
    assert court.judge(asked).kept
    assert not court.judge(Contract('printf %s "$TOKEN"', (stdout_equals("a b"),))).kept


@pytest.mark.parametrize("entry", ["", ".", "bin", "{root}/bin", "{link}"])
def test_a_tool_planted_in_the_workspace_is_not_used(court: Courtroom, entry: str) -> None:
    planted = court.write("bin/grep", "#!/bin/sh\nexit 0\n")
    planted.chmod(0o755)
    link = court.root.parent / "link"
    link.symlink_to(court.root / "bin")
    path = entry.format(root=court.root, link=link) + ":" + court.environ["PATH"]
    court.environ["PATH"] = path
    court.search_path = safe_search_path(path, court.root)
    court.write("work.txt", "nothing done\n")
    assert court.judge("grep -q finished work.txt").exit_code == 1


def test_output_is_told_while_the_contract_runs(court: Courtroom) -> None:
    court.judge("echo one; echo two >&2")
    assert sorted(court.printed.split()) == [b"one", b"two"]


PINNED = Guard(pinned={"tests/check.sh": "as approved"})


@pytest.mark.parametrize(
    "product",
    ["os.chmod(c, 0); os.chmod(c, 0o644)", "os.utime(c)", "os.link(c, 'x'); os.unlink('x')"],
)
def test_what_decides_a_check_keeps_its_permissions_times_and_links_meanwhile(
    court: Courtroom, product: str
) -> None:
    court.write("tests/check.sh")
    court.write("product.py", f"import os\nc = 'tests/check.sh'\n{product}\n")
    verdict = court.judge(f"{PYTHON} product.py", guard=PINNED)
    assert (verdict.result, verdict.reason) == (Result.UNKNOWN, Reason.MOVED)
    assert verdict.message == (
        "what decides the check was written to while it ran: `tests/check.sh`; "
        "if the contract does that itself, let it work on a copy"
    )


@pytest.mark.parametrize(
    "command",
    [
        "chmod 644 tests/check.sh",
        "cd tests && touch check.sh",
        "find tests -type f -exec chmod 644 {} +",
        "for f in tests/*; do touch $f; done",
        f"{PYTHON} product.py",
        "touch tests/new product.py && rm tests/new && cat tests/check.sh",
    ],
)
def test_a_check_may_set_times_and_permissions_itself_and_write_beside(
    court: Courtroom, command: str
) -> None:
    """The product may do the same to all that decides nothing."""
    court.write("tests/check.sh").chmod(0o644)
    court.write("tests/data.txt")
    court.write(
        "product.py", "import os\nos.utime('tests/data.txt')\nos.chmod('product.py', 0o644)"
    )
    assert court.judge(command, guard=PINNED).result is Result.KEPT


@pytest.mark.skipif(os.getuid() != 0, reason="to others the content cannot be read at all")
def test_what_its_owner_may_not_read_makes_a_verdict_unknown(court: Courtroom) -> None:
    closed = court.write("src/a.py")
    closed.chmod(0)
    verdict = court.judge("true")
    assert (verdict.result, verdict.reason) == (Result.UNKNOWN, Reason.INFRASTRUCTURE)
    assert "keep these from being read: `src/a.py`; chmod u+rX them" in verdict.message
    closed.chmod(0o644)
    assert court.judge("true").result is Result.KEPT
    assert court.judge("chmod 0 src/a.py").reason is Reason.INFRASTRUCTURE


BENDS = "t = open('limits').read(); open('limits', 'w').write('more'); open('limits', 'w').write(t)"


@pytest.mark.parametrize(
    ("guard", "told"),
    [
        (Guard(), True),
        (Guard(changed_by_any=("limits",)), False),  # declared as `**writes:**`
        (Guard(may_change=("lim*",)), False),
    ],
)
def test_a_file_as_approved_that_is_bent_and_put_back_while_it_is_read_is_told(
    court: Courtroom, guard: Guard, told: bool
) -> None:
    court.write("limits", "less")
    court.write("product.py", f"{BENDS}\n")
    court.approved = court.snapshot()
    verdict = court.judge(f"{PYTHON} product.py && grep -q less limits", guard=guard)
    assert (verdict.reason is Reason.MOVED) is told
    assert ("`limits`; if the contract does that itself" in verdict.message) is told
    assert court.judge(f"{PYTHON} product.py", Phase.BEFORE, guard).kept  # nobody worked yet
    court.write("limits", "changed by an agent, which is looked at otherwise")
    assert court.judge(f"{PYTHON} product.py", guard=guard).kept
