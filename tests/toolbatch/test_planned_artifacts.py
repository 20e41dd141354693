"""Which files and folders a text plans, when they are there, and which one comes next."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.domain.definition import MOST_ARTIFACTS, Artifact, Definition, Item, ItemKind
from signoff.gate.definition import ArtifactsSeen, Touched, apply, apply_all
from signoff.gate.timeline import Note
from signoff.toolbatch.artifacts import (
    artifact_of,
    declared,
    existence_command,
    existing,
    facts_of_follow_up,
    is_substantive,
    is_there,
    missing,
    next_target,
    planned_in,
    quoted,
    seen_now,
    stated_in,
)
from signoff.toolbatch.keeping import Keeper, MemoryBook
from signoff.toolbatch.view import Target
from signoff.toolbatch.wordings import LONGEST_READ
from tests.gate.facts_of_definitions import fold

INDEX, GUIDE = Artifact("index.html"), Artifact("guides/nginx", directory=True)


def put(root: Path, *paths: str, text: str = "x") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def planned(*artifacts: Artifact) -> Definition:
    return Definition("", artifacts)


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("Create index.html and about.html, then update main.css", "index.html about.html"),
        ("Write a report in out/report.md about data/input.csv", "out/report.md"),
        ("Write tests for src/a.py in tests/test_a.py", "tests/test_a.py"),
        ("Do not create foo.py, create bar.py", "bar.py"),
        ("Please don't write a.py; write b.py", "b.py"),
        ("delete old.txt and make new.txt", "new.txt"),
        ("Save the summary of a.txt and b.txt to out.md", "out.md"),
        ("Please produce data/out.json from data/in.json.", "data/out.json"),
        ("Fix the bug in app.py. Read notes.md", ""),
        ("Make these files:\n- a.html\n- docs/b.html\n\nThen read notes.txt", "a.html docs/b.html"),
        (
            "Create these pages in site/:\n1. index.html\n2. a/b.html",
            "site/ site/index.html site/a/b.html",
        ),
        ("Create index.html and about.html in site/", "site/index.html site/about.html site/"),
        ("Create site/ with index.html. Write b.md", "site/ site/index.html b.md"),
        ("Create a Node.js server in `server.js`", "server.js"),
        ("run `python app.py` and write the output to log.txt", "log.txt"),
        ("See https://example.com/x.html and create y.html", "y.html"),
        ("Create résumé.html und 日本.md", "résumé.html 日本.md"),
        ("Write ./x.py", "x.py"),
        ("Create version 1.2.3 of example.com", ""),
        ("Write all *.html files", ""),
    ],
)
def test_a_text_plans_what_it_says_is_to_be_made(text: str, paths: str) -> None:
    assert [str(a) for a in planned_in(text)] == paths.split()


@pytest.mark.parametrize(
    "path",
    [
        "../up.txt",
        "a/../../up.txt",
        "/etc/passwd",
        "~/x.txt",
        "a\0b.txt",
        "a\nb.txt",
        "a\u202eb.txt",
        "a\u200bb.txt",
        "a\x1bb.txt",
        "..",
        ".",
        "",
        " ",
        "*.html",
        "$HOME/x.txt",
        ".git/config",
        "a\\b.txt",
        "x" * 300,
        "a/" * 300 + "b.txt",
    ],
)
def test_a_path_that_leaves_the_workspace_or_hides_something_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="`"):
        artifact_of(path)
    assert planned_in(f"Create `{path}`") == () and planned_in(f"Create {path}") == ()
    refused = declared([path, "ok.txt"])
    assert refused.artifacts == (Artifact("ok.txt"),) and len(refused.refused) == 1


@given(st.text(max_size=200))
def test_any_text_can_be_read_and_plans_nothing_outside(text: str) -> None:
    for artifact in planned_in(f"Create {text}"):
        assert not artifact.path.startswith("/") and ".." not in artifact.path.split("/")


def test_a_text_may_plan_more_than_the_limit_which_the_definition_counts() -> None:
    stated = stated_in("Create " + ", ".join(f"f{n}.py" for n in range(5_000)))
    definition = fold(stated)
    assert len(definition.artifacts) == MOST_ARTIFACTS
    assert definition.overflow == 5_000 - MOST_ARTIFACTS
    assert f"{definition.overflow} more than the limits allow" in " ".join(definition.undone)


def test_text_that_was_not_read_is_told() -> None:
    told: list[Note] = []
    stated = stated_in("Background. " * 20_000 + "Create z.txt.")
    keeper = Keeper(MemoryBook(), "t", told=told.append)
    keeper.record(stated)
    unread = keeper.definition.unread
    assert unread == len(stated.statement) - LONGEST_READ > 0
    assert [n.text for n in told if n.reason == "task_unread"] == [
        f"the last {unread} characters of the task were not read for planned files"
    ]


def test_a_text_that_is_all_path_is_read_in_time() -> None:
    assert planned_in("create " + "a/" * 100_000 + " `" * 50_000) == ()


def test_an_absolute_path_into_the_workspace_counts(tmp_path: Path) -> None:
    text = f"Create {tmp_path}/a.txt and /elsewhere/b.txt"
    assert planned_in(text, tmp_path) == (Artifact("a.txt"),)


def test_a_folder_counts_once_there_is_a_file_in_it(tmp_path: Path) -> None:
    assert missing(planned(GUIDE), tmp_path) == (GUIDE,)
    (tmp_path / "guides/nginx/images").mkdir(parents=True)
    assert missing(planned(GUIDE), tmp_path) == (GUIDE,)
    put(tmp_path, "guides/nginx/images/a.png")
    assert missing(planned(GUIDE), tmp_path) == ()
    assert existing(planned(GUIDE, INDEX), tmp_path) == ("guides/nginx",)


def test_an_empty_file_is_no_artifact_unless_such_files_are_empty(tmp_path: Path) -> None:
    put(tmp_path, "index.html", "pkg/__init__.py", text="")
    assert not is_there(INDEX, tmp_path) and is_there(Artifact("pkg/__init__.py"), tmp_path)


def test_a_file_is_no_folder_and_a_link_out_of_the_workspace_is_nothing(tmp_path: Path) -> None:
    root = tmp_path / "work"
    put(tmp_path, "outside.txt", "work/guides/nginx", "work/real.txt")
    for name, target in (("index.html", "../outside.txt"), ("inside.txt", "real.txt")):
        (root / name).symlink_to(target)
    (root / "loop").symlink_to("loop")
    assert missing(planned(GUIDE, INDEX, Artifact("loop")), root) == (
        GUIDE,
        INDEX,
        Artifact("loop"),
    )
    assert is_there(Artifact("inside.txt"), root)


def test_the_command_says_the_same_as_the_look(tmp_path: Path) -> None:
    odd = Artifact("-n it's; $(touch x).txt")
    empty = Artifact("__init__.py")
    every = (INDEX, GUIDE, odd, empty)
    command = existence_command(every)

    def holds() -> bool:
        return subprocess.run(["bash", "-c", command], cwd=tmp_path, check=False).returncode == 0

    for path in (INDEX.path, odd.path, "guides/nginx/x"):
        assert not holds()
        put(tmp_path, path)
    put(tmp_path, "__init__.py", text="")
    assert holds() and missing(planned(*every), tmp_path) == ()
    put(tmp_path, odd.path, text="")
    assert not holds() and missing(planned(*every), tmp_path) == (odd,)
    assert not (tmp_path / "x").exists()


@given(st.text(st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1))
def test_any_name_is_one_word_of_a_command(name: str) -> None:
    shown = subprocess.run(
        ["bash", "-c", f"printf %s {quoted(name)}"], capture_output=True, check=True
    )
    assert shown.stdout == f"./{name}".encode()


def test_index_and_readme_are_no_progress_by_themselves() -> None:
    assert not is_substantive(INDEX) and not is_substantive(Artifact("a/README.md"))
    assert not is_substantive(GUIDE) and is_substantive(Artifact("a/b.html"))


def test_the_next_target_is_the_first_declared_file_that_is_missing(tmp_path: Path) -> None:
    page = Artifact("guides/nginx/chapters/01.html")
    definition = planned(INDEX, GUIDE, page)
    assert next_target(definition, tmp_path, None) == Target("index.html")
    put(tmp_path, "index.html")
    assert next_target(definition, tmp_path, None) == Target(page.path, parent_exists=False)
    put(tmp_path, page.path)
    assert next_target(definition, tmp_path, None) is None


def test_then_it_is_the_items_own_file(tmp_path: Path) -> None:
    item = Item("Create b.txt", ItemKind.BUILD, (Artifact("b.txt"),))
    assert next_target(planned(), tmp_path, item) == Target("b.txt", origin="item")


def test_a_folder_with_nothing_declared_in_it_takes_after_its_fullest_sibling(
    tmp_path: Path,
) -> None:
    put(tmp_path, "guides/apache/index.html", "guides/apache/apache-01.html", "guides/git/x.html")
    like = Target("guides/nginx/nginx-01.html", origin="sibling", parent_exists=False)
    assert next_target(planned(GUIDE), tmp_path, None) == like
    alone = planned(Artifact("other/place", directory=True))
    whole = Target("other/place", directory=True, parent_exists=False)
    assert next_target(alone, tmp_path, None) == whole


def test_a_siblings_odd_names_lead_nowhere(tmp_path: Path) -> None:
    put(tmp_path, "guides/apache/a\nb.html", "guides/apache/*.html")
    assert next_target(planned(GUIDE), tmp_path, None) == Target("guides/nginx", directory=True)


def test_what_was_there_is_to_be_changed_and_is_the_next_target_until_it_is(
    tmp_path: Path,
) -> None:
    put(tmp_path, "a.py", "b.py")
    definition = fold(stated_in("Add type hints to a.py and b.py", tmp_path))
    assert missing(definition, tmp_path) == ()
    definition = apply(definition, seen_now(definition, tmp_path))
    assert missing(definition, tmp_path) == (Artifact("a.py"), Artifact("b.py"))
    assert next_target(definition, tmp_path, None) == Target("a.py", origin="unchanged")
    definition = apply(definition, Touched(("a.py",)))
    assert missing(definition, tmp_path) == (Artifact("b.py"),)
    (tmp_path / "b.py").unlink()
    assert next_target(apply(definition, seen_now(definition, tmp_path)), tmp_path, None) == Target(
        "b.py"
    )


def test_a_change_that_nobody_watched_is_seen_by_the_content(tmp_path: Path) -> None:
    put(tmp_path, "a.py")
    definition = fold(stated_in("Update a.py", tmp_path))
    definition = apply(definition, seen_now(definition, tmp_path))
    assert apply(definition, seen_now(definition, tmp_path)).to_change
    put(tmp_path, "a.py", text="y")
    assert not apply(definition, seen_now(definition, tmp_path)).to_change


def test_further_words_of_a_person_add_what_they_ask_for(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "b.md")
    built = fold(
        stated_in("Create a.md and b.md", tmp_path),
        Touched(("a.md", "b.md")),
        ArtifactsSeen(("a.md", "b.md")),
    )
    words = "Now also create b.md and c.md, and update a.md."
    more = apply_all(built, facts_of_follow_up(words, built, tmp_path))
    assert more.statement.endswith(words)
    assert [a.path for a in more.missing] == ["a.md", "c.md"]
    more = apply(more, seen_now(more, tmp_path))
    assert [a.path for a in more.to_change] == ["a.md"]
    assert [a.path for a in apply(more, Touched(("a.md",))).missing] == ["c.md"]
    assert facts_of_follow_up(" ", built, tmp_path) == ()


def test_a_file_touched_before_a_person_asked_to_change_it_is_still_to_be_changed(
    tmp_path: Path,
) -> None:
    put(tmp_path, "helper.py")
    keeper = Keeper(MemoryBook(), "fix it", look=lambda d: seen_now(d, tmp_path))
    keeper.record(Touched(("helper.py",)))
    keeper.record(*facts_of_follow_up("Refactor helper.py", keeper.definition, tmp_path))
    assert [a.path for a in keeper.definition.to_change] == ["helper.py"]
    keeper.record(Touched(("helper.py",)))
    assert keeper.definition.built
