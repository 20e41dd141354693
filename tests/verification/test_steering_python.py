"""What steers Python and pytest, and the ordinary work beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verification.steering_kit import GONE, LINK, Place

PYTEST_COMMANDS = [
    "pytest",
    "pytest -q tests/auth/test_login.py::test_slow -k 'not x'",
    "python -m pytest tests",
    "python3 -Im pytest",
    "uv run pytest tests/ -x",
    "uv run --frozen --extra dev python -m pytest",
    "uv run -m pytest",
    "poetry run pytest",
    "pdm run pytest",
    "hatch run dev:pytest",
    "hatch test",
    "coverage run -m pytest",
    "uv run coverage run --source src -m pytest && coverage report",
    "python -m coverage run -m pytest",
    "tox -e py311",
    "nox",
    "xvfb-run -a pytest",
    "PYTHONPATH=src timeout 60 pytest tests",
    ".venv/bin/pytest -q",
    "! pytest tests/test_new.py",
    'out=$(pytest -q); test -n "$out"',
    "for i in 1 2 3; do pytest || exit 1; done",
]


@pytest.mark.parametrize("command", PYTEST_COMMANDS)
def test_a_conftest_anywhere_is_noticed_however_pytest_is_called(
    tmp_path: Path, command: str
) -> None:
    place = Place(tmp_path, {"conftest.py": "", "tests/auth/test_login.py": "def test(): ...\n"})
    edits = {"conftest.py": "cheat", "tests/auth/conftest.py": "cheat", "src/conftest.py": ""}
    assert place.change(command, edits) == sorted(edits)


@pytest.mark.parametrize(
    ("file", "text", "name"),
    [
        ("pytest.ini", "", "pytest.ini"),
        (".pytest.ini", "[pytest]\n", ".pytest.ini"),
        ("pytest.toml", "", "pytest.toml"),
        ("tests/pytest.ini", "[pytest]\n", "tests/pytest.ini"),
        ("tests/auth/pytest.ini", "[pytest]\n", "tests/auth/pytest.ini"),
        ("tests/setup.cfg", "[tool:pytest]\naddopts=--co\n", "tests/setup.cfg#tool:pytest"),
        ("tox.ini", "[pytest]\naddopts=--co\n", "tox.ini#pytest"),
        ("tox.ini", "[pytest] # ]\naddopts=--co\n", "tox.ini#pytest"),
        ("tox.ini", "; note \x0c[pytest]\naddopts=--co\n", "tox.ini#pytest"),
        ("tox.ini", "[tox]\r\n[pytest]\r\naddopts=--co\r\n", "tox.ini#pytest"),
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\naddopts='--co'",
            "pyproject.toml#tool.pytest",
        ),
        ("pyproject.toml", "[tool.pytest]\naddopts=['--co']", "pyproject.toml#tool.pytest"),
        (
            "pyproject.toml",
            "[project.entry-points.pytest11]\nx='product.cheat'",
            "pyproject.toml#project.entry-points.pytest11",
        ),
        (
            "x.dist-info/entry_points.txt",
            "[console_scripts]\na=b:c\n[pytest11]\nx=cheat\n",
            "x.dist-info/entry_points.txt#pytest11",
        ),
        ("pytest.py", "", "pytest.py"),
        ("pytest/__init__.py", "", "pytest/__init__.py"),
        ("_pytest/__init__.py", "", "_pytest/__init__.py"),
        ("pluggy.py", "", "pluggy.py"),
        ("pytest_cov/__init__.py", "", "pytest_cov/__init__.py"),
        ("pytest_timeout.py", "", "pytest_timeout.py"),
        ("sitecustomize.py", "", "sitecustomize.py"),
        ("src/usercustomize.py", "", "src/usercustomize.py"),
        ("json.py", "", "json.py"),
        ("json/__init__.py", "", "json/__init__.py"),
        ("json", LINK + "src", "json"),
        (
            "subprocess.cpython-311-x86_64-linux-gnu.so",
            "",
            "subprocess.cpython-311-x86_64-linux-gnu.so",
        ),
        ("env/lib/site-packages/x.pth", "import cheat", "env/lib/site-packages/x.pth"),
    ],
)
def test_a_file_that_would_steer_pytest_is_noticed_when_it_appears(
    tmp_path: Path, file: str, text: str, name: str
) -> None:
    place = Place(tmp_path, {"tests/auth/test_login.py": "", "src/product.py": ""})
    assert place.change("python -m pytest tests/auth", {file: text}) == [name]


def test_settings_that_the_command_names_are_noticed(tmp_path: Path) -> None:
    place = Place(tmp_path, {"ci/p.ini": "", "plug/one.py": "", "two/__init__.py": "", "args": ""})
    edits = {"ci/p.ini": "x", "plug/one.py": "x", "two/__init__.py": "x", "args": "--co"}
    command = "pytest -c ci/p.ini -p plug.one -ptwo @args"
    assert place.change(command, edits) == sorted(edits)


@pytest.mark.parametrize("command", PYTEST_COMMANDS)
def test_ordinary_work_on_a_python_project_is_not_flagged(tmp_path: Path, command: str) -> None:
    settings = "[tool.pytest.ini_options]\naddopts='-q'\n"
    files = {
        "pyproject.toml": "[project]\nname='product'\n" + settings,
        "conftest.py": "",
        "src/product/__init__.py": "",
        "tests/test_old.py": "",
        "statistics.py": "def mean(): ...\n",
        "setup.cfg": "[metadata]\nname = product\n",
    }
    place = Place(tmp_path, files)
    edits = {
        "pyproject.toml": "[project]\nname='product'\ndependencies=['httpx']\n" + settings,
        "src/product/__init__.py": "x = 1\n",
        "src/product/json.py": "",
        "src/product/types/__init__.py": "",
        "tests/test_old.py": GONE,
        "tests/test_new.py": "",
        "tests/__init__.py": "",
        "statistics.py": "def mean(): return 1\n",
        "setup.cfg": "[metadata]\nname = product\n[options]\nzip_safe = no\n",
        "models/best.pth": "weights",
        "product.egg-info/entry_points.txt": "[console_scripts]\nproduct=product:main\n",
        "README.md": "",
        "Makefile": "test:\n\tpytest\n",
        "types/README.md": "",
    }
    assert place.change(command, edits) == []


@pytest.mark.parametrize(
    "command",
    [
        "python -m unittest",
        "python -c 'import product'",
        "uv run python -m unittest -v",
        "python -",
    ],
)
def test_modules_in_place_of_the_standard_library_are_noticed_for_any_python(
    tmp_path: Path, command: str
) -> None:
    place = Place(tmp_path, {"product.py": "", "tests/test_a.py": ""})
    edits = {"unittest/__init__.py": "", "product.py": "x = 1\n", "tests/random.py": ""}
    assert place.change(command, edits) == ["unittest/__init__.py"]


def test_a_script_imports_from_its_own_folder_first(tmp_path: Path) -> None:
    place = Place(tmp_path, {"tools/check.py": "", "json.py": ""})
    edits = {"tools/json.py": "", "json.py": "x", "random.py": ""}
    assert place.change("python tools/check.py", edits) == ["tools/json.py"]


def test_folders_on_the_python_path_of_the_contract_come_first(tmp_path: Path) -> None:
    place = Place(tmp_path, {"lib/product.py": ""})
    edits = {"lib/json.py": "", "lib/product.py": "x"}
    assert place.change("PYTHONPATH=lib:src python tools/check.py", edits) == ["lib/json.py"]


@pytest.mark.parametrize(
    "command", ["python -m", "uv run", "poetry install", "python -Werror -Xdev"]
)
def test_a_call_that_runs_no_tool_is_still_python_or_nothing(tmp_path: Path, command: str) -> None:
    place = Place(tmp_path, {"product.py": ""})
    edits = {"conftest.py": "", "pytest.ini": "", "product.py": "x"}
    assert place.change(command, edits) == []


def test_a_tool_run_as_a_module_can_be_shadowed(tmp_path: Path) -> None:
    place = Place(tmp_path, {"product.py": ""})
    assert place.change("python -m mypy product.py", {"mypy.py": "exit()"}) == ["mypy.py"]


def test_the_product_run_as_a_module_is_the_subject(tmp_path: Path) -> None:
    place = Place(tmp_path, {"product/__main__.py": ""})
    edits = {"product/__main__.py": "print(1)", "product/cli.py": ""}
    assert place.change("python -m product --version && uv run product", edits) == []
