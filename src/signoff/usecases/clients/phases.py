"""The phases as commands of a client: /plan, /work, /review, /design, in each client's form.

Every file ends with a line that carries the digest of what stands above it: a file that still
matches is ours to replace or remove, one that does not was changed by somebody and stays.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import Enum

from msgspec import Struct

from signoff.domain.digests import digest_bytes

_MARK = "installed by signoff; unchanged since:"

_WHICH = """\
The words after the command may hold `--name SLUG` (the plan's name) and what it is about.
Find the plan, always this way, never by guessing a file name:

    signoff resolve-active-plan --plan SLUG

(without `--name`: `signoff resolve-active-plan`). It prints the plan's path, a tab, and the path of
its progress. An error is an answer: show it and stop. Never fall back to another plan.
"""
_MADE = """\
The words after the command may hold `--name SLUG` (the plan's name) and what it is about.
Find a plan, staged or not, always this way, never by guessing a file name:

    signoff show SLUG --json

(without `--name`: `signoff show --json`). `path` in the answer is its file. If there is no such
plan yet, make it: {making}, which prints the path. Any other error is an answer: show it and stop.
"""
_RULES = """\
Rules of every phase: only signoff decides what is done, by running the contracts itself. Do not
edit marks, `status:`, protected tests, hooks or signoff's configuration to get a contract kept. You
cannot approve, answer the inbox or waive; say what a person has to decide. If something is
impossible or needs an answer, say so plainly: that is an honest end, a made-up result is not.
"""
_PLAN = """\
Write a plan that signoff can check.

{which}
1. Read the repository before you write.
2. Edit the plan file: context, then small steps. Each step has a target, a task, and a contract: a
   command that fails now and holds only when the step is really done. Add postconditions for the
   whole. Name in `touches:` what the plan may change, in `**protects:**` the tests that decide
   (with `**may_extend:**` if a step adds some), in `**may_change:**` settings and data that it
   changes.
3. `signoff verify SLUG`, until it has no errors; then go through its warnings.
4. Stop. Show the steps and contracts, and say that a person approves: `signoff approve SLUG`; a
   staged plan a person activates first: `signoff activate SLUG`.
"""
_WORK = """\
Work on one step of a plan, then on the next.

{which}
1. `signoff status SLUG`: take the first step that is not done. Read its task and its contract.
2. Do this step and nothing else.
3. Run the step's contract yourself as a rehearsal. Broken: find the cause, correct it, try again.
   The same contract broken three times in a row: stop, report what you tried and what it printed.
4. Kept: `signoff progress SLUG --add 'step N: what was done'`, then the next step from 1.
5. When no step is left, say so and stop. Whether the plan is done is signoff's to say:
   `signoff status SLUG`.
"""
_REVIEW = """\
Review the work on a plan; change nothing.

{which}
1. Read the plan, `signoff status SLUG`, `signoff progress SLUG`, and the changes in the repository.
2. For each step: does the work do what the task says, or only what the contract can see? Look for
   special cases, weakened or skipped tests, files outside `touches:`, leftovers.
3. Report findings by severity with file and line, then whether the contracts are strong enough.
   `signoff progress SLUG --add 'review: N findings'`.
"""
_DESIGN = """\
Turn an idea into a sequence of plans.

{which}
1. Read the repository and what is asked. Write down options, the choice and its reasons.
2. Cut the work into plans that can each be signed off alone. For each: `signoff new --staged SLUG`,
   with `depends_on:` and `touches:` in its frontmatter, and steps as in /plan.
3. `signoff verify SLUG` for each, until it has no errors. Show the order, and what a person
   decides: `signoff activate SLUG`.
"""


class Form(Enum):
    MARKDOWN = "markdown"
    TOML = "toml"
    SKILL = "skill"


class ClientCommand(Struct, frozen=True):
    name: str
    description: str
    body: str
    making: str = ""  # what makes the plan where there is none; empty: there must be one

    @property
    def text(self) -> str:
        which = _MADE.format(making=self.making) if self.making else _WHICH
        return self.body.format(which=which) + "\n" + _RULES


PHASES = (
    ClientCommand(
        "plan", "Write a plan with contracts that signoff can check", _PLAN, "`signoff new SLUG`"
    ),
    ClientCommand("work", "Work on the steps of a plan, one at a time", _WORK),
    ClientCommand("review", "Review the work on a plan", _REVIEW),
    ClientCommand(
        "design", "Turn an idea into a sequence of plans", _DESIGN, "`signoff new --staged SLUG`"
    ),
)


def command_files(form: Form) -> Iterator[tuple[str, str]]:
    """Path below the client's folder, and content, of every command."""
    for phase in PHASES:
        name, said, text = phase.name, phase.description, phase.text
        if form is Form.SKILL:
            when = f"{said}; when asked for ${name} or /{name} --name SLUG"
            head = f"---\nname: {name}\ndescription: {when}\n---"
            yield f"skills/{name}/SKILL.md", _marked(f"{head}\n\n{text}")
        elif form is Form.TOML:
            # A literal string: nothing in the texts is an escape, and none has three quotes.
            head = f"description = {json.dumps(said)}"
            prompt = f"{head}\nprompt = '''\n{text}'''\n"
            yield f"commands/{name}.toml", _marked(prompt, in_toml=True)
        else:
            head = f"description: {said}\nargument-hint: --name SLUG [what it is about]"
            yield f"commands/{name}.md", _marked(f"---\n{head}\n---\n\n{text}")


def is_untouched(text: str) -> bool:
    """True for a file of ours, of whichever version, as it was installed."""
    above, newline, last = text.removesuffix("\n").rpartition("\n")
    return _MARK in last and text == _marked(above + newline, last.startswith("#"))


def is_ours(text: str) -> bool:
    """True when we installed it, changed since or not."""
    return _MARK in text


def _marked(above: str, in_toml: bool = False) -> str:
    line = f"{_MARK} {digest_bytes(above.encode())[:16]}"
    return f"{above}# {line}\n" if in_toml else f"{above}<!-- {line} -->\n"
