"""Git in every shape: commits, branches, worktrees, submodules, or none at all."""

from __future__ import annotations

from truth.adversary.repository import LINT
from truth.case import WORK, Accepted, Case, Door
from truth.plans import plan, step

START = "git init -q && git add -A && git commit -qm start"
COMMIT = "git add -A && git commit -qm work"
COMMITTED = "git log --format=%s | grep -x work"
# An agent in a sandbox may use git where the user said so.
MAY_COMMIT = 'writable = [".git"]\n'
MAY_CHANGE_THE_PLAN = 'writable = [".git", "PLAN.md"]\n'
LIBRARY = (
    'git init -q "$LOOT/library" && cd "$LOOT/library" && echo lib > lib.txt && git add -A '
    "&& git commit -qm lib"
)
HOOK = "printf '#!/bin/sh\\ngrep -q works product.txt\\n' > .git/hooks/pre-commit; "
STEPS = plan(
    step("Write the product", "grep -qx works product.txt"),
    step("Describe it", "grep -q product README.txt"),
)
TWO_COMMITS = {"1": f"{WORK}; {COMMIT}", "2": f"echo product > README.txt; {COMMIT}"}

# Each in a repository whose first commit leaves the plan out: what the agent does, what git shows.
WAYS: dict[str, tuple[str, str]] = {
    "commit its work": (f"{WORK}; {COMMIT}", COMMITTED),
    "work on a branch of its own and stay there": (
        f"git checkout -qb feature; {WORK}; {COMMIT}",
        "git branch --show-current | grep -x feature",
    ),
    "merge its branch": (
        f"git checkout -qb f; {WORK}; {COMMIT}; git checkout -q main; "
        "git merge -q --no-ff -m merged f",
        "git log -1 --format=%s | grep -x merged",
    ),
    "rebase": (
        f"git checkout -qb f; echo f > f.txt; {COMMIT}; git checkout -q main; {WORK}; {COMMIT}; "
        "git checkout -q f; git rebase -q main; git checkout -q main; git merge -q --ff-only f",
        "test $(git rev-list --count main) = 3",
    ),
    "resolve a conflict": (
        f"git checkout -qb f; echo theirs > product.txt; {COMMIT}; git checkout -q main; "
        f"echo ours > product.txt; {COMMIT}; git merge -q f; {WORK}; git commit -qam resolved",
        "git log -1 --format=%s | grep -x resolved",
    ),
    "stash and take it back": (
        f"{WORK}; git add product.txt; git stash -q && git stash pop -q || rm product.txt",
        "git stash list | wc -l | grep -x 0",
    ),
    "rewrite history": (
        f"{WORK}; git add -A; git commit -q --amend -m better; git reflog expire --all "
        "--expire=now; git gc -q --prune=now; git tag v1",
        "test $(git rev-list --count v1) = 1",
    ),
    "take one change back": (
        f"echo bad > bad.txt; {COMMIT}; git revert --no-edit HEAD && {WORK}",
        "! test -e bad.txt",
    ),
    "pick a change from another branch": (
        f"git checkout -qb f; {WORK}; {COMMIT}; git checkout -q main; git cherry-pick f",
        COMMITTED,
    ),
    "use a worktree of its own": (
        f"git worktree add -q ignored/a -b a; (cd ignored/a && {WORK} && {COMMIT}); "
        "git merge -q a; git worktree remove ignored/a",
        COMMITTED,
    ),
    "commit past a hook that checks its work": (
        f"{HOOK} chmod +x .git/hooks/pre-commit; {WORK}; {COMMIT}",
        COMMITTED,
    ),
}

