"""``run_eve`` against a server on loopback: what is sent, what is printed, what a broken server gives."""

from __future__ import annotations

import json
import socket
import threading
import time
from typing import Any

import pytest

from eve_stand_in import COMPLETED, serving
from sphynx.runner import create_emitter
from sphynx.runner.eve import EveOutcome, run_eve

pytestmark = pytest.mark.anyio


async def play(url: str, **options: Any) -> tuple[EveOutcome, list[dict[str, Any]]]:
    raw: list[str] = []
    emitter = create_emitter(write=raw.append, now=lambda: 5)
    outcome = await run_eve(emitter=emitter, prompt="Write a changelog", url=url, **options)
    return outcome, [json.loads(line) for line in raw]


async def test_a_session_from_start_to_end() -> None:
    """The prompt goes out, the lines come in order, and an open stream is left at the end of the session."""
    events = [
        {
            "type": "actions.requested",
            "data": {"actions": [{"callId": "c", "toolName": "t", "input": {"é": 1}}]},
        },
        {
            "type": "action.result",
            "data": {"status": "completed", "result": {"callId": "c", "output": "o" * 9000}},
        },
        {"type": "step.completed", "data": {"usage": {"inputTokens": 30, "outputTokens": 2}}},
        *COMPLETED,
    ]
    with serving(events=events) as server:
        began = time.monotonic()
        outcome, lines = await play(server.url + "/", model="m")
        assert time.monotonic() - began < 5
    assert outcome == EveOutcome("completed")
    assert lines == [
        {"_tag": "Started", "sessionId": "wrun_1", "model": "m", "at": 5},
        {"_tag": "ToolCall", "callId": "c", "name": "t", "status": "completed", "input": '{"é":1}',
         "output": "o" * 9000, "at": 5},
        {"_tag": "Usage", "inputTokens": 30, "outputTokens": 2, "cacheReadTokens": 0, "cacheWriteTokens": 0},
        {"_tag": "Message", "role": "assistant", "text": "done", "at": 5},
        {"_tag": "Finished", "reason": "completed", "at": 5},
    ]  # fmt: skip
    assert server.seen == [
        ("GET", "/eve/v1/info", None),
        ("POST", "/eve/v1/session", {"message": "Write a changelog"}),
        ("GET", "/eve/v1/session/wrun_1/stream?startIndex=0", None),
    ]


async def test_the_agents_schema_is_sent_and_its_result_is_the_answer() -> None:
    """eve applies an output schema only when the turn asks for it."""
    schema = {"type": "object"}
    events = [{"type": "result.completed", "data": {"result": {"a": "é"}}}, *COMPLETED]
    with serving(info={"agent": {"outputSchema": schema}}, events=events) as server:
        _, lines = await play(server.url)
    assert server.seen[1][2] == {"message": "Write a changelog", "outputSchema": schema}
    assert [line["_tag"] for line in lines] == ["Message", "Finished"]
    assert lines[0]["text"] == '{"a":"é"}'


@pytest.mark.parametrize("info", [None, {}, {"agent": None}, {"agent": {"outputSchema": True}}])
async def test_without_a_schema_none_is_sent(info: Any) -> None:
    """Older servers without agent info, and agents without a schema, work too."""
    with serving(info=info) as server:
        outcome, _ = await play(server.url)
    assert (outcome.status, server.seen[1][2]) == ("completed", {"message": "Write a changelog"})


async def test_a_session_is_continued() -> None:
    """The next message goes to the same session, and what was told before is not told again."""
    with serving(before=[*COMPLETED, *COMPLETED], session="a/b") as server:
        outcome, lines = await play(server.url, model="m", session_id="a/b")
    assert outcome.status == "completed"
    assert [line["_tag"] for line in lines] == ["Started", "Message", "Finished"]
    assert [(method, path) for method, path, _ in server.seen[1:]] == [
        ("GET", "/eve/v1/session/a%2Fb/stream?startIndex=0&follow=false"),
        ("POST", "/eve/v1/session/a%2Fb"),
        ("GET", "/eve/v1/session/a%2Fb/stream?startIndex=4"),
    ]


@pytest.mark.parametrize(
    ("scenario", "reason"),
    [
        ({"events": COMPLETED[:1], "ends": True}, "eve's stream ended before the session did"),
        ({"events": COMPLETED[:1], "cut": True}, "eve's stream ended before the session did"),
        ({"events": COMPLETED[:1], "plain": True}, "eve's stream ended before the session did"),
        ({"start": 500}, "eve answered 500: no model"),
        ({"session": ""}, "eve started a session without an id"),
    ],
)
async def test_what_ends_early_has_failed(scenario: dict[str, Any], reason: str) -> None:
    """A session that did not settle is never a pass, and no answer is printed for it."""
    if scenario.get("session") == "":
        scenario = {"session": None}
    with serving(**scenario) as server:
        outcome, lines = await play(server.url)
    assert outcome == EveOutcome("failed", reason)
    assert lines == [{"_tag": "Finished", "reason": f"failed: {reason}", "at": 5}]


@pytest.mark.parametrize(
    "scenario",
    [{"plain": True}, {"ends": True}, {"events": [{"type": "x", "data": "y" * 300_000}, *COMPLETED]}],
)
async def test_streams_of_every_form(scenario: dict[str, Any]) -> None:
    """With and without chunks, without a last line break, with lines longer than any buffer."""
    with serving(**scenario) as server:
        outcome, lines = await play(server.url)
    assert (outcome.status, lines[0]["text"]) == ("completed", "done")


async def test_nobody_there() -> None:
    """A refused connection is a failed outcome that names the address."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        outcome, lines = await play(url)
    assert outcome.status == "failed"
    assert outcome.reason.startswith(f"eve cannot be reached at {url}: ")
    assert lines[-1]["reason"] == f"failed: {outcome.reason}"


@pytest.mark.parametrize(
    ("said", "reason"), [(b"", "hung up before it answered"), (b"hello\r\n\r\n", "does not speak HTTP")]
)
async def test_what_is_no_server(said: bytes, reason: str) -> None:
    """Something else on the port is told as such."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            other, _ = listener.accept()
            other.recv(65_536)
            other.sendall(said)
            other.close()

        threading.Thread(target=answer, daemon=True).start()
        outcome, _ = await play(f"http://127.0.0.1:{listener.getsockname()[1]}")
    assert outcome.status == "failed"
    assert reason in outcome.reason
