"""Configuration: two files, validated, and the repository's may only make checks stricter."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from signoff.errors import ConfigInvalid
from signoff.places import LARGEST_FILE, user_file
from signoff.settings.loading import (
    Settings,
    Setup,
    load_settings,
    read_config_text,
    says_the_same,
    settings_from_pin,
)
from signoff.settings.policy import Policy
from signoff.settings.roles import Role, RoleKind

Load = Callable[..., Settings]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Write both files and read them back."""

    def written(repository: str = "", user: str = "", **environ: str) -> Settings:
        folder = tmp_path / "repository"
        folder.mkdir(exist_ok=True)
        (folder / "signoff.toml").write_text(repository, "utf-8")
        own = tmp_path / "user.toml"
        own.write_text(user, "utf-8")
        return load_settings(folder, {"SIGNOFF_CONFIG": str(own), **environ})

    return written


def test_missing_files_are_empty_ones(tmp_path: Path) -> None:
    environ = {"SIGNOFF_CONFIG": str(tmp_path / "none.toml")}
    assert load_settings(tmp_path, environ) == Settings()
    assert load_settings(None, environ) == Settings()


def test_a_role_is_a_command_line_or_a_table(load: Load) -> None:
    settings = load(
        '[roles]\ncoder = "claude -p"\n'
        '[roles.second-reviewer]\ncommand = "codex {prompt}"\ntimeout_s = 30\nenv = ["TOKEN"]\n'
        '[roles.judge]\ncommand = "x"\nkind = "review"\ntimeout_s = 0.5\n'
    )
    assert settings.roles == {
        "coder": Role("coder", "claude -p"),
        "second-reviewer": Role(
            "second-reviewer", "codex {prompt}", 30, ("TOKEN",), RoleKind.REVIEW
        ),
        "judge": Role("judge", "x", 0.5, (), RoleKind.REVIEW),
    }


def test_the_kind_of_a_role_can_be_stated_against_its_name(load: Load) -> None:
    settings = load('[roles.reviewer]\ncommand = "x"\nkind = "code"\n')
    assert settings.roles["reviewer"].kind is RoleKind.CODE


def test_the_roles_of_both_files_are_known_and_the_pinned_repository_goes_first(
    load: Load,
) -> None:
    settings = load('[roles]\ncoder = "ours"\n', '[roles]\ncoder = "mine"\nhelper = "mine"\n')
    assert {name: role.command for name, role in settings.roles.items()} == {
        "coder": "ours",
        "helper": "mine",
    }


@pytest.mark.parametrize("name", ["require_red_first", "forbid_waivers"])
def test_either_file_can_switch_a_rule_on_and_neither_can_switch_it_off(
    load: Load, name: str
) -> None:
    on, off = f"[policy]\n{name} = true\n", f"[policy]\n{name} = false\n"
    for repository, user in [(on, ""), (on, off), ("", on), (off, on), (on, on)]:
        assert load(repository, user).policy == replace(Policy(), **{name: True})
    assert load(off, off).policy == Policy()


def test_what_could_loosen_a_check_is_read_from_the_users_file(load: Load) -> None:
    settings = load("", 'database = "postgresql://x"\nvault = "/plans"\nauto_approve = true\n')
    assert settings.database_url == "postgresql://x"
    assert settings.vault == "/plans"
    assert settings.auto_approve


@pytest.mark.parametrize("line", ['database = "sqlite://x"', 'vault = "v"', "auto_approve = true"])
def test_what_could_loosen_a_check_is_refused_in_the_repository(load: Load, line: str) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        load(line)
    key = line.split(" ", 1)[0]
    assert f"`{key}`, which belongs in the user's file" in caught.value.message
    assert "signoff.toml" in caught.value.message


def test_the_environment_names_the_database_before_the_file(load: Load) -> None:
    own = 'database = "sqlite:///file"\n'
    assert load("", own, SIGNOFF_DATABASE="sqlite:///env").database_url == "sqlite:///env"
    assert load("", own, SIGNOFF_DATABASE="").database_url == "sqlite:///file"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"SIGNOFF_CONFIG": "/own.toml", "HOME": "/h"}, "/own.toml"),
        ({"XDG_CONFIG_HOME": "/xdg", "HOME": "/h"}, "/xdg/signoff/config.toml"),
        ({"XDG_CONFIG_HOME": "", "HOME": "/h"}, "/h/.config/signoff/config.toml"),
        ({}, "/.config/signoff/config.toml"),
    ],
)
def test_the_users_file_is_found_by_variable_then_by_convention(
    environ: dict[str, str], expected: str
) -> None:
    assert user_file(environ) == Path(expected)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("[role]\n", "did you mean `roles`?"),
        ("[polcy]\n", "did you mean `policy`?"),
        ("[policy]\nforbid_waiver = true\n", "did you mean `forbid_waivers`?"),
        ('[roles.a]\ncomand = "x"\n', "did you mean `command`?"),
        ("zzz = 1\n", "known here: agent, lanes, policy, roles, setup"),
    ],
)
def test_a_misspelt_key_is_refused_with_the_likely_one(load: Load, text: str, hint: str) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        load(text)
    assert "unknown key" in caught.value.message
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("roles = 1\n", "`roles` must be a table"),
        ("[roles]\na = 1\n", "must be a table or a command line"),
        ("[roles.a]\n", "has no `command`"),
        ("[roles]\na = '  '\n", "has no `command`"),
        ("[roles.a]\ncommand = 3\n", "`command` must be a text with a command line"),
        ("[roles]\nhuman = 'x'\n", "`human` is built in"),
        ("[roles.a]\ncommand = 'x'\ntimeout_s = 0\n", "`timeout_s` must be a positive number"),
        ("[roles.a]\ncommand = 'x'\ntimeout_s = -1.5\n", "`timeout_s` must be a positive number"),
        ("[roles.a]\ncommand = 'x'\ntimeout_s = '9'\n", "`timeout_s` must be a positive number"),
        ("[roles.a]\ncommand = 'x'\nenv = 'A'\n", "`env` must be a list of variable names"),
        ("[roles.a]\ncommand = 'x'\nenv = [1]\n", "`env` must be a list of variable names"),
        ("[roles.a]\ncommand = 'x'\nkind = 'person'\n", "`kind` must be `code` or `review`"),
        ("[roles.a]\ncommand = 'x'\nkind = 4\n", "`kind` must be `code` or `review`"),
        ("policy = true\n", "`policy` must be a table"),
        ("[policy]\nforbid_waivers = 1\n", "`forbid_waivers` must be true or false"),
        ("[policy]\nrequire_red_first = 'yes'\n", "`require_red_first` must be true or false"),
        ("[roles\n", "is not valid TOML"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_file_and_key(
    load: Load, text: str, said: str
) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        load(text)
    assert said in caught.value.message
    assert "signoff.toml" in caught.value.message
    with pytest.raises(ConfigInvalid) as caught:
        load("", text)
    assert said in caught.value.message
    assert "user.toml" in caught.value.message


def test_auto_approval_must_be_true_or_false(load: Load) -> None:
    with pytest.raises(ConfigInvalid, match="`auto_approve` must be true or false"):
        load("", "auto_approve = 'yes'\n")


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "signoff.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigInvalid, match="is not valid TOML"):
        load_settings(tmp_path, {"SIGNOFF_CONFIG": str(tmp_path / "none")})


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "signoff.toml").mkdir()
    with pytest.raises(ConfigInvalid, match="cannot read"):
        load_settings(tmp_path, {"SIGNOFF_CONFIG": str(tmp_path / "none")})


def test_roles_of_the_command_line_replace_the_command_and_keep_the_rest(load: Load) -> None:
    settings = load('[roles.coder]\ncommand = "x"\ntimeout_s = 9\nenv = ["A"]\n')
    given = settings.with_roles({"coder": "y", "reviewer": "z"})
    assert given.roles == {
        "coder": Role("coder", "y", 9, ("A",)),
        "reviewer": Role("reviewer", "z", kind=RoleKind.REVIEW),
    }
    assert settings.roles["coder"].command == "x"


def test_a_run_executes_what_was_pinned_after_it_went_through_the_ledger(load: Load) -> None:
    settings = load(
        '[roles.coder]\ncommand = "x"\ntimeout_s = 1.5\nenv = ["A"]\n'
        '[roles.reviewer]\ncommand = "r"\n[policy]\nforbid_waivers = true\n'
    )
    stored = json.loads(json.dumps(settings.pinned()))
    again = settings_from_pin(stored)
    assert again.roles == settings.roles
    assert again.policy == settings.policy


def test_what_belongs_to_the_user_alone_is_not_pinned(load: Load) -> None:
    settings = load("", 'database = "postgresql://u:secret@h/d"\nauto_approve = true\n')
    assert "secret" not in json.dumps(settings.pinned())
    again = settings_from_pin(settings.pinned())
    assert (again.database_url, again.auto_approve) == (None, False)


def test_the_text_of_a_configuration_is_pinned_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "signoff.toml"
    assert read_config_text(file) == ""
    file.write_text("[policy]\n", "utf-8")
    assert read_config_text(file) == "[policy]\n"
    file.write_bytes(b"\xff")
    assert read_config_text(file) == "ff"


