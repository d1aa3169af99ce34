"""What every protocol module offers, and the few pieces they share."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from typing import Protocol as TypingProtocol

from sphynx.testing.scripted_model.conversation import Seen, Tool, Turn
from sphynx.testing.scripted_model.steps import Step, ToolCall


class Frame(NamedTuple):
    """One server-sent event: ``event`` is ``None`` where the protocol names none, ``data`` JSON or a text."""

    event: str | None
    data: Any

    def encode(self) -> bytes:
        """The event as it goes over the wire."""
        data = self.data if isinstance(self.data, str) else json.dumps(self.data)
        head = f"event: {self.event}\n" if self.event else ""
        return f"{head}data: {data}\n\n".encode()


@dataclass(frozen=True, slots=True)
class Content:
    """What a protocol module reads out of a request body."""

    model: str
    stream: bool
    turns: tuple[Turn, ...]
    tools: tuple[Tool, ...]


class Protocol(TypingProtocol):
    """One wire protocol. ``calls`` are the step's calls, already in the asking agent's own tools."""

    name: str

    def serves(self, path: str) -> bool:
        """Whether a request path (without its query) is this protocol's endpoint."""
        ...

    def read(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Content:
        """What the request says."""
        ...

    def reply(self, step: Step, calls: tuple[ToolCall, ...], seen: Seen) -> dict[str, Any]:
        """The whole answer, for a request that does not stream."""
        ...

    def frames(self, step: Step, calls: tuple[ToolCall, ...], seen: Seen) -> list[Frame]:
        """The streamed answer; a ``stream_error`` step ends in the protocol's error event."""
        ...

    def error(self, step: Step) -> dict[str, Any]:
        """The body that goes with the step's HTTP status."""
        ...


def fresh_id(prefix: str) -> str:
    """An id no other answer has."""
    return prefix + uuid.uuid4().hex[:16]


def pieces(text: str, size: int = 24) -> Iterator[str]:
    """A text in the small parts it is streamed in."""
    for start in range(0, len(text), size):
        yield text[start : start + size]


def arguments(call: ToolCall) -> str:
    """A call's input as the JSON text most protocols carry."""
    return call.input if isinstance(call.input, str) else json.dumps(dict(call.input))


def openai_error(step: Step) -> dict[str, Any]:
    """The error body of both OpenAI protocols."""
    kinds = {429: "rate_limit_error", 500: "server_error", 503: "server_error"}
    codes = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
    status = step.status or 500
    return {
        "error": {
            "message": step.message,
            "type": kinds.get(status, "invalid_request_error"),
            "param": None,
            "code": step.code or codes.get(status),
        }
    }
