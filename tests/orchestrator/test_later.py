"""A package whose loading is put off behaves like the package, for those who asked for it early."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from signoff.orchestrator.engine import put_off


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`slowlib` and its module `slowlib.errors`; `early` imports both, and uses neither."""
    (tmp_path / "slowlib").mkdir()
    (tmp_path / "slowlib" / "__init__.py").write_text("from slowlib import errors\nNAME = 'slow'\n")
    (tmp_path / "slowlib" / "errors.py").write_text("class Refused(Exception): ...\n")
    early = """
        import slowlib
        from slowlib import errors

        def name():
            return slowlib.NAME

        def refused():
            return errors.Refused
    """
    (tmp_path / "early.py").write_text(textwrap.dedent(early))
    (tmp_path / "eager.py").write_text("import slowlib\nNAME = slowlib.NAME\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in ("slowlib", "slowlib.errors", "early", "eager"):
        sys.modules.pop(name, None)


def put_off_while_importing(module: str) -> Any:
    with put_off("slowlib", "errors"):
        return import_module(module)


@pytest.mark.usefixtures("library")
def test_importing_alone_loads_nothing() -> None:
    put_off_while_importing("early")
    assert not {"slowlib", "slowlib.errors"} & set(sys.modules)


@pytest.mark.usefixtures("library")
def test_its_names_are_those_of_the_package_once_they_are_used() -> None:
    early = put_off_while_importing("early")
    assert early.refused() is import_module("slowlib.errors").Refused
    assert early.name() == "slow"


@pytest.mark.usefixtures("library")
def test_a_name_used_while_importing_loads_the_package_at_once() -> None:
    assert put_off_while_importing("eager").NAME == "slow"
    assert sys.modules["slowlib"].NAME == "slow"


@pytest.mark.usefixtures("library")
def test_a_package_that_is_loaded_already_is_left_as_it_is() -> None:
    loaded = import_module("slowlib")
    assert put_off_while_importing("early").slowlib is loaded


@pytest.mark.usefixtures("library")
def test_an_unknown_name_is_an_attribute_error() -> None:
    early = put_off_while_importing("early")
    with pytest.raises(AttributeError, match="NOWHERE"):
        _ = early.slowlib.NOWHERE


def test_the_durable_engine_does_not_load_the_driver_of_a_database_nobody_asked_for() -> None:
    code = "import sys, signoff.orchestrator.engine; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    packages = {name.partition(".")[0] for name in loaded.stdout.split()}
    assert "dbos" in packages
    assert "psycopg" not in packages
