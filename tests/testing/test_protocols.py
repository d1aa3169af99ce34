"""The scripted model's five protocols: the same step in each one's own words, streamed and whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from sphynx.testing.scripted_model import ScriptedModel, Step, Tokens, call, fail, use

TOKENS = Tokens(input=600, cache_read=400, cache_write=30, output=50, reasoning=10)
STEP = use(call("ls", path="."), text="I look around, in more than one piece.", tokens=TOKENS, reasoning="hm")
TALK = [{"role": "user", "content": "hi"}]


class Wire:
    """One protocol as a client uses it."""

    def __init__(self, path: str, body: dict[str, Any], key_header: str = "authorization") -> None:
        self.path = path
        self.body = body
        self.key_header = key_header

    def post(
        self, model: ScriptedModel, *, stream: bool, headers: dict[str, str] | None = None
    ) -> httpx.Response:
        path, body = self.path, dict(self.body)
        extra = dict(headers or {})
        if "generateContent" in path:
            path = path.replace("generateContent", "streamGenerateContent") if stream else path
        elif path.endswith("language-model"):
            extra |= {"ai-language-model-streaming": str(stream).lower(), "ai-language-model-id": "m"}
            extra.setdefault("ai-language-model-specification-version", "4")
        else:
            body["stream"] = stream
        key = "Bearer k" if self.key_header == "authorization" else "k"
        return httpx.post(model.url + path, json=body, headers={self.key_header: key, **extra})


WIRES = {
    "responses": Wire("/v1/responses", {"model": "m", "input": "hi"}),
    "chat": Wire("/v1/chat/completions", {"model": "m", "messages": TALK}),
    "messages": Wire("/v1/messages?beta=true", {"model": "m", "messages": TALK}, "x-api-key"),
    "gemini": Wire(
        "/v1beta/models/m:generateContent?alt=sse",
        {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
        "x-goog-api-key",
    ),
    "gateway": Wire("/v4/ai/language-model", {"prompt": TALK}),
}


def events(answer: httpx.Response) -> list[Any]:
    """The data of a stream's events."""
    lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def responses_parts(stream: list[Any]) -> tuple[str, str, Any]:
    done = stream[-1]["response"]
    text = "".join(event["delta"] for event in stream if event["type"] == "response.output_text.delta")
    called = next(item for item in done["output"] if item["type"] == "function_call")
    return text, called["arguments"], done["usage"]


def chat_parts(stream: list[Any]) -> tuple[str, str, Any]:
    deltas = [chunk["choices"][0]["delta"] for chunk in stream if chunk["choices"]]
    text = "".join(delta.get("content") or "" for delta in deltas)
    calls = [part for delta in deltas for part in delta.get("tool_calls") or []]
    return text, "".join(part["function"]["arguments"] for part in calls), stream[-1]["usage"]


def messages_parts(stream: list[Any]) -> tuple[str, str, Any]:
    deltas = [event["delta"] for event in stream if event["type"] == "content_block_delta"]
    usage = {**stream[0]["message"]["usage"], **stream[-2]["usage"]}
    text = "".join(delta.get("text", "") for delta in deltas)
    return text, "".join(delta.get("partial_json", "") for delta in deltas), usage


def gemini_parts(stream: list[Any]) -> tuple[str, str, Any]:
    parts = [part for chunk in stream for part in chunk["candidates"][0]["content"]["parts"]]
    text = "".join(part["text"] for part in parts if "text" in part and not part.get("thought"))
    called = next(part["functionCall"] for part in parts if "functionCall" in part)
    return text, json.dumps(called["args"]), stream[-1]["usageMetadata"]


def gateway_parts(stream: list[Any]) -> tuple[str, str, Any]:
    text = "".join(part["delta"] for part in stream if part["type"] == "text-delta")
    return text, next(part["input"] for part in stream if part["type"] == "tool-call"), stream[-1]["usage"]