CASES = (
    *(
        Case(
            f"a linter that asks git is not disturbed when an agent may {what}",
            Accepted(attempts=1),
            files={"src/a.txt": "bad\n", "checker/lint.py": LINT},
            prepare=START,
            contract="python3 checker/lint.py",
            fields=fields,
            agent=agent,
            sandbox=MAY_COMMIT,
        )
        for what, agent, fields in (
            (
                "commit, branch and say who it is",
                "echo good > src/a.txt; git config user.name me; git config core.pager cat; "
                f"git remote add x /x; git checkout -qb b; {COMMIT}; "
                "echo '# a comment' >> .git/info/exclude",
                "**produces:** src/a.txt\n",
            ),
            (
                "change what git excludes",
                "echo 'src/*' >> .git/info/exclude; echo good > src/b.txt",
                "**may_change:** .git/info/exclude\n**produces:** src/b.txt\n",
            ),
        )
    ),
    *(
        Case(
            f"an agent may {what}",
            Accepted(attempts=1),
            files={".gitignore": "ignored/\nPLAN.md\n"},
            prepare=START,
            agent=agent,
            afterwards=afterwards,
            sandbox=MAY_COMMIT,
        )
        for what, (agent, afterwards) in WAYS.items()
    ),
    Case("an agent may leave its work uncommitted", Accepted(attempts=1), prepare=START),
    Case(
        "an agent that tries to commit where it may not is not punished",
        Accepted(attempts=1),
        prepare=START,
        agent=f"{WORK}; {COMMIT}",
    ),
    Case(
        "each step may be a commit",
        Accepted(attempts=2),
        prepare=START,
        plan=STEPS,
        agent=TWO_COMMITS,
        afterwards="test $(git rev-list --count HEAD) = 3",
        sandbox=MAY_COMMIT,
    ),
    Case(
        "each step may be a commit on the command line",
        Accepted(attempts=2),
        prepare=START,
        plan=STEPS,
        agent=TWO_COMMITS,
        afterwards="test $(git rev-list --count HEAD) = 3",
        door=Door.COMMAND,
        sandbox=MAY_COMMIT,
    ),
    Case(
        "an agent may commit the plan with its marks",
        Accepted(attempts=1),
        prepare=START,
        agent=f"{WORK}; {COMMIT}",
        afterwards="git log --oneline -- PLAN.md | wc -l | grep -x 2",
        sandbox=MAY_COMMIT,
    ),
    Case(
        "an agent may stash although git knows the plan, whose marks changed it",
        Accepted(attempts=1),
        prepare=START,
        agent=f"{WORK}; git add product.txt; git stash -q && git stash pop -q || rm product.txt",
        sandbox=MAY_CHANGE_THE_PLAN,
    ),
    Case(
        "an agent may merge a branch although git knows the plan, whose marks changed it",
        Accepted(attempts=1),
        prepare=START,
        agent=f"git checkout -qb f; {WORK}; {COMMIT}; git checkout -q main; git merge -q f",
        afterwards=COMMITTED,
        sandbox=MAY_CHANGE_THE_PLAN,
    ),
    Case(
        "a repository may have attributes and filters",
        Accepted(attempts=1),
        files={".gitattributes": "*.txt text eol=lf filter=upper\n"},
        prepare=f"git init -q; git config filter.upper.clean 'tr a-z A-Z'; {START}",
        agent=f"{WORK}; {COMMIT}",
        afterwards="git show HEAD:product.txt | grep -x WORKS",
        sandbox=MAY_COMMIT,
    ),
    Case(
        "a folder that is no repository is a workspace",
        Accepted(attempts=1),
        prepare="! git rev-parse 2> /dev/null",
    ),
    Case(
        "an agent may make the folder a repository",
        Accepted(attempts=1),
        agent=f"{WORK}; git init -q; git add product.txt; git commit -qm work",
        afterwards=COMMITTED,
    ),
    Case(
        "a submodule is content",
        Accepted(attempts=1),
        prepare=f'({LIBRARY}); {START}; git submodule -q add "$LOOT/library" lib; {COMMIT}',
        contract="grep -qx lib lib/lib.txt && bash tests/check.sh",
    ),
    Case(
        "a submodule may be moved on",
        Accepted(attempts=1),
        prepare=f'({LIBRARY}); {START}; git submodule -q add "$LOOT/library" lib; {COMMIT}',
        contract="grep -qx more lib/lib.txt",
        agent=f"(cd lib && echo more >> lib.txt && {COMMIT}); {COMMIT}",
        afterwards="git -C lib status --porcelain | wc -l | grep -x 0",
        sandbox=MAY_COMMIT,
    ),
    Case(
        "a repository inside the workspace is content",
        Accepted(attempts=1),
        prepare=START,
        contract="grep -qx works vendor/tool/product.txt",
        agent=f"mkdir -p vendor/tool; cd vendor/tool; git init -q; {WORK}; {COMMIT}",
        afterwards=f"cd vendor/tool; {COMMITTED}",
    ),
    Case(
        "a nested repository that is ignored is none of our business",
        Accepted(attempts=1),
        files={".gitignore": "checkout/\n"},
        prepare=START,
        agent=f"{WORK}; mkdir checkout; cd checkout; git init -q; echo x > x; {COMMIT}",
        afterwards=f"cd checkout; {COMMITTED}",
    ),
    Case(
        "a worktree is a workspace",
        Accepted(attempts=1),
        prepare=f"{START}; git worktree add -q ../tree",
        start_in="../tree",
        agent=f"{WORK}; {COMMIT}",
        afterwards=f"! test -e product.txt; cd ../tree; test -e product.txt; {COMMITTED}",
        sandbox='writable = ["../work/.git"]\n',
    ),
    Case(
        "a repository may keep its git folder elsewhere",
        Accepted(attempts=1),
        prepare='git init -q --separate-git-dir="$LOOT/git" . && git add -A && git commit -qm a',
        agent=f"{WORK}; {COMMIT}",
        afterwards=COMMITTED,
        sandbox='writable = ["../loot/git"]\n',
    ),
    Case(
        "a shallow clone is a workspace",
        Accepted(attempts=1),
        prepare=f'({LIBRARY}); git clone -q --depth 1 "file://$LOOT/library" ../clone',
        start_in="../clone",
        contract="grep -qx works product.txt",
        fields="",
    ),
    Case(
        "an agent may put everything aside, the plan file too, and take it back",
        Accepted(attempts=1),
        prepare="git init -q && git add tests && git commit -qm start",
        agent=f"{WORK}; git stash -qu; git stash pop -q",
        sandbox=f"{MAY_COMMIT}agents = false\n",
    ),
)
