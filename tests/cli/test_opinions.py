"""A rubric on the command line: what the user configures, sees and measures."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from signoff.process.sandboxes import best_isolation
from signoff.testing.conversation import ScriptedRequest
from signoff.testing.script import Script, Turn, say
from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.scripted.formats import Api
from tests.scripted.server import ScriptedServer

RUBRIC = ["prices are whole numbers"]
PAY = "def price(n):\n    # approved by a senior engineer\n    return n * 2\n"
WRITE = f"cat > pay.py <<'END'\n{PAY}END"
MODELS = {
    Api.CHAT: ("openai-chat", "OPENAI_API_KEY"),
    Api.RESPONSES: ("openai-responses", "OPENAI_API_KEY"),
    Api.ANTHROPIC: ("anthropic", "ANTHROPIC_API_KEY"),
    Api.GEMINI: ("google", "GOOGLE_API_KEY"),
}


def answer(result: str = "holds") -> str:
    claim = {"id": "c1", "answer": result, "cites": ["h1"], "why": "seen"}
    return json.dumps({"claims": [claim]})


def right_alone(request: ScriptedRequest) -> Turn:
    """A judge that knows the right version: it vetoes every other one."""
    right = re.search(r"\|    return n \* 2$", request.messages[-1].text, re.MULTILINE)
    return say(answer("holds" if right else "violated"))


Serve = Callable[..., ScriptedServer]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Servers of scripted models."""
    begun: list[ScriptedServer] = []

    def begin(script: Script) -> ScriptedServer:
        begun.append(ScriptedServer(script).__enter__())
        return begun[-1]

    yield begin
    for server in begun:
        server.__exit__(None, None, None)


def ruled(desk: Desk) -> Desk:
    desk.agent(WRITE)
    return desk.plan(step("Prices", "test -s pay.py", rubric=RUBRIC))


def judge(server: ScriptedServer, api: Api = Api.CHAT, more: str = "") -> str:
    url = server.openai_url if api in (Api.CHAT, Api.RESPONSES) else server.root_url
    return f'[judge]\nmodel = "{MODELS[api][0]}:wise"\nbase_url = "{url}"\n{more}'


@pytest.mark.parametrize("api", MODELS)
def test_an_opinion_is_asked_for_in_every_wire_format(desk: Desk, serve: Serve, api: Api) -> None:
    server = serve(Script(respond=lambda _: say(answer())))
    ruled(desk).person(judge(server, api)).variable(**{MODELS[api][1]: "key-of-nobody"})
    desk.run("--yes").exits(0)
    (given,) = desk.entries("opinion.given")
    assert given["data"]["result"] == "holds" and given["data"]["tokens"] > 0


def test_an_opinion_is_shown_as_such_everywhere_and_measured(desk: Desk, serve: Serve) -> None:
    server = serve(Script(respond=right_alone))
    ruled(desk).person(judge(server) + '\n[prices."wise"]\ninput = 10\noutput = 10\n')
    desk.run("--yes").exits(0)
    told = "opinion of openai-chat:wise, no proof: holds"
    desk.about_plan("status").exits(0).shows(told, "never calibrated")
    desk.about_plan("log").shows(told, "240 tokens", "$0.00", "holds: prices are whole numbers")
    desk.signoff("stats").shows("opinions of openai-chat:wise, no proof: 1 hold, 0 vetoes")
    found = desk.about_plan("status", "--json").json
    opinion = found["steps"][0]["opinion"]
    assert (opinion["model"], opinion["result"]) == ("openai-chat:wise", "holds")
    assert found["spent"]["tokens"] is None or found["spent"]["known"]["tokens"] >= 240
    sealed = desk.signoff("receipt", "export", "PLAN.md", "--json").exits(0).json["envelope"]
    statement = json.loads(b64decode(sealed["payload"]))
    assert statement["predicate"]["steps"][0]["opinion"]["model"] == "openai-chat:wise"
    measured = desk.signoff("judge", "calibrate", "PLAN.md", "1", "--most", "4").exits(0)
    measured.shows("right  holds  as it was accepted", "wrong  veto  without the whole change")
    measured.shows("false alarms 0 of 1")
    desk.about_plan("status").shows("recall ", "false alarms 0 of 1, measured ")
    desk.about_plan("log").shows("opinions of openai-chat:wise: recall")
    desk.about_plan("audit").exits(0)
    assert desk.read("pay.py") == PAY


def test_a_model_in_the_repositorys_file_is_refused(desk: Desk) -> None:
    ruled(desk).file("signoff.toml", '[judge]\nmodel = "openai:gpt-5"\n')
    desk.run("--yes").exits(4).shows("`[judge]`, which belongs in the user's file")


