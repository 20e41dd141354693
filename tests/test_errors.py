"""Every error signoff raises keeps the same promises."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from signoff.errors import Exit, SignoffError, all_error_types

ERRORS = all_error_types()
names = pytest.mark.parametrize("error", ERRORS, ids=lambda e: e.__name__)


@names
def test_an_error_survives_pickling_with_everything_it_says(error: type[SignoffError]) -> None:
    raised = error("`plan.md` is gone", "look for it", {"path": "plan.md", "line": 3})
    again = pickle.loads(pickle.dumps(raised))
    assert type(again) is error
    assert (again.message, again.hint, again.facts) == (
        "`plan.md` is gone",
        "look for it",
        {"path": "plan.md", "line": 3},
    )
    assert str(again) == "`plan.md` is gone"


@names
def test_an_error_says_what_to_do_next_even_when_nobody_told_it(error: type[SignoffError]) -> None:
    raised = error("facts")
    assert raised.hint.strip() == raised.hint != ""
    assert raised.facts == {}


@names
def test_an_error_has_an_exit_code_of_the_table_that_is_not_success(
    error: type[SignoffError],
) -> None:
    assert isinstance(error.exit_code, Exit)
    assert error.exit_code is not Exit.YES


@names
def test_an_error_is_documented_in_one_line(error: type[SignoffError]) -> None:
    assert error.__doc__
    first = error.__doc__.strip().splitlines()[0]
    assert first.endswith(".")
    inherited = [base.__doc__ for base in error.__mro__[1:]]
    assert error.__doc__ not in inherited


def test_no_two_errors_share_a_code() -> None:
    codes = [error.code for error in ERRORS]
    assert len(set(codes)) == len(codes)
    assert all(code == code.lower() and " " not in code for code in codes)


def test_the_list_of_errors_leaves_none_out() -> None:
    found: list[type[SignoffError]] = [SignoffError]
    for error in found:
        found.extend(error.__subclasses__())
    assert set(found) == set(ERRORS)


def test_two_errors_do_not_share_their_facts() -> None:
    one, other = SignoffError("one"), SignoffError("other")
    one.facts["path"] = "a"
    assert other.facts == {}


@pytest.mark.parametrize(
    ("origin", "what"),
    [
        ({"url": "file:///a%20b/signoff", "dir_info": {"editable": True}}, "'/a b/signoff[mcp]'"),
        ({"url": "https://x.invalid/signoff.whl", "archive_info": {}}, "'signoff[mcp]'"),
        (None, "'signoff[mcp]'"),
    ],
)
def test_a_missing_part_is_added_where_signoff_is_installed_and_from_where_it_came(
    tmp_path: Path, origin: dict[str, object] | None, what: str
) -> None:
    installed = tmp_path / "signoff-9.9.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: signoff\nVersion: 9.9\n")
    if origin is not None:
        (installed / "direct_url.json").write_text(json.dumps(origin))
    code = "from signoff.errors import how_to_install; print(how_to_install('mcp'))"
    environ = {**os.environ, "PYTHONPATH": f"{tmp_path}:{Path(*Path(__file__).parts[:-2], 'src')}"}
    command = [sys.executable, "-c", code]
    said = subprocess.run(command, capture_output=True, text=True, check=True, env=environ).stdout
    assert said.endswith(f" {what}\n") and sys.executable in said and "pip install" in said
