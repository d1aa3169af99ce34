"""Vercel AI Gateway: ``POST .../language-model``, model and streaming named in headers."""

from __future__ import annotations

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


class Gateway:
    """Protocol version 4 (and 2 and 3, whose token counts look different), as eve and FX use it."""

    name = "gateway"

    def serves(self, path: str) -> bool:
        return path.endswith("/language-model")

    def read(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Content:
        turns: list[Turn] = []
        for message in body.get("prompt") or []:
            content = message.get("content")
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
            turns += [_turn(message.get("role"), part) for part in parts]
        tools = tuple(
            Tool(tool.get("name", ""), tool.get("inputSchema") or tool.get("parameters") or {})
            for tool in body.get("tools") or []
        )
        streams = headers.get("ai-language-model-streaming", "true") != "false"
        return Content(headers.get("ai-language-model-id", ""), streams, tuple(turns), tools)

    def reply(self, step: Step, calls: tuple[ToolCall, ...], seen: Seen) -> dict[str, Any]:
        content: list[dict[str, Any]] = []
        if step.reasoning is not None:
            content.append({"type": "reasoning", "text": step.reasoning})
        if step.text is not None:
            content.append({"type": "text", "text": step.text})
        content += [_call(call) for call in calls]
        return {"content": content, "warnings": [], **_ending(step, calls, seen)}

    def frames(self, step: Step, calls: tuple[ToolCall, ...], seen: Seen) -> list[Frame]:
        parts: list[dict[str, Any]] = [{"type": "stream-start", "warnings": []}]
        if step.stream_error:
            parts.append({"type": "error", "error": {"message": step.message, "code": step.code}})
            return [Frame(None, part) for part in parts]
        for kind, text in (("reasoning", step.reasoning), ("text", step.text)):
            if text is not None:
                parts.append({"type": f"{kind}-start", "id": kind})
                parts += [{"type": f"{kind}-delta", "id": kind, "delta": piece} for piece in pieces(text)]
                parts.append({"type": f"{kind}-end", "id": kind})
        parts += [_call(call) for call in calls]
        parts.append({"type": "finish", **_ending(step, calls, seen)})
        return [Frame(None, part) for part in parts]

    def error(self, step: Step) -> dict[str, Any]:
        return openai_error(step)


def _turn(role: str | None, part: Mapping[str, Any]) -> Turn:
    kind = part.get("type")
    if kind == "tool-result":
        output = part.get("output", part.get("result"))
        return Turn("tool", flat(output.get("value") if isinstance(output, Mapping) else output))
    if kind == "tool-call":
        return Turn("model", f"{part.get('toolName')} {flat(part.get('input'))}")
    if role == "system":
        return Turn("system", flat(part))
    return Turn("model" if role == "assistant" else "user", flat(part))


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "type": "tool-call", "toolCallId": fresh_id("call_"), "toolName": call.name, "input": arguments(call)
    }  # fmt: skip


def _ending(step: Step, calls: tuple[ToolCall, ...], seen: Seen) -> dict[str, Any]:
    reason = {"length": "length", "refusal": "content-filter"}.get(step.finish or "")
    reason = reason or ("tool-calls" if calls else "stop")
    tokens = step.tokens
    if seen.headers.get("ai-language-model-specification-version", "2") == "2":
        total = tokens.prompt + tokens.output
        usage = {"inputTokens": tokens.prompt, "outputTokens": tokens.output, "totalTokens": total}
        return {"finishReason": reason, "usage": usage | {"cachedInputTokens": tokens.cache_read}}
    return {
        "finishReason": {"unified": reason, "raw": reason},
        "usage": {
            "inputTokens": {
                "total": tokens.prompt,
                "noCache": tokens.input,
                "cacheRead": tokens.cache_read,
                "cacheWrite": tokens.cache_write,
            },
            "outputTokens": {
                "total": tokens.output,
                "text": tokens.output - tokens.reasoning,
                "reasoning": tokens.reasoning,
            },
        },
    }
