"""Messages between host, zygote and supervisors: JSON with open files beside it, over a SEQPACKET socket.

A message that would not fit one packet travels in a memory file. Nothing goes through argv or the
environment, so neither its size nor its secrets matter. Standard library only.
"""

from __future__ import annotations

import array
import json
import os
import socket

TYPE_CHECKING = False  # the name is enough for type checkers, and typing is slow to import
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

INLINE = 32_000
"""Longest message sent in the packet itself, in bytes."""
_PACKET = 65_536
_BIG = b"@"
_ROOM = socket.CMSG_SPACE(8 * array.array("i").itemsize)


def send(sock: socket.socket, message: dict[str, Any], files: Sequence[int] = ()) -> None:
    """Send ``message``; the other side gets its own copies of ``files``. ``OSError`` when nobody listens."""
    data = json.dumps(message, separators=(",", ":")).encode()
    if len(data) <= INLINE:
        _send(sock, data, files)
        return
    memory = in_memory(data)
    try:
        _send(sock, _BIG, [memory, *files])
    finally:
        os.close(memory)


def _send(sock: socket.socket, data: bytes, files: Sequence[int]) -> None:
    if files:
        socket.send_fds(sock, [data], files)
    else:
        sock.send(data)


def receive(sock: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """The next message and its files (close-on-exec); ``None`` at the end of the connection."""
    # socket.recv_fds drops its flags, and then every command would inherit what is received
    data, extra, _, _ = sock.recvmsg(_PACKET, _ROOM, socket.MSG_CMSG_CLOEXEC)
    received = array.array("i")
    for _, _, content in extra:
        received.frombytes(content[: len(content) - len(content) % received.itemsize])
    files = received.tolist()
    if not data:
        return None, files
    if data == _BIG:
        memory = files.pop(0)
        try:
            data = os.pread(memory, os.fstat(memory).st_size, 0)
        finally:
            os.close(memory)
    return json.loads(data), files


def in_memory(data: bytes) -> int:
    """A memory file that holds ``data``; the caller closes the descriptor."""
    if hasattr(os, "memfd_create"):
        memory = os.memfd_create("sphynx")
    else:
        import tempfile

        with tempfile.TemporaryFile() as file:
            memory = os.dup(file.fileno())
    written = 0
    while written < len(data):
        written += os.write(memory, data[written:])
    os.lseek(memory, 0, os.SEEK_SET)
    return memory
