"""What is new in an approval is told from the pins themselves, in words."""

from __future__ import annotations

from msgspec.structs import replace

from signoff.usecases.pinning import describe
from signoff.verification.pins import Pins
from tests.cli.plans import plan_text, step

OLD = Pins(
    plan_digest="d",
    plan_text=plan_text([step("Do it", "make test")]),
    settings={},
    config_text="",
    search_path="/bin",
    workspace="/folder",
    ignore_rules={"files": []},
    snapshot="s",
    protected={},
    steering={"1": {"Makefile": "a"}},
    tools={"make": {}},
    format=1,
)


def test_only_what_the_older_pins_lack_is_newly_pinned() -> None:
    packages = {f".venv/lib/pytest/{n}.py": "x" for n in range(12)}
    new = replace(
        OLD,
        steering={"1": {"Makefile": "a", "more.mk": "b", **packages}},
        tools={"make": {}, "pytest": {}},
        counted=("1",),
        ignored={"a.env": "1", "b.env": "2", "c.env": "3", "d.env": "4"},
        byproducts={},
        git_rules={},
        dependencies={},
        format=2,
    )
    told = describe(OLD, new)
    assert told.pinned == (
        "ignored files (`a.env`, `b.env`, `c.env` and 1 more)",
        "builds and dependencies, by size and time (none now)",
        "installed packages (none now)",
        "git's own ignore rules (none now)",
        "12 files of what checks run in `.venv`",
        "files that steer a check (`more.mk`)",
        "programs (`pytest`)",
        "the number of tests of 1",
    )
    assert any("by name" in said for said in told.refused)
    assert not any("touches" in said or "protected" in said for said in told.refused)


def test_what_the_plan_declares_decides_what_is_newly_refused() -> None:
    bound = plan_text([step("Do it", "true", protects="tests/**")], front=["touches: [src/**]"])
    told = describe(replace(OLD, plan_text=bound), replace(OLD, plan_text=bound, format=2))
    assert told.refused[0] == "changes outside `touches`"
    assert any("protected files" in said for said in told.refused)


def test_pins_of_today_add_nothing_to_themselves() -> None:
    now = replace(OLD, ignored={}, byproducts={}, git_rules={}, dependencies={}, format=2)
    told = describe(now, now)
    assert told.pinned == told.refused == () and str(told) == ""
