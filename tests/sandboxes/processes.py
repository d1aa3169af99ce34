"""Looking for processes that should be gone."""

from __future__ import annotations

import os
import time
from pathlib import Path

NASTY = Path(__file__).with_name("nasty_trial.sh")


def marked(mark: str) -> list[str]:
    """Command lines of living processes that mention ``mark``."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            command = (
                Path("/proc", name, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            )
        except OSError:
            continue
        if mark in command:
            found.append(f"{name} {command}")
    return found


def wait_until_gone(mark: str, seconds: float = 5.0) -> list[str]:
    """What is still there after at most ``seconds``."""
    end = time.monotonic() + seconds
    while (found := marked(mark)) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def zombies_of(parent: int) -> int:
    """Ended children nobody has collected."""
    count = 0
    for name in os.listdir("/proc"):
        try:
            fields = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
        except (OSError, NotADirectoryError):
            continue
        count += fields[0] == "Z" and int(fields[1]) == parent
    return count
