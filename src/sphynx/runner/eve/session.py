"""One eve session: send the prompt, follow the stream, print the journal."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, cast
from urllib.parse import quote

from sphynx.errors import SphynxError
from sphynx.runner.emitter import Emitter
from sphynx.runner.eve import http
from sphynx.runner.eve.reducer import EveOutcome, EveState, Line, reduce_eve, settle

REQUEST_TIMEOUT_S = 60.0


async def run_eve(
    *,
    emitter: Emitter,
    prompt: str,
    url: str,
    model: str | None = None,
    session_id: str | None = None,
    output_schema: Mapping[str, Any] | None = None,
) -> EveOutcome:
    """Run one session of the eve server at ``url`` to its end, printing it with ``emitter``.

    ``Started`` is printed only when ``model`` is given. ``session_id`` continues an earlier session with
    ``prompt`` as the next message. The answer is made to fit ``output_schema``, else the agent's own schema
    (agents have had none since eve 0.67). Never raises for what the server does: a session that cannot be
    started, or a stream that ends early, is a failed outcome.
    """
    state = EveState()
    reason = "eve's stream ended before the session did"
    try:
        base = url.rstrip("/")
        message = await _message(prompt, base, output_schema)
        async with aclosing(_session(emitter, message, base, model, session_id)) as events:
            async for event in events:
                state, lines = reduce_eve(state, event)
                for line in lines:
                    _print(emitter, line)
                if state.outcome is not None:
                    return state.outcome
    except SphynxError as error:
        reason = error.message
    except TimeoutError:
        reason = f"eve did not answer within {REQUEST_TIMEOUT_S:.0f} s"
    except OSError as error:
        reason = f"eve cannot be reached at {url}: {error.strerror or error}"
    outcome = EveOutcome("failed", reason)
    for line in settle(state, outcome)[1]:
        _print(emitter, line)
    return outcome


async def _session(
    emitter: Emitter, message: Mapping[str, Any], url: str, model: str | None, session_id: str | None
) -> AsyncGenerator[Mapping[str, Any], None]:
    """The events of the turn that ``message`` begins."""
    path = f"{url}/eve/v1/session"
    if session_id is None:
        seen, target = 0, path
    else:
        target = f"{path}/{quote(session_id, safe='')}"
        seen = await _events_so_far(target)
    answer = await _expect(await _send("POST", target, message))
    found = (await answer.json()).get("sessionId") or answer.headers.get("x-eve-session-id") or session_id
    answer.close()
    if not isinstance(found, str) or not found:
        raise SphynxError("eve started a session without an id")
    if model is not None:
        emitter.started(session_id=found, model=model)
    stream = await _expect(await _send("GET", f"{path}/{quote(found, safe='')}/stream?startIndex={seen}"))
    try:
        async for line in stream.lines():
            event = _event(line)
            if event is not None:
                yield event
    finally:
        stream.close()


async def _events_so_far(session_url: str) -> int:
    """How many events an earlier turn left on the stream, so that they are not told again."""
    answer = await _expect(await _send("GET", f"{session_url}/stream?startIndex=0&follow=false"))
    answer.close()
    tail = answer.headers.get("x-eve-stream-tail-index", "")
    if not tail.lstrip("-").isdigit():
        raise SphynxError("this version of eve cannot continue a session")
    return int(tail) + 1


async def _message(prompt: str, url: str, output_schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
    schema = await _output_schema(url) if output_schema is None else output_schema
    return {"message": prompt} if schema is None else {"message": prompt, "outputSchema": schema}


async def _output_schema(url: str) -> Mapping[str, Any] | None:
    """The agent's own schema: eve applies it only when a turn asks for it."""
    answer = await _send("GET", f"{url}/eve/v1/info")
    try:
        if answer.status == 404:
            return None
        info = await (await _expect(answer)).json()
    finally:
        answer.close()
    agent = info.get("agent")
    schema = cast("dict[str, Any]", agent).get("outputSchema") if isinstance(agent, dict) else None
    return cast("dict[str, Any]", schema) if isinstance(schema, dict) else None


async def _send(method: str, url: str, payload: Mapping[str, Any] | None = None) -> http.Answer:
    return await http.send(method, url, payload=payload, timeout_s=REQUEST_TIMEOUT_S)


async def _expect(answer: http.Answer) -> http.Answer:
    """The answer, or ``SphynxError`` with what the server said instead."""
    if 200 <= answer.status < 300:
        return answer
    said = await answer.text()
    answer.close()
    line = next((line.strip() for line in said.splitlines() if line.strip()), "")
    raise SphynxError(f"eve answered {answer.status}" + (f": {line[:200]}" if line else ""))


def _event(line: bytes) -> Mapping[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _print(emitter: Emitter, line: Line) -> None:
    match line["_tag"]:
        case "toolCall":
            call = line["call"]
            emitter.tool_call(
                name=call["name"],
                input=call["input"],
                output=call["output"],
                error=call.get("error"),
                status=_text(call["status"]),
                call_id=_text(call["callId"]),
            )
        case "usage":
            counts = line["counts"]
            emitter.usage(
                input_tokens=counts["inputTokens"],
                output_tokens=counts["outputTokens"],
                cache_read_tokens=counts["cacheReadTokens"],
                cache_write_tokens=counts["cacheWriteTokens"],
            )
        case "message":
            emitter.message(text=line["text"])
        case _:
            emitter.finished(line["reason"])


def _text(value: object) -> str | None:
    return None if value is None else str(value)
