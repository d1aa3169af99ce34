"""Anthropic Messages: ``POST .../v1/messages``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sphynx.testing.scripted_model.conversation import Seen, Tool, Turn, flat
from sphynx.testing.scripted_model.protocols.shape import Content, Frame, arguments, fresh_id, pieces
from sphynx.testing.scripted_model.steps import Step, ToolCall

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class Messages:
    """The protocol of Claude Code."""

    name = "messages"

    def serves(self, path: str) -> bool:
        return path.endswith("/messages")

    def read(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Content:
        turns = [Turn("system", flat(body["system"]))] if body.get("system") else []
        for message in body.get("messages") or []:
            content = message.get("content")
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
            turns += [_turn(message.get("role"), part) for part in parts]
        tools = tuple(
            Tool(tool.get("name", ""), tool.get("input_schema") or {}) for tool in body.get("tools") or []
        )
        return Content(str(body.get("model", "")), bool(body.get("stream")), tuple(turns), tools)

    def reply(self, step: Step, calls: tuple[ToolCall, ...], seen: Seen) -> dict[str, Any]:
        usage = _usage(step) | {"output_tokens": step.tokens.output}
        return _message(seen) | {
            "content": _blocks(step, calls),
            "stop_reason": _stop(step, calls),
            "usage": usage,
        }

    def frames(self, step: Step, calls: tuple[ToolCall, ...], seen: Seen) -> list[Frame]:
        started = _message(seen) | {"content": [], "stop_reason": None, "usage": _usage(step)}
        out = [_frame("message_start", message=started)]
        if step.stream_error:
            error = {"type": step.code or "overloaded_error", "message": step.message}
            return [*out, _frame("error", error=error)]
        for index, block in enumerate(_blocks(step, calls)):
            out += _block_frames(index, block)
        delta = {"stop_reason": _stop(step, calls), "stop_sequence": None}
        out.append(_frame("message_delta", delta=delta, usage={"output_tokens": step.tokens.output}))
        return [*out, _frame("message_stop")]

    def error(self, step: Step) -> dict[str, Any]:
        kind = step.code or _KINDS.get(step.status or 500, "api_error")
        return {
            "type": "error",
            "error": {"type": kind, "message": step.message},
            "request_id": fresh_id("req_"),
        }


def _turn(role: str | None, part: Mapping[str, Any]) -> Turn:
    kind = part.get("type")
    if kind == "tool_result":
        return Turn("tool", flat(part.get("content")))
    if kind == "tool_use":
        return Turn("model", f"{part.get('name')} {flat(part.get('input'))}")
    if kind == "thinking":
        return Turn("model", "")
    return Turn("model" if role == "assistant" else "user", flat(part))


def _blocks(step: Step, calls: tuple[ToolCall, ...]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if step.reasoning is not None:
        blocks.append({"type": "thinking", "thinking": step.reasoning, "signature": "c2lnbmF0dXJl"})
    if step.text is not None:
        blocks.append({"type": "text", "text": step.text})
    for call in calls:
        name = f"{call.namespace}__{call.name}" if call.namespace else call.name
        blocks.append({"type": "tool_use", "id": fresh_id("toolu_"), "name": name, "input": _input(call)})
    return blocks


def _input(call: ToolCall) -> dict[str, Any]:
    return {"input": call.input} if isinstance(call.input, str) else dict(call.input)


def _block_frames(index: int, block: dict[str, Any]) -> list[Frame]:
    kind = block["type"]
    if kind == "text":
        empty, deltas = {"text": ""}, [{"type": "text_delta", "text": part} for part in pieces(block["text"])]
    elif kind == "thinking":
        empty = {"thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": part} for part in pieces(block["thinking"])]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    else:
        text = arguments(ToolCall(block["name"], block["input"]))
        empty = {"input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in pieces(text)]
    start = _frame("content_block_start", index=index, content_block=block | empty)
    inner = [_frame("content_block_delta", index=index, delta=delta) for delta in deltas]
    return [start, *inner, _frame("content_block_stop", index=index)]


def _frame(kind: str, **data: Any) -> Frame:
    return Frame(kind, {"type": kind, **data})


def _stop(step: Step, calls: tuple[ToolCall, ...]) -> str:
    if step.finish:
        return "refusal" if step.finish == "refusal" else "max_tokens"
    return "tool_use" if calls else "end_turn"


def _usage(step: Step) -> dict[str, Any]:
    # A stream starts with a token count of one and gives the real one at its end.
    return {
        "input_tokens": step.tokens.input,
        "cache_read_input_tokens": step.tokens.cache_read,
        "cache_creation_input_tokens": step.tokens.cache_write,
        "output_tokens": 1,
    }


def _message(seen: Seen) -> dict[str, Any]:
    return {
        "id": fresh_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": seen.model,
        "stop_sequence": None,
    }
