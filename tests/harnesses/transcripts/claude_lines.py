"""Lines of the shape Claude Code and Qwen Code print."""

from __future__ import annotations

from typing import Any


def says(text: str) -> dict[str, Any]:
    return {"type": "assistant", "message": {"model": "m", "content": [{"type": "text", "text": text}]}}


def calls(name: str, given: Any, call_id: str = "t1") -> dict[str, Any]:
    block = {"type": "tool_use", "id": call_id, "name": name, "input": given}
    return {"type": "assistant", "message": {"model": "m", "content": [block]}}


def result(text: str, *, failed: bool = False, detail: Any = None, call_id: str = "t1") -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": failed}
    return {"type": "user", "message": {"content": [block]}, "tool_use_result": detail}
