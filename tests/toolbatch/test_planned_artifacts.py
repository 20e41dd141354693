"""When a planned file or folder is there, and which one comes next."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.domain.session import Artifact
from signoff.toolbatch.artifacts import (
    existence_command,
    is_summary,
    is_there,
    missing,
    next_target,
    quoted,
)
from signoff.toolbatch.view import Target

INDEX, GUIDE = Artifact("index.html"), Artifact("guides/nginx", directory=True)


def put(root: Path, *paths: str, text: str = "x") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def planned(*artifacts: Artifact) -> tuple[Artifact, ...]:
    return artifacts


def test_a_folder_counts_once_there_is_a_file_in_it(tmp_path: Path) -> None:
    assert missing(planned(GUIDE), tmp_path) == (GUIDE,)
    (tmp_path / "guides/nginx/images").mkdir(parents=True)
    assert missing(planned(GUIDE), tmp_path) == (GUIDE,)
    put(tmp_path, "guides/nginx/images/a.png")
    assert missing(planned(GUIDE), tmp_path) == ()
    assert missing(planned(GUIDE, INDEX), tmp_path) == (INDEX,)


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
    command = " && ".join(map(existence_command, every))

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
    assert is_summary(INDEX.path) and is_summary("a/README.md") and not is_summary("a/b.html")


def test_the_next_target_is_the_first_declared_file_that_is_missing(tmp_path: Path) -> None:
    page = Artifact("guides/nginx/chapters/01.html")
    definition = planned(INDEX, GUIDE, page)
    assert next_target(missing(definition, tmp_path), tmp_path) == Target("index.html")
    put(tmp_path, "index.html")
    assert next_target(missing(definition, tmp_path), tmp_path) == Target(
        page.path, "guides/nginx/", parent_exists=False
    )
    put(tmp_path, page.path)
    assert next_target(missing(definition, tmp_path), tmp_path) is None


@pytest.mark.parametrize(
    ("there", "name"),
    [
        ((), "first.md"),
        (("src/a.py", "src/b.py", "x.md"), "first.py"),
        (("old/chapters/02.html", "old/chapters/01.html"), "01.html"),
        (("node_modules/chapters/x.js", "a.txt"), "first.txt"),
    ],
)
def test_of_a_folder_a_file_in_it_is_next_named_as_in_one_that_is_called_the_same(
    tmp_path: Path, there: tuple[str, ...], name: str
) -> None:
    put(tmp_path, *there)
    folder = Artifact("new/chapters", directory=True)
    wanted = Target(f"new/chapters/{name}", "new/chapters/", parent_exists=False)
    assert next_target((folder, INDEX), tmp_path) == wanted
