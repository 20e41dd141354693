"""What a contract compares with or loops over is seen; so is a runner that would not count."""

from __future__ import annotations

import pytest

from signoff.commands.analysis import analyse
from signoff.commands.programs import runner_call
from signoff.planfile.subjects import measures


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("diff expected.txt out.txt", "expected.txt"),
        ("python3 gen.py > /tmp/o && diff /tmp/o expected.txt", "expected.txt"),
        ("./gen | diff -u - expected.txt", "expected.txt"),
        ("diff <(./gen) <(sort expected.txt)", "expected.txt"),
        ("cmp -s out.bin a.txt", "a.txt"),
        ('test -z "$(comm -3 out.txt expected.txt)"', "expected.txt"),
        ("sha256sum -c sums.txt", "sums.txt"),
        ("md5sum --quiet --check sums.txt", "sums.txt"),
        ('while read -r p; do test -s "$p" || exit 1; done < list.txt', "list.txt"),
        ('cat list.txt | while read -r p; do test -s "$p" || exit 1; done', "list.txt"),
        ("for p in $(cat list.txt); do test -s out/$p || exit 1; done", "list.txt"),
        ("for p in $(<list.txt); do test -s out/$p || exit 1; done", "list.txt"),
        ("xargs -a list.txt -I{} test -s out/{}", "list.txt"),
        ("cat list.txt | xargs ls", "list.txt"),
        ("! grep -qFf list.txt page.md", "list.txt"),
        ("grep -q --file=list.txt page.md", "list.txt"),
        ("diff -r want out", "want"),
        ('test "$(cat out.txt)" = "$(cat expected.txt)"', "expected.txt"),
        ("[ $(wc -l < out.txt) -ge $(tr -d x < a.txt) ]", "a.txt"),
        ('grep -qx "$(cat expected.txt)" page.md', "expected.txt"),
        ("paste expected.txt out.txt | awk '$1 != $2 { exit 1 }'", "expected.txt"),
        (
            "awk 'NR == FNR { w = $1; next } $1 != w { exit 1 }' expected.txt out.txt",
            "expected.txt",
        ),
        ("jq -e --slurpfile w expected.txt '. == $w[0]' out.json", "expected.txt"),
        ('bash -c "diff expected.txt out.txt"', "expected.txt"),
        ('want=$(<expected.txt); test "$(cat out.txt)" = "$want"', "expected.txt"),
        ('read want < expected.txt; test "$(cat out.txt)" = "$want"', "expected.txt"),
        (
            'mapfile -t n < list.txt; for p in "${n[@]}"; do test -s "$p" || exit 1; done',
            "list.txt",
        ),
        ('local max=$(sed -n 2p a.txt); test "$(wc -l < out.txt)" -le "$max"', "a.txt"),
        ("xargs -I{} test -s out/{} < list.txt", "list.txt"),
        ("sha256sum -c < sums.txt", "sums.txt"),
        ('test "$(ls want | wc -l)" = "$(ls out | wc -l)"', "want"),
        ('for f in want/*; do cmp "$f" "out/${f##*/}" || exit 1; done', "want"),
        ('test -z "$(sort a.txt out.txt | uniq -u)"', "a.txt"),
        ('case "$(cat out.txt)" in $(cat expected.txt)) ;; *) exit 1 ;; esac', "expected.txt"),
    ],
)
def test_a_file_that_sets_the_mark_is_seen(command: str, file: str) -> None:
    assert file in measures(command)


@pytest.mark.parametrize(
    "command",
    [
        "grep -q pattern a.txt",
        'test "$(wc -l < a.txt)" -eq 3',
        "awk 'END { exit NR != 4 }' a.txt b.txt",
        "test -s a.txt",
        "sha256sum a.txt",
        "diff <(sort a.txt) a.txt",
        "while sleep 1; do test -s a.txt && break; done",
        'n=$(wc -l < a.txt); test "$n" -eq 3',
        'n=$(grep -c a a.txt); m=$(grep -c b b.txt); test "$n" -eq 0 && test "$m" -eq 3',
        'for f in docs/*.md; do grep -q title "$f" || exit 1; done',
        "case $(cat a.txt) in yes) ;; *) exit 1 ;; esac",
        "sort a.txt | uniq -d",
    ],
)
def test_a_file_that_is_only_looked_at_sets_no_mark(command: str) -> None:
    assert measures(command) == frozenset()


def test_numbers_in_names_stay_what_they_are() -> None:
    (reference,) = analyse("diff want12.txt out7.txt").references
    assert reference.paths == ("want12.txt", "out7.txt")


@pytest.mark.parametrize(
    ("command", "helps"),
    [
        ("go test ./...", "`-v`"),
        ("uv run pytest -qq", "`-q` at most once"),
        ("./gradlew test", "a report in `$SIGNOFF_REPORT_DIR`"),
        ("node --test --test-reporter=dot", "`--test-reporter=spec`"),
        ("go test -v ./...", None),
        ("pytest -q", None),
        ("cargo test", None),
    ],
)
def test_a_runner_that_would_not_count_is_told_what_helps(command: str, helps: str | None) -> None:
    (call,) = analyse(command).calls
    found = runner_call(call.name, call.args)
    assert found is not None and (found.untold or None) == helps
