"""OpenAI Responses: ``POST .../responses``."""

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


class Responses:
    """The protocol of Codex and of ``provider: openai`` model calls."""

    name = "responses"

    def serves(self, path: str) -> bool:
        return path.endswith("/responses")

    def read(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Content:
        given = body.get("input")
        items = (
            [{"type": "message", "role": "user", "content": given}] if isinstance(given, str) else given or []
        )
        turns = [Turn("system", body["instructions"])] if body.get("instructions") else []
        tools = list(body.get("tools") or [])
        for item in items:
            if item.get("type") == "additional_tools":
                tools.extend(item.get("tools") or [])
            else:
                turns.append(_turn(item))
        return Content(
            str(body.get("model", "")), bool(body.get("stream")), tuple(turns), tuple(_tools(tools))
        )

    def reply(self, step: Step, calls: tuple[ToolCall, ...], seen: Seen) -> dict[str, Any]:
        return _response(seen, _status(step), _items(step, calls), _usage(step)) | _incomplete(step)

    def frames(self, step: Step, calls: tuple[ToolCall, ...], seen: Seen) -> list[Frame]:
        items = _items(step, calls)
        whole = _response(seen, _status(step), items, _usage(step)) | _incomplete(step)
        events: list[tuple[str, dict[str, Any]]] = [
            ("response.created", {"response": whole | {"status": "in_progress", "output": [], "usage": None}})
        ]
        if step.stream_error:
            error = {"code": step.code or "server_error", "message": step.message}
            events.append(("response.failed", {"response": whole | {"status": "failed", "error": error}}))
            return _numbered(events)
        for index, item in enumerate(items):
            events += _item_events(index, item)
        events.append((f"response.{whole['status']}", {"response": whole}))
        return _numbered(events)

    def error(self, step: Step) -> dict[str, Any]:
        return openai_error(step)


def _turn(item: Mapping[str, Any]) -> Turn:
    kind = item.get("type", "message")
    if kind == "message":
        role = item.get("role")
        if role == "assistant":
            return Turn("model", flat(item.get("content")))
        return Turn("user" if role == "user" else "system", flat(item.get("content")))
    if kind.endswith("_output"):
        return Turn("tool", flat(item.get("output")))
    return Turn("model", f"{item.get('name', kind)} {flat(item.get('arguments') or item.get('input'))}")


def _tools(tools: list[Any], namespace: str | None = None) -> list[Tool]:
    found: list[Tool] = []
    for tool in tools:
        if tool.get("type") == "namespace":
            # "functions" is where ordinary tools live; they are called by name alone.
            inner = None if tool.get("name") == "functions" else tool.get("name")
            found += _tools(tool.get("tools") or [], inner)
        elif tool.get("name"):
            schema, free_form = tool.get("parameters") or {}, tool.get("type") == "custom"
            found.append(Tool(tool["name"], schema, free_form=free_form, namespace=namespace))
    return found


def _items(step: Step, calls: tuple[ToolCall, ...]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if step.reasoning is not None:
        summary = [{"type": "summary_text", "text": step.reasoning}]
        items.append(
            {"type": "reasoning", "id": fresh_id("rs_"), "summary": summary, "encrypted_content": None}
        )
    if step.text is not None:
        content = [{"type": "output_text", "text": step.text, "annotations": []}]
        items.append(
            {
                "type": "message",
                "id": fresh_id("msg_"),
                "status": "completed",
                "role": "assistant",
                "content": content,
            }
        )
    for call in calls:
        known = {"call_id": fresh_id("call_"), "name": call.name, "status": "completed"}
        if isinstance(call.input, str):
            items.append({"type": "custom_tool_call", "id": fresh_id("ctc_"), "input": call.input, **known})
            continue
        item = {"type": "function_call", "id": fresh_id("fc_"), "arguments": arguments(call), **known}
        items.append(item | {"namespace": call.namespace} if call.namespace else item)
    return items


def _item_events(index: int, item: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    at = {"output_index": index, "item_id": item["id"]}
    begun = {**item, "status": "in_progress"}
    if item["type"] == "message":
        text = item["content"][0]["text"]
        inner = [
            ("response.output_text.delta", {**at, "content_index": 0, "delta": part}) for part in pieces(text)
        ]
        begun["content"] = []
    elif item["type"] == "function_call":
        text = item["arguments"]
        inner = [("response.function_call_arguments.delta", {**at, "delta": part}) for part in pieces(text)]
        inner.append(("response.function_call_arguments.done", {**at, "arguments": text}))
        begun["arguments"] = ""
    else:
        inner = []
    added = ("response.output_item.added", {"output_index": index, "item": begun})
    return [added, *inner, ("response.output_item.done", {"output_index": index, "item": item})]


def _numbered(events: list[tuple[str, dict[str, Any]]]) -> list[Frame]:
    return [
        Frame(kind, {"type": kind, "sequence_number": number, **data})
        for number, (kind, data) in enumerate(events)
    ]


def _status(step: Step) -> str:
    return "incomplete" if step.finish else "completed"


def _incomplete(step: Step) -> dict[str, Any]:
    if not step.finish:
        return {}
    reason = "content_filter" if step.finish == "refusal" else "max_output_tokens"
    return {"incomplete_details": {"reason": reason}}


def _usage(step: Step) -> dict[str, Any]:
    tokens = step.tokens
    return {
        "input_tokens": tokens.prompt,
        "input_tokens_details": {
            "cached_tokens": tokens.cache_read,
            "cache_write_tokens": tokens.cache_write,
        },
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": tokens.prompt + tokens.output,
    }


def _response(seen: Seen, status: str, items: list[dict[str, Any]], usage: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": fresh_id("resp_"),
        "object": "response",
        "created_at": int(time.time()),
        "status": status,
        "model": seen.model,
        "output": items,
        "usage": usage,
        "error": None,
    }
