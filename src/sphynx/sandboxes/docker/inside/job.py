"""One program, from its start to its end: what it writes goes to the host, and its tree dies when it must."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time

from sphynx.sandboxes.docker import frames
from sphynx.sandboxes.docker.inside.account import Account
from sphynx.sandboxes.local import killing

TYPE_CHECKING = False  # the name is enough for type checkers, and typing is slow to import
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_PIECE = 65536
_MOST_WAITING = 1 << 20
"""Bytes that wait for the host; above this the program waits as well."""
_GRACE_S = 0.25
"""How long pipes are read after their program has ended; a daemon may hold them for ever."""
_LAST = 4 << 20
"""Bytes read in that time at most."""
_TICK_S = 1.0
_QUICK_TICK_S = 0.02
KILLED = 137


class Source:
    """A stream of the program: ``keep`` bytes are sent, ``None`` for all, the others only counted."""

    __slots__ = ("keep", "kind", "total")

    def __init__(self, kind: bytes, keep: int | None) -> None:
        self.kind = kind
        self.keep = keep
        self.total = 0


class Job:
    """Make its pipes with ``stream``, then ``run`` it."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._sources: dict[int, Source] = {}
        self._theirs: list[int] = []
        self._waiting = bytearray()
        self._status: int | None = None

    def stream(self, source: Source, *, pair: bool = False) -> int:
        """The end the program writes to. ``pair``: a socket, which nobody can open by way of /proc."""
        if pair:
            import socket

            left, right = socket.socketpair()
            ours, theirs = left.detach(), right.detach()
        else:
            ours, theirs = os.pipe()
        os.set_blocking(ours, False)
        self._sources[ours] = source
        self._theirs.append(theirs)
        return theirs

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: dict[str, str],
        streams: tuple[int, int],
        account: Account,
        timeout_ms: int | None,
        pass_fds: Sequence[int] = (),
    ) -> dict[str, Any]:
        """Run it to its end and say how it ended: ``exit_code``, ``timed_out``, ``duration_ms``."""
        began = time.monotonic()
        deadline = None if timeout_ms is None else began + timeout_ms / 1000
        killing.become_subreaper()
        timed_out = False
        try:
            process = subprocess.Popen(
                list(argv), cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=streams[0], stderr=streams[1],
                start_new_session=True, pass_fds=tuple(pass_fds), **account.popen(),
            )  # fmt: skip
        except (OSError, ValueError) as error:
            code, problem = _why_not(error, argv)
            return {"exit_code": code, "timed_out": False, "duration_ms": 0.0, "problem": problem}
        finally:
            for end in self._theirs:
                os.close(end)
        timed_out = self._attend(process.pid, deadline)
        process.returncode = self._status
        self._rest()
        return {
            "exit_code": KILLED if timed_out else _exit_code(self._status or 0),
            "timed_out": timed_out,
            "duration_ms": (time.monotonic() - began) * 1000,
        }

    def _attend(self, pid: int, deadline: float | None) -> bool:
        """Pass on what it writes until it has ended; whether that was the time limit's doing."""
        os.set_blocking(1, False)
        self._selector.register(0, selectors.EVENT_READ, "stop")
        for fd in self._sources:
            self._selector.register(fd, selectors.EVENT_READ, "stream")
        tick = _TICK_S
        try:
            self._selector.register(os.pidfd_open(pid), selectors.EVENT_READ, "ended")
        except OSError:
            tick = _QUICK_TICK_S  # a kernel that cannot tell of the end of a process: look for it
        while True:
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                self._kill(pid)
                return True
            wait = tick if deadline is None else min(tick, deadline - now)
            for key, _ in self._selector.select(wait):
                if key.data == "stop":
                    self._kill(pid)
                    return False
                self._serve(key)
            if self._reaped(pid):
                return False

    def _serve(self, key: selectors.SelectorKey) -> None:
        if key.data == "stream":
            self._read(key.fd)
        elif key.data == "out":
            self._write()
        elif key.data == "ended":
            self._selector.unregister(key.fd)

    def _read(self, fd: int) -> int:
        """Take one piece of a stream; how many bytes that were, 0 at its end."""
        source = self._sources[fd]
        try:
            data = os.read(fd, _PIECE)
        except BlockingIOError:
            return -1
        except OSError:
            data = b""
        if not data:
            self._forget(fd)
            return 0
        wanted = data if source.keep is None else data[: max(0, source.keep - source.total)]
        source.total += len(data)
        if wanted:
            self._waiting += frames.frame(source.kind, wanted)
            self._write()
        return len(data)

    def _forget(self, fd: int) -> None:
        try:
            self._selector.unregister(fd)
        except KeyError:
            pass
        self._sources.pop(fd)
        os.close(fd)

    def _write(self) -> None:
        """Hand the host what it takes; while too much waits, nothing more is read."""
        was_full = len(self._waiting) > _MOST_WAITING
        try:
            while self._waiting:
                del self._waiting[: os.write(1, self._waiting[:_PIECE])]
        except BlockingIOError:
            pass
        self._watch(1, selectors.EVENT_WRITE, "out", bool(self._waiting))
        is_full = len(self._waiting) > _MOST_WAITING
        if is_full != was_full or is_full:
            for fd in self._sources:
                self._watch(fd, selectors.EVENT_READ, "stream", not is_full)

    def _watch(self, fd: int, event: int, what: str, wanted: bool) -> None:
        there = fd in self._selector.get_map()
        if wanted and not there:
            self._selector.register(fd, event, what)
        elif there and not wanted:
            self._selector.unregister(fd)

    def _reaped(self, pid: int) -> bool:
        """Take leave of every child that has ended; whether the program is among them."""
        while True:
            try:
                ended, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return self._status is not None
            if ended == 0:
                return self._status is not None
            if ended == pid:
                self._status = os.waitstatus_to_exitcode(status)

    def _kill(self, pid: int) -> None:
        killing.kill_all()
        if self._status is None:
            self._status = -signal.SIGKILL

    def _rest(self) -> None:
        """What is still in the pipes, then all that waits for the host."""
        os.set_blocking(1, True)
        self._flush()
        end, room = time.monotonic() + _GRACE_S, _LAST
        while self._sources and room > 0:
            idle = True
            for fd in list(self._sources):
                read = self._read(fd)
                self._flush()
                room -= max(read, 0)
                idle = idle and read < 0
            if idle:
                if time.monotonic() >= end:
                    break
                time.sleep(0.005)

    def _flush(self) -> None:
        while self._waiting:
            del self._waiting[: os.write(1, self._waiting[:_PIECE])]


def _exit_code(status: int) -> int:
    return status if status >= 0 else 128 - status


def _why_not(error: Exception, argv: Sequence[str]) -> tuple[int, str]:
    what = getattr(error, "filename", None) or (argv[0] if argv else "")
    reason = getattr(error, "strerror", None) or str(error)
    text = f"{os.fsdecode(what)}: {reason}"
    return (127 if isinstance(error, FileNotFoundError) else 126), text.encode(
        sys.getfilesystemencoding(), "replace"
    ).decode("utf-8", "replace")
