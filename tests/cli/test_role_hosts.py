"""`[roles.x] hosts`: an agent reaches those; what it asked for besides is recorded and shown."""

from __future__ import annotations

from typing import Any

import pytest

from signoff.domain.verdict import Isolation
from signoff.process.sandboxes import probe_sandboxes
from tests.cli.kit import Desk
from tests.cli.plans import step

AVAILABLE = [s.isolation for s in probe_sandboxes() if s.available]
BOXED = [i for i in AVAILABLE if i.has_own_view]
OPEN = [Isolation.NONE, *(i for i in AVAILABLE if i is Isolation.LANDLOCK)]
GROUND = step("Lay the ground", "grep -qx firm ground")
ASKS = r"""
exec 3<>/dev/tcp/127.0.0.1/3128
printf 'CONNECT other.example:443 HTTP/1.1\r\n\r\n' >&3; cat <&3 > answer
echo "$HTTPS_PROXY" >> answer
echo firm > ground
"""


def hired(desk: Desk, isolation: Isolation, script: str, *hosts: str, **more: Any) -> Desk:
    desk.person(f'[sandbox]\nisolation = "{isolation}"\nwritable = ["{desk.agents}"]\n')
    return desk.agent(script, hosts=list(hosts), **more).plan(GROUND)


@pytest.mark.parametrize("isolation", BOXED)
def test_what_an_agent_may_not_reach_is_refused_recorded_and_shown(
    desk: Desk, isolation: Isolation
) -> None:
    hired(desk, isolation, ASKS, "api.example.com")
    desk.signoff("verify", "PLAN.md").exits(0).hides("role-hosts-open")
    shown = desk.run("--yes").exits(0)
    shown.shows("asked for hosts that it may not reach: other.example:443")
    (finished,) = desk.entries("attempt.finished")
    assert finished["data"]["denied_hosts"] == ["other.example:443"]
    assert "403 Refused" in desk.read("answer") and "http://127.0.0.1:3128" in desk.read("answer")


@pytest.mark.parametrize("isolation", BOXED)
def test_no_hosts_at_all_is_no_network(desk: Desk, isolation: Isolation) -> None:
    hired(desk, isolation, ASKS)
    desk.run("--yes").exits(0).shows("other.example:443")


@pytest.mark.parametrize("isolation", OPEN)
def test_where_nothing_can_enforce_it_everybody_is_told(desk: Desk, isolation: Isolation) -> None:
    hired(desk, isolation, "echo firm > ground", "api.example.com")
    said = f"isolation `{isolation}` cannot keep it to its hosts"
    desk.signoff("verify", "PLAN.md").exits(0).shows(said, "[role-hosts-open]")
    desk.signoff("doctor").shows(said)
    desk.about_plan("approve", "--yes").shows(said)
    desk.run("--yes").exits(0)
    assert "denied_hosts" not in desk.entries("attempt.finished")[0]["data"]


def test_the_hosts_that_count_are_those_that_were_approved(desk: Desk) -> None:
    hired(desk, Isolation.NONE, "echo firm > ground", "api.example.com")
    desk.about_plan("approve", "--yes").exits(0)
    text = desk.read("signoff.toml")
    desk.file("signoff.toml", text.replace("api.example.com", "other.example"))
    desk.run().exits(6).shows("approved with another `signoff.toml`")


@pytest.mark.parametrize("isolation", [*BOXED, *OPEN])
def test_the_hosts_that_an_agent_needs_are_one_word_and_are_pinned(
    desk: Desk, isolation: Isolation
) -> None:
    own = f'[sandbox]\nisolation = "{isolation}"\nwritable = ["{desk.agents}"]\n'
    desk.person(own).variable(ANTHROPIC_API_KEY="key-of-ada").tool("claude", ASKS).plan(GROUND)
    role = '[roles.coder]\nagent = "claude"\nhosts = ["@agent", "pypi.example"]\n'
    desk.file("signoff.toml", role)
    approved = desk.about_plan("approve", "--yes").exits(0)
    approved.shows("may reach pypi.example, @agent, api.anthropic.com")
    if not isolation.has_own_view:
        approved.shows(f"isolation `{isolation}` cannot keep it to its hosts", "role-hosts-open")
        return
    desk.run().exits(0).shows("asked for hosts that it may not reach: other.example:443")


def test_the_word_for_an_agents_hosts_needs_an_agent(desk: Desk) -> None:
    hired(desk, Isolation.NONE, "true", "@agent")
    refused = desk.signoff("verify", "PLAN.md").exits(4)
    refused.shows("stands for the hosts that a known agent needs", 'agent = "claude"')


@pytest.mark.parametrize("host", ["", "https://api.example.com", "a b", "*", "a:b", "[::1]"])
def test_a_host_is_a_name(desk: Desk, host: str) -> None:
    hired(desk, Isolation.NONE, "true", host)
    desk.signoff("verify", "PLAN.md").exits(4).shows("hosts" if not host else "is not a host name")
