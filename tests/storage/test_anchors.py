"""Anchors: lines that say a head, and a git note that runs nothing an agent configured."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from signoff.domain.receipt import Anchor
from signoff.errors import ProcessFailed, ProofInvalid, UsageError
from signoff.storage.receipts import note_in_git, read_anchors

ANCHOR = Anchor("p", "PLAN", 3, "a" * 64, "2026-01-02T03:04:05.000006+00:00", None)
LATER = Anchor("p", "PLAN", 9, "b" * 64, "2026-01-03T03:04:05.000006+00:00", "c" * 64)

# Every key whose value git may run, one way or another; the command leaves a trace.
COMMAND_KEYS = """
alias.notes alias.append alias.hash-object browser.x.cmd core.askPass core.editor core.fsmonitor
core.gitProxy core.hooksPath core.pager core.sshCommand core.alternateRefsCommand
credential.helper credential.https://localhost.helper diff.external diff.x.command diff.x.textconv
difftool.x.cmd filter.x.clean filter.x.process filter.x.smudge gpg.program gpg.ssh.program
gpg.x509.program gpg.ssh.defaultKeyCommand guitool.x.cmd help.browser imap.tunnel instaweb.httpd
interactive.diffFilter man.x.cmd merge.x.driver mergetool.x.cmd notes.mergeStrategy
pager.notes pack.packObjectsHook receive.procReceiveRefs remote.origin.proxy
remote.origin.receivepack remote.origin.uploadpack remote.origin.vcs sendemail.smtpServer
sequence.editor submodule.x.update svn.pathnameencoding trailer.x.command trailer.x.cmd
uploadpack.packObjectsHook uploadpackfilter.x web.browser
"""
HOOKS = "reference-transaction pre-commit post-commit post-rewrite post-index-change"
TRAPS = ("GIT_EDITOR", "GIT_PAGER", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "EDITOR")


def git(folder: Path, *arguments: str) -> str:
    """git as the person would use it."""
    identity = ("-c", "user.name=a", "-c", "user.email=a@localhost")
    done = subprocess.run(
        ["git", *identity, *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit."""
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "--quiet")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "first")
    return folder


def environ(folder: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(folder), **more}


def noted(folder: Path) -> tuple[Anchor, ...]:
    shown = git(folder, "notes", "--ref=signoff", "show", "HEAD")
    return read_anchors(shown.encode(), "note")


def test_a_note_on_head_keeps_every_anchor(repository: Path) -> None:
    for anchor in (ANCHOR, LATER):
        assert note_in_git(repository, anchor, environ(repository)) == "refs/notes/signoff"
    assert noted(repository) == (ANCHOR, LATER)
    assert git(repository, "status", "--porcelain") == ""


def test_notes_that_git_packed_away_are_kept(repository: Path) -> None:
    note_in_git(repository, ANCHOR, environ(repository))
    git(repository, "pack-refs", "--all")
    git(repository, "gc", "--quiet")
    note_in_git(repository, LATER, environ(repository))
    assert noted(repository) == (ANCHOR, LATER)