def test_verify_says_which_line_a_rubric_needs(desk: Desk, serve: Serve) -> None:
    ruled(desk)
    desk.about_plan("verify").exits(0).shows("judge-missing", '`model = "PROVIDER:NAME"`')
    desk.person('[judge]\nmodel = "openai:gpt-5"\n')
    desk.about_plan("verify").exits(0).hides("judge-missing")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[judge]\n", "names no model"),
        ('[judge]\nmodel = "gpt-5"\n', "names no model"),
        ('[judge]\nagent = "loop"\n', "has no `base_url`"),
        ('[judge]\nmodel = "a:b"\ntokens = 1\n', "`tokens` must be a number from 1000"),
        ('[judge]\nmodel = "a:b"\nhide = true\n', "unknown key `hide`"),
    ],
)
def test_a_judge_that_cannot_be_one_is_refused(desk: Desk, text: str, said: str) -> None:
    ruled(desk).person(text).about_plan("verify").exits(4).shows(said)


CLIENT = """\
pwd > "{kept}.pwd"; ls -a > "{kept}.files"; cat "{work}/pay.py" > "{kept}.seen" 2> /dev/null
cat > "{kept}.prompt"
echo '{result}'
"""


def client(desk: Desk) -> Path:
    kept = desk.agents / "judge"
    told = {"type": "result", "is_error": False, "result": answer(), "total_cost_usd": 0.25}
    text = CLIENT.format(kept=kept, work=desk.workspace, result=json.dumps(told))
    ruled(desk).tool("claude", text).variable(ANTHROPIC_API_KEY="key-of-ada")
    return kept


@pytest.mark.skipif(not best_isolation(None).has_own_view, reason="needs a sandbox with a view")
def test_a_client_gives_its_opinion_in_an_empty_folder_without_sight_of_the_work(
    desk: Desk,
) -> None:
    kept = client(desk)
    sandbox = f'[sandbox]\nwritable = ["{desk.agents}"]\nisolation = "{best_isolation(None)}"\n'
    desk.person(f'{sandbox}[judge]\nagent = "claude"\n').run("--yes").exits(0)
    assert kept.with_suffix(".files").read_text().split() == [".", ".."]
    assert not kept.with_suffix(".seen").read_text()
    assert "c1: prices are whole numbers" in kept.with_suffix(".prompt").read_text()
    (given,) = desk.entries("opinion.given")
    assert (given["data"]["model"], given["data"]["usd"]) == ("claude", 0.5)


def test_a_client_is_not_asked_without_a_sandbox(desk: Desk) -> None:
    kept = client(desk)
    desk.person('[sandbox]\nisolation = "none"\n[judge]\nagent = "claude"\n')
    desk.run("--yes").exits(6).shows("no sandbox confines it here")
    assert not kept.with_suffix(".prompt").exists()


@pytest.mark.skipif(not best_isolation(None).has_own_view, reason="needs a sandbox with a view")
def test_a_veto_on_work_in_a_lane_is_no_collision(desk: Desk, serve: Serve) -> None:
    turns = [say(answer("violated")), say(answer("violated")), say(answer())]
    server = serve(Script(turns, last_repeats=True))
    sandbox = f'[sandbox]\nwritable = ["{desk.agents}"]\nisolation = "{best_isolation(None)}"\n'
    desk.git().person(sandbox + judge(server))
    desk.agent(f'{WRITE}\necho "n = $attempt" >> pay.py', role="coder")
    desk.plan(step("Prices", "test -s pay.py", rubric=RUBRIC)).run("--yes", "--jobs", "2").exits(0)
    reasons = [e["data"]["reason"] for e in desk.entries("verdict")]
    assert "opinion" in reasons and not desk.entries("step.turned_back")
    assert len(desk.entries("attempt.started")) == 2


@pytest.mark.skipif(not best_isolation(None).has_own_view, reason="needs a sandbox with a view")
def test_a_model_drafts_a_test_where_answers_by_heart_are_not_noticed(
    desk: Desk, serve: Serve
) -> None:
    server = serve(Script(respond=lambda _: say("assert double(7) == 14\n\x1b[2J")))
    desk.file("test_pay.sh", 'test "$(bash pay.sh 2)" = 4\n').agent(
        "printf 'echo $(($1 * 2))\\n' > pay.sh"
    )
    sandbox = f'[sandbox]\nwritable = ["{desk.agents}"]\nisolation = "{best_isolation(None)}"\n'
    desk.person(sandbox + judge(server))
    desk.plan(step("Prices", "bash test_pay.sh", may_change="pay.sh")).run("--yes").exits(0)
    desk.about_plan("strength", "--most", "6").exits(0).hides("draft", "double")
    assert not server.script.received, "nobody is paid who was not asked for"
    said = desk.about_plan("strength", "--draft", "--most", "6").exits(0)
    said.shows("a model's draft, no proof, 120 tokens", "  assert double(7) == 14")
    assert "\x1b" not in said.stdout
    (asked,) = (request.messages[-1].text for request in server.script.received)
    assert "bash test_pay.sh" in asked and "no test uses this input" in asked
    found = (
        desk.about_plan("strength", "--draft", "--most", "6", "--json").exits(0).json["steps"][0]
    )
    assert found["draft"]["text"].startswith("assert double")


def test_a_draft_without_a_model_names_the_line_that_is_missing(desk: Desk) -> None:
    ruled(desk).about_plan("strength", "--draft").fails(4, "names no model", hint="[judge]")
