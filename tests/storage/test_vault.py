"""The vault: plans replaced by who read them last, progress only ever appended."""

from __future__ import annotations

import hashlib
import subprocess
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.domain.names import name_of_file, new_plan_slug, plan_slug
from signoff.errors import (
    PlanConflict,
    PlanNameInvalid,
    PlanNotFound,
    PlanUnreadable,
    UsageError,
)
from signoff.storage.vault import Vault


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(tmp_path / ".harness")


def test_a_plan_is_created_read_and_swapped(vault: Vault) -> None:
    digest = vault.swap_plan("auth", expected=None, text="# Ä\r\n")
    assert digest == hashlib.sha256("# Ä\r\n".encode()).hexdigest()
    assert vault.read_plan("auth") == ("# Ä\r\n", digest)
    assert (vault.path / "PLAN-auth.md").read_bytes() == "# Ä\r\n".encode()
    newer = vault.swap_plan("auth", expected=digest, text="# B\n")
    with pytest.raises(PlanConflict) as caught:
        vault.swap_plan("auth", expected=digest, text="# mine\n")
    assert caught.value.facts["current"] == newer
    assert Path(caught.value.facts["kept"]).read_text() == "# mine\n"
    assert vault.read_plan("auth").text == "# B\n"
    assert vault.list_plans() == ("auth",)


def test_a_stale_writer_is_told_what_differs(vault: Vault) -> None:
    digest = vault.swap_plan("auth", expected=None, text="# A\none\n")
    vault.swap_plan("auth", expected=digest, text="# A\ntwo\n")
    with pytest.raises(PlanConflict, match="your text is kept in") as caught:
        vault.swap_plan("auth", expected=digest, text="# A\nmine\n")
    diff = str(caught.value.facts["diff"])
    assert diff.startswith("--- PLAN-auth.md as it is\n+++ PLAN-auth.md as you wanted it\n")
    assert "\n-two\n+mine" in diff
    with pytest.raises(PlanConflict) as large:
        vault.swap_plan("auth", expected=digest, text="# A\n" + "x\n" * 100_000)
    assert len(str(large.value.facts["diff"])) < 21_000
    assert Path(large.value.facts["kept"]).stat().st_size > 200_000, "what is kept is not cut"


def test_a_vault_is_named_by_a_text_too(tmp_path: Path) -> None:
    assert Vault(str(tmp_path)).path == tmp_path


@pytest.mark.parametrize("name", ["a (1)", "a - Copy", "a.sync-conflict-20260601-120000-ABCDEFG"])
def test_a_name_like_a_conflict_copys_is_refused_and_says_why(vault: Vault, name: str) -> None:
    with pytest.raises(UsageError, match=r"reads like a conflict copy of `PLAN-a\.md`"):
        vault.swap_plan(name, expected=None, text="x")


def test_the_empty_name_is_the_unnamed_plan(vault: Vault) -> None:
    vault.swap_plan("", expected=None, text="x")
    vault.append_progress("", "started")
    assert sorted(p.name for p in vault.path.iterdir()) == ["PLAN.md", "progress.md"]
    assert vault.read_plan("").text == "x"
    assert vault.list_plans() == ("",)


def test_progress_grows_line_by_line(vault: Vault) -> None:
    for line in ("one", "two ✅"):
        vault.append_progress("auth", line)
    assert (vault.path / "progress-auth.md").read_text() == "one\ntwo ✅\n"


def test_a_name_may_be_given_as_its_file_name(vault: Vault) -> None:
    vault.swap_plan("auth", expected=None, text="x")
    for name in ("auth.md", "PLAN-auth", "PLAN-auth.md"):
        assert vault.plan_path(name) == vault.path / "PLAN-auth.md"
        assert vault.read_plan(name).text == "x"


def test_no_vault_means_no_plans(vault: Vault) -> None:
    assert vault.list_plans() == ()
    with pytest.raises(PlanNotFound):
        vault.read_plan("auth")
    assert vault.read_topic("t") is None
    assert not vault.path.exists()


def test_only_plan_files_are_listed(vault: Vault) -> None:
    vault.path.mkdir()
    names = ["PLAN.md", "PLAN-b.md", "PLAN-a.md", "PLAN-.md", "PLAN-a.md.conflict-1", "plan-x.md"]
    names += ["progress-a.md", "PLAN-\u202ex.md", "PLAN--x.md", "notes.md", "PLAN-PLAN-c.md"]
    names += ["PLAN-a (1).md", "PLAN (conflicted copy 2026-06-01).md", "PLAN-b - Copy.md"]
    for name in names:
        (vault.path / name).touch()
    assert vault.list_plans() == ("", "a", "b")
    odd = ("PLAN--x.md", "PLAN-.md", "PLAN-PLAN-c.md", "PLAN-\u202ex.md", "plan-x.md")
    assert vault.odd_names() == odd


REFUSED = ["", ".", "..", "a/b", "../x", "/etc/passwd", "a\\b", "a\0b", "a\nb", "a\x7f", "-rf"]
REFUSED += ["a\u202eb", "a\u200bb", "a\u2066b", "\ud800", "x" * 101, "PLAN-.md", ".md", "PLAN-"]
REFUSED += [" a", "a ", "a\u2028b", "\U0001f600" * 60, "PLAN-../x.md", "\u00ad"]


@pytest.mark.parametrize("name", REFUSED)
def test_an_unsafe_name_is_refused(vault: Vault, name: str) -> None:
    with pytest.raises(ValueError, match="plan"):
        plan_slug(name)
    if name:
        for use in (vault.read_plan, lambda n: vault.append_progress(n, "x")):
            with pytest.raises(UsageError):
                use(name)
        with pytest.raises(UsageError):
            vault.swap_plan(name, expected=None, text="x")
    assert not vault.path.exists()


