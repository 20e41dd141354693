"""What steers Python and pytest, and the ordinary work beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verification.influences_kit import GONE, LINK, Place

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


@pytest.mark.parametrize(
    "file",
    ["pygments/__init__.py", "pygments.py", "py.py", "_hypothesis_globals.py", "packaging.py"],
)
@pytest.mark.parametrize("command", ["python3 -m pytest -q", "PYTHONPATH=. pytest"])
def test_a_module_in_place_of_one_that_pytest_loads_is_noticed(
    tmp_path: Path, command: str, file: str
) -> None:
    place = Place(tmp_path, {"product.py": "", "tests/test_product.py": ""})
    assert place.change(command, {file: "import os; os._exit(0)", "product.py": "x"}) == [file]


def install(packages: Path, name: str, files: list[str], plugin: bool, needs: list[str]) -> None:
    info = packages / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    requires = "".join(f"Requires-Dist: {needed}\n" for needed in needs)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{requires}")
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in [f"{info.name}/RECORD", *files]))
    (info / "entry_points.txt").write_text("[pytest11]\nx = x\n" if plugin else "[x]\nx = x\n")


@pytest.mark.parametrize(
    ("python", "packages"),
    [
        ("bin/python3", "lib/python3.11/site-packages"),
        ("bin/python", "lib/python3/dist-packages"),
        ("bin/python3", "local/lib/python3.12/dist-packages"),
        ("shims/python3", "versions/3.11.7/lib/python3.11/site-packages"),
        ("shims/python3", "installs/python/3.13.1/lib/python3.13/site-packages"),
    ],
)
def test_the_modules_of_the_plugins_that_are_installed_cannot_be_shadowed(
    tmp_path: Path, python: str, packages: str
) -> None:
    """And those that they need; what else is installed is nobody's business."""
    found = tmp_path / "machine" / packages
    install(
        found, "pytest-odd", ["odd/__init__.py"], True, ["Helper.One>=2", "extra; extra == 'x'"]
    )
    install(found, "helper-one", ["helper_one.py", "fast.cpython-311.so"], False, [])
    install(found, "extra", ["extra.py"], False, [])
    install(found, "other", ["other.py"], False, [])
    interpreter = tmp_path / "machine" / python
    interpreter.parent.mkdir(parents=True, exist_ok=True)
    interpreter.write_text("#!/bin/sh\n")
    interpreter.chmod(0o755)
    place = Place(tmp_path, {"product.py": ""})
    place.search_path = str(interpreter.parent)
    edits = {f"{name}.py": "" for name in ("odd", "helper_one", "fast", "extra", "other")}
    assert place.change("python -m pytest", edits) == ["fast.py", "helper_one.py", "odd.py"]


def test_a_module_that_the_project_is_about_may_be_worked_on_whatever_its_name(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path, {"packaging/__init__.py": "", "attr.py": ""})
    edits = {"packaging/__init__.py": "x", "packaging/tags.py": "", "attr.py": "y"}
    assert place.change("python -m pytest", edits) == []


ENVIRONMENT = {
    "pyvenv.cfg": "home = /usr/bin\n",
    "lib/python3.11/site-packages/distutils-precedence.pth": "import os",
    "lib/python3.11/site-packages/sitecustomize.py": "",
}


@pytest.mark.parametrize("name", [".venv", "tools/my-env"])
@pytest.mark.parametrize("command", ["python3 -m unittest", "pytest", "python3 -c 'import m'"])
def test_an_environment_that_an_agent_makes_for_itself_is_ordinary_work(
    tmp_path: Path, name: str, command: str
) -> None:
    place = Place(tmp_path, {"m.py": ""})
    assert place.change(command, {f"{name}/{f}": text for f, text in ENVIRONMENT.items()}) == []


@pytest.mark.parametrize(
    "command",
    [
        ".venv/bin/python -m unittest",
        "source .venv/bin/activate && python -m unittest",
        "cd .venv && bin/python ../m.py",
        "uv run pytest",
        "poetry run python -m unittest",
        "bash test.sh",
    ],
)
def test_an_environment_whose_interpreter_judges_steers(tmp_path: Path, command: str) -> None:
    place = Place(tmp_path, {"m.py": "", "test.sh": ".venv/bin/python -m pytest\n"})
    edits = {f".venv/{file}": text for file, text in ENVIRONMENT.items()}
    packages = ".venv/lib/python3.11/site-packages"
    found = place.change(command, edits)
    assert {f"{packages}/distutils-precedence.pth", f"{packages}/sitecustomize.py"} <= set(found)


