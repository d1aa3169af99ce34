"""``journal.jsonl``: one event a line, appended as it arrives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from sphynx.journal.events import Event

_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def encode(event: Event) -> bytes:
    """The event's line, line break included."""
    try:
        return _ENCODER.encode(event) + b"\n"
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8; what reads it back sees a replacement character.
        return _ENCODER.encode(_readable(msgspec.to_builtins(event))) + b"\n"


def decode(line: bytes) -> Event | None:
    """The event of a line; ``None`` when it is not one, such as a last line that was cut short."""
    try:
        return _DECODER.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None


def read(path: Path) -> Iterator[Event]:
    """The events of a journal file, one at a time; nothing when there is no such file."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        for line in file:
            event = decode(line)
            if event is not None:
                yield event


def _readable(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {key: _readable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_readable(item) for item in value]
    return value
