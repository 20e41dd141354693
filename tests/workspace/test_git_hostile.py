"""A repository that an agent arranged: nothing in it runs, redirects a write or changes content."""

from __future__ import annotations

import os
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

from signoff.errors import BranchConflict, ProcessFailed, SignoffError, StorageFailed, UsageError
from signoff.workspace.advancing import advance
from signoff.workspace.branches import (
    branch_heads,
    check_out,
    commits_between,
    diff_size,
    is_ancestor,
    make_commit,
    merge,
    move_branch,
    tree_of,
)
from signoff.workspace.folders import find_repository
from signoff.workspace.git import Git
from signoff.workspace.gitfolders import exclude_from_git
from signoff.workspace.ignore import IgnoreRules
from signoff.workspace.worktrees import (
    WorktreeState,
    add_worktree,
    find_worktree,
    list_worktrees,
    prune_missing,
    remove_worktree,
    unfinished_work,
)
from tests.workspace.gitkit import Repo, commit_snapshot, environment, listing

# Every key whose value git may run, one way or another; the command leaves a trace.
COMMAND_KEYS = """
alias.ls-tree alias.cat-file alias.merge-tree alias.update-index alias.read-tree alias.log
browser.x.cmd core.askPass core.editor core.fsmonitor core.gitProxy core.hooksPath core.pager
core.sshCommand core.alternateRefsCommand credential.helper credential.https://localhost.helper
diff.external diff.x.command diff.x.textconv difftool.x.cmd filter.x.clean filter.x.process
filter.x.smudge gpg.program gpg.ssh.program gpg.x509.program gpg.ssh.defaultKeyCommand
guitool.x.cmd help.browser imap.tunnel instaweb.httpd interactive.diffFilter man.x.cmd
merge.x.driver merge.default mergetool.x.cmd pager.log pack.packObjectsHook
receive.procReceiveRefs remote.origin.proxy remote.origin.receivepack remote.origin.uploadpack
remote.origin.vcs sendemail.smtpServer sequence.editor submodule.x.update trailer.x.command
trailer.x.cmd uploadpack.packObjectsHook web.browser
"""
HOOKS = """
applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg
commit-msg post-commit pre-rebase post-checkout post-merge pre-push reference-transaction
push-to-checkout pre-auto-gc post-rewrite post-index-change fsmonitor-watchman proc-receive
"""
TRAPS = """
GIT_EDITOR GIT_PAGER GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_ASKPASS EDITOR PAGER GIT_PROXY_COMMAND
GIT_TRACE GIT_EXEC_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_NAMESPACE
GIT_ATTR_SOURCE GIT_INDEX_FILE GIT_COMMON_DIR GIT_WORK_TREE GIT_DIR GIT_CONFIG GIT_REPLACE_REF_BASE
GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM LD_PRELOAD BASH_ENV
"""


