"""A contract looks; it does not make what it checks."""

from __future__ import annotations

import pytest

from signoff.commands.analysis import analyse
from signoff.domain.findings import Severity

from .plans import codes, of_command


@pytest.mark.parametrize(
    "command",
    [
        "touch done.txt && test -f done.txt",
        "echo ok > result.txt; grep -q ok result.txt",
        "echo ok >> result.txt && [ -s result.txt ]",
        "mkdir -p build && test -d build",
        "mkdir -p build/a && [[ -d build/a ]]",
        "cat > r.md <<EOF\nall good\nEOF\ntest -s r.md",
        "cp template.md report.md && grep done report.md",
        "mv draft.md report.md; test -f report.md",
        "sed -i s/bad/good/ src/a.py && grep good src/a.py",
        "truncate -s 1 f.bin && test -s f.bin",
        "dd if=/dev/zero of=f.bin count=1 && test -s f.bin",
        "install -m 755 a.sh b.sh && test -x b.sh",
        "ln -s a b.txt && test -L b.txt",
        ": > empty.log; wc -l < empty.log | grep 0",
        "> f.txt; test -f f.txt",
        "bash -c 'touch d.txt'; test -f d.txt",
        "cd out && touch d.txt && cd .. && test -f out/d.txt",
        "(cd out && touch d.txt); test -f ./out/d.txt",
        "mkdir out && touch -d now out/d && ls out/d",
        "cp -t build a.txt && ls build/a.txt",
        "if ! test -f a.txt; then touch b.txt; fi; test -f b.txt",
    ],
)
def test_making_the_file_that_is_checked_is_an_error(command: str) -> None:
    assert "writes-what-it-checks" in codes(of_command(command), Severity.ERROR)


@pytest.mark.parametrize(
    "command",
    [
        "pytest > log.txt; grep passed log.txt",
        "pytest | tee log.txt | grep passed",
        "test -f a.txt && touch a.txt",
        "rm -f out.txt; make out; test -f out.txt",
        "echo ok > /tmp/x && grep ok /tmp/x",
        "echo ok > /dev/null; test -f a.txt",
        "(cd a; touch x.txt); test -f x.txt",
        "touch a.txt; test -f b.txt",
        "chmod +x check.sh && test -x check.sh",
        'echo "$(pytest)" > log.txt; grep passed log.txt',
    ],
)
def test_a_file_that_says_something_about_the_product_may_be_checked(command: str) -> None:
    assert "writes-what-it-checks" not in codes(of_command(command))


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("pytest > log.txt", "`log.txt` (`>`)"),
        ("pytest &> log.txt", "`log.txt` (`&>`)"),
        ("rm -rf build && make", "`build` (`rm`)"),
        ("curl -o page.html http://localhost/ && test 1 -eq $X", "`page.html` (`curl`)"),
        ("wget -O p.html http://localhost/", "`p.html` (`wget`)"),
        ("perl -pi -e s/a/b/ f.txt", "`f.txt` (`perl -i`)"),
        ("chmod +x run.sh", "`run.sh` (`chmod`)"),
        ("if a; then b; fi > log", "`log` (`>`)"),
    ],
)
def test_an_undeclared_change_is_a_warning_that_names_it(command: str, shown: str) -> None:
    finding = next(f for f in of_command(command) if f.code == "contract-writes")
    assert finding.severity is Severity.WARNING
    assert shown in finding.message


@pytest.mark.parametrize(
    "command",
    [
        "ruff format --check src",
        "black --check src",
        "gofmt -l .",
        "cargo fmt --check",
        "sed -n 1p src/a.py",
        "git diff --exit-code",
        "pytest 2>&1 >/dev/null",
        "pytest > /tmp/log",
        "cp a.txt /tmp/a.txt",
        "tee < x",
        "dd if=x",
        "cp onlyone",
        "curl -s http://localhost",
    ],
)
def test_looking_is_no_change(command: str) -> None:
    assert "contract-writes" not in codes(of_command(command))


def test_declared_writes_are_fine() -> None:
    assert "contract-writes" not in codes(of_command("pytest > out/log.txt", writes=("out/**",)))
    assert "contract-writes" in codes(of_command("pytest > log.txt", writes=("out/**",)))
    assert "contract-writes" not in codes(of_command("ruff check --fix src", writes=("src/**",)))


def test_a_target_known_only_at_run_time_is_a_cannot_tell() -> None:
    assert "cannot-tell" in codes(of_command('pytest > "$LOG"'), Severity.NOTE)


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("test -f docs/a.md", ["docs/a.md"]),
        ("[ -s a ] && [[ b -nt c ]]", ["a", "b", "c"]),
        ("grep -q 'some text' notes README.md", ["notes", "README.md"]),
        ("grep -qe pat file", ["file"]),
        ("grep -m 1 pat file", ["file"]),
        ("grep -e pat file", ["file"]),
        ("wc -l < list", ["list"]),
        ('test "$(wc -l < docs/a.md)" -gt 10', ["docs/a.md"]),
        ("head -n 5 LICENSE | grep MIT", ["LICENSE"]),
        ("uv run pytest tests/ -x --junitxml=out/r.xml", ["tests/", "out/r.xml"]),
        ("cd sub && cat ../top.txt ./x.txt", ["top.txt", "sub/x.txt"]),
        ("cd $X && cat y.txt", []),
        ("cd / && cat y.txt", []),
        ("cd && cat y.txt", []),
        ("curl http://example.test/a.txt", []),
        ("echo a/b.txt", []),
        ("python tools/check.py", ["tools/check.py"]),
        ("./check.sh", ["check.sh"]),
        ("source lib/env.sh", ["lib/env.sh"]),
        ("cat {a,b}.txt", []),
        ("diff <(cat a.txt) b.txt", ["a.txt", "b.txt"]),
        ("for f in x; do test -f y.txt; done", ["y.txt"]),
        ("while test -f a.txt; do cat b.txt; done", ["a.txt", "b.txt"]),
        ("case $(cat a.txt) in x) cat b.txt;; esac", ["a.txt", "b.txt"]),
        ("if test -f a.txt; then cat b.txt; else cat c.txt; fi", ["a.txt", "b.txt", "c.txt"]),
        ("f() { cat a.txt; }; ! f", ["a.txt"]),
        ("export X=$(cat a.txt)", ["a.txt"]),
        ("cat <<< $(cat a.txt)", ["a.txt"]),
        ("echo $(< a.txt)", ["a.txt"]),
        ("bash -c \"bash -c 'cat a.txt'\"", ["a.txt"]),
        ("test -f a\\ b.txt", ["a b.txt"]),
        ("test -f 'a b.txt'", ["a b.txt"]),
    ],
)
def test_the_files_a_contract_names_are_found(command: str, names: list[str]) -> None:
    assert sorted(analyse(command).names) == sorted(names)
