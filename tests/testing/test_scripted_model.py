"""The scripted model: which step answers, in which protocol, and how a model breaks."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from sphynx.errors import SphynxError, UsageError
from sphynx.testing.scripted_model import (
    ScriptedModel,
    Step,
    Tokens,
    When,
    call,
    cut,
    fail,
    say,
    shell,
    silent,
    use,
)

TOKENS = Tokens(input=600, cache_read=400, cache_write=30, output=50, reasoning=10)


def ask(model: ScriptedModel, messages: list[Any], *, key: str = "k", prefix: str = "", **extra: Any) -> Any:
    """One chat completion; the message it answers with, or the error body."""
    body = {"model": "m", "messages": messages, **extra}
    headers = {"authorization": f"Bearer {key}"}
    answer = httpx.post(f"{model.url}{prefix}/v1/chat/completions", json=body, headers=headers, timeout=10)
    value = answer.json()
    return value["choices"][0]["message"] if answer.status_code == 200 else value["error"]


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def test_each_key_and_each_path_prefix_has_its_own_script() -> None:
    with ScriptedModel({"agent": [say("a")], "judge": [say("j")], "/person": [say("p")]}) as model:
        assert ask(model, [user("hi")], key="agent")["content"] == "a"
        assert ask(model, [user("hi")], key="judge")["content"] == "j"
        assert ask(model, [user("hi")], key="judge", prefix="/person")["content"] == "p"
        assert [len(model.requests(key)) for key in ("agent", "judge", "/person")] == [1, 1, 1]
        assert len(model.requests()) == 3


def test_the_star_answers_whoever_has_no_script() -> None:
    with ScriptedModel({"*": [say("anyone")]}) as model:
        assert ask(model, [user("hi")], key="unknown")["content"] == "anyone"


def test_a_key_without_a_script_is_refused() -> None:
    with ScriptedModel({"other": [say("x")]}) as model:
        assert "no script" in ask(model, [user("hi")])["message"]


def test_the_conversation_so_far_says_which_step_is_next() -> None:
    with ScriptedModel({"k": [use(call("ls")), say("one"), say("two")]}) as model:
        talk: list[Any] = [user("hi")]
        first = ask(model, talk)
        assert first["tool_calls"][0]["function"]["name"] == "ls"
        talk += [first, {"role": "tool", "tool_call_id": first["tool_calls"][0]["id"], "content": "files"}]
        assert ask(model, talk)["content"] == "one"
        assert ask(model, talk)["content"] == "one", "asking again with the same conversation changes nothing"
        talk += [{"role": "assistant", "content": "one"}, user("more")]
        assert ask(model, talk)["content"] == "two"
        talk += [{"role": "assistant", "content": "two"}, user("more")]
        assert ask(model, talk)["content"] == "two", "the last step repeats"


def test_a_hundred_conversations_at_once_on_one_key_do_not_disturb_each_other() -> None:
    steps = [say(f"answer {number}") for number in range(5)]

    def converse(trial: int) -> list[str]:
        talk: list[Any] = [user(f"trial {trial}")]
        heard = []
        for _ in steps:
            message = ask(model, talk)
            heard.append(message["content"])
            talk += [message, user("go on")]
        return heard

    with ScriptedModel({"k": steps}) as model, ThreadPoolExecutor(20) as pool:
        expected = [step.text for step in steps]
        assert all(heard == expected for heard in pool.map(converse, range(100)))


def test_arrival_order_hands_out_one_step_per_request() -> None:
    with ScriptedModel() as model:
        model.script("k", [say("first"), say("second")], order="arrival")
        assert [ask(model, [user("judge this")])["content"] for _ in range(3)] == [
            "first",
            "second",
            "second",
        ]


def test_a_failure_is_passed_when_the_same_request_comes_again() -> None:
    with ScriptedModel({"k": [fail(429, "slow down"), fail(500), say("at last")]}) as model:
        assert ask(model, [user("hi")])["message"] == "slow down"
        assert ask(model, [user("hi")])["message"] == "scripted 500"
        assert ask(model, [user("hi")])["content"] == "at last"
        assert ask(model, [user("another trial")])["message"] == "slow down"


def test_a_failure_in_mid_conversation_leaves_the_following_steps_in_place() -> None:
    with ScriptedModel({"k": [say("one"), fail(500), say("two"), say("three")]}) as model:
        talk: list[Any] = [user("hi"), {"role": "assistant", "content": "one"}, user("next")]
        assert ask(model, talk)["message"] == "scripted 500"
        assert ask(model, talk)["content"] == "two"
        assert ask(model, [*talk, {"role": "assistant", "content": "two"}, user("x")])["content"] == "three"


@pytest.mark.parametrize(
    ("when", "met"),
    [
        (When(prompt="needle"), True),
        (When(prompt="absent"), False),
        (When(last="needle"), True),
        (When(result="needle"), False),
        (When(system="be kind"), True),
        (When(system="be rude"), False),
        (When(tool="ls"), True),
        (When(tool="l"), False),
        (When(tools=True), True),
        (When(tools=False), False),
        (When(model="m"), True),
        (When(model="other"), False),
        (When(prompt="needle", model="other"), False),
    ],
)
def test_a_step_with_a_condition_answers_only_when_all_of_it_holds(when: When, met: bool) -> None:
    with ScriptedModel({"k": [Step(text="met", when=when), say("passed over")]}) as model:
        talk = [{"role": "system", "content": "be kind"}, user("find the needle")]
        tools = [{"type": "function", "function": {"name": "ls", "parameters": {}}}]
        assert ask(model, talk, tools=tools)["content"] == ("met" if met else "passed over")


def test_a_condition_on_a_tool_result_branches_the_script() -> None:
    steps = [use(call("run")), say("it passed", when=When(result="3 passed")), say("it failed")]
    with ScriptedModel({"k": steps}) as model:
        first = ask(model, [user("hi")])

        def after(result: str) -> str:
            message = {"role": "tool", "tool_call_id": first["tool_calls"][0]["id"], "content": result}
            return ask(model, [user("hi"), first, message])["content"]

        assert after("3 passed") == "it passed"
        assert after("1 failed") == "it failed"


def test_asides_answer_side_requests_without_taking_a_step() -> None:
    with ScriptedModel() as model:
        model.script("k", [say("work")], asides=[Step(text="a title", when=When(prompt="title for"))])
        assert ask(model, [user("make a title for this")])["content"] == "a title"
        assert ask(model, [user("do it")])["content"] == "work"


def test_scripts_may_be_plain_json() -> None:
    steps = [
        {"text": "looking", "calls": [{"name": "ls", "input": {"path": "."}}], "tokens": {"input": 7}},
        {"text": "done", "when": {"prompt": "hi"}},
    ]
    with ScriptedModel({"k": steps}) as model:
        message = ask(model, [user("hi")])
        assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"path": "."}


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([], "one or more steps"),
        ([{"txt": "a"}], 'step 1: unknown key "txt"'),
        ([{"text": "a"}, {"when": {"promt": "x"}}], 'step 2, when: unknown key "promt"'),
        ([{"calls": [{"input": {}}]}], "call 1: needs a name"),
        ([{"calls": {"name": "ls"}}], "calls is a list"),
        ([{"calls": ["ls"]}], "expected an object, got str"),
        ("say hi", "list of one or more steps"),
    ],
)
def test_a_wrong_script_is_an_error_that_names_the_place(steps: Any, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        ScriptedModel({"k": steps})
    assert said in caught.value.message


def test_an_order_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(UsageError, match="conversation"):
        ScriptedModel().script("k", [say("x")], order="random")  # type: ignore[arg-type]


def test_the_error_about_a_script_never_shows_the_whole_key() -> None:
    with pytest.raises(UsageError) as caught:
        ScriptedModel({"sk-secret-0123456789": []})
    assert "secret" not in caught.value.message


def test_a_silent_model_never_answers_and_does_not_hold_up_closing() -> None:
    with ScriptedModel({"k": [silent()]}) as model:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(
                f"{model.openai_url}/chat/completions",
                json={"model": "m", "messages": [user("hi")]},
                headers={"authorization": "Bearer k"},
                timeout=0.3,
            )
        begun = time.monotonic()
    assert time.monotonic() - begun < 2


def test_a_cut_stream_ends_before_it_is_complete() -> None:
    step = cut(say("a text that is long enough to be cut in two"))
    with ScriptedModel({"k": [step]}) as model, pytest.raises(httpx.RemoteProtocolError):
        httpx.post(
            f"{model.openai_url}/chat/completions",
            json={"model": "m", "messages": [user("hi")], "stream": True},
            headers={"authorization": "Bearer k"},
        )


def test_delay_and_stall_take_their_time() -> None:
    with ScriptedModel({"k": [Step(text="late", delay=0.1, stall=0.1)]}) as model:
        begun = time.monotonic()
        assert ask(model, [user("hi")])["content"] == "late"
        assert time.monotonic() - begun >= 0.2


def test_requests_are_recorded_with_what_they_mean() -> None:
    with ScriptedModel({"k": [say("x")]}) as model:
        ask(model, [{"role": "system", "content": "rules"}, user("hello")])
        (seen,) = model.requests("k")
        assert (seen.protocol, seen.model, seen.key, seen.stream) == ("chat", "m", "k", False)
        assert (seen.text("system"), seen.text("user")) == ("rules", "hello")
        assert seen.body["messages"][1]["content"] == "hello"


def test_one_can_wait_for_requests() -> None:
    with ScriptedModel({"k": [say("x")]}) as model:
        threading.Timer(0.1, ask, (model, [user("hi")])).start()
        assert len(model.wait_for(1, key="k")) == 1
        with pytest.raises(SphynxError, match="got 1 of 2 requests"):
            model.wait_for(2, timeout=0.05)


@pytest.mark.anyio
async def test_it_serves_an_event_loop_as_well() -> None:
    async with ScriptedModel({"k": [say("x")]}) as model, httpx.AsyncClient() as client:
        body = {"model": "m", "messages": [user("hi")]}
        headers = {"authorization": "Bearer k"}
        answer = await client.post(f"{model.openai_url}/chat/completions", json=body, headers=headers)
        assert answer.json()["choices"][0]["message"]["content"] == "x"


def test_a_port_that_is_taken_is_an_error() -> None:
    with ScriptedModel({"k": [say("x")]}) as model:
        port = int(model.url.rpartition(":")[2])
        with pytest.raises(SphynxError, match=f"port {port}"):
            ScriptedModel({"k": [say("x")]}, port=port).start()


def test_its_address_is_known_only_while_it_runs() -> None:
    model = ScriptedModel({"k": [say("x")]})
    with pytest.raises(UsageError, match="not running"):
        _ = model.url
    with model:
        assert model.url.startswith("http://127.0.0.1:")
    model.close()
    with pytest.raises(UsageError, match="not running"):
        _ = model.url


def test_an_action_without_a_tool_for_it_is_told_to_the_client() -> None:
    with ScriptedModel({"k": [use(shell("ls"))]}) as model:
        assert "offers no tool to shell with (its tools: none)" in ask(model, [user("hi")])["message"]


def test_side_requests_of_clients_are_answered() -> None:
    with ScriptedModel({"k": [say("x")]}) as model:
        assert httpx.get(f"{model.openai_url}/models").json()["data"] == []
        assert httpx.post(f"{model.url}/v1/messages/count_tokens", json={"a": "b"}).json()["input_tokens"] > 0
        assert httpx.post(f"{model.url}/v1beta/models/x:countTokens", json={}).json()["totalTokens"] > 0
        assert httpx.get(f"{model.url}/nothing").status_code == 404
        assert model.requests() == []


def test_what_is_no_model_request_is_refused() -> None:
    with ScriptedModel({"k": [say("x")]}) as model:
        url = f"{model.openai_url}/chat/completions"
        assert httpx.post(url, content=b"not json").status_code == 400
        assert httpx.post(url, content=b"[1]").status_code == 400


def test_bodies_in_chunks_are_read() -> None:
    def parts() -> Any:
        yield b'{"model": "m", "messages": '
        yield b'[{"role": "user", "content": "hi"}]}'

    with ScriptedModel({"k": [say("x")]}) as model:
        url = f"{model.openai_url}/chat/completions"
        answer = httpx.post(url, content=parts(), headers={"authorization": "Bearer k"})
        assert answer.json()["choices"][0]["message"]["content"] == "x"
