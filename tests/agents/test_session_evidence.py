"""Evidence resolves, or it is none: what the harness looks up for each kind of reference."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.agents.session import sign_session
from signoff.domain.ledger import Draft, Kind
from signoff.domain.session import (
    Basis,
    ClaimStatus,
    Reference,
    ReferenceKind,
    SessionStanding,
    references_in,
)
from tests.agents.session_kit import Bureau, checked


@pytest.fixture
def bureau(tmp_path: Path) -> Bureau:
    made = Bureau(tmp_path)
    made.plan("one", "two")
    made.session.step_update(1, "in_progress")
    return made


def _claim(bureau: Bureau, evidence: str) -> str:
    return bureau.session.step_update(1, "done", evidence)


def test_a_call_that_happened_and_succeeded_is_evidence(bureau: Bureau) -> None:
    assert _claim(bureau, f"ran it, see `tool:{bureau.call()}`.") == "step 1 → done"
    assert bureau.session.report().proved == ("1",)


def test_an_invented_call_is_none(bureau: Bureau) -> None:
    assert "no call with this id" in _claim(bureau, "tool:toolu_0123")


def test_a_call_of_another_session_is_none(bureau: Bureau, tmp_path: Path) -> None:
    elsewhere = Bureau(tmp_path / "elsewhere")
    call = elsewhere.call(id="theirs")
    assert "no call with this id" in _claim(bureau, f"tool:{call}")


def test_a_failed_call_is_none(bureau: Bureau) -> None:
    assert "that call failed" in _claim(bureau, f"tool:{bureau.call(ok=False)}")


def test_one_bad_reference_spoils_the_good_ones(bureau: Bureau) -> None:
    good = bureau.call()
    assert "no call with this id" in _claim(bureau, f"tool:{good} and tool:nope")


def test_a_call_from_before_the_step_began_is_none(bureau: Bureau) -> None:
    early = bureau.call()
    bureau.session.step_update(2, "in_progress")
    said = bureau.session.step_update(2, "done", f"tool:{early}")
    assert "before this step began" in said


def test_a_call_from_before_there_was_a_plan_is_none(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path)
    early = bureau.call()
    bureau.plan("one")
    assert "before this step began" in _claim(bureau, f"tool:{early}")


@pytest.mark.parametrize("name", ["todo", "scratchpad", "ask_user", "bash", "deploy"])
def test_a_call_that_touched_nothing_the_harness_saw_proves_nothing(
    bureau: Bureau, name: str
) -> None:
    call = bureau.call(name, reads={})
    assert "proves nothing" in _claim(bureau, f"tool:{call}")
    bureau.session.note_scratchpad("results", f"see tool:{call}")
    assert "proves nothing" in _claim(bureau, "scratchpad:results")


def test_a_delegation_proves_only_a_step_that_was_delegated(bureau: Bureau) -> None:
    assert "nothing of this step was delegated" in _claim(
        bureau, f"tool:{bureau.call('delegate', reads={})}"
    )


@pytest.mark.parametrize("name", ["plan_show", "step_update", "plan_create", "step_check"])
def test_talking_about_the_plan_proves_nothing(bureau: Bureau, name: str) -> None:
    assert "proves nothing" in _claim(bureau, f"tool:{bureau.call(name)}")


def test_a_repeated_call_id_cannot_turn_a_failure_into_a_success(bureau: Bureau) -> None:
    first = bureau.call(id="same", ok=False)
    second = bureau.call(id="same", ok=True)
    assert (first, second) == ("same", "same.2")
    assert "that call failed" in _claim(bureau, "tool:same")
    assert _claim(bureau, "tool:same.2") == "step 1 → done"


def test_a_call_whose_files_changed_since_is_stale_evidence(bureau: Bureau) -> None:
    call = bureau.write("report.txt", "4 of 6\n")
    (bureau.root / "report.txt").write_text("6 of 6\n")
    assert "`report.txt` changed since" in _claim(bureau, f"tool:{call}")


def test_a_call_that_rests_on_everything_is_stale_after_any_change(bureau: Bureau) -> None:
    call = bureau.call("bash", content=bureau.content())
    bureau.write("other.txt")
    assert "files changed since that call" in _claim(bureau, f"tool:{call}")


def test_a_done_step_goes_stale_and_the_gate_shuts_until_it_is_proved_again(
    bureau: Bureau,
) -> None:
    _claim(bureau, f"tool:{bureau.write('a.txt')}")
    bureau.session.step_update(2, "done", f"tool:{bureau.call()}")
    assert bureau.session.gate().open
    (bureau.root / "a.txt").write_text("swapped after the check\n")
    gate = bureau.session.gate()
    assert (gate.open, gate.stale) == (False, ("1",))
    assert "`a.txt`" in gate.missing[0].what
    assert "stale: its evidence is about older content of `a.txt`" in bureau.session.plan_show()
    _claim(bureau, f"tool:{bureau.read('a.txt')}")
    assert bureau.session.gate().open


def test_removing_the_file_behind_evidence_makes_it_stale(bureau: Bureau) -> None:
    _claim(bureau, f"tool:{bureau.write('a.txt')}")
    (bureau.root / "a.txt").unlink()
    assert bureau.session.gate().stale == ("1",)


def test_a_file_is_cited_with_its_content(bureau: Bureau) -> None:
    bureau.write("a.txt")
    whole = bureau.sha("a.txt")
    for digest in (whole, whole[:12], whole[:12].upper(), f"sha256:{whole}"):
        bureau.read("a.txt")
        assert _claim(bureau, f"file:a.txt@{digest}") == "step 1 → done"
        bureau.session.step_update(1, "in_progress")


def test_a_file_that_no_call_met_since_the_step_began_proves_nothing(bureau: Bureau) -> None:
    """It may have lain there before anybody worked."""
    (bureau.root / "README.md").write_text("hello\n")
    cited = f"file:README.md@{bureau.sha('README.md')}"
    assert "no call since this step began" in _claim(bureau, cited)
    bureau.call(reads={"README.md": bureau.sha("README.md")}, ok=False)
    assert "no call since this step began" in _claim(bureau, cited)
    bureau.read("README.md")
    bureau.session.step_update(1, "pending")
    bureau.session.step_update(1, "in_progress")
    assert "no call since this step began" in _claim(bureau, cited)
    bureau.read("README.md")
    assert _claim(bureau, cited) == "step 1 → done"


@pytest.mark.parametrize(
    "name", ["a b.txt", "it's done.", 'say "hi".md', "tab\there", "`x`", "a@b", "a@12"]
)
def test_a_path_with_spaces_is_cited_in_quotes_as_the_harness_offers_it(
    bureau: Bureau, name: str
) -> None:
    bureau.write(name)
    offered = _claim(bureau, str(Reference(ReferenceKind.FILE, name)))
    cited = offered.partition("say which content: `")[2].removesuffix("`")
    assert cited == str(Reference(ReferenceKind.FILE, name, bureau.sha(name)[:16]))
    assert _claim(bureau, f"wrote ({cited}), as asked.") == "step 1 → done"
    assert bureau.entries(Kind.STEP_CLAIMED)[-1].data["basis"]["files"] == {name: bureau.sha(name)}


def test_quotes_that_never_end_cite_nothing_that_is_there(bureau: Bureau) -> None:
    bureau.write("a b.txt")
    digest = bureau.sha("a b.txt")
    for wrong in (f'file:"a b.txt@{digest}', f"file:a b.txt@{digest}", f'file:"a b.txt" @{digest}'):
        assert _claim(bureau, wrong).startswith("refused")


@given(st.text(st.characters(codec="utf-8"), min_size=1), st.booleans())
def test_every_reference_is_read_as_it_is_written(target: str, with_digest: bool) -> None:
    written = Reference(ReferenceKind.FILE, target, "abcdef012345" if with_digest else "")
    assert references_in(f"see {written}, and `{written}`.") == (written,)


@pytest.mark.parametrize("digest", ["", "@", "@0", "@{eleven}", "@{other}", "@zzzzzzzzzzzz"])
def test_a_file_without_its_content_is_none(bureau: Bureau, digest: str) -> None:
    bureau.write("a.txt")
    shown = digest.format(eleven=bureau.sha("a.txt")[:11], other="0" * 64)
    assert _claim(bureau, f"file:a.txt{shown}").startswith("refused")


def test_the_digest_of_a_file_is_told_only_to_who_touched_that_content(bureau: Bureau) -> None:
    (bureau.root / "a.txt").write_text("unread\n")
    digest = bureau.sha("a.txt")
    assert digest[:12] not in _claim(bureau, "file:a.txt")
    bureau.read("a.txt")
    assert f"file:a.txt@{digest[:16]}" in _claim(bureau, "file:a.txt")


def test_a_link_does_not_make_a_foreign_file_citable(bureau: Bureau, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("not of this workspace\n")
    (bureau.root / "link").symlink_to(outside)
    digest = bureau.sha("link")
    for name in ("link", str(outside), "../outside.txt"):
        assert "no such file" in _claim(bureau, f"file:{name}@{digest}")


def test_a_folder_the_user_opened_may_be_cited(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "hostname").write_text("here\n")
    bureau = Bureau(tmp_path / "b", config=f'[agent]\nreadable = ["{shared}"]\n')
    bureau.plan("one")
    digest = bureau.sha(str(shared / "hostname"))
    bureau.read(str(shared / "hostname"))
    assert _claim(bureau, f"file:{shared}/hostname@{digest}") == "step 1 → done"


def test_a_check_is_cited_by_its_number_and_must_hold_now(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path)
    bureau.plan("one", checked("two", "file_exists", path="made"), posts=("three",))
    assert "does not hold now" in _claim(bureau, "contract:2")
    bureau.write("made")
    assert _claim(bureau, "contract:2") == "step 1 → done"
    assert "no step or postcondition with a check" in bureau.session.postcondition_verify(
        1, "contract:1"
    )
    assert bureau.session.postcondition_verify(1, "contract:2") == "postcondition 1 → done"
    (bureau.root / "made").unlink()
    bureau.session.judge_pending()
    assert bureau.session.gate().stale == ("1", "postcondition:1")


def test_a_note_counts_for_what_it_cites_and_not_for_its_own_prose(bureau: Bureau) -> None:
    session = bureau.session
    assert "nothing was kept" in _claim(bureau, "scratchpad:results")
    session.note_scratchpad("results", "all 6 passed, really")
    assert "prose of your own" in _claim(bureau, "scratchpad:results")
    session.note_scratchpad("results", "see scratchpad:results")
    assert "prose of your own" in _claim(bureau, "scratchpad:results")
    session.note_scratchpad("results", f"all 6 passed in tool:{bureau.call()}")
    assert _claim(bureau, "scratchpad:results") == "step 1 → done"


def test_references_are_read_out_of_ordinary_sentences() -> None:
    said = "Ran it (tool:call_1), wrote `file:src/a.py@abcdefabcdef`; see url:http://x/y, mytool:z."
    assert [str(r) for r in references_in(said)] == [
        "tool:call_1",
        "file:src/a.py@abcdefabcdef",
        "url:http://x/y",
    ]
    assert references_in("tool:a tool:a") == references_in("tool:a")
    assert references_in("scratchpad:k")[0].kind is ReferenceKind.SCRATCHPAD


def test_a_url_proves_nothing_and_what_an_older_version_took_for_proof_is_not_signed(
    tmp_path: Path,
) -> None:
    bureau = Bureau(tmp_path)
    bureau.plan("deploy")
    assert "curl -fsS" in _claim(bureau, "url:http://127.0.0.1/ok")
    old = {"status": ClaimStatus.DONE, "evidence": "url:http://127.0.0.1/ok", "notes": ""}
    old["basis"] = Basis(urls=("http://127.0.0.1/ok",)).to_data()  # type: ignore[assignment]
    bureau.session.append(Draft(Kind.STEP_CLAIMED, old, step="1"))
    report = sign_session(bureau.session, by="test")
    assert report.standing is SessionStanding.WORKING and report.gate.stale == ("1",)
