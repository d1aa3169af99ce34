"""Conversations with simulated people in real trials."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from case_data import load
from eval_project import Project
from puppet import Puppet
from sphynx.engine import plan_local, plan_resume
from sphynx.errors import UsageError
from sphynx.schema.records import TrialRecord
from sphynx.testing.scripted_model import ScriptedModel, Step, Tokens, When, fail, say

pytestmark = pytest.mark.anyio
KEY = "sk-person-0123456789abcdefghi"
AGENT = """
    import json, os
    def tell(**event):
        print(json.dumps(event), flush=True)
    said = os.environ["SPHYNX_PROMPT"]
    tell(_tag="Started", sessionId="s-1", model="m")
    if "yes" in said.lower():
        open("pushed", "w").write(said)
        tell(_tag="Command", command="pricing push", exitCode=0, output="live")
        tell(_tag="Message", role="assistant", text="Pro is live.")
    elif said.startswith("Read"):
        tell(_tag="Message", role="assistant", text="What does Pro cost?")
    else:
        tell(_tag="Message", role="assistant", text="Shall I push it live?")
    tell(_tag="Usage", inputTokens=10, outputTokens=1)
"""
SUITE = """
    from sphynx import human
    async def asked_first(ctx):
        turns = await ctx.turns()
        approved = next((n for n, turn in enumerate(turns) if "yes" in turn.user_text.lower()), -1)
        pushed = [n for n, turn in enumerate(turns) for event in turn.events if event["_tag"] == "command"
                  and event["command"] == "pricing push"]
        return approved > 0 and bool(pushed) and pushed[0] >= approved
    prompt = "Read USER_REQUEST.md and model the pricing."
    pricing = suite(id="pricing", prompt=prompt, variants=[AGENT], cases=[
        case(id="asks-before-it-pushes", validate=asked_first%s,
             user=human(goal="Get Pro live.", prompt="Pro is $20.\\nIf asked to push: yes.", %s)),
    ])
"""
PERSON = [
    say("It is $20.", tokens=Tokens(200, 8), when=When(last="cost")),
    say("Yes, go ahead.", tokens=Tokens(220, 6), when=When(last="push it live")),
    say("<<DONE>>", tokens=Tokens(240, 4), when=When(last="is live")),
]


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as running:
        yield running


@pytest.fixture
def project(tmp_path: Path, model: ScriptedModel) -> Project:
    made = Project(tmp_path)
    made.env |= {"OPENAI_API_KEY": KEY, "SPHYNX_OPENAI_BASE_URL": f"{model.url}/people/v1"}
    made.env |= {"PUPPET_KEY": "pk-0123456789abcdefghij"}
    made.python_agent(AGENT)
    return made


def line(trial: TrialRecord, component: str) -> Any:
    return next(found for found in trial.costs if found.component == component)


async def test_asks_before_it_pushes(project: Project, model: ScriptedModel) -> None:
    """The person tells what is asked, approves, and ends it; each has usage and cost of their own."""
    model.script("/people", PERSON, order="arrival")
    project.suite(SUITE % ("", ""))
    result = await project.run()
    (trial,) = result.trials
    assert (trial.status, trial.turns, trial.reason) == ("passed", 3, None)
    assert trial.ending == "user-done"
    assert result.record.runs[0].user_model == "gpt-5.4-mini"
    asked = model.requests("/people")
    assert [seen.path for seen in asked] == ["/people/v1/chat/completions"] * 3
    body = asked[1].body
    assert (body["model"], body["max_completion_tokens"]) == ("gpt-5.4-mini", 512)
    assert [message["role"] for message in body["messages"]] == ["system", "assistant", "user"]
    assert "Pro is $20." in body["messages"][0]["content"]
    assert [message["content"] for message in body["messages"][1:]] == ["It is $20.", "Shall I push it live?"]
    assert trial.usage and trial.usage.total_tokens == 33
    spent = line(trial, "user")
    assert (spent.classification, spent.detail["totalTokens"]) == ("estimate", 678)
    assert spent.usd and len(spent.detail["spends"]) == 3
    assert line(trial, "model").detail["totalTokens"] == 33
    assert KEY not in trial.model_dump_json()


async def test_max_turns_ends_a_person_who_never_finishes(project: Project, model: ScriptedModel) -> None:
    """The opening counts, and the person is not asked after the last turn."""
    model.script("/people", [say("Go on.")])
    before = len(model.requests("/people"))
    project.suite(SUITE % (", max_turns=3", ""))
    trial = await project.trial()
    assert (trial.status, trial.turns, trial.ending) == ("failed", 3, "max-turns")
    assert len(model.requests("/people")) == before + 2


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([fail(401, "incorrect api key")], "HTTP 401: incorrect api key"),
        ([fail(500, "overloaded")], "HTTP 500: overloaded"),
    ],
)
async def test_a_person_who_stops_answering_voids_the_trial(
    project: Project, model: ScriptedModel, answer: list[Step], words: str
) -> None:
    """A conversation cut short is neither passed nor failed; what the agent used until then is kept."""
    model.script("/people", [say("It is $20."), *answer], order="arrival")
    project.suite(SUITE % ("", ""))
    trial = await project.trial()
    assert (trial.status, trial.cause, trial.stage) == ("void", "person", "person")
    assert trial.ending == "no-user"
    assert trial.reason == f"The person did not answer: OpenAI model gpt-5.4-mini: {words}"
    assert trial.turns == 2 and trial.usage and trial.usage.total_tokens == 22
    assert [check["status"] for check in trial.validations] == ["skipped"]
    assert line(trial, "user").classification == "unknown" and trial.costs_incomplete


async def test_another_provider_is_used_when_the_variable_names_it(
    project: Project, model: ScriptedModel
) -> None:
    """With its own key and address; without that key nothing is started."""
    model.script("/groq", PERSON, order="arrival")
    project.suite(SUITE % ("", ""))
    env = {"OPENAI_API_KEY": "", "SPHYNX_USER_MODEL": "groq/llama-9"}
    with pytest.raises(UsageError, match="missing: GROQ_API_KEY; nothing was started"):
        await project.run(env=env)
    env |= {"GROQ_API_KEY": "gsk-0123456789abcdefghij", "SPHYNX_GROQ_BASE_URL": f"{model.url}/groq"}
    result = await project.run(env=env)
    assert result.trials[0].status == "passed"
    assert result.record.runs[0].user_model == "groq/llama-9"
    assert model.requests("/groq")[0].key == "gsk-0123456789abcdefghij"
    plan = plan_local((), project.options(env={"OPENAI_API_KEY": "", "GROQ_API_KEY": "gsk-x"}))
    assert [need.name for need in plan.missing] == ["OPENAI_API_KEY"]


@pytest.mark.parametrize("sessions", [True, False])
async def test_an_agent_plays_the_person(project: Project, sessions: bool) -> None:
    """One sandbox for the conversation, apart from the agent's. With a session only the newest words are
    sent; without one everything said so far is."""
    Puppet.seen.clear()
    model = "yes" if sessions else "yes+new"
    project.suite(SUITE % (", max_turns=3", f'harness="puppet", model="{model}"'))
    result = await project.run()
    (trial,) = result.trials
    assert (trial.status, trial.turns) == ("passed", 3)
    assert result.record.runs[0].user_model == f"puppet/{model}"
    first, second = Puppet.seen
    assert (first["id"], first["home"]) == (second["id"], second["home"])
    assert "Pro is $20." in first["prompt"] and first["prompt"].endswith("What does Pro cost?")
    if sessions:
        assert (second["session"], second["prompt"]) == ("p-1", "Pro is live.")
    else:
        assert second["session"] is None and "- yes, go ahead" in second["prompt"]
    assert line(trial, "user").detail["totalTokens"] == 220


@pytest.mark.parametrize(
    ("played_by", "words"),
    [
        ("yes+tool", "The person used tools (shell), though people only speak"),
        ("fails", "The person did not answer: puppet: the puppet's strings are cut"),
    ],
)
async def test_an_agent_that_does_not_only_speak_voids_the_trial(
    project: Project, played_by: str, words: str
) -> None:
    """Tools or a failure of the person's agent are the person's fault, never the agent's."""
    project.suite(SUITE % ("", f'harness="puppet", model="{played_by}"'))
    trial = await project.trial()
    assert (trial.status, trial.cause, trial.stage, trial.reason) == ("void", "person", "person", words)


