"""The `[agent]` table: the user's rules, which a repository can only make stricter."""

from __future__ import annotations

from pathlib import Path

import pytest

from signoff.errors import ConfigInvalid
from signoff.settings.loading import load_settings
from signoff.settings.policy import (
    BlockedRule,
    EvidenceRule,
    RatchetRule,
    SelfSetRule,
    SessionPolicy,
)

LAX = 'evidence = "prose"\nblocked = "accept"\nratchet = "reason"\nself_set = "accept"\n'
STRICT = 'evidence = "resolvable"\nblocked = "person"\nratchet = "approve"\nself_set = "label"\n'


def _policy(base: Path, user: str = "", repository: str = "") -> SessionPolicy:
    (base / "user.toml").write_text(f"[agent]\n{user}" if user else "")
    (base / "signoff.toml").write_text(f"[agent]\n{repository}" if repository else "")
    return load_settings(base, {"SIGNOFF_CONFIG": str(base / "user.toml")}).agent


def test_without_any_file_evidence_must_resolve_and_self_set_is_labelled(tmp_path: Path) -> None:
    policy = _policy(tmp_path)
    assert policy.evidence is EvidenceRule.RESOLVABLE
    assert policy.blocked is BlockedRule.PERSON
    assert policy.ratchet is RatchetRule.REASON
    assert policy.self_set is SelfSetRule.LABEL
    assert not policy.require_plan


def test_a_repository_makes_the_users_rules_stricter(tmp_path: Path) -> None:
    policy = _policy(tmp_path, LAX, STRICT + "require_plan = true\n")
    assert policy == SessionPolicy(ratchet=RatchetRule.APPROVE, require_plan=True)


def test_a_repository_cannot_loosen_anything(tmp_path: Path) -> None:
    strict = _policy(tmp_path, STRICT + "require_plan = true\n")
    loosened = _policy(tmp_path, STRICT + "require_plan = true\n", LAX + "require_plan = false\n")
    assert loosened == strict
    assert _policy(tmp_path, "", LAX) == SessionPolicy()


def test_what_the_repository_does_not_say_leaves_the_users_choice(tmp_path: Path) -> None:
    policy = _policy(tmp_path, LAX, "require_plan = true\n")
    assert (policy.evidence, policy.self_set) == (EvidenceRule.PROSE, SelfSetRule.ACCEPT)


def test_a_repository_opens_no_folder(tmp_path: Path) -> None:
    assert _policy(tmp_path, 'readable = ["there"]\n').readable == ("there",)
    with pytest.raises(ConfigInvalid, match="unknown key `readable`"):
        _policy(tmp_path, "", 'readable = ["there"]\n')


def test_no_model_lets_a_step_go_so_an_older_setting_means_a_person(tmp_path: Path) -> None:
    policy = _policy(tmp_path, 'blocked = "model"\n')
    assert policy.blocked is not BlockedRule.ACCEPT
    with pytest.raises(ConfigInvalid, match="unknown key `blocked_model`"):
        _policy(tmp_path, 'blocked_model = "openai:x"\n')


def test_how_often_the_same_is_refused_is_the_users_choice(tmp_path: Path) -> None:
    plain, chosen = _policy(tmp_path), _policy(tmp_path, "shorten_after = 1\nescalate_after = 2\n")
    assert (plain.shorten_after, plain.escalate_after) == (3, 6)
    assert (chosen.shorten_after, chosen.escalate_after) == (1, 2)
    for wrong in ("0", "51", "true", '"3"', "2.5"):
        with pytest.raises(ConfigInvalid, match="`escalate_after` must be a number from 1 to 50"):
            _policy(tmp_path, f"escalate_after = {wrong}\n")
    with pytest.raises(ConfigInvalid, match="unknown key `escalate_after`"):
        _policy(tmp_path, "", "escalate_after = 50\n")


@pytest.mark.parametrize("wrong", ['evidence = "vibes"', "self_set = true", "hosts = 3", "x = 1"])
def test_a_rule_that_does_not_exist_is_refused(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(ConfigInvalid, match=r"agent|hosts"):
        _policy(tmp_path, f"{wrong}\n")
