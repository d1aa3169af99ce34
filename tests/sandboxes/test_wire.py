"""Messages between host and supervisors: of any size, with files, and an end."""

from __future__ import annotations

import os
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sphynx.sandboxes.local import wire


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.none() | st.lists(st.text())))
def test_messages_arrive_as_they_are(message: dict[str, object]) -> None:
    """Any JSON object makes the way unchanged, lone surrogates (bytes of odd variables) included."""
    message = {**message, "odd": os.fsdecode(b"\xff\xfe")}
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with here, there:
        wire.send(here, message)
        assert wire.receive(there) == (message, [])


@pytest.mark.parametrize("size", [0, wire.INLINE - 12, wire.INLINE + 1, 3_000_000])
def test_sizes_and_files(size: int) -> None:
    """Small and large messages carry files, which the receiver's own children do not inherit."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    readable, writable = os.pipe()
    with here, there:
        wire.send(here, {"text": "x" * size}, [writable, readable])
        message, files = wire.receive(there)
        assert message == {"text": "x" * size}
        assert len(files) == 2
        assert not any(os.get_inheritable(fd) for fd in files)
        os.write(files[0], b"through")
        assert os.read(readable, 10) == b"through"
    for fd in (readable, writable, *files):
        os.close(fd)


def test_the_end() -> None:
    """Nobody at the other end is ``None`` for the receiver and ``OSError`` for the sender."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with there:
        here.close()
        assert wire.receive(there) == (None, [])
        with pytest.raises(OSError):
            wire.send(there, {})
