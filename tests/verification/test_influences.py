"""Scripts, sections and the whole: what steers a check is noticed, ordinary work is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.domain.plan import Contract
from signoff.domain.snapshot import FileKind, FileState, Manifest
from signoff.verification.influences.rules import influences_of
from tests.verification.influences_kit import EXECUTABLE, GONE, LINK, Place


@pytest.mark.parametrize(
    "command",
    [
        "bash checks/all.sh",
        "bash -eu checks/all.sh --fast",
        "bash -o pipefail checks/all.sh",
        "sh checks/all.sh",
        "./checks/all.sh",
        "checks/all.sh | grep -q ok",
        "source checks/all.sh",
        ". ./checks/all.sh && run_checks",
        "timeout 30 env LANG=C bash checks/all.sh",
        "bash -c 'bash checks/all.sh'",
        "cd checks && ./all.sh",
        "(cd checks; bash all.sh)",
        "bash checks/*.sh",
        "if ! ./checks/all.sh; then exit 1; fi",
        'test -n "$(./checks/all.sh)"',
    ],
)
def test_a_shell_script_that_a_contract_executes_must_stay_as_approved(
    tmp_path: Path, command: str
) -> None:
    place = Place(tmp_path, {"checks/all.sh": EXECUTABLE + "exit 1\n"})
    assert place.change(command, {"checks/all.sh": EXECUTABLE + "exit 0\n"}) == ["checks/all.sh"]


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("python tools/check.py", "tools/check.py"),
        ("python3.11 -u -W error tools/check.py --all", "tools/check.py"),
        ("uv run python tools/check.py", "tools/check.py"),
        ("uv run --no-sync tools/check.py", "tools/check.py"),
        ("poetry run python tools/check.py", "tools/check.py"),
        ("coverage run --branch tools/check.py", "tools/check.py"),
        ("python tools", "tools/__main__.py"),
        ("node tools/check.js", "tools/check.js"),
        ("node tools/check", "tools/check.js"),
        ("node --require ./tools/setup.js -e 'run()'", "tools/setup.js"),
        ("node --import=./tools/setup.js --test", "tools/setup.js"),
        ("perl -w tools/check.pl", "tools/check.pl"),
        ("ruby -I lib tools/check.rb", "tools/check.rb"),
        ("awk -f tools/check.awk data.txt", "tools/check.awk"),
        ("jq -e --from-file tools/check.jq out.json", "tools/check.jq"),
        ("deno run --allow-read tools/check.ts", "tools/check.ts"),
    ],
)
def test_a_script_of_any_interpreter_must_stay_as_approved(
    tmp_path: Path, command: str, script: str
) -> None:
    place = Place(tmp_path, {script: "original\n"})
    assert place.change(command, {script: "weakened\n"}) == [script]


def test_a_script_that_appears_or_goes_or_changes_its_mode_is_noticed(tmp_path: Path) -> None:
    place = Place(tmp_path, {"run.sh": EXECUTABLE + "exit 1\n"})
    command = "./run.sh && bash later.sh"
    assert place.change(command, {"later.sh": "exit 0\n"}) == ["later.sh"]
    assert place.change(command, {"later.sh": GONE}) == ["later.sh"]
    assert place.change(command, {"run.sh": "exit 1\n"}) == ["run.sh"]


@pytest.mark.parametrize(
    "command",
    [
        "test -f docs/analysis.md && test $(wc -l < docs/analysis.md) -gt 1",
        "grep -q APPROVED docs/analysis.md",
        "python -c 'import product'",
        "bash -c 'true'",
        "perl -ne 'print' docs/analysis.md",
        "node -e 'require(\"./product\")'",
        "! grep -r 'import requests' src/",
        "curl -fsS http://localhost:8000/health",
        "diff docs/analysis.md expected.txt",
        'eval "$CHECK"',
        "$TOOL docs/analysis.md",
        "if broken (",
    ],
)
def test_a_contract_that_runs_nothing_from_the_workspace_is_steered_by_nothing(
    tmp_path: Path, command: str
) -> None:
    place = Place(tmp_path, {"docs/analysis.md": "x\n", "product.js": "1\n", "check.sh": "1\n"})
    edits = {"docs/analysis.md": "y\n", "product.js": "2\n", "src/new.py": "", "check.sh": "2\n"}
    assert place.change(command, edits) == []


def test_a_script_behind_a_link_is_pinned_with_its_link(tmp_path: Path) -> None:
    files = {
        "real/check.sh": "exit 1\n",
        "check.sh": LINK + "tools/check.sh",
        "tools": LINK + "real",
    }
    place = Place(tmp_path, files)
    assert place.change("bash check.sh", {"real/check.sh": "exit 0\n"}) == ["real/check.sh"]
    edits = {"other/check.sh": "exit 0\n", "tools": LINK + "other"}
    assert place.change("bash check.sh", edits) == ["other/check.sh", "real/check.sh", "tools"]


def test_links_in_circles_and_out_of_the_workspace_end_somewhere(tmp_path: Path) -> None:
    files = {"a.sh": LINK + "b.sh", "b.sh": LINK + "a.sh", "out.sh": LINK + "/bin/true"}
    place = Place(tmp_path, {**files, "up.sh": LINK + "../up.sh"})
    found = place.influences("bash a.sh; bash out.sh; bash up.sh; bash ../x.sh; bash /bin/x.sh")
    assert set(found) == {"a.sh", "b.sh", "out.sh", "up.sh"}


def test_what_an_executed_script_runs_is_looked_at_in_turn(tmp_path: Path) -> None:
    files = {
        "ci/all.sh": EXECUTABLE
        + "#!/usr/bin/env bash\nset -e\nsource ci/lib.sh\npytest -q tests\n",
        "ci/lib.sh": "make lint\n",
        "Makefile": "lint:\n\tpython3 ci/lint.py\n",
        "ci/lint.py": "import json\n",
        "ci/again.sh": "./ci/all.sh\n",
    }
    place = Place(tmp_path, files)
    command = "./ci/all.sh && bash ci/again.sh"
    assert place.change(command, {"tests/conftest.py": "cheat\n"}) == ["tests/conftest.py"]
    assert place.change(command, {"Makefile": "lint:\n\ttrue\n"}) == [
        "Makefile#target:lint",
        "ci/lint.py",
    ]


def test_the_first_line_of_a_script_says_who_reads_it(tmp_path: Path) -> None:
    files = {"check": EXECUTABLE + "#!/usr/bin/env -S python3 -u\nimport json\n"}
    place = Place(tmp_path, files)
    assert place.change("./check", {"json.py": "cheat\n"}) == ["json.py"]


def test_a_binary_is_pinned_and_not_read(tmp_path: Path) -> None:
    place = Place(tmp_path, {"tool": EXECUTABLE + "\x7fELF\0make test\n", "Makefile": "test:\n"})
    assert set(place.influences("./tool")) == {"tool"}


def test_what_may_change_by_declaration_is_no_tampering(tmp_path: Path) -> None:
    place = Place(tmp_path, {"pyproject.toml": "", "check.sh": "exit 1\n"})
    edits = {"pyproject.toml": "[tool.ruff]\nignore=['ALL']\n", "check.sh": "exit 0\n"}
    assert place.change("ruff check . && bash check.sh", edits, ("*.toml",)) == ["check.sh"]


@pytest.mark.parametrize(
    ("command", "file", "old", "new", "name"),
    [
        ("ruff check src", "ruff.toml", "", "exclude=['src']", "ruff.toml"),
        ("uv run ruff check src", "src/deep/.ruff.toml", GONE, "", "src/deep/.ruff.toml"),
        ("python -m ruff check", "pyproject.toml", "a=1", "[tool.ruff]\na=1", "#tool.ruff"),
        ("ruff check", "src/pyproject.toml", GONE, "[tool.ruff]\na=1", "#tool.ruff"),
        ("mypy src", "mypy.ini", "[mypy]\nstrict=true", "[mypy]", "mypy.ini"),
        ("mypy src", "setup.cfg", "[mypy]", "[mypy]\n[mypy-a.*]\nignore_errors=1", "#mypy"),
        ("dmypy x; mypy --config-file=conf/m.ini src", "conf/m.ini", "", "[mypy]", "conf/m.ini"),
        ("uv run pyright src/auth/", "pyrightconfig.json", GONE, "{}", "pyrightconfig.json"),
        ("pyright", "pyproject.toml", "", "[tool.pyright]\nignore=['src']", "#tool.pyright"),
        ("npx eslint .", "web/.eslintrc.json", GONE, "{}", "web/.eslintrc.json"),
        ("npx eslint .", "eslint.config.mjs", "a", "b", "eslint.config.mjs"),
        ("eslint .", "package.json", "{}", '{"eslintIgnore": ["src"]}', "#eslintIgnore"),
        ("flake8", "tox.ini", "[flake8]", "[flake8]\nexclude=src", "#flake8"),
        ("coverage report", ".coveragerc", "", "[report]\nomit=*", ".coveragerc"),
        ("cargo test", ".cargo/config.toml", GONE, "[alias]\nt='x'", ".cargo/config.toml"),
        ("cd core && cargo test", "core/.cargo/config", "", "x", "core/.cargo/config"),
        ("cargo test", "Cargo.toml", "", "[lib]\ntest=false", "#lib.test"),
        (
            "./gradlew test",
            "gradle/wrapper/gradle-wrapper.jar",
            "a",
            "b",
            "gradle/wrapper/gradle-wrapper.jar",
        ),
        ("mvn -q verify", ".mvn/maven.config", GONE, "-DskipTests", ".mvn/maven.config"),
        ("pushd core && ruff check; popd", "core/ruff.toml", "", "a=1", "core/ruff.toml"),
        ("go test ./...", "go.work", GONE, "use ./fake", "go.work"),
        ("tox -q", "tox.ini", "[tox]", "[tox]\nskipsdist=1", "tox.ini"),
        ("nox -s tests", "noxfile.py", "a", "b", "noxfile.py"),
        ("tsc --noEmit", "tsconfig.json", "{}", '{"exclude": ["src"]}', "tsconfig.json"),
        ("tsc -p conf/ts.json", "conf/ts.json", "{}", "{ }", "conf/ts.json"),
        ("! rg 'import requests'", ".ignore", GONE, "src/\n", ".ignore"),
        ("just test", "justfile", "test:\n false", "test:\n true", "justfile"),
        (
            "uv run pytest",
            "pyproject.toml",
            "",
            "[tool.uv.sources]\npytest={path='x'}",
            "#tool.uv.sources",
        ),
        (
            "uv run pytest",
            "pyproject.toml",
            "",
            "[project.scripts]\npytest='x:y'",
            "#project.scripts.pytest",
        ),
        (
            "pdm run check",
            "pyproject.toml",
            "",
            "[tool.pdm.scripts]\ncheck='true'",
            "#tool.pdm.scripts.check",
        ),
    ],
)
def test_settings_of_the_checker_must_stay_as_approved(
    tmp_path: Path, command: str, file: str, old: str, new: str, name: str
) -> None:
    place = Place(tmp_path, {file: old})
    assert place.change(command, {file: new}) == [file + name if name.startswith("#") else name]


def test_work_on_other_parts_of_a_settings_file_is_ordinary(tmp_path: Path) -> None:
    ini = "[tool:pytest]\naddopts = -q\n[mypy]\nstrict = true\n[flake8]\nmax-line-length = 99\n"
    toml = "[tool.pytest.ini_options]\naddopts='-q'\n[tool.ruff]\na=1\n[tool.mypy]\nb=2\n"
    place = Place(tmp_path, {"setup.cfg": ini, "pyproject.toml": toml, "package.json": "{}"})
    command = "uv run pytest && uv run ruff check && mypy src && flake8 && npx eslint ."
    edits = {
        "setup.cfg": "[metadata]\nname = x\n" + ini.replace("[flake8]", "\n# why\n[flake8]"),
        "pyproject.toml": "[project]\nname='x'\ndependencies=['httpx']\n"
        "[project.scripts]\nproduct='product:main'\n" + toml + "[tool.black]\nline-length=99\n",
        "package.json": '{"dependencies": {"left-pad": "1"}}',
        "Cargo.toml": "[dependencies]\n",
        "src/product.py": "print(1)\n",
        "uv.lock": "x",
    }
    assert place.change(command, edits) == []


def test_a_file_that_cannot_be_parsed_counts_as_a_whole(tmp_path: Path) -> None:
    place = Place(tmp_path, {"pyproject.toml": "[tool.ruff]\na=1\n", "package.json": "{}"})
    assert place.change("ruff check", {"pyproject.toml": "[tool.ruff\n"}) == [
        "pyproject.toml#tool.ruff"
    ]
    assert place.change("ruff check", {"pyproject.toml": "[tool.ruff \n"}) == [
        "pyproject.toml#tool.ruff"
    ]
    assert place.change("npm test", {"package.json": "{"}) != []
    deep = "[" * 100_000 + "]" * 100_000
    assert place.change("npm test", {"package.json": deep}) != []


def test_a_settings_file_too_large_to_read_or_no_file_at_all_is_pinned_by_its_state(
    tmp_path: Path,
) -> None:
    large = "#" * 3_000_000
    place = Place(tmp_path, {"pyproject.toml": large, "conf.toml": "[tool.ruff]\na=1\n"})
    name = "pyproject.toml#tool.ruff"
    assert place.change("ruff check", {"pyproject.toml": large + "\n[tool.ruff]\na=1"}) == [name]
    changed = place.change("ruff check", {"pyproject.toml": LINK + "conf.toml"})
    assert changed == ["pyproject.toml", name]
    assert place.change("ruff check", {"conf.toml": "[tool.ruff]\na=2\n"}) == [name]
    assert place.change("ruff check", {"conf.toml": "[tool.ruff]\na=2\n[tool.x]\n"}) == []


_STATE = FileState(FileKind.FILE, False, 4, "0" * 64)


@given(
    st.lists(
        st.sampled_from(
            [
                *("make", "npm", "pytest", "python", "node", "uv", "bash", "cd", "run", "test"),
                *("-m", "-c", "-C", "-f", "-p", "--", "--config=", "x.sh", "./x.sh", "@x"),
                *("..", ".", "/", "*", "&&", ";", "|", "(", ")", "$X", "'", '"', "\\", "{item}"),
            ]
        ),
        max_size=8,
    ),
    st.binary(max_size=60),
)
@settings(max_examples=150)
def test_whatever_the_command_and_the_files_say_there_is_one_answer(
    words: list[str], data: bytes
) -> None:
    names = ("Makefile", "package.json", "pyproject.toml", "setup.cfg", "x.sh", "a/conftest.py")
    manifest: Manifest = dict.fromkeys(names, _STATE)
    backwards: Manifest = dict.fromkeys(reversed(names), _STATE)
    contract = Contract(" ".join(words))
    once = influences_of(contract, manifest, lambda _: data)
    again = influences_of(contract, backwards, lambda _: data)
    assert list(once.items()) == list(again.items())
    assert {name.partition("#")[0] for name in once} <= set(names)


def test_ten_thousand_files_cost_no_reading_of_files_that_steer_nothing() -> None:
    names = [f"src/p{i % 100}/m{i}.py" for i in range(10_000)]
    manifest = dict.fromkeys([*names, "pyproject.toml"], _STATE)
    opened: list[str] = []

    def read(path: str) -> bytes:
        opened.append(path)
        return b""

    assert influences_of(Contract("uv run pytest tests/auth -x"), manifest, read) == {}
    assert set(opened) == {"pyproject.toml"}