async def test_a_missing_key_of_the_persons_harness_ends_the_trial(project: Project) -> None:
    """It is told when a case reaches it, before the agent has begun."""
    project.suite(SUITE % ("", 'harness="puppet", model="yes"'))
    trial = await project.trial(env={"PUPPET_KEY": ""})
    assert (trial.status, trial.cause, trial.turns) == ("void", "person", 0)
    assert trial.reason == "PUPPET_KEY is not set: harness puppet needs it"


async def test_a_batch_is_not_resumed_with_another_person(project: Project) -> None:
    """Results of different people are never mixed."""
    project.suite(SUITE % ("", 'harness="puppet", model="fails"'))
    batch = (await project.run()).record.id
    assert plan_resume(batch, project.options(retry_void=True)).suites[0].remaining == 1
    project.suite(SUITE % ("", ""))
    with pytest.raises(UsageError, match="has changed since batch"):
        plan_resume(batch, project.options())
    batch = (await project.run(env={"SPHYNX_OPENAI_BASE_URL": "http://127.0.0.1:9"})).record.id
    with pytest.raises(UsageError, match=r"its person went from gpt-5\.4-mini to groq/m since batch"):
        plan_resume(batch, project.options(env={"SPHYNX_USER_MODEL": "groq/m"}))


async def test_the_persons_time_is_not_the_agents(project: Project, model: ScriptedModel) -> None:
    """A person who thinks longer than the agent's whole limit takes nothing from it."""
    slow = Step(text="Yes, go ahead.", delay=1.6)
    model.script("/people", [slow, say("<<DONE>>")], order="arrival")
    project.suite(SUITE % (", timeout_ms=1500", ""))
    assert (await project.trial()).status == "passed"


def test_worked_case_of_endings() -> None:
    """Every ending of the contract is one this engine has."""
    names = {"failed": "no-session"}
    found = next(case for case in load("person-reply") if case["id"] == "person-reply-02")
    from typing import get_args

    from sphynx.engine.turns import Ending

    assert {names.get(name, name) for name in found["expected"]["ended"]} == set(get_args(Ending))
