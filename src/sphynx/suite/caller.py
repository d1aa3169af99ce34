"""Where in the user's own code a builder was called."""

from __future__ import annotations

import os
import sys


def caller() -> tuple[str, int]:
    """File (absolute) and line of the nearest frame outside this package; ``("", 0)`` when there is none."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if not str(frame.f_globals.get("__name__", "")).startswith("sphynx."):
            name = frame.f_code.co_filename
            # pathlib would cost 8 ms of every import of an eval file.
            return (name if name.startswith("<") else os.path.abspath(name)), frame.f_lineno  # noqa: PTH100
        frame = frame.f_back
    return "", 0