def test_a_linked_worktree_notes_its_own_head(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(repository, "worktree", "add", "--quiet", str(other))
    git(other, "commit", "--quiet", "--allow-empty", "-m", "second")
    note_in_git(other, ANCHOR, environ(other))
    assert noted(other) == (ANCHOR,)
    with pytest.raises(subprocess.CalledProcessError):
        noted(repository)


def test_nothing_that_an_agent_configured_is_run(repository: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    spy = tmp_path / "spy.sh"
    spy.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{trace}'\ncat\nexit 0\n")
    spy.chmod(0o755)
    hooks = repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in HOOKS.split():
        (hooks / name).write_text(spy.read_text())
        (hooks / name).chmod(0o755)
    # The spy does report: git as a person uses it runs the hook on every change of a ref.
    git(repository, "notes", "--ref=other", "add", "-m", "hello")
    assert "reference-transaction" in trace.read_text()
    trace.unlink()
    (repository / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
    config = repository / ".git" / "config"
    for key in COMMAND_KEYS.split():
        section, _, name = key.rpartition(".")
        first, dot, second = section.partition(".")
        head = f'[{first} "{second}"]' if dot else f"[{first}]"
        value = str(hooks) if key == "core.hooksPath" else f"!{spy}" if "alias" in key else str(spy)
        with config.open("a") as file:
            file.write(f'{head}\n\t{name} = "{value}"\n')
    with config.open("a") as file:
        file.write("[commit]\n\tgpgSign = true\n[extensions]\n\tpartialClone = origin\n")
        file.write(f'[remote "origin"]\n\turl = "ext::{spy}"\n\tpromisor = true\n')
        file.write("[protocol]\n\tallow = always\n")
    (repository / ".git" / "config.worktree").write_text(config.read_text())
    (repository / ".gitconfig").write_text(config.read_text())
    (repository / "git").write_text(spy.read_text())
    (repository / "git").chmod(0o755)
    traps = dict.fromkeys(TRAPS, str(spy))
    traps |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.pager"}
    traps |= {"GIT_CONFIG_VALUE_0": str(spy), "GIT_DIR": str(tmp_path / "elsewhere")}
    path = f"{repository}:{os.environ['PATH']}"
    note_in_git(repository, ANCHOR, {**environ(repository, **traps), "PATH": path})
    assert not trace.exists(), trace.read_text()
    assert len(COMMAND_KEYS.split()) >= 40


def test_a_missing_object_is_not_fetched_with_the_agents_transport(
    repository: Path, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    note_in_git(repository, ANCHOR, environ(repository))
    note = git(repository, "rev-parse", "refs/notes/signoff").strip()
    (repository / ".git" / "objects" / note[:2] / note[2:]).unlink()
    with (repository / ".git" / "config").open("a") as file:
        file.write("[extensions]\n\tpartialClone = origin\n[protocol]\n\tallow = always\n")
        file.write("[core]\n\trepositoryformatversion = 1\n")
        file.write(f'[remote "origin"]\n\turl = "ext::touch {trace}"\n\tpromisor = true\n')
    with pytest.raises(ProcessFailed):
        note_in_git(repository, LATER, environ(repository))
    assert not trace.exists()
    # git as a person uses it does fetch, by running what the agent wrote there.
    with pytest.raises(subprocess.CalledProcessError):
        git(repository, "cat-file", "-p", note)
    assert trace.exists()


def test_a_repository_without_a_commit_says_what_to_do(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", ".")
    with pytest.raises(ProcessFailed, match="could not write the note") as raised:
        note_in_git(tmp_path, ANCHOR, environ(tmp_path))
    assert "commit something first" in raised.value.hint


def test_a_folder_that_only_claims_to_be_a_repository_gets_no_note(
    repository: Path, tmp_path: Path
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    with pytest.raises(UsageError, match="not in a git repository"):
        note_in_git(plain, ANCHOR, environ(plain))
    (plain / ".git").write_text(f"gitdir: {repository / '.git'}\n")
    with pytest.raises(UsageError, match="leads elsewhere"):
        note_in_git(plain, ANCHOR, environ(plain))


@pytest.mark.parametrize("name", ["objects", "refs", "refs/notes"])
def test_a_link_in_the_repository_does_not_lead_the_note_elsewhere(
    repository: Path, tmp_path: Path, name: str
) -> None:
    place = repository / ".git" / name
    target = tmp_path / "target"
    if place.exists():
        place.rename(target)
    else:
        target.mkdir()
    place.symlink_to(target)
    before = sorted(target.rglob("*"))
    with pytest.raises(UsageError, match="symbolic link"):
        note_in_git(repository, ANCHOR, environ(repository))
    assert sorted(target.rglob("*")) == before


def test_anchors_are_read_line_by_line_and_a_wrong_line_is_named() -> None:
    text = f"{ANCHOR.line()}\n\n{LATER.line()}\n".encode()
    assert read_anchors(text, "a") == (ANCHOR, LATER)
    for wrong in (b"{}", b"\xff", b"[" * 100_000, b"hello"):
        with pytest.raises(ProofInvalid, match="`a`:4 is not an anchor"):
            read_anchors(text + wrong, "a")
