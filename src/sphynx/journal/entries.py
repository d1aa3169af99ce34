"""Events as the wire shows them: journal entries, with long payloads cut."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sphynx.journal.events import Command, Event, FileChange, Message, MessageUsage, ToolCall
from sphynx.redaction.caps import cut

PAYLOAD_LIMIT = 4_000
"""UTF-16 units kept of command output and of tool input, output and error."""


def entry(event: Event) -> dict[str, Any] | None:
    """The ``EvalJournalEntry`` of an event; ``None`` for ``Started`` and ``Finished``.

    A payload longer than 4,000 UTF-16 units is cut and its ``...Truncated`` flag is true.
    """
    if isinstance(event, Command):
        return _command(event)
    if isinstance(event, Message):
        return {
            "_tag": "message",
            "role": event.role,
            "text": event.text,
            "usage": None if event.usage is None else _usage(event.usage),
            "finishedAtMillis": event.at,
        }
    if isinstance(event, ToolCall):
        return _tool_call(event)
    if isinstance(event, FileChange):
        return {"_tag": "fileChange", "paths": list(event.paths), "finishedAtMillis": event.at}
    return None


def entries(events: Iterable[Event]) -> list[dict[str, Any]]:
    """The entries of all events that have one, in order."""
    return [found for event in events if (found := entry(event)) is not None]


def _command(event: Command) -> dict[str, Any]:
    output, truncated = cut(event.output, PAYLOAD_LIMIT)
    return {
        "_tag": "command",
        "command": event.command,
        "exitCode": event.exit_code,
        "output": output,
        "outputTruncated": truncated,
        "startedAtMillis": event.started_at,
        "finishedAtMillis": event.at,
    }


def _tool_call(event: ToolCall) -> dict[str, Any]:
    result: dict[str, Any] = {"_tag": "toolCall", "name": event.name, "status": event.status}
    for name in ("input", "output", "error"):
        whole: str | None = getattr(event, name)
        truncated = False
        if whole is not None:
            result[name], truncated = cut(whole, PAYLOAD_LIMIT)
        result[f"{name}Truncated"] = truncated
    result["startedAtMillis"] = event.started_at
    result["finishedAtMillis"] = event.at
    return result


def _usage(usage: MessageUsage) -> dict[str, Any]:
    total = usage.input_tokens + usage.output_tokens if usage.total_tokens is None else usage.total_tokens
    result: dict[str, Any] = {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "cacheReadTokens": usage.cache_read_tokens,
        "cacheWriteTokens": usage.cache_write_tokens,
        "totalTokens": total,
    }
    if usage.cost_usd is not None:
        result["costUsd"] = usage.cost_usd
    return result
