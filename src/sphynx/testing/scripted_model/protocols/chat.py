"""OpenAI chat completions: ``POST .../chat/completions``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from sphynx.testing.scripted_model.conversation import Seen, Tool, Turn, flat
from sphynx.testing.scripted_model.protocols.shape import (
    Content,
    Frame,
    arguments,
    fresh_id,
    openai_error,
    pieces,
)
from sphynx.testing.scripted_model.steps import Step, ToolCall

_ROLES: dict[str, Any] = {"system": "system", "developer": "system", "assistant": "model", "tool": "tool"}


class Chat:
    """The protocol of Qwen Code, OpenCode, Pi and most other agents."""

    name = "chat"

    def serves(self, path: str) -> bool:
        return path.endswith("/chat/completions")

    def read(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Content:
        turns: list[Turn] = []
        for message in body.get("messages") or []:
            called = [
                f"{call['function'].get('name')} {call['function'].get('arguments')}"
                for call in message.get("tool_calls") or []
            ]
            text = "\n".join([flat(message.get("content")), *called]).strip("\n")
            turns.append(Turn(_ROLES.get(message.get("role", ""), "user"), text))
        offered = [tool["function"] for tool in body.get("tools") or [] if "function" in tool]
        tools = tuple(Tool(tool.get("name", ""), tool.get("parameters") or {}) for tool in offered)
        return Content(str(body.get("model", "")), bool(body.get("stream")), tuple(turns), tools)

    def reply(self, step: Step, calls: tuple[ToolCall, ...], seen: Seen) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": step.text}
        if step.reasoning is not None:
            message["reasoning_content"] = step.reasoning
        if calls:
            message["tool_calls"] = [_call(call, index) for index, call in enumerate(calls)]
        choice = {"index": 0, "message": message, "finish_reason": _finish(step, calls)}
        return _envelope(seen, "chat.completion") | {"choices": [choice], "usage": _usage(step)}

    def frames(self, step: Step, calls: tuple[ToolCall, ...], seen: Seen) -> list[Frame]:
        envelope = _envelope(seen, "chat.completion.chunk")

        def chunk(delta: dict[str, Any], finish: str | None = None) -> Frame:
            return Frame(
                None, envelope | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
            )

        out = [chunk({"role": "assistant", "content": ""})]
        if step.stream_error:
            return [*out, Frame(None, openai_error(step))]
        out += [chunk({"reasoning_content": part}) for part in pieces(step.reasoning or "")]
        out += [chunk({"content": part}) for part in pieces(step.text or "")]
        for index, call in enumerate(calls):
            whole = _call(call, index)
            text = whole["function"]["arguments"]
            out.append(chunk({"tool_calls": [whole | {"function": {"name": call.name, "arguments": ""}}]}))
            out += [
                chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
                for part in pieces(text)
            ]
        out.append(chunk({}, _finish(step, calls)))
        return [*out, Frame(None, envelope | {"choices": [], "usage": _usage(step)}), Frame(None, "[DONE]")]

    def error(self, step: Step) -> dict[str, Any]:
        return openai_error(step)


def _call(call: ToolCall, index: int) -> dict[str, Any]:
    function = {"name": call.name, "arguments": arguments(call)}
    return {"index": index, "id": fresh_id("call_"), "type": "function", "function": function}


def _finish(step: Step, calls: tuple[ToolCall, ...]) -> str:
    if step.finish:
        return "content_filter" if step.finish == "refusal" else "length"
    return "tool_calls" if calls else "stop"


def _usage(step: Step) -> dict[str, Any]:
    tokens = step.tokens
    return {
        "prompt_tokens": tokens.prompt,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.prompt + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cache_read},
        "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
    }


def _envelope(seen: Seen, kind: str) -> dict[str, Any]:
    return {"id": fresh_id("chatcmpl-"), "object": kind, "created": int(time.time()), "model": seen.model}
