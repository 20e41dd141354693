"""What bash really does is always among what was predicted."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from signoff.planfile.verify import analyse
from signoff.planfile.verify.outcome import FAILS

LEAVES = st.sampled_from(
    ["true", "false", "(exit $A)", "(exit $B)", "exit 0", "exit 3", "echo x", ":", "[ $A = 0 ]"]
    + ["X=$(exit $A)", "export Y=$(exit $B)", "test 1 = 2", "exit", "set -e", "set +e", "wait"]
    + [
        "set -o pipefail",
        "bash -c 'exit $A'",
        "eval 'exit 2'",
        "trap 'exit 0' EXIT",
        "((0))",
        "! :",
    ]
    + [
        "true < /no/such/file",
        "command false",
        "f",
        "g() { return 1; }",
        "g",
        "env false",
        "[[ a ]]",
    ]
)


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(inner, inner)
    three = st.tuples(inner, inner, inner)
    return st.one_of(
        two.map(lambda p: f"{p[0]} && {p[1]}"),
        two.map(lambda p: f"{p[0]} || {p[1]}"),
        two.map(lambda p: f"{p[0]}\n{p[1]}"),
        two.map(lambda p: f"{p[0]}; {p[1]}"),
        two.map(lambda p: f"{{ {p[0]}\n}} | {{ {p[1]}\n}}"),
        three.map(lambda p: f"! {{ {p[0]}\n}} | ( {p[1]} ) || {p[2]}"),
        inner.map(lambda p: f"! ( {p} )"),
        inner.map(lambda p: f"( {p} )"),
        inner.map(lambda p: f"{{ {p}\n}}"),
        inner.map(lambda p: f"( {p} ) | cat"),
        inner.map(lambda p: f"f() {{ {p}\n}}\nf"),
        two.map(lambda p: f"if {p[0]}\nthen {p[1]}\nfi"),
        three.map(lambda p: f"if {p[0]}\nthen {p[1]}\nelse {p[2]}\nfi"),
        two.map(lambda p: f"case $A in 0) {p[0]} ;; *) {p[1]} ;; esac"),
        inner.map(lambda p: f"for i in 1 2; do {p}\ndone"),
        inner.map(lambda p: f"while read -r i; do {p}\ndone <<< x"),
    )


SCRIPTS = st.recursive(LEAVES, _combined, max_leaves=8)


@settings(
    max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(SCRIPTS, st.sampled_from([(0, 0), (0, 1), (1, 0), (1, 2)]))
@example("! true | ( : ) | cat || true", (0, 0))
@example("! ( exit $A ) | cat || (exit $B)", (1, 1))
def test_the_status_that_bash_ends_with_was_predicted(
    tmp_path: Path, script: str, values: tuple[int, int]
) -> None:
    facts = analyse(script)
    assert facts.problem is None, script
    environment = {"A": str(values[0]), "B": str(values[1]), "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", script],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    if facts.certain:
        code = ran.returncode
        assert code in facts.statuses or (code != 0 and FAILS in facts.statuses), script
