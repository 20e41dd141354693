"""What steers make: the rules that a target reaches, and nothing else."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.verification.influences_kit import GONE, LINK, Place

MAKEFILE = """\
# the project's makefile
PYTHON ?= python3
FLAGS = -q

include rules/common.mk
-include local.mk

.PHONY: all test lint

all: lint test

test: build | ready
\t@$(PYTHON) -m pytest $(FLAGS)

build: src.stamp
\t$(MAKE) -C native library

src.stamp:
\ttouch src.stamp

ready: ; mkdir -p out

lint:
\tnpm run lint

docs:
\techo docs
"""
FILES = {
    "Makefile": MAKEFILE,
    "rules/common.mk": "clean:\n\trm -rf out\n",
    "native/Makefile": "library:\n\tcc x.c\nother:\n\ttrue\n",
}
TEST = "Makefile#target:test"
PREAMBLE = "Makefile#preamble"


def _edited(old: str, new: str) -> dict[str, str]:
    assert old in MAKEFILE
    return {"Makefile": MAKEFILE.replace(old, new)}


@pytest.mark.parametrize(
    ("edits", "names"),
    [
        (_edited("-m pytest", "-m pytest --co"), [TEST]),
        (_edited("@$(PYTHON)", "-$(PYTHON)"), [TEST]),
        (_edited("test: build", "test: build docs"), ["Makefile#target:docs", TEST]),
        ({"Makefile": MAKEFILE + "test:\n\ttrue\n"}, [TEST]),
        ({"Makefile": MAKEFILE + "test: SHELL=/bin/true\n"}, [TEST]),
        ({"Makefile": MAKEFILE + "te%: SHELL=/bin/true\n"}, [TEST]),
        (_edited("all test lint", "all lint"), [TEST]),
        (_edited("touch src.stamp", "true src.stamp"), ["Makefile#target:src.stamp"]),
        (_edited("mkdir -p out", "true"), ["Makefile#target:ready"]),
        (_edited("FLAGS = -q", "FLAGS = -q --co"), [PREAMBLE]),
        ({"Makefile": "SHELL := /bin/true\n" + MAKEFILE}, [PREAMBLE]),
        ({"Makefile": MAKEFILE + ".IGNORE: test\n"}, [PREAMBLE]),
        ({"Makefile": MAKEFILE + "MAKEFLAGS += -n\n"}, [PREAMBLE]),
        ({"Makefile": MAKEFILE + "define FLAGS\n--co\nendef\n"}, [PREAMBLE]),
        ({"Makefile": MAKEFILE + "$(eval test: ; true)\n"}, [PREAMBLE]),
        ({"Makefile": MAKEFILE + "Makefile: ; ./cheat\n"}, ["Makefile#target:Makefile"]),
        ({"rules/common.mk": "test: ; true\n"}, ["rules/common.mk"]),
        ({"local.mk": "FLAGS = --co\n"}, ["local.mk"]),
        ({"Makefile.sh": "test:\n\ttrue\n"}, ["Makefile.sh"]),
        ({"native/Makefile": "library:\n\ttrue\nother:\n"}, ["native/Makefile#target:library"]),
        ({"conftest.py": "cheat\n"}, ["conftest.py"]),
    ],
)
def test_what_the_called_target_reaches_must_stay_as_approved(
    tmp_path: Path, edits: dict[str, str], names: list[str]
) -> None:
    place = Place(tmp_path, FILES)
    assert place.change("make test", edits) == names


@pytest.mark.parametrize(
    "edits",
    [
        {"Makefile": MAKEFILE + "\n.PHONY: bench\nbench: build\n\t./bench\n"},
        {"Makefile": MAKEFILE + "# a note: with = signs\n"},
        _edited("echo docs", "mkdocs build"),
        _edited("npm run lint", "npm run lint:all"),
        {"native/Makefile": "library:\n\tcc x.c\nother:\n\tfalse\n"},
        {"src.stamp": "", "src/product.c": "int x;\n", "docs/index.md": ""},
    ],
)
def test_work_on_other_targets_is_ordinary(tmp_path: Path, edits: dict[str, str]) -> None:
    place = Place(tmp_path, FILES)
    assert place.change("make test", edits) == []


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("make", "Makefile#target:all"),
        ("make -j 4 test", TEST),
        ("make -s test VERBOSE=1", TEST),
        ("uv run make test", TEST),
        ("make -C . test", TEST),
        ("cd native && make library", "native/Makefile#target:library"),
        ("make -C native library", "native/Makefile#target:library"),
        ("make -Cnative library", "native/Makefile#target:library"),
        ("make --directory=native library", "native/Makefile#target:library"),
        ("make -f native/Makefile library", "native/Makefile#target:library"),
        ("make --file=native/Makefile library", "native/Makefile#target:library"),
        ("make $TARGET", "Makefile"),
    ],
)
def test_targets_are_found_however_make_is_called(tmp_path: Path, command: str, name: str) -> None:
    assert name in Place(tmp_path, FILES).influences(command)


def test_a_stated_default_goal_decides_what_plain_make_does(tmp_path: Path) -> None:
    text = ".DEFAULT_GOAL := check\neasy:\n\ttrue\ncheck:\n\tfalse\n"
    place = Place(tmp_path, {"Makefile": text})
    changed = place.change("make", {"Makefile": text.replace("\tfalse", "\ttrue")})
    assert changed == ["Makefile#target:check"]


def test_scripts_that_a_makefile_runs_are_looked_at(tmp_path: Path) -> None:
    text = "TOOL = ci/tool.sh\nV := $(shell ./ci/v.sh)\ntest:\n\tbash $(TOOL) $(shell ci/f.sh)\n"
    files = {"Makefile": text, "ci/v.sh": "a", "ci/tool.sh": "a", "ci/f.sh": "a", "ci/x.sh": "a"}
    place = Place(tmp_path, files)
    edits = {"ci/v.sh": "b", "ci/tool.sh": "b", "ci/f.sh": "b", "ci/x.sh": "b"}
    assert place.change("make test", edits) == ["ci/f.sh", "ci/tool.sh", "ci/v.sh"]


def test_included_makefiles_are_followed_and_may_go_in_circles(tmp_path: Path) -> None:
    files = {
        "Makefile": "include mk/*.mk\ninclude $(NOWHERE)\n",
        "mk/a.mk": "include mk/b.mk\ntest:\n\tpytest\n",
        "mk/b.mk": "include mk/a.mk deep.mk\n",
    }
    place = Place(tmp_path, files)
    edits = {"deep.mk": "test: ; true\n", "conftest.py": ""}
    assert place.change("make test", edits) == ["conftest.py", "deep.mk"]


@pytest.mark.parametrize("command", ["make -C $DIR test", "make -C ../x test", "make -f gone.mk"])
def test_a_makefile_that_cannot_be_found_steers_nothing(tmp_path: Path, command: str) -> None:
    assert Place(tmp_path, FILES).influences(command) == {}


def test_a_makefile_too_large_to_read_is_pinned_by_its_state(tmp_path: Path) -> None:
    text = "test:\n\tfalse\n" + "#" * 3_000_000
    place = Place(tmp_path, {"Makefile": text})
    assert place.change("make test", {"Makefile": text + "\n"}) == ["Makefile"]


def test_a_makefile_that_comes_first_is_noticed_when_it_appears(tmp_path: Path) -> None:
    place = Place(tmp_path, {"Makefile": "test:\n\tfalse\n"})
    changed = place.change("make test", {"GNUmakefile": "test:\n\ttrue\n"})
    assert changed == ["GNUmakefile#target:test", "Makefile#target:test"]


def test_a_new_first_target_changes_what_plain_make_does(tmp_path: Path) -> None:
    place = Place(tmp_path, {"Makefile": "check:\n\tfalse\n"})
    changed = place.change("make", {"Makefile": "easy:\n\ttrue\ncheck:\n\tfalse\n"})
    assert changed == ["Makefile#target:check", "Makefile#target:easy"]


def test_a_file_in_place_of_a_target_is_noticed(tmp_path: Path) -> None:
    place = Place(tmp_path, {"Makefile": "check:\n\tfalse\n.PHONY: lint\nlint:\n\tfalse\n"})
    assert place.change("make check lint", {"check": "", "lint": ""}) == [
        "check#in-place-of-target"
    ]
    folder = {"check": GONE, "Makefile": "other:\n\tfalse\n", "other/x": ""}
    assert place.change("make other", folder) == [
        "Makefile#target:other",
        "other#in-place-of-target",
    ]


def test_a_target_that_is_really_made_may_lie_there(tmp_path: Path) -> None:
    makefile = "hello: hello.c\n\tcc -o hello hello.c\nbye: bye.c\n\tcc -o $@ $<\n"
    place = Place(tmp_path, {"Makefile": makefile, "hello.c": "", "bye.c": ""})
    assert place.change("make hello bye", {"hello": "", "bye": "", "hello.c": "x"}) == []


def test_a_rule_moved_under_a_condition_is_noticed(tmp_path: Path) -> None:
    rule = "test:\n\tfalse\n"
    place = Place(tmp_path, {"Makefile": f"ifdef NEVER\nA = 1\nendif\n{rule}"})
    moved = {"Makefile": f"ifdef NEVER\nA = 1\n{rule}endif\n"}
    assert place.change("make test", moved) == [TEST]
    inside = "test:\nifdef CI\n\tfalse\nelse\n\ttrue\nendif\n"
    place.write({"Makefile": inside})
    changed = place.change("make test", {"Makefile": inside.replace("\tfalse", "\ttrue")})
    assert changed == [TEST]


def test_a_makefile_with_another_recipe_sign_counts_as_a_whole(tmp_path: Path) -> None:
    text = ".RECIPEPREFIX = >\ntest:\n>false\n"
    place = Place(tmp_path, {"Makefile": text})
    assert "Makefile" in place.change("make test", {"Makefile": text.replace("false", "true")})


def test_a_linked_makefile_is_read_where_it_lies(tmp_path: Path) -> None:
    place = Place(tmp_path, {"ci/mk": "test:\n\tfalse\nx:\n\ttrue\n", "Makefile": LINK + "ci/mk"})
    assert place.change("make test", {"ci/mk": "test:\n\tfalse\n"}) == []
    assert place.change("make test", {"ci/mk": "test:\n\ttrue\n"}) == [TEST]


_PIECES = [
    "A = one",
    "A += two",
    "B := $(A)",
    "ifdef A",
    "ifndef A",
    "else",
    "endif",
    "test: dep",
    "test: A = three",
    "test: ; echo inline",
    "test other: dep",
    "t%: dep",
    "%: ; echo any",
    "dep:",
    "dep: $(B)",
    "one two: ; echo list",
    "\techo $(A)",
    "\techo b \\\n\tc",
    "# comment \\\ncontinued",
    ".DEFAULT: ; echo default",
    "unrelated:",
    "define A\nxx\nendef",
    "override A = four",
    "",
]


@given(st.lists(st.sampled_from(_PIECES), max_size=9), st.data())
@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_changes_what_make_would_do_changes_what_is_pinned(
    pieces: list[str], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(pieces)))
    piece = data.draw(st.sampled_from(_PIECES))
    removed = data.draw(st.integers(0, 2))
    edited = [*pieces[:at], piece, *pieces[at + removed :]]
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder), {"Makefile": "\n".join(pieces) + "\n"})
        before, pinned = _dry_run(place.root), place.influences("make test")
        place.write({"Makefile": "\n".join(edited) + "\n"})
        after, now = _dry_run(place.root), place.influences("make test")
        # A makefile that make cannot read breaks the contract; nothing is left to steer.
        assert before == after or after[0] == 2 or pinned != now


def _dry_run(folder: Path) -> tuple[int, str]:
    done = subprocess.run(
        ["make", "-n", "test"], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout
