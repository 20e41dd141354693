"""Where plans are kept: in the repository, or in a shared vault that nobody mistakes for theirs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from signoff.errors import ConfigInvalid, VaultClash
from signoff.storage.active import VaultPlace, find_vault
from signoff.storage.identity import own_shared_vault, own_vault, plan_identity
from tests.storage.test_active_plan import git


@pytest.fixture
def main(tmp_path: Path) -> Path:
    path = tmp_path / "main"
    path.mkdir()
    git(path, "init", "-q")
    git(path, "commit", "-q", "--allow-empty", "-m", "first")
    return path


def environ(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(tmp_path), "SIGNOFF_CONFIG": str(tmp_path / "config.toml"), **more}


def test_the_vault_is_the_main_checkouts_from_anywhere_and_from_every_worktree(
    main: Path, tmp_path: Path
) -> None:
    (main / "deep" / "er").mkdir(parents=True)
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    for cwd in (main, main / "deep" / "er", str(main)):
        place = find_vault(cwd, environ(tmp_path))
        assert (place.folder, place.worktree, place.repository) == (main / ".harness", main, main)
    place = find_vault(tmp_path / "tree", environ(tmp_path))
    assert (place.folder, place.worktree) == (main / ".harness", tmp_path / "tree")
    assert place.repository == main and not place.shared


def test_without_git_the_vault_is_the_current_folders(tmp_path: Path) -> None:
    place = find_vault(tmp_path, environ(tmp_path))
    assert place.folder == tmp_path / ".harness" and place.repository is None


def test_a_shared_vault_has_a_folder_per_repository(main: Path, tmp_path: Path) -> None:
    shared = tmp_path / "drive"
    place = find_vault(main, environ(tmp_path, SIGNOFF_VAULT=str(shared)))
    assert place.folder == shared / "main" / "_harness" and place.shared
    own = environ(tmp_path, SIGNOFF_VAULT=str(shared), SIGNOFF_PROJECT="billing")
    assert find_vault(main, own).folder == shared / "billing" / "_harness"


def test_the_users_own_file_can_name_vault_and_project(main: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f'vault = "{tmp_path}/drive"\n[projects]\n"{main}" = "billing"\n')
    place = find_vault(main, environ(tmp_path))
    assert place.folder == tmp_path / "drive" / "billing" / "_harness"
    config.write_text(f'"v\\u0061ult" = "{tmp_path}/spelt"\n')
    assert find_vault(main, environ(tmp_path)).folder.is_relative_to(tmp_path / "spelt")


@pytest.mark.parametrize("config", ["vault = 7", 'vault = "relative/drive"', "vault = ["])
def test_a_vault_that_cannot_be_meant_is_an_error(main: Path, tmp_path: Path, config: str) -> None:
    (tmp_path / "config.toml").write_text(config)
    with pytest.raises(ConfigInvalid):
        find_vault(main, environ(tmp_path))


@pytest.mark.parametrize("project", ["..", "a/b", "-x", "a\x1b"])
def test_a_project_name_that_leads_elsewhere_is_refused(
    main: Path, tmp_path: Path, project: str
) -> None:
    chosen = environ(tmp_path, SIGNOFF_VAULT=str(tmp_path / "drive"), SIGNOFF_PROJECT=project)
    with pytest.raises(ConfigInvalid, match="project name"):
        find_vault(main, chosen)


def test_two_repositories_of_one_name_do_not_share_a_vault_by_accident(
    main: Path, tmp_path: Path
) -> None:
    chosen = environ(tmp_path, SIGNOFF_VAULT=str(tmp_path / "drive"))
    folder = find_vault(main, chosen).folder
    folder.mkdir(parents=True)
    own_shared_vault(folder, main)
    (folder / "PLAN-a.md").write_text("# T\n")
    assert plan_identity(folder / "PLAN-a.md").repository == str(main)
    (tmp_path / "other" / "main").mkdir(parents=True)
    git(tmp_path / "other" / "main", "init", "-q")
    with pytest.raises(VaultClash, match="holds the plans of"):
        find_vault(tmp_path / "other" / "main", chosen)
    apart = {**chosen, "SIGNOFF_PROJECT": "other-main"}
    assert find_vault(tmp_path / "other" / "main", apart).folder != folder


def test_a_plain_folder_and_a_repository_do_not_share_a_vault(main: Path, tmp_path: Path) -> None:
    chosen = environ(tmp_path, SIGNOFF_VAULT=str(tmp_path / "drive"))
    plain = tmp_path / "other" / "main"
    plain.mkdir(parents=True)
    own_vault(find_vault(plain, chosen))
    with pytest.raises(VaultClash, match="holds the plans of"):
        find_vault(main, chosen)
    folder = find_vault(plain, chosen).folder
    (folder / "PLAN-a.md").write_text("# T\n")
    assert plan_identity(folder / "PLAN-a.md").repository is None
    plain.rmdir()
    own_vault(find_vault(main, chosen))
    assert plan_identity(folder / "PLAN-a.md").repository == str(main), "the dead own nothing"


def test_of_many_that_want_a_vault_at_once_one_gets_it(tmp_path: Path) -> None:
    chosen = environ(tmp_path, SIGNOFF_VAULT=str(tmp_path / "drive"))
    folders = [tmp_path / str(number) / "same" for number in range(8)]
    for folder in folders:
        folder.mkdir(parents=True)
    places = [find_vault(folder, chosen) for folder in folders]

    def try_to_own(place: VaultPlace) -> bool:
        try:
            own_vault(place)
        except VaultClash:
            return False
        return True

    with ThreadPoolExecutor(len(places)) as pool:
        won = list(pool.map(try_to_own, places))
    assert sum(won) == 1
    assert find_vault(folders[won.index(True)], chosen).shared


def test_a_project_may_be_called_like_a_plan(main: Path, tmp_path: Path) -> None:
    chosen = environ(tmp_path, SIGNOFF_VAULT=str(tmp_path), SIGNOFF_PROJECT="PLAN-tool")
    assert find_vault(main, chosen).folder == tmp_path / "PLAN-tool" / "_harness"