PARTS: dict[str, Callable[[list[Any]], tuple[str, str, Any]]] = {
    "responses": responses_parts,
    "chat": chat_parts,
    "messages": messages_parts,
    "gemini": gemini_parts,
    "gateway": gateway_parts,
}
USAGE: dict[str, Any] = {
    "responses": {
        "input_tokens": 1030,
        "input_tokens_details": {"cached_tokens": 400, "cache_write_tokens": 30},
        "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 10},
        "total_tokens": 1080,
    },
    "chat": {
        "prompt_tokens": 1030,
        "completion_tokens": 50,
        "total_tokens": 1080,
        "prompt_tokens_details": {"cached_tokens": 400},
        "completion_tokens_details": {"reasoning_tokens": 10},
    },
    "messages": {
        "input_tokens": 600,
        "cache_read_input_tokens": 400,
        "cache_creation_input_tokens": 30,
        "output_tokens": 50,
    },
    "gemini": {
        "promptTokenCount": 1030,
        "candidatesTokenCount": 40,
        "totalTokenCount": 1080,
        "cachedContentTokenCount": 400,
        "thoughtsTokenCount": 10,
    },
    "gateway": {
        "inputTokens": {"total": 1030, "noCache": 600, "cacheRead": 400, "cacheWrite": 30},
        "outputTokens": {"total": 50, "text": 40, "reasoning": 10},
    },
}


@pytest.mark.parametrize("name", WIRES)
def test_a_stream_carries_the_text_in_pieces_the_call_and_the_tokens(name: str) -> None:
    with ScriptedModel({"k": [STEP]}) as model:
        answer = WIRES[name].post(model, stream=True)
        assert answer.headers["content-type"] == "text/event-stream"
        text, arguments, usage = PARTS[name](events(answer))
        assert text == STEP.text
        assert json.loads(arguments) == {"path": "."}
        assert usage == USAGE[name]
        assert model.requests("k")[0].protocol == name
        assert model.requests("k")[0].model == "m"


@pytest.mark.parametrize("name", WIRES)
def test_a_whole_answer_says_the_same(name: str) -> None:
    with ScriptedModel({"k": [STEP]}) as model:
        value = WIRES[name].post(model, stream=False).json()
        text = json.dumps(value)
        assert "in more than one piece." in text
        assert '"ls"' in text
        assert value.get("usage", value.get("usageMetadata")) == USAGE[name]


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503, 529])
def test_an_error_has_its_status_and_its_text_in_the_protocols_shape(name: str, status: int) -> None:
    with ScriptedModel({"k": [fail(status, "no way", headers={"retry-after": "7"})]}) as model:
        answer = WIRES[name].post(model, stream=True)
        assert answer.status_code == status
        assert answer.json()["error"]["message"] == "no way"
        assert answer.headers["retry-after"] == "7"


@pytest.mark.parametrize("name", WIRES)
def test_an_error_inside_a_stream_is_the_last_thing_in_it(name: str) -> None:
    with ScriptedModel({"k": [Step(stream_error=True, message="overloaded")]}) as model:
        assert "overloaded" in json.dumps(events(WIRES[name].post(model, stream=True))[-1])
        assert WIRES[name].post(model, stream=False).status_code == 500


@pytest.mark.parametrize(
    ("name", "length", "refusal"),
    [
        ("responses", "max_output_tokens", "content_filter"),
        ("chat", "length", "content_filter"),
        ("messages", "max_tokens", "refusal"),
        ("gemini", "MAX_TOKENS", "SAFETY"),
        ("gateway", "length", "content-filter"),
    ],
)
def test_an_answer_may_end_at_its_limit_or_be_refused(name: str, length: str, refusal: str) -> None:
    for finish, word in (("length", length), ("refusal", refusal)):
        with ScriptedModel({"k": [Step(text="so", finish=finish)]}) as model:
            for stream in (True, False):
                assert f'"{word}"' in WIRES[name].post(model, stream=stream).text


def test_free_form_calls_and_namespaces_of_the_responses_protocol() -> None:
    step = use(call("apply_patch", "*** Begin Patch"), call("save", namespace="mcp__notes", title="a"))
    with ScriptedModel({"k": [step]}) as model:
        custom, named = WIRES["responses"].post(model, stream=False).json()["output"]
        assert (custom["type"], custom["input"]) == ("custom_tool_call", "*** Begin Patch")
        assert (named["type"], named["namespace"]) == ("function_call", "mcp__notes")


def test_old_gateway_versions_count_tokens_their_own_way() -> None:
    with ScriptedModel({"k": [STEP]}) as model:
        headers = {"ai-language-model-specification-version": "2"}
        value = WIRES["gateway"].post(model, stream=False, headers=headers).json()
        assert value["finishReason"] == "tool-calls"
        assert value["usage"]["totalTokens"] == 1080


