"""``journal.jsonl``: one event a line, appended as it arrives."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

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
    """The events of a journal file, one at a time; nothing when there is no such file, or it is no file."""
    try:
        file = open_regular(path)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENXIO):
            raise
        return
    with file:
        for line in file:
            event = decode(line)
            if event is not None:
                yield event


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading, never waiting: a pipe or a device in its place is an ``OSError`` (EINVAL)."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return os.fdopen(fd, "rb")


def _readable(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {key: _readable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_readable(item) for item in value]
    return value
