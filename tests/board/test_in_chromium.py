"""The page in a real browser: live, by click and by key, for everybody, and not to be fooled.

With SIGNOFF_PICTURES=FOLDER the pictures of the pages are written there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.board.kit import Served, serve
from tests.cli.ended import LIMIT_S
from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.cli.project import Project

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium")
AXE = Path(__file__).parents[2] / ".venv/node/node_modules/axe-core/axe.min.js"
SOON_MS = LIMIT_S * 1000
SHIFTS = """() => { window.shifted = 0; new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.shifted += entry.value;
}).observe({ type: "layout-shift", buffered: true }); }"""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: make browser")
needs_axe = pytest.mark.skipif(not AXE.is_file(), reason="no axe-core here: make browser")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        # Inside a container's root it has no sandbox of its own to use.
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


def look(browser: Browser, served: Served, **options: object) -> Page:
    """A browser of its own that opens the newest printed address."""
    page = browser.new_context(**options).new_page()  # type: ignore[arg-type]
    page.set_default_timeout(SOON_MS)
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    page.goto(served.newest_url())
    page.wait_for_selector(".live.on")
    return page


def live(page: Page, path: str, served: Served) -> None:
    page.goto(served.origin + path)
    page.wait_for_selector(".live.on")


def test_a_run_is_watched_from_its_beginning_until_it_is_proved(
    desk: Desk, browser: Browser
) -> None:
    wait = f"until [ -e {desk.folder}/go ]; do sleep 0.05; done; echo yes > it$SIGNOFF_STEP"
    desk.agent(wait).plan(*(step(f"Do {n}", f"test -s it{n}") for n in (1, 2, 3)))
    desk.about_plan("approve", "--yes").exits(0)
    served = serve(desk)
    page = look(browser, served)
    page.keyboard.press("?")
    page.get_by_role("heading", name="Keyboard").wait_for()
    page.keyboard.press("?")
    page.goto(served.origin + "/plans")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Build a house", level=1).wait_for()
    page.wait_for_selector(".live.on")
    page.evaluate(SHIFTS)
    run = desk.start("run", "PLAN.md")
    page.wait_for_selector("#row-1 >> text=running")
    assert page.locator(".head .state").inner_text() == "NOT YET"
    (desk.folder / "go").touch()
    page.wait_for_selector(".head .state.proved")
    assert run.end().code == 0
    assert page.title().startswith("PROVED")
    assert page.locator("circle.done").count() == 3
    assert page.evaluate("window.shifted") < 0.1
    seen = page.locator(".entries li").first.get_attribute("id")
    assert seen == f"e{desk.log()[-1]['seq']}"


def test_a_change_is_on_the_screen_without_a_reload(desk: Desk, browser: Browser) -> None:
    desk.agent("true").plan(step("Do it", "test -s it", on_fail="retry(0)"))
    desk.run("--yes").exits(6)
    served = serve(desk)
    page = look(browser, served)
    page.get_by_text("broken after 1 attempt").wait_for()
    page.evaluate("window.since = 'before'")
    desk.answer("abort")
    page.get_by_text("Nothing waits for you.").wait_for()  # how soon: `make bench`
    assert page.evaluate("window.since") == "before"


def test_approvals_and_answers_are_clicked_and_a_late_click_changes_nothing(
    project: Project, browser: Browser
) -> None:
    project.agent("true").named("house", step("Do it", "test -s it", on_fail="retry(0)"))
    served = serve(project, "--decide", "--as", "Ada")
    page = look(browser, served)
    page.goto(served.origin + "/plans")
    page.get_by_role("link", name="house").click()
    page.get_by_role("button", name="See what would be pinned").click()
    page.get_by_text("$ test -s it").wait_for()
    page.keyboard.press("a")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Recorded: approved").wait_for()
    project.signoff("run", "house").exits(6)
    other = look(browser, served)
    for one in (page, other):
        live(one, "/", served)
        one.get_by_placeholder("Told to the agent").fill("mind the roof")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Retry").click()
    page.get_by_role("heading", name="Recorded: answered: retry").wait_for()
    # The other browser is told at once; before it was, its click was refused.
    other.get_by_text("Nothing waits for you.").wait_for()
    (answered,) = (e for e in project.log_of("house") if e["kind"] == "escalation.answered")
    assert answered["data"]["note"] == "mind the roof" and answered["data"]["by"] == "Ada"
    project.signoff("run", "house").exits(6)
    page.goto(served.origin + "/")
    page.route("**/events*", lambda route: route.abort())  # a page that slept
    page.goto(served.origin + "/")
    (item,) = project.inbox()
    project.signoff("audit", "house")
    before = project.log_of("house")
    page.get_by_role("button", name="Abort").click()
    page.get_by_role("heading", name="Nothing was recorded").wait_for()
    page.get_by_text("audited").wait_for()
    assert project.log_of("house") == before and project.inbox() == [item]


def test_a_page_goes_on_when_its_server_was_killed_and_started_again(
    desk: Desk, browser: Browser
) -> None:
    desk.agent("true").plan(step("Do it", "test -s it", on_fail="retry(0)"))
    desk.run("--yes").exits(6)
    served = serve(desk)
    page = look(browser, served)
    served.running.process.kill()
    page.wait_for_selector(".live.off")
    desk.answer("abort")
    desk.start("board", "--json", "--listen", f"127.0.0.1:{served.port}")
    page.get_by_text("Nothing waits for you.").wait_for()
    assert page.locator("#live").inner_text() == "live"


def furnished(project: Project) -> Served:
    """Three plans that stand differently, and text that would like to be more than text."""
    evil = "<img src=x onerror=alert(1)>\x1b[31m\u202e<script>alert(2)</script>"
    project.tool("shout", f"printf '%s\\n' '{evil}'")
    write = 'shout; for f in "greeting$SIGNOFF_STEP"; do echo "hello" > "$f.txt"; done'
    project.agent(write + '; [ "$SIGNOFF_STEP" = 4 ] && shout > "<b>.txt"; true')
    named = project.named
    needs = ("", "1", "1", "2, 3")
    steps = [
        step(f"{verb} the greeting", f"shout; grep hello greeting{n}.txt", needs=need)
        if need
        else step(f"{verb} the greeting", f"grep hello greeting{n}.txt")
        for n, (verb, need) in enumerate(
            zip(("Write", "Translate", "Print", "Bind"), needs, strict=True), 1
        )
    ]
    named("greet", *steps, title="Say hello to every customer")
    named(
        "fix",
        step("Raise the limit", "grep 30s timeout.txt", on_fail="retry(0)"),
        step("Say so in the notes", "grep timeout notes.md"),
        title="Fix authentication timeout (#423)",
    )
    named("later", step("Move it", "test -s prices.db"), title="Move prices into the database")
    named("odd", step(f"Do {evil}", "test -s it"), title=f"Odd {evil}")
    project.signoff("run", "greet", "--yes").exits(0)
    project.signoff("run", "fix", "--yes").exits(6)
    project.signoff("verify", "later").exits(0)
    return serve(project, "--decide")


LOOKS = {
    "light": {"color_scheme": "light", "viewport": {"width": 1280, "height": 860}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1280, "height": 860}},
    "narrow": {"color_scheme": "dark", "viewport": {"width": 390, "height": 844}},
}


@needs_axe
def test_every_view_can_be_read_by_everybody_and_runs_no_script_of_others(
    project: Project, browser: Browser
) -> None:
    served = furnished(project).enter()
    greet, odd = served.plan("Say hello to every customer"), served.plan_of("odd")
    fix = served.plan("Fix authentication timeout (#423)")
    kept = [e["seq"] for e in project.log_of("greet") if e["kind"] == "verdict"][-1]
    views = {
        "needs-you": "/",
        "plans": "/plans",
        "plan": greet,
        "question": fix,
        "odd": odd,
        "attempt": f"{greet}/attempt/1/4",
        "evidence": f"{greet}/entry/{kept}",
        "stats": "/stats",
    }
    for look_name, options in LOOKS.items():
        page = look(browser, served, **options, reduced_motion="reduce")
        for name, path in views.items():
            live(page, path, served)
            assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth"), name
            assert_accessible(page, f"{name}, {look_name}")
            picture(page, f"{name}-{look_name}")
        page.context.close()
    page = look(browser, served)
    live(page, served.plan("Move prices into the database"), served)
    page.get_by_role("button", name="See what would be pinned").click()
    page.get_by_role("heading", name="Approve exactly this?").wait_for()
    assert_accessible(page, "proposal")


# Those of the pages of docs/; others would show folders of this machine.
PICTURES = ("needs-you-dark", "plan-light", "plans-narrow")


def assert_accessible(page: Page, where: str) -> None:
    """No serious finding of axe."""
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("axe.run().then((result) => result.violations)")
    serious = [f for f in found if f["impact"] in ("serious", "critical")]
    assert not serious, (where, [(f["id"], f["nodes"][0]["html"]) for f in serious])


def picture(page: Page, name: str) -> None:
    folder = os.environ.get("SIGNOFF_PICTURES")
    if folder and name in PICTURES:
        page.screenshot(path=Path(folder) / f"board-{name}.png")


@needs_axe
def test_a_report_can_be_read_from_disk_by_everybody(desk: Desk, browser: Browser) -> None:
    desk.agent("echo yes > it").plan(step("Do it", "cat it"))
    desk.run("--yes").exits(0)
    desk.signoff("board", "export", "PLAN.md", "-o", "report.html").exits(0)
    page = browser.new_context(offline=True).new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((desk.workspace / "report.html").as_uri())
    assert len(asked) == 1 and page.locator(".state").inner_text() == "PROVED"
    assert_accessible(page, "report")
