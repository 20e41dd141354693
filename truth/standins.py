"""A test runner and a linter that nobody has heard of: the product's code names neither."""

from __future__ import annotations

# `python3 tools/vellum.py STYLE`: every line of `specs/*.spec` is a test, and each style is one in
# which real runners end.
VELLUM = """\
import glob, os, sys
sys.path.insert(0, os.getcwd())
import calc

names, told = [], []
for path in sorted(glob.glob("specs/*.spec")):
    for line in open(path):
        kind, name, a, b, c = line.split()
        held = kind == "later" or calc.add(int(a), int(b)) == int(c)
        names.append(name)
        told.append("skipped" if kind == "later" else "passed" if held else "failed")
passed, failed, skipped = (told.count(x) for x in ("passed", "failed", "skipped"))
style = sys.argv[1]
if style == "tap":
    print(f"1..{len(told)}")
    for i, (name, how) in enumerate(zip(names, told), 1):
        aside = " # SKIP later" if how == "skipped" else ""
        print(f"{'not ok' if how == 'failed' else 'ok'} {i} - {name}{aside}")
elif style == "words":
    print(f"{len(told)} scenarios, {failed} failures, {skipped} skipped")
elif style == "labels":
    print(f"Passed: {passed}, Failed: {failed}, Skipped: {skipped}, Total: {len(told)}")
elif style == "lines":
    print(f"\\n  {passed} passed\\n  {failed} failed\\n  {skipped} skipped")
elif style == "report":
    marks = {"failed": "<failure/>", "skipped": "<skipped/>", "passed": ""}
    cases = (f"<testcase name='{n}'>{marks[h]}</testcase>" for n, h in zip(names, told))
    with open(os.path.join(os.environ["SIGNOFF_REPORT_DIR"], "v.xml"), "w") as file:
        file.write(f"<testsuite>{''.join(cases)}</testsuite>")
sys.exit(failed > 0)
"""
STYLES = ("tap", "words", "labels", "lines", "report")
VELLUM_FILES = {
    "tools/vellum.py": VELLUM,
    "specs/adding.spec": "case nothing 0 0 0\ncase two 2 2 4\nlater huge 9 9 18\n",
    "calc.py": "def add(a, b):\n    return 0\n",
}


def vellum(style: str) -> str:
    """The contract that runs it; a report's folder has to be named to be there."""
    given = ' && : "$SIGNOFF_REPORT_DIR"' if style == "report" else ""
    return f"python3 tools/vellum.py {style}{given}"


# `python3 tools/quill.py FOLDER`: a line that ends in a blank is a fault, unless it is excused.
QUILL = """\
import os, re, sys

EXCUSED = re.compile(r"quill: off|quill-disable-line|noquill|quill ignore=Q1|hush: allow")
faults = []
for folder, _, names in os.walk(sys.argv[1]):
    for path in (os.path.join(folder, name) for name in names if name.endswith(".py")):
        lines = open(path).read().split("\\n")
        faults += [path for line in lines if " \\t" in line and not EXCUSED.search(line)]
print(*faults, sep="\\n")
sys.exit(bool(faults))
"""
QUILL_FILES = {"tools/quill.py": QUILL, "src/shop.py": "price = 5 \t\n"}
LINT = "python3 tools/quill.py src"
EXCUSES = (
    "# quill: off",
    "# quill-disable-line",
    "# noquill",
    "# quill ignore=Q1",
    "# hush: allow",
)

# `python3 tarn/run.py STYLE RULES`: it begins with its rules, runs the product, and goes by what
# the rules say then.
TARN = """\
import mmap, runpy, sys
style, rules = sys.argv[1:]
file = open(rules, "rb", buffering=0)
memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
begun = file.read(len(b"level:\\n"))
runpy.run_path("product.py")
text = open(rules, "rb").read() if style == "opens" else memory[:] if style == "maps" else begun
text += file.read() if style == "includes" else b""
sys.exit(b"lenient" not in text)
"""
TARN_STYLES = {
    "opens": "opens its rules once more",
    "maps": "has mapped its rules",
    "includes": "reads its rules line by line",
}
# None of these names may stand in the product's code: what is caught is not caught by name.
NAMES = ("vellum", "quill", "tarn", "skipper")