class Trap:
    """A repository full of commands that leave a trace."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.trace = folder / "trace"
        self.spy = folder / "spy.sh"
        self.spy.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{self.trace}'\ncat\nexit 0\n")
        self.spy.chmod(0o755)
        self.repo = Repo(folder / "repo")
        self.repo.commit({"a.txt": "a\n", "b.bin": "b\0"})

    def arm(self) -> None:
        """Configure everything; from here on only our git may be used."""
        hooks = self.repo.dot_git / "hooks"
        hooks.mkdir(exist_ok=True)
        for name in HOOKS.split():
            shutil.copy(self.spy, hooks / name)
        lines = [self._setting(key, hooks) for key in COMMAND_KEYS.split()]
        included = self.repo.path / "included"
        included.write_text("".join(lines))
        more = f'[include]\n\tpath = "{included}"\n[core]\n\tworktree = "{self.folder}"\n'
        more += "[commit]\n\tgpgSign = true\n[extensions]\n\tworktreeConfig = true\n"
        more += f'[remote "origin"]\n\turl = "ext::{self.spy}"\n\tpromisor = true\n'
        more += "[extensions]\n\tpartialClone = origin\n[protocol]\n\tallow = always\n"
        with (self.repo.dot_git / "config").open("a") as config:
            config.write("".join(lines) + more)
        for place in (self.repo.dot_git / "config.worktree", self.repo.path / ".gitconfig"):
            place.write_text("".join(lines))
        attributes = "* filter=x diff=x merge=x\n"
        (self.repo.path / ".gitattributes").write_text(attributes)
        (self.repo.dot_git / "info" / "attributes").write_text(attributes)
        shutil.copy(self.spy, self.repo.path / "git")

    def environ(self) -> dict[str, str]:
        env = environment(self.repo.path) | dict.fromkeys(TRAPS.split(), str(self.spy))
        env |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor"}
        env |= {"GIT_CONFIG_VALUE_0": str(self.spy), "GIT_CONFIG_PARAMETERS": "'core.pager=x'"}
        return env | {"PATH": f"{self.repo.path}:{os.environ['PATH']}"}

    def open(self) -> Git:
        repository = find_repository(self.repo.path)
        assert repository is not None
        return Git.open(repository, self.environ())

    def _setting(self, key: str, hooks: Path) -> str:
        section, _, name = key.rpartition(".")
        first, dot, second = section.partition(".")
        head = f'[{first} "{second}"]' if dot else f"[{first}]"
        is_alias, is_hooks = first == "alias", key == "core.hooksPath"
        value = str(hooks) if is_hooks else f"!{self.spy}" if is_alias else str(self.spy)
        return f'{head}\n\t{name} = "{value}"\n'


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path)


def test_nothing_that_an_agent_configured_is_run_by_anything_we_do(trap: Trap) -> None:
    repo, place = trap.repo, trap.folder / "plan"
    first = repo.head()
    trap.arm()
    repository = find_repository(repo.path)
    assert repository is not None
    exclude_from_git(repository, "/.harness/active-plan")
    with trap.open() as git:
        add_worktree(git, place, "plan/x", first)
        repo.write({"a.txt": "plan\n", ".gitattributes": "* filter=x merge=x\n"}, at=place)
        made = commit_snapshot(git, place, trap.folder / "store", "plan/x")
        unfinished_work(git, find_worktree(git, place), "main", IgnoreRules())
        diff_size(git, "main", "plan/x")
        commits_between(git, first, made.commit)
        other = make_commit(git, tree_of(git, first), (first,), "other")
        merged = merge(git, other, made.commit)
        check_out(git, merged.tree, trap.folder / "out")
        final = make_commit(git, merged.tree, (first, made.commit), "merge")
        for name in (".gitattributes", "included", "git", ".gitconfig"):
            (repo.path / name).unlink()
        assert advance(git, "main", final, first) == (repo.path,)
        assert len(list_worktrees(git)) == 2
        remove_worktree(git, place)
        prune_missing(git)
    assert not trap.trace.exists(), trap.trace.read_text()
    assert (repo.path / "a.txt").read_text() == "plan\n"
    assert not trap.spy.with_name("spy.sh.lock").exists()


def test_the_trap_would_have_sprung(trap: Trap) -> None:
    trap.arm()
    subprocess.run(
        ["git", "-c", "core.worktree=", "status"],
        cwd=trap.repo.path,
        env=environment(trap.repo.path) | {"GIT_WORK_TREE": str(trap.repo.path)},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert "spy" in trap.trace.read_text() or "hooks" in trap.trace.read_text()
    assert len(COMMAND_KEYS.split()) >= 40


def test_a_submodule_with_a_configuration_of_its_own_is_not_looked_into(trap: Trap) -> None:
    """git's own status would run a status inside, with what is configured there."""
    repo = trap.repo
    inner = Repo(repo.path / "sub")
    inner.commit({"x": "x"})
    repo.git("add", "sub")
    base = repo.commit({})
    place = trap.folder / "plan"
    with repo.open() as git:
        add_worktree(git, place, "plan/x", base)
        (place / "sub").rmdir()
        shutil.copytree(inner.path, place / "sub")
        with (place / "sub" / ".git" / "config").open("a") as config:
            config.write(f'[core]\n\tfsmonitor = "{trap.spy}"\n')
        repo.write({"sub/x": "changed"}, at=place)
        found = unfinished_work(git, find_worktree(git, place), "main", IgnoreRules())
    assert found.uncommitted == ("sub",)
    assert not trap.trace.exists()
    repo.git("status", at=place)
    assert trap.trace.exists()


