"""Start one program, wait for it and not for its pipes, keep what it printed.

A program that leaves a daemon behind which still holds its output is over when it ends itself. Output
beyond ``KEEP`` bytes is read and dropped, so neither memory nor the pipe fills up.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence
from typing import Any

KEEP = 16 * 1024 * 1024
_GRACE = 0.25
_LOOK = 0.02


class ExecOutcome:
    """How a command ended: ``exit_code`` (128 + n when signal n ended it), ``stdout``, ``stderr``.

    The texts are UTF-8 with replacement marks for other bytes, at most 16 MiB each (then ``truncated`` is
    true). ``timed_out`` says that its time limit ended it; ``exit_code`` is 137 then.
    """

    __slots__ = ("exit_code", "stderr", "stdout", "timed_out", "truncated")

    def __init__(
        self, exit_code: int, stdout: str, stderr: str, *, timed_out: bool = False, truncated: bool = False
    ) -> None:
        self.exit_code = exit_code
        self.stdout = stdout
        self.stderr = stderr
        self.timed_out = timed_out
        self.truncated = truncated

    def __repr__(self) -> str:
        return f"ExecOutcome(exit_code={self.exit_code}, stdout={self.stdout!r}, stderr={self.stderr!r})"


class Program:
    """One program in a process group of its own. ``OSError`` when it cannot be started."""

    def __init__(self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> None:
        import subprocess

        self._process = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
        )
        self._kept: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
        self._seen = {"stdout": 0, "stderr": 0}

    def kill(self) -> None:
        """Kill the program and everything that is still in its group."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass

    def wait(self, timeout_ms: int | None = None) -> ExecOutcome:
        """Wait for the end or the time limit. An exception that arrives meanwhile kills the program."""
        deadline = None if timeout_ms is None else time.monotonic() + timeout_ms / 1000
        try:
            timed_out = self._read(deadline)
        except BaseException:
            self.kill()
            self._close()
            self._process.wait()
            raise
        code = self._process.wait()
        self._close()
        return ExecOutcome(
            137 if timed_out else 128 - code if code < 0 else code,
            *(b"".join(self._kept[name]).decode("utf-8", "replace") for name in ("stdout", "stderr")),
            timed_out=timed_out,
            truncated=any(seen > KEEP for seen in self._seen.values()),
        )

    def _read(self, deadline: float | None) -> bool:
        import selectors

        with selectors.DefaultSelector() as selector:
            for name in self._kept:
                stream = getattr(self._process, name)
                os.set_blocking(stream.fileno(), False)
                selector.register(stream, selectors.EVENT_READ, name)
            ended = _watch(selector, self._process.pid)
            try:
                return self._loop(selector, deadline, watched=ended is not None)
            finally:
                if ended is not None:
                    os.close(ended)

    def _loop(self, selector: Any, deadline: float | None, *, watched: bool) -> bool:
        """Read until the program has ended and its pipes are empty or have had their grace."""
        grace = None
        timed_out = False
        while True:
            now = time.monotonic()
            if grace is None and self._process.poll() is not None:
                grace = now + _GRACE
            if grace is None and deadline is not None and now >= deadline:
                timed_out, deadline = True, None
                self.kill()
            limits = [limit - now for limit in (grace, deadline) if limit is not None]
            if not watched:
                limits.append(_LOOK)
            if grace is not None and (now >= grace or not self._open(selector)):
                return timed_out
            self._drain(selector, selector.select(max(0.0, min(limits)) if limits else None))

    def _drain(self, selector: Any, ready: Any) -> None:
        for key, _ in ready:
            if key.data is None:
                selector.unregister(key.fileobj)
                continue
            try:
                chunk = os.read(key.fd, 65536)
            except BlockingIOError:
                continue
            if not chunk:
                selector.unregister(key.fileobj)
                continue
            room = KEEP - self._seen[key.data]
            self._seen[key.data] += len(chunk)
            if room > 0:
                self._kept[key.data].append(chunk[:room])

    def _open(self, selector: Any) -> bool:
        return any(key.data is not None for key in selector.get_map().values())

    def _close(self) -> None:
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


def _watch(selector: Any, pid: int) -> int | None:
    """Have the selector wake up when ``pid`` ends; ``None`` where the system cannot (then we look)."""
    import selectors

    try:
        ended = os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
    selector.register(ended, selectors.EVENT_READ, None)
    return ended


async def wait_async(program: Program, timeout_ms: int | None) -> ExecOutcome:
    """Like :meth:`Program.wait` for a coroutine; cancelling it kills the program."""
    import asyncio
    import threading

    loop = asyncio.get_running_loop()
    ended: asyncio.Future[ExecOutcome] = loop.create_future()

    def settle(outcome: ExecOutcome | None, error: BaseException | None) -> None:
        if not ended.done():
            if error is not None:
                ended.set_exception(error)
            elif outcome is not None:
                ended.set_result(outcome)

    def watch() -> None:
        outcome, failure = None, None
        try:
            outcome = program.wait(timeout_ms)
        except BaseException as error:
            failure = error
        try:
            loop.call_soon_threadsafe(settle, outcome, failure)
        except RuntimeError:
            pass  # the loop is closed: nobody waits any more

    threading.Thread(target=watch, name="sphynx-exec", daemon=True).start()
    try:
        return await ended
    except BaseException:
        program.kill()
        raise
