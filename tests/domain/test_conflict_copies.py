"""Cloud-drive conflict copies: told from plans by their names."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.domain.conflicts import conflict_copy_of, kept_loser_of


@pytest.mark.parametrize(
    ("copy", "original"),
    [
        ("PLAN-x (conflicted copy 2026-06-01).md", "PLAN-x.md"),
        ("PLAN (Anna's conflicted copy 2026-06-01).md", "PLAN.md"),
        ("PLAN-x (Anna (Mac)'s conflicted copy 2026-06-01).md", "PLAN-x.md"),
        ("PLAN-x (conflicted copy 2026-06-01 120000).md", "PLAN-x.md"),
        ("PLAN-x (In Konflikt stehende Kopie von Anna 2026-06-01).md", "PLAN-x.md"),
        ("PLAN-x (Copie en conflit de Anna 2026-06-01).md", "PLAN-x.md"),
        ("PLAN-x (Case Conflict).md", "PLAN-x.md"),
        ("PLAN-x (Case Conflict 1).md", "PLAN-x.md"),
        ("PLAN-x (SFConflict anna@example.org 2026-06-01-12-00-00).md", "PLAN-x.md"),
        ("PLAN-x[Conflict].md", "PLAN-x.md"),
        ("PLAN-x (1).md", "PLAN-x.md"),
        ("PLAN-x(1).md", "PLAN-x.md"),
        ("progress-x (2).md", "progress-x.md"),
        ("progress (17).md", "progress.md"),
        ("PLAN-x - Copy.md", "PLAN-x.md"),
        ("PLAN-x - Copy (2).md", "PLAN-x.md"),
        ("PLAN - Kopie.md", "PLAN.md"),
        ("PLAN-x (copy).md", "PLAN-x.md"),
        ("PLAN-x (3rd copy).md", "PLAN-x.md"),
        ("PLAN-x.sync-conflict-20260601-120000-ABCDEFG.md", "PLAN-x.md"),
        ("progress.sync-conflict-20260601-120000.md", "progress.md"),
        ("PLAN-x_conflict-20260601-120000.md", "PLAN-x.md"),
        ("PLAN 2.md", "PLAN.md"),
        ("progress 3.md", "progress.md"),
        ("PLAN copy.md", "PLAN.md"),
        ("PLAN copy 2.md", "PLAN.md"),
        ("PLAN-x (1) (conflicted copy 2026-06-01).md", "PLAN-x.md"),
        ("PLAN-x.sync-conflict-20260601-120000-ABCDEFG (1).md", "PLAN-x.md"),
        ("plan-x (CONFLICTED COPY 2026-06-01).MD", "plan-x.MD"),
        ("PLAN-fix the docs (1).md", "PLAN-fix the docs.md"),
        ("PLAN-é (1).md", "PLAN-é.md"),
        ("PLAN-(1) (2).md", "PLAN-(1).md"),
    ],
)
def test_a_conflict_copy_names_its_original(copy: str, original: str) -> None:
    assert conflict_copy_of(copy) == original


@pytest.mark.parametrize(
    "name",
    [
        "PLAN.md",
        "PLAN-x.md",
        "progress-x.md",
        "PLAN-x-DESKTOP.md",  # OneDrive, or a plan of that name
        "PLAN-x 2.md",  # iCloud, or a plan of that name
        "PLAN-make a copy.md",
        "PLAN-x copy.md",
        "PLAN-roadmap (2026).md",
        "PLAN-resolve-conflicts.md",
        "PLAN-sync-conflict.md",
        "PLAN-phase (one).md",
        "PLAN-(1).md",
        "PLAN-x (0).md",
        "PLAN-.md",
        "PLANS (1).md",
        "notes (1).md",
        "(1).md",
        " - Copy.md",
        "PLAN-x (1).txt",
        "PLAN-x (1)",
        "PLAN-x.md.conflict-1",
        "",
        "md",
    ],
)
def test_what_can_be_a_file_of_its_own_is_no_copy(name: str) -> None:
    assert conflict_copy_of(name) is None


slugs = st.text(alphabet="abc-_.é1", min_size=1, max_size=12)
marks = st.sampled_from(
    [" (conflicted copy 2026-06-01)", " (1)", " - Copy", ".sync-conflict-20260601-120000-ABCDEFG"]
)


@given(st.sampled_from(["PLAN", "progress"]), slugs, st.lists(marks, min_size=1, max_size=3))
def test_any_name_with_a_mark_behind_it_is_a_copy(kind: str, slug: str, behind: list[str]) -> None:
    assert conflict_copy_of(f"{kind}-{slug}{''.join(behind)}.md") == f"{kind}-{slug}.md"
    assert conflict_copy_of(f"{kind}-{slug}.md") is None


@given(st.text(max_size=80))
def test_any_name_can_be_asked(name: str) -> None:
    original = conflict_copy_of(name)
    assert original is None or (len(original) < len(name) and conflict_copy_of(original) is None)


def test_our_own_kept_losers_are_told() -> None:
    assert kept_loser_of("PLAN-x.md.conflict-1") == "PLAN-x.md"
    assert kept_loser_of("PLAN.md.conflict-12") == "PLAN.md"
    assert kept_loser_of("progress-x.md.conflict-3") == "progress-x.md"
    for name in ("PLAN-x.md", "PLAN-x.conflict-1", "notes.md.conflict-1", "PLAN-.md.conflict-1"):
        assert kept_loser_of(name) is None
    for number in ("0", "01", "", "x", "1 "):
        assert kept_loser_of(f"PLAN-x.md.conflict-{number}") is None


def test_telling_them_stays_light_to_import() -> None:
    code = "import sys, signoff.domain.conflicts; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {"dataclasses", "typing", "datetime", "inspect", "pathlib", "click"}
    assert heavy.isdisjoint(loaded.stdout.split())