CONVERSIONS = "* text eol=crlf ident working-tree-encoding=UTF-16LE\n[attr]sly filter=x\n* sly\n"


def test_attributes_change_no_byte_on_the_way_in_or_out(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.commit({"seed": "s"})
    content = b"$Id$\r\nline\n$Id: x$ \xff\xfe\r"
    repo.write({".gitattributes": CONVERSIONS, "a": content, "b/.gitattributes": "* eol=lf\n"})
    repo.write({"b/c": content})
    before = listing(repo.path)
    with repo.open() as git:
        made = commit_snapshot(git, repo.path, tmp_path / "store", "main")
        check_out(git, made.commit, tmp_path / "out")
        add_worktree(git, tmp_path / "tree", "plan/x", made.commit)
    assert listing(tmp_path / "out") == before == listing(tmp_path / "tree") == listing(repo.path)


LINKED = ["objects", "objects/pack", "refs", "refs/heads", "packed-refs", "worktrees", "info"]


@pytest.mark.parametrize("name", LINKED)
def test_a_link_where_git_would_write_is_refused(tmp_path: Path, name: str) -> None:
    repo = Repo(tmp_path / "repo")
    head = repo.commit({"a": "a"})
    repo.git("pack-refs", "--all")
    place, target = repo.dot_git / name, tmp_path / "target"
    if place.exists():
        place.rename(target)
    else:
        target.mkdir()
    place.symlink_to(target)
    before = listing(target) if target.is_dir() else target.read_bytes()
    with pytest.raises(UsageError, match="symbolic link"), repo.open() as git:
        add_worktree(git, tmp_path / "plan", "plan/x", head)
    assert (listing(target) if target.is_dir() else target.read_bytes()) == before


def test_a_link_on_the_way_to_a_branch_is_refused(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    head = repo.commit({"a": "a"})
    (tmp_path / "target").mkdir()
    (repo.dot_git / "refs" / "heads" / "plan").symlink_to(tmp_path / "target")
    with repo.open() as git, pytest.raises(UsageError, match="symbolic link"):
        move_branch(git, "plan/x", head, expected=None)
    assert list((tmp_path / "target").iterdir()) == []


def test_a_branch_that_points_to_another_does_not_move_that_one(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    first = repo.commit({"a": "a"})
    second = repo.commit({"a": "b"})
    repo.git("branch", "victim", first)
    repo.git("symbolic-ref", "refs/heads/plan", "refs/heads/victim")
    with repo.open() as git:
        move_branch(git, "plan", second, expected=first)
        assert branch_heads(git) == {"main": second, "plan": second, "victim": first}


@pytest.mark.parametrize("name", ["index", "index.lock", "signoff.index", "HEAD"])
def test_links_among_the_files_of_a_checkout_are_not_written_through(
    tmp_path: Path, name: str
) -> None:
    repo = Repo(tmp_path / "repo")
    repo.commit({"a": "a"})
    repo.write({"a": "b"})
    victim = tmp_path / "victim"
    victim.write_text("precious")
    place = repo.dot_git / name
    place.unlink(missing_ok=True)
    place.symlink_to(victim)
    with repo.open() as git:
        try:
            commit_snapshot(git, repo.path, tmp_path / "store", "main")
        except SignoffError as error:
            assert isinstance(error, BranchConflict | StorageFailed)
    assert victim.read_text() == "precious"


def test_a_registered_worktree_that_does_not_point_back_is_never_touched(tmp_path: Path) -> None:
    repo, other = Repo(tmp_path / "repo"), Repo(tmp_path / "other")
    old = repo.commit({"a": "old\n"})
    other.commit({"a": "old\n"})
    before = listing(other.path)
    planted = repo.dot_git / "worktrees" / "x"
    planted.mkdir(parents=True)
    (planted / "gitdir").write_text(f"{other.dot_git}\n")
    (planted / "HEAD").write_text("ref: refs/heads/main\n")
    (planted / "commondir").write_text("../..\n")
    shutil.copy(repo.dot_git / "index", planted / "index")
    new = repo.commit({"a": "new\n"})
    repo.git("reset", "--quiet", "--hard", old)
    with repo.open() as git:
        assert find_worktree(git, other.path).state is WorktreeState.FOREIGN
        assert advance(git, "main", new, old) == (repo.path,)
        with pytest.raises(BranchConflict, match="does not say"):
            remove_worktree(git, other.path)
        assert prune_missing(git) == ()
    assert listing(other.path) == before and other.status() == ""


def test_a_tree_made_by_hand_writes_nothing_outside(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    head = repo.commit({"a": "a"})
    blob = bytes.fromhex(repo.git("rev-parse", "HEAD:a").strip())
    for name in (b"..", b".git", b".GIT", b"x/../../up", b"."):
        tree = loose_object(repo, b"tree", b"100644 " + name + b"\0" + blob)
        above = loose_object(repo, b"tree", b"40000 d\0" + bytes.fromhex(tree))
        commit = repo.git("commit-tree", above, "-p", head, "-m", "evil").strip()
        with repo.open() as git:
            with pytest.raises((StorageFailed, ProcessFailed)):
                check_out(git, commit, tmp_path / "out")
            with pytest.raises((StorageFailed, ProcessFailed)):
                add_worktree(git, tmp_path / "plan", "plan/x", commit)
            with pytest.raises((StorageFailed, ProcessFailed)):
                advance(git, "main", commit, head)
        assert repo.head() == head and repo.status() == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "repo"]
    assert list((tmp_path / "out").iterdir()) == []


def test_a_link_in_a_tree_leads_no_file_elsewhere(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    old = repo.commit({"a": "a"})
    (tmp_path / "target").mkdir()
    (repo.path / "d").symlink_to(tmp_path / "target")
    linked = repo.commit({})
    (repo.path / "d").unlink()
    plain = repo.commit({"d/file": "x"})
    # The checkout stands on the link, the new content goes where it leads.
    repo.git("reset", "--quiet", "--hard", linked)
    with repo.open() as git:
        advance(git, "main", plain, linked)
        assert is_ancestor(git, old, plain)
    assert list((tmp_path / "target").iterdir()) == []
    assert (repo.path / "d" / "file").read_text() == "x"


def test_an_object_that_is_not_what_its_name_says_is_never_written_out(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    commit = repo.commit({"check.sh": "exit 1\n"})
    named = repo.git("rev-parse", "HEAD:check.sh").strip()
    forge(repo, named, b"exit 0\n")
    with repo.open() as git:
        for into in ("out", "plan"):
            with pytest.raises(StorageFailed, match="does not hold what its id says"):
                if into == "out":
                    check_out(git, commit, tmp_path / into)
                else:
                    add_worktree(git, tmp_path / into, "plan/x", commit)
    assert not (tmp_path / "plan").exists()


def test_content_is_not_committed_onto_an_object_that_an_agent_forged(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    head = repo.commit({"a": "a"})
    repo.write({"a": "judged\n"})
    named = repo.git("hash-object", "a").strip()
    (repo.dot_git / "objects" / named[:2]).mkdir(exist_ok=True)
    forge(repo, named, b"sneaked\n"[:7])
    with repo.open() as git, pytest.raises(StorageFailed, match=named):
        commit_snapshot(git, repo.path, tmp_path / "store", "main")
    assert repo.head() == head


def test_replaced_and_grafted_commits_are_not_believed(
    tmp_path: Path,
) -> None:
    repo = Repo(tmp_path / "repo")
    first = repo.commit({"a": "1\n"})
    second = repo.commit({"a": "2\n"})
    stranger = repo.git("commit-tree", f"{first}^{{tree}}", "-m", "stranger").strip()
    repo.git("replace", "--graft", stranger, second)
    (repo.dot_git / "info" / "grafts").write_text(f"{stranger} {second}\n")
    assert "stranger" in repo.git("log", "--format=%s", f"{second}..{stranger}")
    repo.git("branch", "plan", stranger)
    with repo.open() as git:
        assert not is_ancestor(git, second, stranger)
        with pytest.raises(BranchConflict, match="commits would be lost"):
            advance(git, "main", stranger, second)


def test_objects_are_written_into_the_repository_and_not_into_its_alternates(
    tmp_path: Path,
) -> None:
    repo, other = Repo(tmp_path / "repo"), Repo(tmp_path / "other")
    other.commit({"b": "b"})
    repo.commit({"a": "a"})
    before = listing(other.dot_git)
    alternates = repo.dot_git / "objects" / "info" / "alternates"
    alternates.parent.mkdir(exist_ok=True)
    alternates.write_text(f"{other.dot_git / 'objects'}\n")
    repo.write({"c": "c"})
    with repo.open() as git:
        commit_snapshot(git, repo.path, tmp_path / "store", "main")
    assert listing(other.dot_git) == before
    assert repo.git("fsck", "--strict", "--no-dangling") == ""


def test_a_git_folder_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.commit({"a": "a"})
    claim = tmp_path / "claim"
    claim.mkdir()
    (claim / ".git").write_text(f"gitdir: {repo.dot_git}\n")
    with pytest.raises(UsageError, match="leads elsewhere"):
        repo.open(at=claim)


def loose_object(repo: Repo, kind: bytes, content: bytes) -> str:
    """Put an object into a repository that git itself would not make."""
    done = subprocess.run(
        ["git", "hash-object", "--literally", "-t", kind.decode(), "-w", "--stdin"],
        cwd=repo.path,
        env=environment(repo.path),
        input=content,
        capture_output=True,
        check=True,
        timeout=60,
    )
    return done.stdout.decode().strip()


def forge(repo: Repo, named: str, content: bytes) -> None:
    """Put other content under the name of an object."""
    place = repo.dot_git / "objects" / named[:2] / named[2:]
    place.unlink(missing_ok=True)
    place.write_bytes(zlib.compress(b"blob %d\0" % len(content) + content))


def test_a_commit_graph_that_claims_another_ancestry_is_not_believed(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    second = repo.commit({"a": "2\n"})
    stranger = repo.git("commit-tree", f"{second}^{{tree}}", "-m", "stranger").strip()
    tip = repo.git("commit-tree", f"{second}^{{tree}}", "-p", stranger, "-m", "tip").strip()
    repo.git("branch", "plan", tip)
    repo.git("-c", "commitGraph.generationVersion=1", "commit-graph", "write", "--reachable")
    graph = repo.dot_git / "objects" / "info" / "commit-graph"
    give_false_parent(graph, sorted([second, stranger, tip]), stranger, second)
    # git as a person uses it is deceived.
    assert repo.git("merge-base", second, tip).strip() == second
    with repo.open() as git:
        assert not is_ancestor(git, second, tip)


def give_false_parent(graph: Path, commits: list[str], child: str, parent: str) -> None:
    """Make a commit graph say that one commit follows the other."""
    data = bytearray(graph.read_bytes())
    chunks = {bytes(data[at : at + 4]): read_number(data, at + 4, 8) for at in range(8, 44, 12)}
    row = chunks[b"CDAT"] + 36 * commits.index(child)
    data[row + 20 : row + 24] = commits.index(parent).to_bytes(4, "big")
    graph.chmod(0o644)
    graph.write_bytes(data)


def read_number(data: bytearray, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "big")
