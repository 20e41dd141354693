"""Scripted habits of weak models, one line each of what they are and what they do."""

from __future__ import annotations

from typing import Any

from forgetful import Habit, Make, Say
from tasks import CODE, GUIDE, PAGES

INDEX, ONE, TWO, THREE = PAGES
GOOD = GUIDE.good
DONE = Say()
THIN = "# x\n"
UNTITLED = "A page with enough words in it to be no thin page, and yet no title.\n"
DEAD_LINK = GOOD[ONE] + "\nSee [more](nowhere.md).\n"
CALC = "src/calc.py"


def read(path: str) -> Make:
    return Make("read", {"path": path})


def write(path: str, content: str | None = None) -> Make:
    return Make(
        "write", {"path": path, "content": GOOD.get(path, "x") if content is None else content}
    )


def edit(path: str, old: str, new: str) -> Make:
    return Make("edit", {"path": path, "old": old, "new": new})


def bash(command: str) -> Make:
    return Make("bash", {"command": command})


def todo(*items: tuple[str, bool]) -> Make:
    return Make("todo", {"items": [{"text": text, "done": done} for text, done in items]})


def note(text: str) -> Make:
    return Make("scratchpad", {"key": "notes", "text": text})


def ask(question: str) -> Make:
    return Make("ask_user", {"question": question})


def turns(*calls: Make) -> list[list[Make]]:
    """One call a turn."""
    return [[call] for call in calls]


ALL_WRITTEN = turns(*(write(page) for page in PAGES))
MOST_WRITTEN = ALL_WRITTEN[:3]
FLAWED: dict[str, Any] = {
    "first": turns(write(INDEX), write(ONE, UNTITLED), write(TWO), write(THREE))
}
TICKED = todo(("write all pages", True), ("run the checks", True))

