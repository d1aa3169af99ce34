"""The wire protocols the scripted model speaks, one module each."""

from __future__ import annotations

from sphynx.testing.scripted_model.protocols import chat, gateway, gemini, messages, responses
from sphynx.testing.scripted_model.protocols.shape import Frame, Protocol

PROTOCOLS: tuple[Protocol, ...] = (
    responses.Responses(),
    chat.Chat(),
    messages.Messages(),
    gemini.Gemini(),
    gateway.Gateway(),
)


def protocol_for(path: str) -> Protocol | None:
    """The protocol whose endpoint a request path ends with; ``None`` when it is no model call."""
    return next((protocol for protocol in PROTOCOLS if protocol.serves(path)), None)


__all__ = ["PROTOCOLS", "Frame", "Protocol", "protocol_for"]
