"""Which files a text asks for, as people word tasks: what is not plain is not asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from signoff.toolbatch.artifacts import planned_in
from signoff.toolbatch.sentences import Wish, wanted_in
from signoff.toolbatch.wordings import LONGEST_READ

# What a text wants made; `~a` is wanted changed, `?a` is wanted unless it is there already.
_MARKS = {Wish.MAKE: "", Wish.CHANGE: "~", Wish.UNLESS_THERE: "?"}


def wanted(text: str) -> list[str]:
    return [f"{_MARKS[one.wish]}{one.path}" for one in wanted_in(text)]


@pytest.mark.parametrize(
    "text",
    [
        "look at a.py and fix the bug",
        "Rename the function foo.bar to foo.baz in util.py",
        "don't touch z.py",
        "Do it like in b.py",
        "add tests for calc.py",
        "Upgrade to version 1.2.3 of requests",
        "Mail me at joe@notes.md when finished",
        "Make api.example.com/users.json return 200",
        "What is in main.py?",
        "Why does app.py write log.txt?",
        "How do I create a.md?",
        "You can create scratch.md for notes",
        "The script should write out.csv",
        "The tool must read in.csv and write out.json",
        "Write a tool to read in.csv and write out.json",
        "If config.yaml is missing, create it from config.example.yaml",
        "If the tests fail, write errors.log",
        "Create a.md if it does not exist",
        "Update README.md if needed",
        "Create a.md or b.md",
        "Create a package.json parser",
        "Add a link to b.md",
        "When a request fails, write error.log",
        "Implement the function described in spec.md",
        "Explain how build.py works and what config.toml is for",
        "Create a site with index.html and about.html",
        "Set up logging in app.py",
        "Create a REST endpoint api/v1/users/",
        "Write unit tests for src/calc.py.",
        "Copy a.txt to backup/",
        "Replace foo with bar in main.py",
        "Use console.log and Math.log in app.js",
        "Document the API in docs/api.md",
        "Improve the wording of README.md",
        "Create everything except z.md",
        "Update every file except z.py",
        "Do not change these:\n- a.py\n- b.py",
        'Traceback:\n  File "app.py", line 3\nValueError\n\nFix it.',
        "Fix the bug in app.py. Read notes.md",
        "Create version 1.2.3 of example.com",
        "Read the spec in spec.md",
        "The file config.py is broken. Fix it.",
        "create new_module.py maybe",
        "decided against new_module.py",
        "Write a program that, given in.txt, writes out.txt",
        "There is a bug: app.py writes log.txt twice. Fix it",
        "Ensure that build.sh creates dist/app.js",
        "Use `foo.bar()` in main.py instead of writing out.json",
        "make test.py executable",
        "write a script that can read a.csv, validate it, and write b.json",
        "Build a CLI that converts input.md to output.html",
        "Add `example.com` to the allow list",
        "Add a test which loads fixtures/x.json",
        "Fix the bug in calc.py and add a test",
        "Make the tests in tests/test_a.py pass",
        "Make sure README.md mentions setup.cfg",
        "Make app.py faster",
        "Add error handling to the code in src/",
        "Write me an answer: what does main.py do?",
        "Build the project with make and report the warnings in build.log",
        "Write a regex that matches foo.txt or bar.txt",
        "Add retry logic (see client.py and retry.py)",
        "Prepare a migration so that old.db is no longer used",
        "Create a class that behaves like list.sort",
        "Add `numpy.array` support to the `Matrix.dot` method",
        "Write tests for a.py, b.py",
        "Write unit tests covering parser.py",
        "Provide an answer to issue.md",
        "Implement pagination. Use `request.args` for the page number",
        "Add the option described in docs/spec.md",
        "Add a check that refuses uploads named virus.exe or evil.sh",
        "Emit a warning if old.cfg exists",
    ],
)
def test_a_text_that_only_speaks_of_files_asks_for_none(text: str) -> None:
    assert wanted(text) == []


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("rename x.py to y.py", "y.py"),
        ("Create BUGS.md listing the bugs in src/", "BUGS.md ?src/"),
        ("Write docs/x.md describing lib/y.py", "docs/x.md"),
        ("convert in.csv to out.json", "out.json"),
        ("Add tests for calc.py in tests/test_calc.py", "~tests/test_calc.py"),
        ("See https://example.com/x.html and create y.html", "y.html"),
        ("Delete all *.pyc files and update .gitignore", "~.gitignore"),
        ("Can you create notes.md for me?", "notes.md"),
        ("Could you please write a script fetch.py that downloads data.csv?", "fetch.py"),
        ("I want you to create a.md and b.md", "a.md b.md"),
        ("You should create report.md", "report.md"),
        ("Write tool.py to read in.csv and write out.json", "tool.py"),
        ("Update README.md", "~README.md"),
        ("Update README.md and CHANGELOG.md", "~README.md ~CHANGELOG.md"),
        ("Refactor a.py into b.py and c.py", "b.py c.py"),
        ("Split big.py into small1.py and small2.py", "small1.py small2.py"),
        ("Write a Dockerfile linter in lint.py", "lint.py"),
        ("Use data from a.csv to create b.html", "b.html"),
        ("Run gen.py to generate out.json", "out.json"),
        ("Fix app.py to write output.json", "~app.py"),
        ("Add a link to b.md in a.md", "~a.md"),
        ("Add config.yaml to .gitignore", "~.gitignore"),
        ("Add a README.md to the project", "README.md"),
        ("Add index.html", "index.html"),
        ("Fix calc.py", "~calc.py"),
        (
            "Add a CHANGELOG.md, update setup.py and write docs/usage.md",
            "CHANGELOG.md ~setup.py docs/usage.md",
        ),
        ("Create three files: a.txt, b.txt and c.txt", "a.txt b.txt c.txt"),
        ("Create a.txt, b.txt, and c.txt, each containing its name", "a.txt b.txt c.txt"),
        ("Please don't forget to create a.md", "a.md"),
        ("Write the output of `python gen.py` to out.txt", "out.txt"),
        ("When you are done, write summary.md", "summary.md"),
        ("After reading spec.md, create impl.py", "impl.py"),
        ("Your task is to create hello.py", "hello.py"),
        ("Implement parser.py", "?parser.py"),
        ("Review src/a.py and src/b.py and create REVIEW.md", "REVIEW.md"),
        ("Compare a.csv to b.csv and write the differences to diff.txt", "diff.txt"),
        ("Create a web page index.html with a link to about.html", "index.html"),
        ("Create a.html that links to b.html, and create b.html", "a.html b.html"),
        (
            "Build a website in site/ with index.html and about.html.",
            "site/ site/index.html site/about.html",
        ),
        ("Write a function add in calc.py and a test in test_calc.py", "calc.py test_calc.py"),
        ("Write calc.py with add and sub, and test_calc.py with tests", "calc.py"),
        ("Create calc.py with add.", "calc.py"),
        ("Create calc.py with add; the tests must pass.", "calc.py"),
        ("Translate README.md into README.de.md", "README.de.md"),
        ("Move utils.py to lib/utils.py", "lib/utils.py"),
        ("Save the plot as plot.png", "plot.png"),
        (
            "Create a Python package in src/foo/ with __init__.py and core.py",
            "src/foo/ src/foo/__init__.py src/foo/core.py",
        ),
        ("Write documentation in docs/api.md", "docs/api.md"),
        ("Write a summary of the code in app.py", "?app.py"),
        ("Create a list of links in out.txt", "?out.txt"),
        ("Generate a report on sales.csv and save it as report.pdf", "report.pdf"),
        ('Create hello.txt containing the text "hello world"', "hello.txt"),
        ("Make a file hello.txt", "hello.txt"),
        ("Make index.html and style.css", "index.html style.css"),
        ("Write `hello` into greeting.txt", "greeting.txt"),
        ("Append a line to log.txt", "~log.txt"),
        ("Create a.md, b.md and c.md but leave d.md alone", "a.md b.md c.md"),
        ("Don't create a.md or b.md, create c.md", "c.md"),
        ("write a.py, then write b.py that imports a.py", "a.py b.py"),
        ("Create a new file called notes.txt", "notes.txt"),
        ("Write a poem and save it to poem.txt", "poem.txt"),
        (
            "Create src/app.py, tests/test_app.py and a README.md",
            "src/app.py tests/test_app.py README.md",
        ),
        ("create (or update) a.md", "a.md"),
        ("Create two pages (index.html, about.html)", "index.html about.html"),
        ("Improve src/a.py.", "~src/a.py"),
        ("Build a.md.", "?a.md"),
        ("Optimise src/a.py and make sure tests/test_a.py passes", "~src/a.py"),
        ("Make these files:\n- a.html\n- docs/b.html\n\nThen read notes.txt", "a.html docs/b.html"),
        (
            "Create these pages in site/:\n1. index.html\n2. a/b.html",
            "site/ site/index.html site/a/b.html",
        ),
        (
            "Create these pages:\n- index.html: the home page, links to about.html"
            "\n- about.html - see team.html\n- `contact.html` with a link to index.html",
            "index.html about.html contact.html",
        ),
        ("Files to create:\n- a.md\n- b.md", "a.md b.md"),
        ("Update the following files:\n* a.py\n* b.py", "~a.py ~b.py"),
        ("Add type hints to:\n- a.py\n- b.py", "~a.py ~b.py"),
        ("Fix this:\n```\nopen('create a.md')\ncreate b.md\n```\nwrite c.md", "c.md"),
        ("> create a.md\nWrite b.md", "b.md"),
        (
            "Steps:\n1. Read spec.md\n2. Create impl.py\n3. Update main.py\n4. Do not touch z.py",
            "impl.py ~main.py",
        ),
        ("Create:\na.md\nb.md", "a.md b.md"),
        ("- [ ] create a.md\n- [ ] read b.md", "a.md"),
        ("# Task\n\nCreate **hello.py** and 'world.py'.", "hello.py world.py"),
        ("The following files exist:\n- a.py\n- b.py\nCreate c.py", "c.py"),
        (
            "Create index.html and about.html, then update main.css",
            "index.html about.html ~main.css",
        ),
        ("Write a report in out/report.md about data/input.csv", "out/report.md"),
        ("Write tests for src/a.py in tests/test_a.py", "tests/test_a.py"),
        ("Do not create foo.py, create bar.py", "bar.py"),
        ("Please don't write a.py; write b.py", "b.py"),
        ("delete old.txt and make new.txt", "new.txt"),
        ("Save the summary of a.txt and b.txt to out.md", "out.md"),
        ("Please produce data/out.json from data/in.json.", "data/out.json"),
        ("Create index.html and about.html in site/", "site/index.html site/about.html site/"),
        ("Create site/ with index.html. Write b.md", "site/ site/index.html b.md"),
        ("Create a Node.js server in `server.js`", "server.js"),
        ("run `python app.py` and write the output to log.txt", "log.txt"),
        ("Create résumé.html und 日本.md", "résumé.html 日本.md"),
        ("Write ./x.py", "./x.py"),
        ("Create all of a.txt and b.txt", "a.txt b.txt"),
        ("Creating chapters/01.html", "chapters/01.html"),
        ("Create all pages in site/", "site/"),
        ("Add index.html to site/", "site/index.html"),
        ("Create /abs/x.txt and b.txt", "/abs/x.txt b.txt"),
        ("I have a file data.csv. Please analyze it and create a chart chart.png", "chart.png"),
        ("Create a.py which writes b.txt and c.py which reads it", "a.py"),
        (
            "Set version in pyproject.toml to 2.0 and update CHANGELOG.md accordingly",
            "~CHANGELOG.md",
        ),
        ("Add a new section to README.md explaining setup.py", "~README.md"),
        ("Add unit tests to tests/test_calc.py for calc.py", "~tests/test_calc.py"),
        ("Write docs for `pkg.mod` in `docs/pkg.md`", "?docs/pkg.md"),
        ("Write docs for pkg in `docs/pkg.md`", "?docs/pkg.md"),
        ("Write a.py so it creates b.txt", "a.py"),
        ("Write a script that reads a.csv, and save its output to out.md", "out.md"),
        ("Create a.txt with content 'hello' and b.txt with content 'world'", "a.txt"),
        ("Implement `Stack.push` and `Stack.pop` in stack.py", "stack.py"),
        ("Add a method `User.name` to models.py", "~models.py"),
        ("Write a function in app.py that calls `json.loads` and `os.path`", "app.py"),
        ("Write convert.py that turns input.csv into output.json", "convert.py"),
        ("Write a script tool.py which reads settings.json and prints it", "tool.py"),
        (
            "Add type hints to a.py, b.py, c.py, d.py, e.py, f.py, g.py and h.py",
            "~a.py ~b.py ~c.py ~d.py ~e.py ~f.py ~g.py ~h.py",
        ),
        ("Add docstrings to every function in util.py", "~util.py"),
        ("Create a.md but not b.md", "a.md"),
        ("Create a.md. Don't touch b.md", "a.md"),
        ("Rename foo.py to bar.py", "bar.py"),
        ("Write a summary of notes.txt to summary.md", "summary.md"),
        ("Add a `--json` flag to cli.py", "~cli.py"),
        ("Generate docs/ from src/", "docs/"),
        ("Put the API key in config.yaml, do not commit secrets.env", "config.yaml"),
        ("Create a Dockerfile; the image must run server.py", "Dockerfile"),
        ("Add a line to the .gitignore for *.log", "~.gitignore"),
        (
            "Create pages index.html, about.html and contact.html in site/",
            "site/index.html site/about.html site/contact.html site/",
        ),
        ("Develop main.go so that `fmt.Println` is called", "main.go"),
        ("Create report.md describing what happens when config.toml is missing", "report.md"),
        (
            "Write hello.py. When called with data.csv it must print the row count and exit 0",
            "hello.py",
        ),
    ],
)
def test_a_text_asks_for_what_its_verbs_make_or_change(text: str, paths: str) -> None:
    assert wanted(text) == paths.split()


def test_what_is_there_decides_where_words_do_not(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("x = 1\n")
    for text, there in (
        ("Add type hints to app.py and other.py", "app.py"),
        ("Update app.py and CHANGELOG.md", "app.py"),
        ("Write a summary of the code in app.py", ""),
        ("Write a summary of the code in out.md", "out.md"),
        ("Build app.py", ""),
        ("Implement parser.py", "parser.py"),
    ):
        assert [a.path for a in planned_in(text, tmp_path)] == there.split(), text
        assert planned_in(text) == (), text


def test_a_long_text_is_read_in_time() -> None:
    for part in ("a,", "and create ", "`", "(a.md ", "x@", "a.b/", "- ", "if that to "):
        text = f"Create {part * (LONGEST_READ // len(part))}"
        assert len(wanted_in(text)) < LONGEST_READ
