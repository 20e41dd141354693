"""Views say what `status`, `log` and `show` say; everything from outside is text in them."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator
from contextlib import contextmanager

from tests.board.kit import Served, serve
from tests.cli.ended import LIMIT_S
from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.cli.project import Project
from tests.hooks.kit import FakeClient

# Markup, a terminal's colours, an override of the reading direction.
HOSTILE = "<b id=x>&amp;\x1b[31m\u202e"
SHOWN = "&lt;b id=x&gt;&amp;amp;\\x1b[31m\\u202e"


def test_plans_stand_in_columns_with_one_of_three_words(project: Project) -> None:
    project.agent("echo yes > it").named("good", step("Do it", "test -s it"))
    project.named("bad", step("Do that", "test -s that", on_fail="retry(0)"))
    project.named("new", step("Do more", "test -s more"))
    project.signoff("run", "good", "--yes").exits(0)
    project.signoff("run", "bad", "--yes").exits(6)
    project.signoff("verify", "new").exits(0)
    served = serve(project).enter()
    page = served.plans()
    found = dict(re.findall(r'class="state [a-z-]+">([A-Z ]+)</span>\s*<strong>(\w+)<', page))
    assert {title: word for word, title in found.items()} == {"good": "PROVED", "bad": "NEEDS YOU"}
    assert re.findall(r'<h2 id="col-\d">([a-z ]+) <', page) == ["needs you", "proved"]
    needs = served.get("/").text
    assert "it waits for your approval" in needs and "signoff answer " in needs
    assert "(2) Needs you" in needs and "it waits for your answer" not in needs
    stats = served.get("/stats").text
    assert "2 plans, 2 runs, 1 signed off" in stats and "50%" in stats


def test_a_plan_shows_the_red_and_the_green_verdict_and_what_led_from_one_to_the_other(
    desk: Desk,
) -> None:
    desk.agent("echo from the agent; echo yes > it").plan(step("Do it", "cat it"))
    desk.run("--yes").exits(0)
    served = serve(desk).enter()
    plan = served.plan("Build a house")
    page = served.get(plan).text
    assert page.index("it: No such file or directory") < page.index(">yes</pre>")
    assert re.search(r'"verdict before broken".*"verdict now kept"', page, re.S)
    attempt = served.get(f"{plan}/attempt/1/1").text
    assert '<span class="add">+yes</span>' in attempt
    assert "from the agent" in attempt and "How this is judged" in attempt
    kept = next(e for e in desk.log() if e["kind"] == "verdict" and e["data"]["result"] == "kept")
    evidence = served.get(f"{plan}/entry/{kept['seq']}").text
    assert (
        all(kept["data"][name] in evidence for name in ("key", "snapshot"))
        and kept["hash"] in evidence
    )
    assert "signoff audit " in evidence and "signoff receipt verify " in evidence


def test_the_timeline_is_filtered_and_shown_in_windows(desk: Desk) -> None:
    steps = [step(f"Do {n}", f"test -s it{n}") for n in range(1, 13)]
    desk.agent("echo yes > it$SIGNOFF_STEP").plan(*steps)
    desk.run("--yes").exits(0)
    served = serve(desk).enter()
    plan, log = served.plan("Build a house"), desk.log()
    page = served.get(plan).text
    shown = re.findall(r'<li id="e(\d+)"', page)
    assert len(log) > 40 and shown == [str(e["seq"]) for e in reversed(log)][:100]
    verdicts = re.findall(r'<li id="e(\d+)"', served.get(f"{plan}?show=verdicts").text)
    assert verdicts == [str(e["seq"]) for e in reversed(log) if e["kind"] == "verdict"]
    older = re.findall(r'<li id="e(\d+)"', served.get(f"{plan}?before=5").text)
    assert older == ["4", "3", "2", "1"]


def test_of_a_long_plan_the_steps_around_the_chosen_one_are_shown(desk: Desk) -> None:
    desk.agent("true").plan(*(step(f"Do {n}", f"test -s it{n}") for n in range(1, 301)))
    desk.about_plan("verify").exits(0)
    served = serve(desk).enter()
    plan = served.plan("Build a house")

    def shown(query: str) -> tuple[list[str], list[str]]:
        page = served.get(plan + query).text
        more = re.findall(r'class="more" href="[^"]*step=(\d+)">(earlier|later) steps', page)
        return re.findall(r'<li id="row-(\d+)"', page), [f"{way} {at}" for at, way in more]

    first, ways = shown("")
    assert (first[0], first[-1], ways) == ("1", "120", ["later 121"])
    middle, ways = shown("?step=150")
    assert (middle[0], middle[-1], ways) == ("90", "209", ["earlier 89", "later 210"])
    last, ways = shown("?step=300")
    assert (last[0], last[-1], ways) == ("181", "300", ["earlier 180"])


def test_hostile_text_is_shown_as_text(project: Project) -> None:
    project.tool("shout", f"printf '%s\\n' '{HOSTILE}'")
    project.agent("shout; shout > '<img src=x>'")
    noisy = step("Do <b id=x>", "shout; test -s it", on_fail="retry(0)")
    project.named("loud", noisy, title="T <b id=x>")
    project.named("draft", step(f"Do {HOSTILE}", "test -s it"), title=f"T {HOSTILE}")
    project.signoff("run", "loud", "--yes").exits(6)
    served = serve(project).enter()
    overview = served.plans()
    plan, draft = (
        re.findall(rf'href="(/plan/\w+)">[^<]*<[^<]*<[^<]*<strong>T {title}<', overview)[0]
        for title in ("&lt;b id=x&gt;", re.escape(SHOWN))
    )
    pages = [served.get(path).text for path in ("/", draft, plan, f"{plan}/attempt/1/1")]
    pages += [served.get(f"{plan}/entry/{e['seq']}").text for e in project.log_of("loud")]
    for page in (*pages, overview):
        assert "<b id" not in page and "<img" not in page
        assert "\x1b" not in page and "\u202e" not in page
    assert all(SHOWN in page for page in pages[:4])
    assert "&lt;img src=x&gt;" in pages[3]


def test_secrets_are_taken_out_of_what_was_changed(desk: Desk) -> None:
    desk.variable(SHOP_TOKEN="hunter2-hunter2").agent("echo hunter2-hunter2 > it")
    desk.plan(step("Do it", "test -s it"))
    desk.run("--yes").exits(0)
    served = serve(desk).enter()
    attempt = served.get(f"{served.plan('Build a house')}/attempt/1/1").text
    assert "+[redacted:SHOP_TOKEN]" in attempt and "hunter2" not in attempt


def test_a_touched_ledger_is_for_a_person_and_never_proved(desk: Desk) -> None:
    import sqlite3

    desk.agent("echo yes > it").plan(step("Do it", "test -s it"))
    desk.run("--yes").exits(0)
    with sqlite3.connect(desk.ledger_file) as ledger:
        ledger.execute("UPDATE entries SET at = '2020-01-01T00:00:00+00:00' WHERE seq = 3")
    served = serve(desk).enter()
    page = served.plans()
    assert "PROVED" not in page and "NEEDS YOU" in page and "ledger broken" in page


def test_work_that_awaits_sign_off_is_shown_with_its_command(bound: Project) -> None:
    bound.file("login.txt", "in\n").file("logout.txt", "out\n")
    client = FakeClient(bound)
    assert "awaits sign-off" in client.may_stop()
    client.close()
    served = serve(bound, "--decide").enter()
    page = served.get("/").text
    assert "awaits sign-off" in page and re.search(r"<code[^>]*>signoff sign session-", page)
    assert not re.search(r'(?:href|data-post)="[^"]*session-', page)
    assert "NEEDS YOU" in served.plans()


@contextmanager
def stream(served: Served, path: str, last: str = "") -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=LIMIT_S)
    headers = {"Cookie": served.cookie, **({"Last-Event-ID": last} if last else {})}
    connection.request("GET", path, headers=headers)
    try:
        yield connection.getresponse()
    finally:
        connection.close()


def next_id(answer: http.client.HTTPResponse) -> int:
    """The id of the next event."""
    while not (line := answer.readline()).startswith(b"id: "):
        assert line, "the stream ended"
    return int(line[4:])


def test_a_change_is_told_and_after_sleep_by_the_last_number(desk: Desk) -> None:
    desk.agent("true").plan(step("Do it", "test -s it", on_fail="retry(0)"))
    desk.run("--yes").exits(6)
    served = serve(desk).enter()
    plan, seq = served.plan("Build a house").removeprefix("/plan/"), len(desk.log())
    with stream(served, f"/events?plan={plan}&since={seq}") as one:
        assert one.headers["content-type"].startswith("text/event-stream")
        desk.signoff("progress", "--add", "nothing of the ledger")
        desk.answer("abort")
        told = next_id(one)  # how soon: `make bench`
        assert told > seq
    with stream(served, f"/events?plan={plan}", last=str(seq)) as two:
        now = len(desk.log())
        while next_id(two) != now:
            pass  # an answer, and then the end of its run
    with stream(served, "/events?since=0") as all_plans:
        assert next_id(all_plans) >= told


def test_a_killed_driver_is_told_although_it_appends_nothing(desk: Desk) -> None:
    desk.agent(f"until [ -e {desk.folder}/go ]; do sleep 0.05; done")
    desk.plan(step("Do it", "test -s it"))
    run = desk.start("run", "PLAN.md", "--yes")
    run.until(lambda: "attempt 1" in run.err.read_text())
    served = serve(desk).enter()
    assert "its driver is gone" not in served.plans()
    with stream(served, f"/events?since={sum(1 for _ in desk.log())}") as pages:
        run.process.kill()
        while "its driver is gone" not in served.plans():
            next_id(pages)
    (desk.folder / "go").touch()


def test_a_cookie_outlives_the_server_and_the_right_to_decide_does_not(desk: Desk) -> None:
    desk.agent("true").plan(step("Do it", "test -s it"))
    first = serve(desk, "--decide").enter()
    first.running.process.terminate()
    first.running.process.wait(LIMIT_S)
    again = desk.start("board", "--decide", "--json", "--listen", f"127.0.0.1:{first.port}")
    again.until(lambda: again.out.read_text().endswith("\n"))
    assert first.get("/plans").status == 200
    refused = first.post("/answer/x", choice="abort")
    assert refused.status == 403 and "open the printed address again" in refused.text


def test_it_is_served_elsewhere_with_tls_or_behind_a_proxy_alone(desk: Desk) -> None:
    desk.signoff("board", "--listen", "192.0.2.1:80").fails(2, hint="signoff board --listen")
    desk.signoff("board", "--listen", "0.0.0.0:80", "--origin", "http://x").fails(2)
    desk.signoff("board", "--tls-cert", "PLAN.md").fails(2)
    served = serve(desk, "--origin", "https://board.example.org")
    assert served.url.startswith("https://board.example.org/enter?token=")
