"""What the agent starts: ``relay.py <folder> mcp|cli <name> ...`` passes bytes to the mocks' door.

Run with ``-I -S`` it needs no module but built-in ones, so a mock's command starts faster than Python with
any schema library. It is copied into the sandbox as a file of its own.
"""

from __future__ import annotations

import _socket
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CHUNK = 65_536


def main(folder: str, kind: str, name: str, arguments: list[str]) -> int:
    """Lead to the mock ``name``; gives the exit code."""
    door: Any = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    here = os.getcwd()
    try:
        os.chdir(folder)  # a socket's path is short, a trial's folder may not be
        door.connect("door")
    except OSError as error:
        os.write(2, f"{name} does not answer: {error.strerror}\n".encode())
        return 1
    os.chdir(here)
    head = b"\0".join(os.fsencode(part) for part in (kind, name, *arguments))
    send(door, b"%010d" % len(head) + head)
    return pump(door) if kind == "mcp" else answer(door)


def answer(door: Any) -> int:
    """Print what the command printed: a line with exit code and size of the output, then both streams."""
    data = b""
    while part := door.recv(_CHUNK):
        data += part
    head, found, rest = data.partition(b"\n")
    if not found:
        os.write(2, b"the mock ended before it answered\n")
        return 1
    code, size = (int(word) for word in head.split())
    write(1, rest[:size])
    write(2, rest[size:])
    return code


def pump(door: Any) -> int:
    """Pass bytes both ways until the mock's side ends."""
    import select

    poll = select.poll()
    poll.register(0, select.POLLIN | select.POLLHUP)
    poll.register(door.fileno(), select.POLLIN | select.POLLHUP)
    while True:
        for descriptor, _ in poll.poll():
            if descriptor == 0:
                data = os.read(0, _CHUNK)
                if data:
                    send(door, data)
                else:
                    poll.unregister(0)
                    door.shutdown(_socket.SHUT_WR)
            else:
                data = door.recv(_CHUNK)
                if not data:
                    return 0
                write(1, data)


def send(door: Any, data: bytes) -> None:
    """All of ``data`` to the mock."""
    view = memoryview(data)
    while view:
        view = view[door.send(view) :]


def write(descriptor: int, data: bytes) -> None:
    """All of ``data`` to a descriptor."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


if __name__ == "__main__":
    try:
        code = main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
    except (BrokenPipeError, ConnectionError):
        code = 1
    os._exit(code)