@pytest.mark.parametrize("name", sorted({*REFUSED} - {"PLAN-.md", "PLAN-"}))
def test_an_unsafe_topic_is_refused(vault: Vault, name: str) -> None:
    with pytest.raises(UsageError, match="topic"):
        vault.read_topic(name)


def test_a_topic_may_be_called_like_a_plan(vault: Vault) -> None:
    (vault.path / "topics").mkdir(parents=True)
    (vault.path / "topics" / "plan-format.md").write_text("how\n")
    assert vault.read_topic("plan-format") == vault.read_topic("plan-format.md") == "how\n"


TAKEN_FOR_FILES = ["PLAN-PLAN-q", "PLAN-PLAN-q.md", "plan-q", "Plan-q.md", "PLAN-plan-q.md"]
TAKEN_FOR_FILES += ["q.md.md", "q.MD", "PLAN-q.Md", "PLAN-q.md.md"]


@pytest.mark.parametrize("name", TAKEN_FOR_FILES)
def test_a_name_that_reads_like_the_file_of_another_plan_is_refused(
    vault: Vault, name: str
) -> None:
    with pytest.raises(PlanNameInvalid, match="reads like the file of another plan"):
        vault.swap_plan(name, expected=None, text="x")
    assert name_of_file(f"PLAN-{name}") is None and name_of_file(f"PLAN-{name}.md") is None
    assert not vault.path.exists()


NO_BRANCH = ["a b", "a..b", "foo.lock", ".hidden", "a~1", "a^", "a:b", "a?", "a*", "a[b", "a."]
NO_BRANCH += ["@{u"]


@pytest.mark.parametrize("name", NO_BRANCH)
def test_a_new_plan_has_a_name_that_a_branch_can_have(vault: Vault, name: str) -> None:
    ref = f"refs/heads/plan/{name}"
    asked = subprocess.run(["git", "check-ref-format", ref], check=False, timeout=60)
    assert asked.returncode != 0, "git itself refuses it"
    with pytest.raises(PlanNameInvalid, match="branch"):
        vault.swap_plan(name, expected=None, text="x")
    assert not vault.path.exists()


@pytest.mark.parametrize("name", ["a b", "foo.lock", ".hidden"])
def test_a_plan_that_has_such_a_name_already_stays_one(vault: Vault, name: str) -> None:
    vault.path.mkdir()
    vault.plan_path(name).write_text("# T\n")
    assert vault.list_plans() == (name,) and vault.odd_names() == ()
    digest = vault.read_plan(name).digest
    vault.swap_plan(name, expected=digest, text="# U\n")
    assert vault.read_plan(name).text == "# U\n"


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=12))
@settings(max_examples=60)
def test_git_takes_every_name_a_new_plan_can_have(name: str) -> None:
    try:
        slug = new_plan_slug(name)
    except ValueError:
        return
    ref = f"refs/heads/plan/{slug}"
    asked = subprocess.run(["git", "check-ref-format", ref], check=False, timeout=60)
    assert asked.returncode == 0


@given(st.text(st.characters(codec=None), max_size=120))
def test_an_accepted_name_is_one_visible_path_component(name: str) -> None:
    try:
        slug = plan_slug(name)
    except ValueError:
        return
    assert Path(f"PLAN-{slug}.md").name == f"PLAN-{slug}.md"
    assert 0 < len(slug) <= 100 and len(f"progress-{slug}.md.conflict-99".encode()) <= 255
    assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs") for c in slug)
    assert not slug.startswith("-") and slug not in (".", "..")


@pytest.mark.parametrize("other", ["AUTH", "Auth", "\uff41uth"])
def test_names_that_some_file_systems_confuse_are_refused(vault: Vault, other: str) -> None:
    vault.swap_plan("auth", expected=None, text="x")
    with pytest.raises(PlanConflict, match="differs from `auth` only in case"):
        vault.swap_plan(other, expected=None, text="y")


def test_a_plan_that_is_a_link_is_neither_read_nor_swapped(vault: Vault, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    vault.path.mkdir()
    (vault.path / "PLAN-a.md").symlink_to(victim)
    with pytest.raises(PlanUnreadable):
        vault.read_plan("a")
    digest = hashlib.sha256(b"precious").hexdigest()
    with pytest.raises(PlanUnreadable):
        vault.swap_plan("a", expected=digest, text="x")
    assert victim.read_text() == "precious"


def test_text_that_is_not_utf8_names_the_line(vault: Vault) -> None:
    vault.path.mkdir()
    (vault.path / "PLAN.md").write_bytes(b"# T\n\xff")
    with pytest.raises(PlanUnreadable, match="is not UTF-8: byte 4, line 2"):
        vault.read_plan("")


def test_topics_are_read_from_their_folder_only(vault: Vault, tmp_path: Path) -> None:
    topics = vault.path / "topics"
    topics.mkdir(parents=True)
    (topics / "auth.md").write_text("what we know")
    assert vault.read_topic("auth") == "what we know"
    assert vault.topic_exists("auth") and not vault.topic_exists("other")
    secret = tmp_path / "secret.md"
    secret.write_text("key")
    (topics / "stolen.md").symlink_to(secret)
    with pytest.raises(PlanUnreadable, match="symbolic link"):
        vault.read_topic("stolen")


def test_a_topics_folder_that_is_a_link_is_refused(vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key.md").write_text("key")
    vault.path.mkdir()
    (vault.path / "topics").symlink_to(tmp_path / "private")
    with pytest.raises(PlanUnreadable, match="symbolic link"):
        vault.read_topic("key")
