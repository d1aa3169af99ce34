"""Gemini: ``POST .../models/<model>:generateContent`` and ``:streamGenerateContent``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sphynx.testing.scripted_model.conversation import Seen, Tool, Turn, flat
from sphynx.testing.scripted_model.protocols.shape import Content, Frame, fresh_id, pieces
from sphynx.testing.scripted_model.steps import Step, ToolCall

_STATUS = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE",
}  # fmt: skip
_ENDPOINT = re.compile(r"/models/([^/:]+):(stream)?[gG]enerateContent$")


class Gemini:
    """The protocol of Gemini CLI."""

    name = "gemini"

    def serves(self, path: str) -> bool:
        return _ENDPOINT.search(path) is not None

    def read(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Content:
        found = _ENDPOINT.search(path)
        model, streams = (found[1], bool(found[2])) if found else ("", False)
        instruction = body.get("systemInstruction") or body.get("system_instruction") or {}
        turns = [Turn("system", flat(instruction.get("parts")))] if instruction else []
        for content in body.get("contents") or []:
            turns += [_turn(content.get("role"), part) for part in content.get("parts") or []]
        declared = [
            entry for tool in body.get("tools") or [] for entry in tool.get("functionDeclarations") or []
        ]
        tools = tuple(
            Tool(entry.get("name", ""), entry.get("parametersJsonSchema") or entry.get("parameters") or {})
            for entry in declared
        )
        return Content(model, streams, tuple(turns), tools)

    def reply(self, step: Step, calls: tuple[ToolCall, ...], seen: Seen) -> dict[str, Any]:
        return _chunk(step, seen, fresh_id("r"), _parts(step, calls), last=True)

    def frames(self, step: Step, calls: tuple[ToolCall, ...], seen: Seen) -> list[Frame]:
        if step.stream_error:
            return [Frame(None, self.error(step))]
        response = fresh_id("r")
        parts = [piece for part in _parts(step, calls) for piece in _split(part)] or [{"text": ""}]
        end = len(parts) - 1
        return [
            Frame(None, _chunk(step, seen, response, [part], last=at == end)) for at, part in enumerate(parts)
        ]

    def error(self, step: Step) -> dict[str, Any]:
        status = step.status or 500
        named = step.code or _STATUS.get(status, "UNKNOWN")
        return {"error": {"code": status, "message": step.message, "status": named}}


def _turn(role: str | None, part: Mapping[str, Any]) -> Turn:
    if "functionResponse" in part:
        return Turn("tool", flat(part["functionResponse"].get("response")))
    if "functionCall" in part:
        made = part["functionCall"]
        return Turn("model", f"{made.get('name')} {flat(made.get('args'))}")
    return Turn("model" if role == "model" else "user", "" if part.get("thought") else flat(part))


def _parts(step: Step, calls: tuple[ToolCall, ...]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    if step.reasoning is not None:
        parts.append({"text": step.reasoning, "thought": True})
    if step.text is not None:
        parts.append({"text": step.text})
    for call in calls:
        args = {"input": call.input} if isinstance(call.input, str) else dict(call.input)
        parts.append({"functionCall": {"name": call.name, "args": args}})
    return parts


def _split(part: dict[str, Any]) -> list[dict[str, Any]]:
    return [part | {"text": piece} for piece in pieces(part["text"])] if "text" in part else [part]


def _chunk(
    step: Step, seen: Seen, response: str, parts: list[dict[str, Any]], *, last: bool
) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if last:
        candidate["finishReason"] = {"length": "MAX_TOKENS", "refusal": "SAFETY"}.get(
            step.finish or "", "STOP"
        )
    tokens = step.tokens
    usage = {
        "promptTokenCount": tokens.prompt,
        "candidatesTokenCount": tokens.output - tokens.reasoning,
        "totalTokenCount": tokens.prompt + tokens.output,
        "cachedContentTokenCount": tokens.cache_read,
        "thoughtsTokenCount": tokens.reasoning,
    }
    return {
        "candidates": [candidate], "usageMetadata": usage, "modelVersion": seen.model, "responseId": response
    }  # fmt: skip