def test_an_environment_on_the_search_path_steers(tmp_path: Path) -> None:
    place = Place(tmp_path, {"m.py": ""})
    place.search_path = f"{place.root}/.venv/bin:{place.search_path}"
    edits = {f".venv/{file}": text for file, text in ENVIRONMENT.items()}
    assert place.change("python3 -m unittest", edits) != []


def test_a_folder_called_an_environment_does_not_hide_a_start_up_module(tmp_path: Path) -> None:
    """A makefile or the user's own variables may put the folder on the search path."""
    place = Place(tmp_path, {"src/m.py": ""})
    edits = {"src/pyvenv.cfg": "", "src/sitecustomize.py": "import os; os._exit(0)"}
    assert place.change("python3 -m unittest", edits) == ["src/sitecustomize.py"]


def test_the_workspace_itself_is_no_environment(tmp_path: Path) -> None:
    """Or a file of that name at its top would let everything below it steer unseen."""
    place = Place(tmp_path, {"m.py": ""})
    edits = {"pyvenv.cfg": "", "sitecustomize.py": "import os; os._exit(0)"}
    assert place.change("python3 -m unittest", edits) == ["sitecustomize.py"]


PACKAGES = ".venv/lib/python3.12/site-packages"
RUNNER = {
    ".venv/pyvenv.cfg": "home = /usr/bin\n",
    ".venv/bin/pytest": "#!/bin/sh\n",
    f"{PACKAGES}/_pytest/runner.py": "strict\n",
    f"{PACKAGES}/pytest/__init__.py": "",
    f"{PACKAGES}/pytest-9.dist-info/METADATA": "Name: pytest\nVersion: 9\n",
    f"{PACKAGES}/pytest-9.dist-info/RECORD": "_pytest/runner.py,,\npytest/__init__.py,,\n",
    f"{PACKAGES}/lib.py": "",
}


@pytest.mark.parametrize(
    ("edits", "names"),
    [
        ({f"{PACKAGES}/_pytest/runner.py": "lenient\n"}, [f"{PACKAGES}/_pytest"]),
        ({f"{PACKAGES}/_pytest/more.py": ""}, [f"{PACKAGES}/_pytest"]),
        ({f"{PACKAGES}/pytest.so": ""}, [f"{PACKAGES}/pytest"]),
        ({".venv/bin/pytest": "#!/bin/true\n"}, [".venv/bin/pytest"]),
        ({".venv/pyvenv.cfg": "home = /x\n"}, [".venv/pyvenv.cfg"]),
        ({f"{PACKAGES}/sitecustomize.py": ""}, [f"{PACKAGES}#start-up"]),
        ({f"{PACKAGES}/a.pth": "import os\n"}, [f"{PACKAGES}#start-up"]),
        (
            {f"{PACKAGES}/x-1.dist-info/entry_points.txt": "[pytest11]\nx = x\n"},
            [f"{PACKAGES}#pytest11"],
        ),
        ({f"{PACKAGES}/a.pth": "/src\n"}, []),
        ({f"{PACKAGES}/lib.py": "x = 1\n"}, []),
        ({f"{PACKAGES}/_pytest/__pycache__/runner.cpython-312.pyc": ""}, []),
    ],
)
def test_a_runner_in_an_environment_of_the_workspace_stays_as_approved(
    tmp_path: Path, edits: dict[str, str], names: list[str]
) -> None:
    place = Place(tmp_path, RUNNER, ignored=".venv/\n")
    assert place.change(". .venv/bin/activate && pytest -q", edits) == names


def test_an_environment_may_be_made_later(tmp_path: Path) -> None:
    place = Place(tmp_path, {"a.py": ""}, ignored=".venv/\n")
    assert place.change(". .venv/bin/activate && pytest -q", RUNNER) == []