def test_a_pipe_in_the_place_of_the_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "signoff.toml"
    os.mkfifo(file)
    with pytest.raises(ConfigInvalid, match="not a regular file"):
        load_settings(tmp_path, {"SIGNOFF_CONFIG": str(tmp_path / "none")})
    assert read_config_text(file) not in ("", read_config_text(tmp_path / "none"))


def test_an_endless_device_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "signoff.toml").symlink_to("/dev/zero")
    with pytest.raises(ConfigInvalid, match="not a regular file"):
        load_settings(tmp_path, {"SIGNOFF_CONFIG": str(tmp_path / "none")})


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with open(tmp_path / "signoff.toml", "wb") as file:
        file.truncate(LARGEST_FILE + 1)
    with pytest.raises(ConfigInvalid, match="larger than"):
        load_settings(tmp_path, {"SIGNOFF_CONFIG": str(tmp_path / "none")})


@pytest.mark.parametrize("value", ["true", "nan", "inf"])
def test_a_timeout_must_be_a_number_of_seconds(tmp_path: Path, value: str) -> None:
    text = f"[roles.a]\ncommand = 'x'\ntimeout_s = {value}\n"
    (tmp_path / "signoff.toml").write_text(text, "utf-8")
    with pytest.raises(ConfigInvalid, match="positive number"):
        load_settings(tmp_path, {"SIGNOFF_CONFIG": str(tmp_path / "none")})


@pytest.mark.parametrize("line", ["database = 5", "vault = ['a']", "database = ''"])
def test_database_and_vault_must_be_text(tmp_path: Path, line: str) -> None:
    own = tmp_path / "own.toml"
    own.write_text(line + "\n", "utf-8")
    with pytest.raises(ConfigInvalid, match="must be a text"):
        load_settings(None, {"SIGNOFF_CONFIG": str(own)})


def test_a_set_up_is_a_command_with_a_limit_and_no_network(load: Load) -> None:
    assert load().setup is None
    assert load('[setup]\ncommand = "uv sync"\n').setup == Setup("uv sync", 600.0, network=False)
    more = load('[setup]\ncommand = "npm ci"\ntimeout_s = 30\nnetwork = true\n')
    assert more.setup == Setup("npm ci", 30.0, network=True)
    assert settings_from_pin(more.pinned()).setup == more.setup


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('setup = "uv sync"\n', "`setup` must be a table"),
        ("[setup]\n", "has no `command`"),
        ("[setup]\ncommand = 1\n", "`command` must be a text"),
        ('[setup]\ncommand = ["uv", "sync"]\n', "`command` is a list"),
        ('[setup]\ncommand = "x"\ntimeout_s = 0\n', "`timeout_s` must be a positive number"),
        ('[setup]\ncommand = "x"\nnetwork = "yes"\n', "`network` must be true or false"),
        ('[setup]\ncomand = "x"\n', "unknown key `comand`"),
    ],
)
def test_a_wrong_set_up_is_refused(load: Load, text: str, said: str) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        load(text)
    assert said in caught.value.message and "signoff.toml" in caught.value.message


def test_a_set_up_is_the_repositorys_alone(load: Load) -> None:
    with pytest.raises(ConfigInvalid, match="unknown key `setup`"):
        load(user='[setup]\ncommand = "x"\n')


def test_what_lanes_share_is_pinned_and_older_pins_share_nothing(load: Load) -> None:
    given = load('[lanes]\nshare = [".venv", "packages/*/node_modules"]\n')
    assert given.share == (".venv", "packages/*/node_modules")
    assert settings_from_pin(given.pinned()).share == given.share
    assert "lanes" not in load().pinned() and settings_from_pin(load().pinned()).share == ()


@pytest.mark.parametrize("glob", [".", "/usr", "../other"])
def test_lanes_share_nothing_from_outside_the_workspace(load: Load, glob: str) -> None:
    with pytest.raises(ConfigInvalid, match="names nothing in the workspace"):
        load(f'[lanes]\nshare = ["{glob}"]\n')


def test_pins_from_before_set_ups_are_read(load: Load) -> None:
    pinned = load('[roles]\ncoder = "x"\n').pinned()
    assert "setup" not in pinned and settings_from_pin(pinned).setup is None


def test_another_set_up_means_something_else() -> None:
    one, other = ('[setup]\ncommand = "uv sync"\n', '[setup]\ncommand = "true"\n')
    assert says_the_same(one, f"# a comment\n{one}", ())
    assert not says_the_same(one, other, ()) and not says_the_same(one, "", ())
