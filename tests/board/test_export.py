"""`signoff board export`: everything about a plan in one file that needs nothing else."""

from __future__ import annotations

import re

from tests.cli.kit import Desk
from tests.cli.plans import step


def test_a_report_has_everything_and_asks_nobody_for_anything(desk: Desk) -> None:
    desk.variable(SHOP_TOKEN="hunter2-hunter2")
    desk.agent("echo hunter2-hunter2; echo '<b>yes</b> hunter2-hunter2' > it")
    desk.plan(step("Do <i>it</i>", "cat it"), step("Do more", "test -s it", needs="1"))
    desk.run("--yes").exits(0)
    desk.signoff("board", "export", "PLAN.md", "-o", "report.html").exits(0).prints(
        "wrote report.html"
    )
    text = desk.read("report.html")
    assert '<span class="state proved">PROVED</span>' in text
    assert "+&lt;b&gt;yes&lt;/b&gt; [redacted:SHOP_TOKEN]" in text and "hunter2" not in text
    assert "No such file or directory" in text and "How this is judged" in text
    assert "<b>" not in text and "<i>" not in text and "<script" not in text
    assert not re.search(r"(?:src|href)=\"(?!#)|https?://|url\(|@import", text)
    assert text.count('class="kept"') + text.count('class="plain"') >= len(desk.log()) - 1
    targets = set(re.findall(r'href="#([^"]+)"', text))
    assert targets == {"s-1", "s-2"} and all(f'id="{name}"' in text for name in targets)
    desk.signoff("board", "export", "PLAN.md").exits(0).shows("<!doctype html>")


def test_a_report_of_a_plan_that_nobody_ran_says_not_yet(desk: Desk) -> None:
    desk.plan(step("Do it", "test -s it"))
    desk.signoff("board", "export", "PLAN.md").exits(0).shows("NOT YET", "not judged")
