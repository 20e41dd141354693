"""Small changes in each language, with visible tests, that wrong versions are made of."""

from __future__ import annotations

from signoff.verification.strength.versions import StepChange

SAMPLES: dict[str, tuple[str, str, dict[str, str]]] = {
    "pay.py": (
        "",
        '''"""Prices."""

from __future__ import annotations

import math


def price(amount, *, count=1):
    """Say that it costs 1."""
    if amount >= 10 and not count == 2:
        log.info("large: 1")
        save(amount)
        return amount * 2 + 1
    return round(amount, 2) if count else "none"


class Till:
    def add(self, amount): return amount + 1
''',
        {
            "test_pay.py": """import pytest

CASES = [(5, 6)]


@pytest.mark.parametrize("amount, want", [(1, 2), pytest.param(3, 4)])
def test_price(amount, want):
    got = price(amount, count=3)
    assert got == want
    assert price(0) is None
    assert not price(other)
    assert Till().add(1) == 2
    for amount, want in CASES:
        self.assertEqual(Till().add(amount), want)
""",
        },
    ),
    "add.js": (
        "// x\nfunction add(a, b) {\n  return 0;\n}\n",
        """// x
function add(a, b) {
  if (a === 1 || !b) { save("x"); }
  return a + b;
}
const inc = (x) => x + 1;
module.exports = { add, inc };
""",
        {
            "add.test.js": """test("x", () => {
  expect(add(1, 2)).toBe(3);
  expect(add(1, 3)).not.toBe(3);
  assert.equal(inc(-1), 0);
});
for (const [a, b] of [[1, 2], [3, 4]]) expect(inc(a)).toEqual(b);
""",
        },
    ),
    "add.ts": (
        "",
        "export async function add(a: number, b = 2): Promise<number> {\n  return a < b ? a : b;\n}\n",  # noqa: E501
        {
            "add.test.ts": """test.each([[1, 2], [2, 3]])("x", async (a: number, want: number) => {
  expect(await add(a, 1)).toBe(want);
});
""",
        },
    ),
    "add.go": (
        "package a\n",
        "package a\n\nfunc Add(a int, b int) int {\n\tif a >= 1 && !ok {\n\t\tsave(a)\n\t}\n\treturn a + b\n}\n",  # noqa: E501
        {},
    ),
    "add.rs": (
        "",
        """pub fn add(a: i32, b: i32) -> i32 {
    if a >= 1 && !ok() { save(a)?; }
    println!("x");
    let s = r#"x"#;
    a + b
}
#[cfg(test)]
mod tests { #[test] fn t() { assert_eq!(add(1, 1) == 2, true); } }
""",
        {},
    ),
    "add.c": (
        "",
        '#include "x.h"\nstatic int add(int a, int b) {\n    if (a >= 1) { save(a); }\n    return a + b;\n}\n',  # noqa: E501
        {},
    ),
    "Add.java": (
        "",
        """package a;
class Add {
    public boolean ok(int a) {
        while (a > 1) { a--; }
        return a == 1;
    }
    void keep() { save("x"); }
}
""",
        {},
    ),
    "greet.sh": (
        "#!/bin/sh\ngreet world\n",
        """#!/bin/sh
# says hello
greet() {
  if [ "$1" -ge 1 ] && ! [ -z "$2" ]; then
    save "a $1"
  fi
  return 1
}
greet "$@" || exit 1
""",
        {},
    ),
}


def change(path: str) -> tuple[StepChange, dict[str, bytes]]:
    """The change of one sample, and its tests."""
    before, after, tests = SAMPLES[path]
    old = {path: before.encode()} if before else {}
    changed = StepChange(old, {path: after.encode()}, frozenset((path,)))
    return changed, {name: text.encode() for name, text in tests.items()}