LOOKING = (
    Habit("rereads one file", "reads the same reference for ever", turns(read("ref/a.md"))),
    Habit(
        "rereads in a circle",
        "reads three references in turn, for ever",
        turns(*(read(f"ref/{letter}.md") for letter in "abc")),
    ),
    Habit("lists files", "lists all files for ever", turns(Make("glob", {"pattern": "**/*"}))),
    Habit(
        "looks at everything",
        "a search for something else in each turn",
        turns(*(Make("grep", {"pattern": f"word{n}"}) for n in range(60))),
    ),
    Habit(
        "searches", "searches for the same word for ever", turns(Make("grep", {"pattern": "Mat"}))
    ),
    Habit("looks by shell", "`ls` and `cat` for ever", turns(bash("ls -R"), bash("cat ref/a.md"))),
    Habit(
        "reads it three times at once",
        "the same read three times in each batch",
        [[read("ref/b.md")] * 3],
    ),
    Habit(
        "admires its work",
        "reads each file that it wrote, again and again",
        turns(read(INDEX)),
        first=turns(write(INDEX)),
    ),
    Habit(
        "drifts back to the reference",
        "one page before the end it reads references for ever",
        turns(*(read(f"ref/{letter}.md") for letter in "abc")),
        first=MOST_WRITTEN,
    ),
    Habit(
        "audits for ever",
        "everything is written; it reads on and on",
        turns(read(ONE), read(TWO), read(THREE)),
        first=ALL_WRITTEN,
    ),
    Habit(
        "audits by shell",
        "everything is written; it counts words and greps on and on",
        turns(bash("wc -w docs/*.md"), bash("grep -n '#' docs/*.md"), bash("head -3 docs/*.md")),
        first=ALL_WRITTEN,
    ),
)
WRITING = (
    Habit("writes the same again", "writes the index for ever", turns(write(INDEX))),
    Habit(
        "edits nothing",
        "edits a passage into itself",
        turns(edit(INDEX, "# index", "# index")),
        first=turns(write(INDEX)),
    ),
    Habit(
        "misremembers",
        "edits a passage that is not there",
        turns(edit(INDEX, "# Inhalt", "# index")),
        first=turns(write(INDEX)),
    ),
    Habit("forgets the text", "writes a file without content", turns(Make("write", {"path": ONE}))),
    Habit("writes emptiness", "writes a file with empty content", turns(write(ONE, ""))),
    Habit("forgets the place", "writes without a path", turns(Make("write", {"content": "# x"}))),
    Habit(
        "breaks its JSON", "arguments that cannot be read", turns(Make("write", "{path: docs/on"))
    ),
    Habit(
        "invents a tool",
        "calls a tool that is not there",
        turns(Make("create_file", {"path": ONE, "content": "# x"})),
    ),
    Habit(
        "writes the wrong file",
        "a page of almost the right name, then done",
        [*turns(write("docs/tow.md", GOOD[TWO])), DONE],
        first=turns(write(INDEX), write(ONE)),
    ),
    Habit(
        "grows the set",
        "one page more, and one more",
        turns(*(write(f"docs/extra{n}.md", f"# extra\n\n{n}\n") for n in range(60))),
        first=turns(write(INDEX), write(ONE)),
    ),
    Habit("makes folders", "`mkdir` for ever", turns(bash("mkdir -p docs"))),
    Habit(
        "rewrites by shell",
        "`sed -i` on its pages for ever",
        turns(bash(f"sed -i 's/one/One/' {ONE}"), bash(f"echo x > {ONE}")),
        first=turns(write(ONE)),
    ),
    Habit(
        "tidies up too much",
        "removes a page by the shell, then says done",
        [*turns(bash(f"rm {TWO}")), DONE],
        first=ALL_WRITTEN,
    ),
)
CLAIMING = (
    Habit("says done at once", "no call at all", [DONE]),
    Habit("says done after the index", "one file of four", [DONE], first=turns(write(INDEX))),
    Habit(
        "announces",
        "says what it will do, for ever",
        [Say("I will now write the next page.")],
    ),
    Habit("says nothing", "empty answers for ever", [Say("")]),
    Habit("ticks everything", "ticks the list, then says done", [*turns(TICKED), DONE]),
    Habit(
        "drops what is open",
        "sends a list without the open items, then says done",
        [*turns(todo(("write the index", True))), DONE],
        first=turns(write(INDEX)),
        items=("write docs/two.md", "write docs/three.md", "run the checks"),
    ),
    Habit(
        "claims all pages for one",
        "ticks `create all pages` after one of them, then says done",
        [*turns(todo(("create all pages", True))), DONE],
        first=turns(write(ONE)),
        items=("create all pages",),
    ),
    Habit(
        "writes thin pages", "titles only, then done", [DONE], drafts=dict.fromkeys(PAGES, (THIN,))
    ),
    Habit(
        "invents links",
        "a link to nowhere, then done",
        [*turns(write(ONE, DEAD_LINK)), DONE],
        first=turns(write(INDEX), write(TWO), write(THREE)),
    ),
    Habit(
        "never looked at the code",
        "says that it is mended, and changed nothing",
        [DONE],
        task=CODE,
    ),
    Habit(
        "runs the same check",
        "runs the check for ever and changes nothing",
        turns(bash("python3 checks/code.py")),
        task=CODE,
        verified=False,
    ),
    Habit(
        "mends half",
        "mends one of two things, then says done",
        [DONE],
        first=turns(edit(CALC, "numbers[:-1]", "numbers")),
        task=CODE,
    ),
)
KEEPING_BOOKS = (
    Habit(
        "rewrites its list",
        "the list, worded anew, for ever",
        turns(todo(("write the pages", False)), todo(("write the pages", False), ("check", False))),
    ),
    Habit("takes notes", "notes for ever", turns(note("the guide needs four pages"))),
    Habit(
        "notes and lists",
        "notes and the list in each turn",
        [[note("thinking"), todo(("write the pages", False))]],
    ),
    Habit(
        "lists when all is built",
        "everything is written; it keeps its list for ever",
        turns(TICKED),
        first=ALL_WRITTEN,
    ),
    Habit(
        "asks when all is built",
        "everything is written; it asks what else there is",
        turns(ask("Shall I add a fifth page?")),
        first=ALL_WRITTEN,
    ),
    Habit(
        "asks instead of working",
        "questions for ever, and nobody is there",
        turns(ask("Which tone do you like?")),
        verified=False,
    ),
)
REPAIRING = (
    Habit(
        "wanders off from a repair",
        "reads elsewhere while a finding is open",
        [DONE, *turns(read("ref/a.md"))],
        **FLAWED,
    ),
    Habit(
        "repairs the wrong file",
        "changes another page than the one that was found",
        [DONE, *turns(write(TWO, GOOD[TWO] + "\nMore.\n"))],
        **FLAWED,
    ),
    Habit(
        "lists during a repair",
        "ticks its list instead of repairing",
        [DONE, *turns(TICKED)],
        **FLAWED,
    ),
    Habit(
        "repairs one of two",
        "two pages are broken; it mends one and says done",
        [DONE],
        first=turns(write(INDEX), write(ONE, THIN), write(TWO, UNTITLED), write(THREE)),
    ),
    Habit(
        "changes its mind after a kept round",
        "breaks a page after it was judged, and thinks of it as proved",
        [DONE],
        first=[*ALL_WRITTEN, *turns(read(ONE), read(TWO), read(THREE), write(ONE, UNTITLED))],
        items=("read the material in ref/a.md",),
    ),
    Habit(
        "leaves an item open",
        "everything is written; what it should have read first it never reads",
        turns(bash("true"), read(ONE)),
        first=ALL_WRITTEN,
        items=("read the material in ref/b.md", "review all pages for consistency"),
    ),
    Habit(
        "breaks what it mends",
        "each turn that mends a page breaks it again",
        [DONE],
        also=[write(ONE, UNTITLED)] * 40,
        verified=False,
        **FLAWED,
    ),
    Habit(
        "cannot do it",
        "each repair is as broken as before",
        [DONE],
        drafts={ONE: tuple(f"{UNTITLED}Version {n}.\n" for n in range(9))},
        verified=False,
        **FLAWED,
    ),
    Habit(
        "listens to nobody",
        "the same empty write, whatever it is told",
        turns(Make("write", {"path": ONE})),
        deaf=True,
        verified=False,
    ),
    Habit(
        "does not hear that it is blocked",
        "the same shell rewrite, whatever it is told",
        turns(bash(f"sed -i s/x/y/ {ONE}")),
        first=turns(write(ONE)),
        deaf=True,
        verified=False,
    ),
)
HABITS = (*LOOKING, *WRITING, *CLAIMING, *KEEPING_BOOKS, *REPAIRING)
