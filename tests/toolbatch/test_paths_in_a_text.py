"""Which paths a text names, and which of them a task or an item of a list plans."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.domain.session import MOST_PARTS, Artifact
from signoff.toolbatch.paths import (
    MOST_ENTRIES,
    artifact_of,
    declared,
    paths_in,
    planned_by,
    planned_in,
)
from signoff.toolbatch.taskplan import MemoryBooks, TaskPlan

NOWHERE = Path("/nowhere")


def put(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")


def plans(text: str, root: Path = NOWHERE, *planned: str) -> list[str]:
    return [str(a) for a in planned_in(text, root, declared(planned))]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (
            "Create index.html and about.html, then style main.css.",
            "index.html about.html main.css",
        ),
        ("Write a report in out/report.md about data/input.csv", "out/report.md data/input.csv"),
        (
            "Put `src/app.vue`, (docs/b.md), 'c.py' and **d.rs** there",
            "src/app.vue docs/b.md c.py d.rs",
        ),
        (
            "a Makefile, `Dockerfile` and .gitignore in site/",
            "Makefile Dockerfile .gitignore site/",
        ),
        ("Create résumé.html und 日本.md", "résumé.html 日本.md"),
        ("- [ ] write ./x.py\n* `y.py`: the other one", "./x.py y.py"),
        ("logs/app.log and lib/data.parquet, with a slash", "logs/app.log lib/data.parquet"),
    ],
)
def test_files_and_folders_that_are_written_as_paths_are_named(text: str, named: str) -> None:
    assert list(paths_in(text)) == named.split()


@pytest.mark.parametrize(
    "text",
    [
        "Build a website with a landing page, a blog and a contact form",
        "Use Python 3.11, v1.2.3 or 2.0, e.g. for i.e. this; and/or that, TCP/IP, 24/7, w/o",
        "Look at example.com, `docs.example.org/a.html`, https://a.example/b.html, git@a.py",
        "Call `json.loads`, os.path, self.items, console.log and threading.Lock",
        "A Node.js server with Vue.js; `discord.py` on docs.rs",
        "Open localhost:8000/index.html and see [the guide](guide.md), calc.py:12",
        "Run `python app.py --out result.csv` and `s/old/new/`",
        "```python\nopen('data.csv')\n```\n> she wrote notes.md\n~~~\nx.py",
        "Send application/json to feature/login on owner/repo",
        "...",
        "",
    ],
)
def test_prose_names_no_path(text: str) -> None:
    assert list(paths_in(text)) == []


@pytest.mark.parametrize(
    "path",
    [
        "../up.txt",
        "a/../../up.txt",
        "/etc/passwd.txt",
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
    assert artifact_of(path) is None
    assert path not in plans(f"Create `{path}`") + plans(f"Create {path}")
    assert declared([path, "ok.txt", "./ok.txt"]) == (Artifact("ok.txt"),)


def test_a_path_that_is_not_there_when_it_is_named_is_planned(tmp_path: Path) -> None:
    put(tmp_path, "src/app.py")
    task = f"Split src/app.py: `src/views.py`, {tmp_path}/a.txt and /elsewhere/b.txt"
    assert plans(task, tmp_path) == ["src/views.py", "a.txt"]


@pytest.mark.parametrize(
    "text",
    [
        "Do not touch `app.py`",
        "Fix the bug in src/app.py",
        "Delete docs/old.md and update docs/",
        "Rename src/app.py",
        "pkg/deep.py is slow, and so is deep.py",
    ],
)
def test_a_path_that_is_there_is_only_spoken_of_whatever_the_words_say(
    text: str, tmp_path: Path
) -> None:
    put(tmp_path, "src/app.py", "docs/old.md", "lib/pkg/deep.py")
    assert plans(text, tmp_path) == []


def test_a_bare_name_is_the_one_planned_path_that_ends_so() -> None:
    planned = ("guide/index.html", "guide/a.html", "guide/style.css")
    listed = planned_by(
        ["write index.html", "write a.html", "style guide/style.css"],
        NOWHERE,
        declared(planned),
    )
    assert [[a.path for a in group] for group in listed] == [[path] for path in planned]
    assert plans("write index.html", NOWHERE, "a/index.html", "b/index.html") == []
    assert plans("write index.html, and link it from guide/index.html") == ["guide/index.html"]


def test_beside_a_folder_nobody_knows_where_a_bare_name_lies(tmp_path: Path) -> None:
    assert plans("Create index.html and a/b.html in site/") == ["a/b.html", "site/"]
    assert plans("write index.html", NOWHERE, "site/") == []
    (tmp_path / "docs").mkdir()
    assert plans("Add page.html to docs/", tmp_path) == []


def test_a_file_that_this_task_removed_is_only_spoken_of() -> None:
    assert planned_in("Removed src/old.py and old.py", NOWHERE, (), ("src/old.py",)) == ()


def test_in_a_workspace_that_is_too_large_to_look_through_a_bare_name_plans_nothing(
    tmp_path: Path,
) -> None:
    for n in range(MOST_ENTRIES + 1):
        (tmp_path / f"{n}.txt").touch()
    assert plans("Write a.py and src/b.py", tmp_path) == ["src/b.py"]


def test_hidden_folders_and_dependencies_hold_no_file_that_is_meant(tmp_path: Path) -> None:
    put(tmp_path, ".venv/lib/setup.py", "node_modules/x/index.js")
    assert plans("Write setup.py and index.js", tmp_path) == ["setup.py", "index.js"]


@given(st.text(max_size=200))
def test_any_text_can_be_read_and_plans_nothing_outside(text: str) -> None:
    for artifact in planned_in(f"Create {text}", NOWHERE):
        assert not artifact.path.startswith("/") and ".." not in artifact.path.split("/")


def test_a_text_that_plans_more_than_fits_leaves_an_item_that_says_so() -> None:
    plan = TaskPlan(MemoryBooks(), NOWHERE)
    plan.begin("Create " + ", ".join(f"f{n}.py" for n in range(5_000)))
    task = plan.task()
    assert len(task.planned) == MOST_PARTS
    assert f"{5_000 - MOST_PARTS} more files than fit" in task.pending[0].text


def test_what_is_not_read_of_an_endless_text_is_an_item_too() -> None:
    plan = TaskPlan(MemoryBooks(), NOWHERE)
    plan.begin("Create a.txt. " + "Background. " * 20_000 + "Create z.txt.")
    assert "characters of the task were not read" in plan.task().pending[0].text


@pytest.mark.parametrize("text", ["a/" * 100_000 + " `" * 50_000, "```\n" * 50_000, "a." * 90_000])
def test_a_text_that_is_all_path_is_read_in_time(text: str) -> None:
    assert plans(f"create {text}") == []
