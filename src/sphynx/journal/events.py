"""The events of one trial, in the shape a command harness prints them (contract: command harness).

Every event is one JSON object with a ``_tag``. ``at`` is epoch milliseconds; ``None`` means "not known".
Command output and tool payloads are whole here; :mod:`sphynx.journal.entries` caps them.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class Usage(msgspec.Struct, frozen=True, gc=False, rename="camel", tag_field="_tag", tag="Usage"):
    """Tokens of one turn or one model call. ``input_tokens`` excludes what came from cache."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    total_tokens: int | None = None
    cost_usd: float | None = None

    def __add__(self, other: Usage) -> Usage:
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            total_tokens=self.total + other.total,
            cost_usd=self.cost_usd + other.cost_usd if known else None,  # type: ignore[operator]
        )

    @property
    def total(self) -> int:
        """All tokens: as reported, else input plus output."""
        return self.input_tokens + self.output_tokens if self.total_tokens is None else self.total_tokens


class MessageUsage(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The tokens of one message, as carried inside a ``Message``."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    total_tokens: int | None = None
    cost_usd: float | None = None


class Started(msgspec.Struct, frozen=True, gc=False, rename="camel", tag_field="_tag", tag="Started"):
    """The agent's session began. A session id is what a later turn continues."""

    session_id: str
    model: str
    at: int | None = None


class Message(msgspec.Struct, frozen=True, gc=False, rename="camel", tag_field="_tag", tag="Message"):
    """A turn of the conversation; the last assistant message is the answer checks read."""

    role: str
    text: str
    usage: MessageUsage | None = None
    at: int | None = None
    started_at: int | None = None


class Command(msgspec.Struct, frozen=True, gc=False, rename="camel", tag_field="_tag", tag="Command"):
    """A shell command. ``exit_code`` is ``None`` when nobody saw how it ended."""

    command: str
    exit_code: int | None
    output: str
    at: int | None = None
    started_at: int | None = None


class FileChange(msgspec.Struct, frozen=True, gc=False, rename="camel", tag_field="_tag", tag="FileChange"):
    """Paths that were written.

    ``tool`` is the agent's own word for what wrote them and ``kind`` the word for all agents; both are
    ``None`` when only a look at the files told.
    """

    paths: tuple[str, ...]
    at: int | None = None
    started_at: int | None = None
    tool: str | None = None
    kind: str | None = None


class ToolCall(msgspec.Struct, frozen=True, gc=False, rename="camel", tag_field="_tag", tag="ToolCall"):
    """A call of one of the agent's tools that is neither a shell command nor a file change.

    ``name`` is the agent's own word; ``kind`` is the same for all agents (``file_read``, ``web_search`` ...).
    """

    call_id: str | None
    name: str
    status: str | None
    input: str | None = None
    output: str | None = None
    error: str | None = None
    at: int | None = None
    started_at: int | None = None
    kind: str | None = None


class Finished(msgspec.Struct, frozen=True, gc=False, rename="camel", tag_field="_tag", tag="Finished"):
    """The agent's turn ended; ``failed: ...`` makes the trial void, ``parked: ...`` is scored."""

    reason: str
    at: int | None = None


Event: TypeAlias = Started | Message | Command | FileChange | ToolCall | Finished
"""One line of a journal. ``Usage`` lines are tallied, not journalled."""
