"""An eval file that ends the process at its import is wrong, and must not decide how a command ends."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import NoReturn


class Exited(BaseException):
    """``os._exit()`` was called; no ``except Exception`` of the file hides it."""


class OutOfTime(BaseException):
    """The time for importing is over; whoever set the limit raises it, and nothing on the way catches it."""


@contextlib.contextmanager
def kept_alive() -> Iterator[None]:
    """Raise ``Exited`` in place of ``os._exit()`` in this process, until the block ends.

    Without it ``os._exit(0)`` at import would look like a run that passed. Forked children end as ever, and
    so does whoever kept the name beyond the block.
    """
    leave, process, guarding = os._exit, os.getpid(), True

    def refuse(status: int) -> NoReturn:
        if guarding and os.getpid() == process:
            raise Exited(f"os._exit({status}) while the file is imported")
        leave(status)

    os._exit = refuse
    try:
        yield
    finally:
        guarding = False
        os._exit = leave
