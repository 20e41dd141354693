"""Pages as a whole: links lead somewhere, commands exist, nothing is left unfinished."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from signoff.cli.app import VERBS, signoff
from signoff.domain.ledger import Kind
from tests.docs.book import TOP, anchors, blocks, page_name, pages, prose

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")
_SHELL_END = re.compile(r"\s(?:\||\|\||&&|;|>|2>|<|#)(?:\s|$)")
_SIGNS = ("$ ", "next: ")
LONGEST_LINE = 110
every_page = pytest.mark.parametrize("page", pages(), ids=page_name)


@every_page
def test_every_link_between_pages_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(prose(page)):
        if target.startswith(("https://", "http://")):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.is_file(), f"{page_name(page)}: {target}"
        if anchor:
            assert anchor in anchors(there), f"{page_name(page)}: {target}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen, ahead = set[Path](), [TOP / "README.md"]
    while ahead:
        page = ahead.pop()
        if page in seen:
            continue
        seen.add(page)
        for target in LINK.findall(prose(page)):
            there = (page.parent / target.partition("#")[0]).resolve()
            if there.suffix == ".md" and there.is_file():
                ahead.append(there)
    missing = {page_name(p) for p in pages() if p not in seen} - {"AGENTS.md"}
    assert not missing


def _command_lines(page: Path) -> list[str]:
    """What a reader would take for a command: in blocks to type, in transcripts, in the text."""
    found = _CODE.findall(prose(page))
    for block in blocks(page):
        lines = [line.strip() for line in block.text.split("\n")]
        if block.language == "sh":
            found += lines
        found += [line[len(sign) :] for line in lines for sign in _SIGNS if line.startswith(sign)]
    return [line for line in found if line.startswith("signoff ")]


@every_page
def test_every_command_line_that_a_page_shows_is_understood(page: Path) -> None:
    for line in _command_lines(page):
        command = _SHELL_END.split(line)[0].replace("retry|revise|abort|waive", "retry")
        try:
            _parse(shlex.split(command)[1:])
        except click.ClickException as error:
            pytest.fail(f"{page_name(page)}: `{line}`: {error.format_message()}")


def _parse(arguments: list[str]) -> None:
    """As click would, up to calling the verb."""
    words = arguments[1:] if arguments[0] == "--json" else arguments
    if words[0] in ("--version", "--help", "VERB"):
        return
    root = click.Context(signoff, info_name="signoff")
    command = signoff.get_command(root, words[0])
    if command is None:
        raise click.UsageError(f"no such verb `{words[0]}`")
    if "--help" not in words:
        command.make_context(words[0], words[1:], parent=root)


def test_the_check_of_command_lines_finds_a_wrong_one() -> None:
    for wrong in (["frobnicate"], ["run", "--no-such-option"], ["answer", "x", "perhaps"]):
        with pytest.raises(click.UsageError):
            _parse(wrong)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_help_that_says_what_it_does(verb: str) -> None:
    root = click.Context(signoff, info_name="signoff")
    command = signoff.get_command(root, verb)
    assert command is not None
    first = (command.help or "").split("\n")[0]
    assert first[:1].isupper() and first.endswith("."), verb
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{verb} {parameter.opts}"


@every_page
def test_no_page_is_unfinished_or_speaks_of_one_machine(page: Path) -> None:
    text = page.read_text("utf-8")
    for word in ("TODO", "FIXME", "TBD", "(placeholder)", "/work/", "/root", "pypi.org"):
        assert word not in text, f"{page_name(page)} has `{word}`"


@every_page
def test_text_is_wrapped_so_that_it_can_be_read_and_compared(page: Path) -> None:
    if page.parent.name in ("adr", "reference") or page.name == "CHANGELOG.md":
        return
    for line in prose(page).split("\n"):
        assert len(line) <= LONGEST_LINE or line.startswith("|"), f"{page_name(page)}: {line}"


def test_changelog_entries_are_outcomes_of_at_most_25_words() -> None:
    entries = re.findall(r"^- (.+(?:\n  .+)*)", (TOP / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert entries
    for entry in entries:
        assert len(entry.split()) <= 25, entry


def test_every_decision_has_context_decision_and_consequences_and_is_listed() -> None:
    index = (TOP / "docs" / "adr" / "README.md").read_text("utf-8")
    decisions = sorted((TOP / "docs" / "adr").glob("0*.md"))
    assert [int(p.name[:4]) for p in decisions] == list(range(1, len(decisions) + 1))
    for page in decisions:
        sections = re.findall(r"^## (.+)$", page.read_text("utf-8"), re.M)
        assert sections == ["Context", "Decision", "Consequences"], page_name(page)
        assert f"({page.name})" in index, page_name(page)


def test_the_rooms_of_the_architecture_page_are_the_folders_there_are() -> None:
    page = (TOP / "docs" / "architecture.md").read_text("utf-8")
    table = page.partition("## Rooms")[2].partition("\n## ")[0]
    rooms = set(re.findall(r"`(\w+)(?:/|\.py)`", table))
    source = TOP / "src" / "signoff"
    there = {p.name for p in source.iterdir() if p.is_dir() and p.name != "__pycache__"}
    there |= {p.stem for p in source.glob("*.py") if not p.stem.startswith("__")}
    assert rooms == there


def test_every_ledger_kind_has_its_fields_described() -> None:
    titles = re.findall(
        r"^### (.+)$", (TOP / "docs" / "reference" / "ledger.md").read_text("utf-8"), re.M
    )
    assert titles == [kind.value for kind in Kind]
