"""`--json`, before or behind the verb: one versioned document for programs, from every verb."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from signoff.cli.app import VERBS
from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.cli.project import Project

DIG = step("Dig", "test -s hole", on_fail="escalate")
SNAKE = re.compile(r"[a-z][a-z0-9_]*")
# What is stored, signed or keyed by names of others is shown as it is.
AS_STORED = {"data", "envelope", "statement", "context", "facts"}
# A client's dialect, a protocol, a loop (tests/cli/test_agent.py), a page that is served.
OTHERS = {"hook", "mcp", "agent", "board"}
# What these did is shown where it is their subject; here there is nothing for them to do.
REFUSED = {"undo", "judge calibrate", "sign", "sessions end", "frobnicate", "notify"}
# These need a database that several machines reach, and are refused without.
REFUSED |= {"workers", "worker trust", "worker revoke", "pull"}


def _verbs() -> Iterator[str]:
    """Every verb, and every verb below one, as they are typed."""
    for name, module in VERBS.items():
        made = getattr(import_module(f"signoff.cli.{module}"), f"{name.replace('-', '_')}_command")
        if any(option.name == "as_json" for option in made.params):
            yield name
        yield from (f"{name} {below}" for below in getattr(made, "commands", ()))


def test_every_verb_answers_programs_with_a_versioned_document(desk: Desk) -> None:
    project = Project(desk.folder / "many").agent("echo x > hole").commit()
    walked = [_walk(project, *words) for words in _before()]
    project.named("one", DIG)
    walked += [_walk(project, *words) for words in _of_one_plan()]
    project.agent("true").named("two", step("Fill", "test -s hill", on_fail="escalate"))
    walked += [_walk(project, *words) for words in _deciding()]
    (item,) = project.inbox()
    walked += [
        _walk(project, "answer", item["id"], "abort"),
        _walk(project, "uninstall", "claude", "--dry-run"),
        _walk(project, "frobnicate"),
    ]
    assert set(walked) == set(_verbs()) - OTHERS | {"frobnicate"}


def _before() -> list[tuple[str, ...]]:
    verbs = (
        "init list-plans list check doctor conflicts ready sessions help version session-start gc"
    )
    return [
        *((verb,) for verb in verbs.split()),
        ("resolve-active-plan",),
        ("completion", "bash"),
        ("install", "claude", "--dry-run"),
        ("check-artifact", "signoff.toml"),
        ("new", "later", "--staged"),
        ("activate", "later"),
        ("progress", "later", "--add", "begun"),
        ("edit", "later", "--from", "signoff.toml"),
        ("undo",),
    ]


def _of_one_plan() -> list[tuple[str, ...]]:
    return [
        ("verify", "one"),
        ("approve", "one", "--yes"),
        ("next",),
        ("worktree", "add", "one"),
        ("run", "one"),
        ("status", "one"),
        ("show", "one"),
        ("show", "one", "--step", "1"),
        ("log", "one"),
        ("diff", "one"),
        ("audit", "one"),
        ("strength", "one"),
        ("judge", "calibrate", "one"),
        ("receipt", "export", "one", "--output", "one.json"),
        ("receipt", "verify", "one.json"),
        ("receipt", "key"),
        ("receipt", "bundle", "one", "--output", "one.zip"),
        ("receipt", "anchor", "one", "--file", "one.anchor"),
        ("board", "export", "one", "--output", "one.html"),
        ("notify", "--test"),
        ("worker", "enroll", "--name", "build-1"),
        ("worker", "trust", "build-1", "no-key"),
        ("worker", "revoke", "build-1"),
        ("workers",),
        ("pull", "one"),
        ("stats",),
        ("merge", "one"),
        ("merge", "--order"),
        ("worktree", "list"),
        ("worktree", "remove", "one"),
        ("worktree", "prune"),
        ("sessions", "end"),
        ("bind", "later"),
        ("unbind",),
        ("sign", "one"),
    ]


def _deciding() -> list[tuple[str, ...]]:
    return [
        ("run", "two", "--yes"),
        ("inbox",),
        ("cancel", "two"),
        ("reject", "two"),
        ("run", "two", "--yes"),
    ]


def _walk(project: Project, *words: str) -> str:
    """Every line of either stream is one document; the verb, when all are as they should be."""
    below = " ".join(words[:2])
    verb = below if below in set(_verbs()) else words[0]
    done = project.signoff("--json", *words)
    assert done.code in (0, 1, 2, 3, 4, 5, 6) and done.stdout + done.stderr, done
    assert bool(done.json_lines) is (verb not in REFUSED), done
    documents = done.json_lines or [{"schema_version": 1, "error": done.failure}]
    for document in documents:
        assert document["schema_version"] == 1, (verb, document)
        _all_snake_case(document, " ".join(words))
    return verb


def _all_snake_case(value: Any, where: str) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            assert SNAKE.fullmatch(key), f"{where}: {key}"
            if key not in AS_STORED:
                _all_snake_case(inner, where)
    for inner in value if isinstance(value, list) else ():
        _all_snake_case(inner, where)


def test_what_is_unknown_is_null(desk: Desk) -> None:
    desk.agent("true").plan(DIG)
    status = desk.about_plan("status", "--json").exits(1).json
    unknown = "run as_of isolation signed_off_at signed_off_on drift judged_again_at driver"
    assert {name: status[name] for name in unknown.split()} == dict.fromkeys(unknown.split())
    desk.run("--yes").exits(6)
    (item,) = desk.inbox()
    assert item["step"] == "1" and item["workspace"] == str(desk.workspace.resolve())
    assert desk.signoff("stats", "--json").json["total"]["model"] is None
    answered = desk.signoff("answer", item["id"], "retry", "--json").exits(0).json
    assert (answered["choice"], answered["ended"]) == ("retry", None)
