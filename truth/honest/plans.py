"""What a plan can say: needs, lists, outputs, budgets, postconditions."""

from __future__ import annotations

from truth.case import CHECK, PROTECTS_TESTS, WORK, Accepted, Case
from truth.plans import fence, plan, step

DIAMOND = plan(
    step("Lay the ground", "test -e ground", "**needs:** none\n"),
    step("Build the left side", "test -e left", "**needs:** 1\n"),
    step("Build the right side", "test -e right", "**needs:** 1\n"),
    step("Put a roof on", "test -e left -a -e right -a -e roof", "**needs:** 2, 3\n"),
)
EACH_FILE = plan(
    step(
        "Translate {item}",
        "grep -qx translated {item}",
        f"**for_each:**\n{fence('cat list.txt')}\n",
    )
)
USAGE = 'echo \'{"tokens": 400, "usd": 0.01}\' > "$SIGNOFF_USAGE_FILE"'
# An artefact of one step, used and kept by the next two.
RELAY = plan(
    step("Write the schema", "test -s schema.txt", "**produces:** schema.txt\n"),
    step("Write the code", "diff schema.txt code.txt", "**produces:** code.txt\n"),
    step("Write the manual", "test -s manual.txt", "**produces:** manual.txt\n"),
)

CASES = (
    Case(
        "steps may need each other in any order",
        Accepted(attempts=4),
        plan=DIAMOND,
        agent={"1": "touch ground", "2": "touch left", "3": "touch right", "4": "touch roof"},
    ),
    Case(
        "a step may need nothing and stand after one it does not need",
        Accepted(attempts=2),
        plan=plan(
            step("One", "test -e one"),
            step("Two", "test -e two", "**needs:** none\n"),
        ),
        agent={"1": "touch one", "2": "touch two"},
    ),
    Case(
        "one step per line of a list",
        Accepted(attempts=3),
        plan=EACH_FILE,
        files={"list.txt": "a.txt\nb.txt\nc.txt\n"},
        agent='item=${SIGNOFF_STEP#*[}; echo translated > "${item%]}"',
    ),
    Case(
        "the items of a list may have odd names",
        Accepted(attempts=3),
        plan=EACH_FILE,
        files={"list.txt": "with space.txt\nit's.txt\n*.txt\n"},
        agent='item=${SIGNOFF_STEP#*[}; echo translated > "${item%]}"',
    ),
    Case(
        "a list may be made by an earlier step",
        Accepted(attempts=3),
        plan=plan(
            step("Write the list", "test -s list.txt", "**produces:** list.txt\n"),
            step(
                "Write {item}",
                "test -e {item}",
                f"**for_each:**\n{fence('sort list.txt')}\n**produces:** {{item}}\n",
            ),
        ),
        agent={
            "1": "printf 'x\\ny\\n' > list.txt",
            "2[x]": "touch x",
            "2[y]": "touch y",
        },
    ),
    Case(
        "a list may be what the workspace holds",
        Accepted(attempts=2),
        plan=plan(
            step(
                "Document {item}",
                "test -s docs/{item}.md",
                f"**for_each:**\n{fence('ls src')}\n",
            )
        ),
        files={"src/one": "", "src/two": ""},
        agent='item=${SIGNOFF_STEP#*[}; mkdir -p docs; date > "docs/${item%]}.md"',
    ),
    Case(
        "what one step produces the next ones may use",
        Accepted(attempts=3),
        plan=RELAY,
        agent={
            "1": "echo fields > schema.txt",
            "2": "cp schema.txt code.txt",
            "3": "cat schema.txt code.txt > manual.txt",
        },
    ),
    Case(
        "a check that one step writes the next ones may be judged by",
        Accepted(attempts=2),
        plan=plan(
            step("Write the checker", "test -s check.py"),
            step("Write data.txt", "python3 check.py"),
        ),
        agent={"1": "echo 'open(\"data.txt\")' > check.py", "2": "date > data.txt"},
    ),
    Case(
        "a file that one step begins the next ones may go on with",
        Accepted(attempts=2),
        plan=plan(
            step("Begin", "grep -q one app.py"),
            step("Go on", "grep -q two app.py"),
        ),
        agent="echo 'print(\"'$(test -e app.py && echo two || echo one)'\")' >> app.py",
    ),
    Case(
        "a folder of outputs may be produced",
        Accepted(attempts=2),
        plan=plan(
            step("Write pages", "test -s site/index.html", "**produces:** site/**\n"),
            step("Write styles", "test -s styles.css"),
        ),
        agent={
            "1": "mkdir -p site/a; echo x > site/index.html; echo y > site/a/b.html",
            "2": "echo z > styles.css",
        },
    ),
    Case(
        "a step that fails at first may change its own outputs again",
        Accepted(attempts=2),
        plan=plan(
            step("Write", "grep -qx works out.txt", "**produces:** out.txt\n", on_fail="retry(1)")
        ),
        agent={"1:1": "echo no > out.txt", "1:2": "echo works > out.txt"},
    ),
    Case(
        "a step that must fail before is seen to fail",
        Accepted(attempts=1),
        fields=f"{PROTECTS_TESTS}**red_first:** required\n",
    ),
    Case(
        "a contract need not be judged before, with a reason",
        Accepted(attempts=1),
        files={"product.txt": "works\n"},
        agent="echo more > more.txt",
        fields=f"{PROTECTS_TESTS}**red_first:** off (it must go on holding)\n",
    ),
    Case(
        "a repository may ask for red first everywhere",
        Accepted(attempts=1),
        files={"signoff.toml": "[policy]\nrequire_red_first = true\n"},
    ),
    Case(
        "a contract that holds at its step need not hold later",
        Accepted(attempts=2),
        plan=plan(
            step("Put up the scaffold", "test -e scaffold", "**holds:** at_step\n"),
            step("Take it down", "! test -e scaffold && test -e house"),
        ),
        agent={"1": "touch scaffold", "2": "rm scaffold; touch house"},
    ),
    Case(
        "a later step may repair what it broke before the end",
        Accepted(attempts=3),
        plan=plan(
            step("Write a", "grep -qx works a.txt"),
            step("Rename everything", "test -e b.txt"),
            step("Write c", "test -e c.txt"),
        ),
        agent={
            "1": "echo works > a.txt",
            "2": "mv a.txt b.txt",
            "3": "touch c.txt; echo works > a.txt",
        },
    ),
    Case(
        "a regression is sent back to its step and repaired",
        Accepted(attempts=3),
        plan=plan(
            step("Write a", "grep -qx works a.txt", on_fail="retry(1), then escalate"),
            step("Write b", "test -e b.txt"),
        ),
        agent={"1": "echo works > a.txt", "2": "echo broken > a.txt; touch b.txt"},
    ),
    Case(
        "postconditions are judged at the end",
        Accepted(attempts=2),
        plan=plan(
            step("Write a", "test -e a"),
            step("Write b", "test -e b"),
            post=[("Both are there", "test -e a -a -e b"), ("Nothing else", "! test -e c")],
        ),
        agent={"1": "touch a", "2": "touch b"},
    ),
    Case(
        "a budget that is kept to stops nothing",
        Accepted(attempts=2),
        plan=plan(
            step("Write a", "test -e a", "**estimate:** 500 tokens\n"),
            step("Write b", "test -e b"),
            head="**Budget:** max 1k tokens, $1, 10 minutes\n",
        ),
        agent=f"touch a; [ $SIGNOFF_STEP = 2 ] && touch b; {USAGE}",
    ),
    Case(
        "usage is counted when it is reported",
        Accepted(attempts=1),
        agent=f"{WORK}; {USAGE}",
        afterwards="signoff log PLAN.md --json | grep '\"tokens\": 400'",
    ),
    Case(
        "files and topics may be subscribed to",
        Accepted(attempts=1),
        files={"notes.txt": "the magic number is 7\n", ".harness/topics/style.md": "be brief\n"},
        contract="grep -q 'number is 7' said.txt && grep -q 'be brief' said.txt",
        fields="**subscriptions:**\n- file:notes.txt\n- topic:style\n- file:missing.txt\n",
        agent="cat > said.txt",
    ),
    Case(
        "the context of a plan reaches its agents",
        Accepted(attempts=1),
        plan=plan(
            step("Repeat it", "grep -q 'blue and round' said.txt"),
            head="**Context:** It is blue and round.\n",
        ),
        agent="cat > said.txt",
    ),
    Case(
        "a reviewer may have a step of its own",
        Accepted(attempts=2),
        plan=plan(
            step("Write the product", CHECK, PROTECTS_TESTS),
            step("Review it", "grep -q approved review.txt", target="reviewer"),
        ),
        agent={"1": WORK, "2": "echo approved > review.txt"},
    ),
    Case(
        "a role of the repository may be given variables",
        Accepted(attempts=1),
        files={"signoff.toml": '[roles.coder]\ncommand = "true"\nenv = ["MODEL_NAME"]\n'},
        environ={"MODEL_NAME": "works"},
        agent='echo "$MODEL_NAME" > product.txt',
    ),
    Case(
        "a plan may say what it touches and who owns it",
        Accepted(attempts=1),
        plan=plan(
            step("Write the product", CHECK, PROTECTS_TESTS),
            front='owner: ada\ntouches: ["*.txt"]\ntags: [one, two]\n',
            head="**Priority:** high\n",
        ),
    ),
    Case(
        "a contract may ask to be judged in the workspace",
        Accepted(attempts=1),
        fields=f"{PROTECTS_TESTS}**judge_in:** workspace\n",
    ),
    Case(
        "two steps may have the same contract",
        Accepted(attempts=2),
        plan=plan(step("One", "test -e a"), step("Again", "test -e a")),
        agent="touch a",
    ),
    Case(
        "protected files may be protected by several steps",
        Accepted(attempts=2),
        plan=plan(
            step("Write the product", CHECK, PROTECTS_TESTS),
            step("Polish it", CHECK, "**protects:** tests/check.sh, tests/data.txt\n"),
        ),
        agent=WORK,
    ),
)
