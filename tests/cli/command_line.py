"""Runs the real ``sphynx`` command in a project, as a user would."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval_project import Project

SPHYNX = str(Path(sys.executable).parent / "sphynx")


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def errors(self) -> list[str]:
        return [line for line in self.err.splitlines() if line.startswith(("error:", "  hint:"))]


class CommandLine(Project):
    """A project with a steady agent and one case, and the command to run in it."""

    def __init__(self, tmp_path: Path) -> None:
        super().__init__(tmp_path)
        self.agent("printf hello > hello.txt")

    def one(self, *, check: str = 'test "$(cat hello.txt)" = hello', more: str = "", suite: str = "") -> None:
        """``demo_eval.py`` with the suite ``smoke`` and the case ``writes-hello``."""
        self.suite(
            f"""
            smoke = suite(id="smoke", prompt="Write hello", variants=[variant(**AGENT)], {suite}
                cases=[case(id="writes-hello", validate=command({check!r}), {more})])
            """
        )

    def environment(self, **env: str) -> dict[str, str]:
        return {**self.env, "LANG": "C.UTF-8", "PYTHONIOENCODING": "utf-8", **env}

    def sphynx(self, *args: str, cwd: Path | None = None, limit: float = 60, **env: str) -> Done:
        """Run to the end without a terminal."""
        done = subprocess.run(
            [SPHYNX, *args], cwd=cwd or self.root, env=self.environment(**env), capture_output=True,
            timeout=limit, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, *args: str) -> subprocess.Popen[str]:
        """Start and leave running, in a session of its own."""
        return subprocess.Popen(
            [SPHYNX, *args], cwd=self.root, env=self.environment(), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in background jobs
        )  # fmt: skip

    def terminal(self, *args: str, size: tuple[int, int] = (40, 100), **env: str) -> tuple[int, str]:
        """Run inside a terminal; the exit code and everything that was written to it."""
        return in_terminal(
            [SPHYNX, *args], self.root, self.environment(**{"TERM": "xterm-256color", **env}), size
        )

    @property
    def batches(self) -> list[Path]:
        return sorted((self.root / ".sphynx" / "batches").glob("*/batch.json"))

    @property
    def batch_id(self) -> str:
        (path,) = self.batches
        return path.parent.name

    def record(self) -> dict[str, Any]:
        return json.loads(self.batches[-1].read_text())


def in_terminal(
    command: Sequence[str], cwd: Path, env: dict[str, str], size: tuple[int, int]
) -> tuple[int, str]:
    """Run a command with a pseudo-terminal as stdin, stdout and stderr."""
    import fcntl
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    child = subprocess.Popen(
        command, cwd=cwd, env=env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    )
    os.close(slave)
    seen = bytearray()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if master in select.select([master], [], [], 0.1)[0]:
            try:
                data = os.read(master, 65536)
            except OSError:
                break
            if not data:
                break
            seen += data
        elif child.poll() is not None:
            break
    code = child.wait(10)
    os.close(master)
    return code, seen.decode("utf-8", "replace").replace("\r\n", "\n")


def wait_for(path: Path, limit: float = 20) -> None:
    """Wait until a file is there."""
    deadline = time.monotonic() + limit
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.02)


def plain(text: str) -> str:
    """Terminal output without its control sequences."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