SEEN: dict[str, tuple[str, dict[str, Any]]] = {
    "responses": (
        "/v1/responses",
        {
            "instructions": "RULES",
            "input": [
                {"type": "additional_tools", "tools": [
                    {"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec"}]},
                    {"type": "namespace", "name": "mcp__n", "tools": [{"type": "function", "name": "save"}]},
                ]},
                {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "MORE"}]},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "ASK"}]},
                {"type": "reasoning", "summary": []},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "SAY"}]},
                {"type": "function_call", "name": "ls", "arguments": "{}"},
                {"type": "function_call_output", "output": "RESULT"},
            ],
        },
    ),
    "chat": (
        "/v1/chat/completions",
        {
            "messages": [
                {"role": "system", "content": "RULES"},
                {"role": "developer", "content": "MORE"},
                {"role": "user", "content": [{"type": "text", "text": "ASK"}]},
                {"role": "assistant", "content": "SAY",
                 "tool_calls": [{"function": {"name": "ls", "arguments": "{}"}}]},
                {"role": "tool", "content": "RESULT"},
            ],
            "tools": [{"type": "function", "function": {"name": "save", "parameters": {}}}],
        },
    ),
    "messages": (
        "/v1/messages",
        {
            "system": [{"type": "text", "text": "RULES"}, {"type": "text", "text": "MORE"}],
            "messages": [
                {"role": "user", "content": "ASK"},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "SAY"},
                    {"type": "tool_use", "name": "ls", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "content": [{"type": "text", "text": "RESULT"}]},
                ]},
            ],
            "tools": [{"name": "save", "input_schema": {}}],
        },
    ),
    "gemini": (
        "/v1beta/models/m:generateContent",
        {
            "systemInstruction": {"parts": [{"text": "RULES"}, {"text": "MORE"}]},
            "contents": [
                {"role": "user", "parts": [{"text": "ASK"}]},
                {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "SAY"},
                                            {"functionCall": {"name": "ls", "args": {}}}]},
                {"role": "user", "parts": [{"functionResponse": {"response": {"output": "RESULT"}}}]},
            ],
            "tools": [{"functionDeclarations": [{"name": "save", "parametersJsonSchema": {}}]}],
        },
    ),
    "gateway": (
        "/v4/ai/language-model",
        {
            "prompt": [
                {"role": "system", "content": "RULES MORE"},
                {"role": "user", "content": [{"type": "text", "text": "ASK"}]},
                {"role": "assistant", "content": [
                    {"type": "text", "text": "SAY"}, {"type": "tool-call", "toolName": "ls", "input": {}},
                ]},
                {"role": "tool", "content": [
                    {"type": "tool-result", "output": {"type": "text", "value": "RESULT"}},
                ]},
            ],
            "tools": [{"type": "function", "name": "save", "inputSchema": {}}],
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SEEN)
def test_a_request_is_read_into_one_shape(name: str) -> None:
    path, body = SEEN[name]
    with ScriptedModel({"k": [Step(text="x")]}) as model:
        httpx.post(model.url + path, json={"model": "m", **body}, headers={"authorization": "Bearer k"})
        (seen,) = model.requests("k")
    assert "RULES" in seen.text("system") and "MORE" in seen.text("system")
    assert seen.text("user") == "ASK"
    assert "SAY" in seen.text("model") and "ls" in seen.text("model")
    assert "RESULT" in seen.text("tool")
    assert seen.model_turns == 1
    assert "save" in seen.tool_names
    assert [turn.role for turn in seen.latest()] == ["tool"]


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({"authorization": "Bearer k"}, ""),
        ({"x-api-key": "k"}, ""),
        ({"x-goog-api-key": "k"}, ""),
        ({"api-key": "k"}, ""),
        ({}, "?key=k"),
        ({"authorization": "Basic abc"}, "?key=k"),
    ],
)
def test_the_key_is_found_wherever_a_protocol_puts_it(headers: dict[str, str], query: str) -> None:
    with ScriptedModel({"k": [Step(text="x")]}) as model:
        url = f"{model.openai_url}/chat/completions{query}"
        assert httpx.post(url, json={"messages": TALK}, headers=headers).status_code == 200
