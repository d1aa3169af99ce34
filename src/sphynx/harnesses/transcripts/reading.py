"""What every transcript reader offers, and the pieces they share."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import msgspec

from sphynx.journal.events import Event, Usage

MAX_UNREAD = 200
"""Unknown lines that are kept; of the rest only the number is."""
MAX_UNREAD_BYTES = 4_000


@dataclass(frozen=True, slots=True)
class Exit:
    """How the agent's process ended. ``stderr`` is the end of what it printed there."""

    code: int
    stderr: str = ""
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn ended: ``limit`` means the agent's own limit (turns, budget), not ours."""

    status: Literal["success", "failed", "limit"]
    reason: str = ""
    cause: str = "harness"


SUCCESS = Outcome("success")


@dataclass(slots=True)
class Notes:
    """What a reader learnt beside the events. Token counts are those of this turn alone."""

    session_id: str | None = None
    model: str | None = None
    usage: Usage | None = None
    thinking: int = 0
    """How many pieces of reasoning there were; their text is never kept."""
    unread: list[str] = field(default_factory=list[str])
    """Lines of no known shape, each cut."""
    unread_count: int = 0


class Reader(Protocol):
    """Reads one turn of one agent."""

    notes: Notes

    def read(self, line: bytes, now: int) -> Sequence[Event]:
        """The events a line completes. ``now`` is epoch milliseconds. Never raises for what a line holds."""
        ...

    def end(self, exit: Exit, now: int) -> tuple[Sequence[Event], Outcome]:
        """What was still open when the process ended, and how the turn ended."""
        ...


def set_aside(notes: Notes, line: bytes) -> tuple[Event, ...]:
    """Keep a line nobody understands; blank ones are dropped."""
    if line.strip():
        notes.unread_count += 1
        if len(notes.unread) < MAX_UNREAD:
            notes.unread.append(line[:MAX_UNREAD_BYTES].decode("utf-8", "replace"))
    return ()


def token_usage(
    *,
    input: int,
    output: int,
    cache_read: int = 0,
    cache_write: int = 0,
    cost_usd: float | None = None,
) -> Usage:
    """Token counts in the one meaning: ``input`` is what was neither read from nor written to the cache."""
    return Usage(
        input_tokens=max(0, input),
        output_tokens=max(0, output),
        cache_read_tokens=cache_read,
        cache_write_tokens=cache_write,
        total_tokens=max(0, input) + max(0, output) + cache_read + cache_write,
        cost_usd=cost_usd,
    )


def minus(total: Usage, before: Usage) -> Usage:
    """This turn's share of counters that run over the whole session."""
    cost = total.cost_usd
    if cost is not None and before.cost_usd is not None:
        cost = max(0.0, cost - before.cost_usd)
    return token_usage(
        input=total.input_tokens - before.input_tokens,
        output=total.output_tokens - before.output_tokens,
        cache_read=max(0, total.cache_read_tokens - before.cache_read_tokens),
        cache_write=max(0, total.cache_write_tokens - before.cache_write_tokens),
        cost_usd=cost,
    )


def plain_command(command: str) -> str:
    """A command without the shell an agent wraps it in: ``/bin/bash -lc 'ls'`` is ``ls``."""
    head, _, rest = command.partition(" -lc ")
    if not rest or head not in _SHELLS:
        return command
    if rest[0] == rest[-1] == "'" and "'" not in rest[1:-1]:
        return rest[1:-1]
    try:
        parts = shlex.split(rest)
    except ValueError:
        return command
    return parts[0] if len(parts) == 1 else command


_SHELLS = frozenset(
    place + name for place in ("", "/bin/", "/usr/bin/", "/usr/local/bin/") for name in ("bash", "sh", "zsh")
)


def as_text(value: Any) -> str | None:
    """A tool's input or output as text: strings and text parts as they are, anything else as compact JSON."""
    if value is None or type(value) is str:
        return value
    if type(value) is list and value and all(map(_is_text, value)):
        return "\n".join(part["text"] for part in value)
    return msgspec.json.encode(value).decode()


def _is_text(part: Any) -> bool:
    return type(part) is dict and part.get("type", "text") == "text" and type(part.get("text")) is str


def last_lines(text: str, count: int = 3) -> str:
    """The last lines that say something, joined by blanks: what a process said before it died."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines[-count:])


def died(exit: Exit) -> Outcome:
    """A process that ended without saying how its turn went."""
    said = last_lines(exit.stderr)
    how = f"killed by signal {exit.code - 128}" if exit.code > 128 else f"exit code {exit.code}"
    return Outcome("failed", said or f"the agent ended without an answer ({how})")


def object_of(line: bytes) -> dict[str, Any] | None:
    """A line that is a JSON object; anything else is ``None``."""
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return value if isinstance(value, dict) else None


def api_words(text: str) -> str:
    """The model's own words in an error that wraps them: ``[API Error: {"error": {"message": "no"}}]``."""
    inner = text.strip()
    if inner.startswith("[API Error: "):
        # What follows on further lines is the program's advice.
        inner = inner.removeprefix("[API Error: ").removesuffix("]").split("]\n")[0]
    start = inner.find("{")
    value = object_of(inner[start:].encode()) if start >= 0 else None
    error = value.get("error") if value else None
    message = error.get("message") if isinstance(error, Mapping) else None
    if not isinstance(message, str) or not message:
        return inner
    return f"{inner[:start].strip()} {message}".strip()


_CLIPPED = 2_000


def clipped(texts: Iterable[str | None]) -> str:
    """The first text that says something, at most 2,000 characters."""
    return next((text.strip()[:_CLIPPED] for text in texts if text and text.strip()), "")
