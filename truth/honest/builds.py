"""Builds, lock files, generated code: things that come and go beside the work."""

from __future__ import annotations

from signoff.domain.ledger import Choice
from truth.case import WORK, Accepted, Act, Case

RUNS_BUILD = "import sys\nsys.exit(open('build/app').read() != 'built\\n')\n"

MAKEFILE = """\
build/app: product.txt
\tmkdir -p build
\tcp product.txt build/app

check: build/app
\tgrep -qx works build/app
"""
GENERATOR = "while read -r name; do echo \"def $name(): return '$name'\"; done < names.txt\n"
COMPILE = "tr a-z A-Z < product.txt > product.o && grep -qx WORKS product.o"

CASES = (
    Case(
        "a contract may build into an ignored folder",
        Accepted(attempts=1),
        contract="make -s check",
        files={"Makefile": MAKEFILE, ".gitignore": "build/\n"},
    ),
    Case(
        "an agent may build before it is judged",
        Accepted(attempts=1),
        contract="make -s check",
        files={"Makefile": MAKEFILE, ".gitignore": "build/\n"},
        agent=f"{WORK}; make -s check",
    ),
    *(
        Case(
            f"a build alone may make the check hold, {how}",
            Accepted(attempts=1),
            files={"checker/run.py": RUNS_BUILD, ".gitignore": "build/\n"},
            contract=contract,
            fields=fields,
            agent="mkdir build; echo built > build/app",
            person=person,
        )
        for how, contract, fields, person in (
            ("where the check names it", "test -d build && python3 checker/run.py", "", ()),
            ("where the plan says so", "python3 checker/run.py", "**may_change:** build/**\n", ()),
            ("where a person says so", "python3 checker/run.py", "", (Act(Choice.ALLOW),)),
        )
    ),
    Case(
        "an ignored build that was there before may be replaced",
        Accepted(attempts=1),
        contract="make -s check",
        files={"Makefile": MAKEFILE, ".gitignore": "build/\n", "build/app": "old\n"},
    ),
    Case(
        "a contract may write what it declares",
        Accepted(attempts=1),
        contract="mkdir -p dist && tar cf dist/product.tar product.txt",
        fields="**writes:** dist/**\n",
    ),
    Case(
        "several declared files and folders may be written",
        Accepted(attempts=1),
        contract=f"mkdir -p dist/a; date > dist/a/stamp; date > report.xml; {COMPILE}",
        fields="**writes:**\n- dist/**\n- report.xml\n- *.o\n",
    ),
    Case(
        "a contract may check a copy that it makes of the work",
        Accepted(attempts=1),
        contract="cp product.txt staged/ && grep -qx works staged/product.txt",
        files={"staged/.gitkeep": ""},
        fields="**writes:** staged/product.txt\n",
    ),
    Case(
        "object files beside the sources may be ignored by pattern",
        Accepted(attempts=1),
        contract=COMPILE,
        files={".gitignore": "*.o\n"},
    ),
    Case(
        "a folder's own ignore file counts",
        Accepted(attempts=1),
        contract="tr a-z A-Z < product.txt > pkg/product.tmp && grep -q WORKS pkg/product.tmp",
        files={"pkg/.gitignore": "*.tmp\n"},
    ),
    Case(
        "an exception from an ignore rule is content like any other",
        Accepted(attempts=1),
        contract="grep -qx works out/keep.txt && date > out/scratch",
        files={".gitignore": "out/*\n!out/keep.txt\n", "out/keep.txt": ""},
        agent="echo works > out/keep.txt",
        fields="",
    ),
    Case(
        "an agent may add a build folder that the plan declares",
        Accepted(attempts=1),
        contract="tar cf target/product.tar product.txt && tar tf target/product.tar",
        fields="**writes:** target/**\n",
        agent=f"{WORK}; echo target/ >> .gitignore; mkdir target; touch target/made",
    ),
    Case(
        "an agent may ignore more than was ignored before",
        Accepted(attempts=1),
        files={".gitignore": "build/\n"},
        agent=f"{WORK}; printf 'notes/\\n*.log\\n' >> .gitignore; mkdir notes; date > notes/a.log",
    ),
    Case(
        "a build output may be part of the work",
        Accepted(attempts=1),
        contract="tar tf dist/product.tar | grep -qx product.txt",
        agent=f"{WORK}; mkdir dist; tar cf dist/product.tar product.txt",
    ),
    Case(
        "a lock file may appear",
        Accepted(attempts=1),
        agent=f'{WORK}; echo \'{{"lockfileVersion": 3, "packages": {{}}}}\' > package-lock.json',
    ),
    Case(
        "a lock file may be brought up to date",
        Accepted(attempts=1),
        contract="diff <(sort deps.txt) deps.lock",
        files={"deps.txt": "b 1\na 1\n", "deps.lock": "a 1\n"},
        agent="sort deps.txt > deps.lock",
        fields="**produces:** deps.lock\n",
    ),
    Case(
        "a contract may refresh a lock file that it declares",
        Accepted(attempts=1),
        contract="sort deps.txt > deps.lock && grep -qx 'c 1' deps.lock",
        files={"deps.txt": "b 1\na 1\n", "deps.lock": "a 1\n"},
        agent="echo 'c 1' >> deps.txt",
        fields="**writes:** deps.lock\n",
    ),
    Case(
        "generated code is checked against its generator",
        Accepted(attempts=1),
        contract="diff <(bash generate.sh) generated.py",
        files={"generate.sh": GENERATOR, "names.txt": "one\ntwo\n"},
        agent="echo three >> names.txt; bash generate.sh > generated.py",
        fields="**may_change:** names.txt\n",
    ),
    Case(
        "two thousand generated files are content like one",
        Accepted(attempts=1),
        contract="test $(ls generated | wc -l) = 2000",
        agent="mkdir generated; for i in {1..2000}; do echo $i > generated/$i; done",
    ),
    Case(
        "compiled Python is no content",
        Accepted(attempts=1),
        contract="python3 -m compileall -q . && python3 -c 'import product'",
        agent="echo works = True > product.py; python3 -m compileall -q .",
        fields="",
    ),
    Case(
        "caches of tools may appear while something is judged",
        Accepted(attempts=1),
        contract="mkdir -p .mypy_cache && date > .mypy_cache/now && grep -qx works product.txt",
        fields="",
    ),
    Case(
        "a contract may use a temporary folder",
        Accepted(attempts=1),
        contract='t=$(mktemp -d) && cp product.txt "$t" && grep -qx works "$t/product.txt"; '
        's=$?; rm -rf "$t"; exit $s',
        fields="",
    ),
    Case(
        "a contract may use a cache in the home folder",
        Accepted(attempts=1),
        prepare='mkdir "$HOME/.cache"',
        contract='mkdir -p "$HOME/.cache/tool" && cp product.txt "$HOME/.cache/tool/" '
        "&& grep -qx works product.txt",
        fields="",
        not_with_landlock=True,
    ),
    Case(
        "a contract may make the first cache in the home folder",
        Accepted(attempts=1),
        contract='mkdir -p "$HOME/.cache/tool" && cp product.txt "$HOME/.cache/tool/" '
        "&& grep -qx works product.txt",
        fields="",
        not_with_landlock=True,
    ),
    Case(
        "a contract may make a file in the workspace and take it away again",
        Accepted(attempts=1),
        contract="trap 'rm -f x.tmp' EXIT; sort product.txt > x.tmp && diff x.tmp product.txt",
        fields="",
    ),
    Case(
        "a contract may touch a file without changing it",
        Accepted(attempts=1),
        contract="""python3 -c 'import os; os.utime("product.txt")' && grep works product.txt""",
        fields="",
    ),
    Case(
        "an empty folder that a contract leaves may be declared",
        Accepted(attempts=1),
        contract="mkdir -p empty/nested && grep -qx works product.txt",
        fields="**writes:**\n- empty/**\n",
    ),
    Case(
        "what is built by one step serves the next",
        Accepted(attempts=1),
        contract="test -x build/tool && build/tool | grep -qx works",
        files={".gitignore": "build/\n"},
        agent="mkdir build; printf '#!/bin/sh\\necho works\\n' > build/tool; chmod +x build/tool",
        fields="**may_change:** build/tool\n",
    ),
)
