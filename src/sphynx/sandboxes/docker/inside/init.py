"""The first process of a container: reaps orphans, keeps the way to the allowed hosts open, and ends in time.

When the time of the whole container is over it ends, and the container with it: one that everybody has
forgotten does not stay for ever.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from sphynx.sandboxes.docker.inside import relay

_PAUSE_S = 0.5


def main(lifetime_s: int, socket_path: str) -> None:
    """Stay until SIGTERM or for ``lifetime_s``; ``socket_path`` is where the relay leads, empty for none."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.alarm(lifetime_s)
    relaying = _fork(socket_path) if socket_path else 0
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    while True:
        if _reap(relaying):
            time.sleep(_PAUSE_S)
            relaying = _fork(socket_path)
        signal.sigtimedwait([signal.SIGCHLD], 1.0)


def _reap(relaying: int) -> bool:
    """Take every ended child's leave; whether the relay was among them."""
    gone = False
    while True:
        try:
            pid = os.waitpid(-1, os.WNOHANG)[0]
        except ChildProcessError:
            return gone
        if pid == 0:
            return gone
        gone = gone or pid == relaying


def _fork(socket_path: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        signal.alarm(0)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        relay.serve(socket_path)
    finally:
        os._exit(1)
