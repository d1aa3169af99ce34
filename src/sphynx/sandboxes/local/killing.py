"""Ending processes by ancestry, for a process that is a subreaper. Linux, standard library only.

A process group or a marker in the environment is not enough: a daemon leaves the first with ``setsid`` and
the second with ``env -i``. Ancestry cannot be left, because a subreaper inherits every orphan below it.
"""

from __future__ import annotations

import os
import signal
import time

TYPE_CHECKING = False  # the name is enough for type checkers, and typing is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable

_SUBREAPER = 36
_DUMPABLE = 4
_UNKILLABLE_S = 8.0


def become_subreaper() -> None:
    """Inherit every orphan among our descendants from now on."""
    _prctl(_SUBREAPER, 1)


def refuse_tracing() -> None:
    """Keep processes of the same user from tracing this one or opening its descriptors."""
    _prctl(_DUMPABLE, 0)


_prctl_function: Callable[..., int] | None = None


def _prctl(option: int, value: int) -> None:
    global _prctl_function
    if _prctl_function is None:
        import ctypes

        _prctl_function = ctypes.CDLL(None).prctl  # kept: a fork then inherits it ready for use
    if _prctl_function(option, value, 0, 0, 0) != 0:
        raise OSError(f"prctl({option}) failed")


def children(pid: int) -> list[int]:
    """Children of ``pid``, of all its threads; empty when it is gone."""
    found: list[int] = []
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for task in tasks:
        try:
            with open(f"/proc/{pid}/task/{task}/children", "rb", buffering=0) as file:
                found.extend(map(int, file.read().split()))
        except OSError:
            continue
    return found


def descendants(roots: list[int], *, freeze: bool = False) -> list[int]:
    """``roots`` and all below them. ``freeze`` stops each first, so that none is born meanwhile."""
    found: list[int] = []
    waiting = list(roots)
    while waiting:
        pid = waiting.pop()
        if freeze:
            send_signal(pid, signal.SIGSTOP)
        found.append(pid)
        waiting.extend(children(pid))
    return found


def send_signal(pid: int, number: int) -> None:
    """Signal ``pid``; nothing happens when it is gone or not ours."""
    try:
        os.kill(pid, number)
    except OSError:
        return


def session_and_state(pid: int) -> tuple[int, str]:
    """Session and state letter of ``pid``; ``(0, "")`` when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return 0, ""
    return (int(fields[3]), fields[0].decode()) if len(fields) > 3 else (0, "")


def kill_job(leader: int) -> None:
    """Kill a child of ours that leads its session, its tree, and orphans left in that session.

    The leader is not reaped here, so its number cannot come to mean another process meanwhile.
    """
    targets = descendants([leader], freeze=True)
    end = time.monotonic() + _UNKILLABLE_S
    pause = 0.0002
    while targets and time.monotonic() < end:
        for pid in targets:
            send_signal(pid, signal.SIGKILL)
        try:
            os.killpg(leader, signal.SIGKILL)
        except OSError:
            pass
        time.sleep(pause)
        pause = min(pause * 2, 0.02)
        targets = descendants([pid for pid in children(os.getpid()) if _lives_in(pid, leader)])


def _lives_in(pid: int, session: int) -> bool:
    found, state = session_and_state(pid)
    return found == session and state not in ("Z", "X")


def kill_all(keep: frozenset[int] = frozenset()) -> tuple[int, int]:
    """Kill and reap every descendant but the children in ``keep`` and theirs, until none is left.

    Returns how many were killed and how many refused to die within some seconds.
    """
    me = os.getpid()
    killed: set[int] = set()
    end = time.monotonic() + _UNKILLABLE_S
    pause = 0.0002
    while True:
        _reap(keep)
        remaining = [pid for pid in children(me) if pid not in keep]
        if not remaining or time.monotonic() > end:
            return len(killed), len(remaining)
        for pid in descendants(remaining):
            send_signal(pid, signal.SIGKILL)
            killed.add(pid)
        time.sleep(pause)
        pause = min(pause * 2, 0.02)


def _reap(keep: frozenset[int]) -> None:
    if keep:
        for pid in children(os.getpid()):
            if pid not in keep:
                _wait_for(pid)
        return
    while _wait_for(-1):
        pass


def _wait_for(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


def move_high(fd: int) -> int:
    """A copy of ``fd`` out of the way of the low numbers a child is given."""
    import fcntl

    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 32)
