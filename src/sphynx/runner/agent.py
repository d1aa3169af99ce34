"""What a Python function that stands in a variant's ``harness`` is given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypedDict, cast

from sphynx.runner.emitter import Emitter


class Said(TypedDict):
    """One message of the conversation so far; ``role`` is ``user`` or ``assistant``."""

    role: str
    text: str


class Turn:
    """One turn the agent is asked for. The function runs in the trial's workspace, its current folder.

    ``prompt`` is what the person says now, ``index`` counts turns from 0, ``history`` holds the messages
    before. Each turn is a process of its own: what the agent wants to find again it keeps in ``state``, a
    dict that JSON can hold, or in files below ``home``.
    """

    __slots__ = (
        "history", "home", "index", "model", "prompt", "session_id", "state", "system_prompt", "workspace",
    )  # fmt: skip

    def __init__(self, given: Mapping[str, Any], *, workspace: str, home: str) -> None:
        self.prompt: str = given.get("prompt") or ""
        self.model: str = given.get("model") or ""
        self.index: int = given.get("index") or 0
        self.session_id: str | None = given.get("session_id")
        """The session the agent named in ``emit.started``; ``None`` in the first turn."""
        self.system_prompt: str | None = given.get("system_prompt")
        """The profile's system prompt."""
        self.history: Sequence[Said] = cast("Sequence[Said]", given.get("history") or [])
        self.state: dict[str, Any] = given.get("state") or {}
        self.workspace = workspace
        self.home = home

    def __repr__(self) -> str:
        return f"Turn(index={self.index}, prompt={self.prompt[:60]!r})"


Agent = Callable[[Turn, Emitter], Awaitable[str | None]] | Callable[[Turn, Emitter], str | None]
"""A Python agent: sync or async. A text it returns is its answer; an exception makes the trial void."""
