"""Mocks as a trial has them: a process that serves them, and the programs that lead to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HEAD = """\
import asyncio, threading, time
from dataclasses import dataclass
from typing import Any, Optional, TypedDict
import msgspec
from sphynx import case, suite, variant
from sphynx.mocks import delay, fail_once
from sphynx.mocks.api import api, endpoint
from sphynx.mocks.cli import cli, command
from sphynx.mocks.mcp import resource, server, tool

class User(msgspec.Struct):
    id: str
    name: str

class Wanted(msgspec.Struct):
    id: str

"""
TAIL = """
made = suite(id="made", prompt="p", mcp={mcp}, cli={cli}, api={api},
             cases=[case(id="one", validate=lambda ctx: True, fixtures={fixtures})],
             variants=[variant(harness="nop", model="m")])
"""


class Mocks:
    """A running guest that serves mocks. ``frames`` is all it has sent so far."""

    def __init__(self, root: Path, source: str) -> None:
        self.home = root / "home"
        self.workspace = root / "workspace"
        self.frames: list[dict[str, Any]] = []
        for folder in (self.home, self.workspace, root / "bundle" / "tree"):
            folder.mkdir(parents=True, exist_ok=True)
        (root / "bundle/tree/made_eval.py").write_text(source)
        described = {"format": 1, "entry": "made_eval.py", "module": "made_eval", "roots": ["."]}
        (root / "bundle/bundle.json").write_text(
            json.dumps({**described, "requirements": [], "python": "3.11"})
        )
        request = {"op": "mocks", "suite": 0, "case": "one", "payload": {}}
        (root / "request.json").write_text(
            json.dumps({**request, "workspace": str(self.workspace), "home": str(self.home)})
        )
        read, write = os.pipe()
        options = ["--bundle", str(root / "bundle"), "--request", str(root / "request.json")]
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "sphynx.guest", *options, "--result-fd", str(write)],
            cwd=self.workspace, pass_fds=[write], stdin=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(write)
        self._reader = threading.Thread(target=self._read, args=(read,), daemon=True)
        self._reader.start()

    def _read(self, descriptor: int) -> None:
        with open(descriptor, "rb") as source:
            for line in source:
                self.frames.append(json.loads(line))

    def wait(self, there: Any, seconds: float = 20) -> None:
        end = time.monotonic() + seconds
        while not there():
            assert time.monotonic() < end, self.frames
            time.sleep(0.005)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()

    @property
    def ready(self) -> dict[str, Any]:
        return next((frame for frame in self.frames if frame["t"] == "ready"), {})

    def calls(self, kind: str) -> list[dict[str, Any]]:
        """The records so far, of calls whose answer has arrived."""
        self.mark(str(len(self.frames)))
        return [frame["record"] for frame in self.frames if frame["t"] == "call" and frame["kind"] == kind]

    def broken(self) -> list[str]:
        return [frame["broken"] for frame in self.frames if frame["t"] == "call" and frame["broken"]]

    def mark(self, text: str) -> None:
        subprocess.run([self.home / ".sphynx/mocks/mark", text], check=True)
        self.wait(lambda: {"t": "mark", "mark": text} in self.frames)

    def url(self, name: str) -> str:
        return next(api["url"] for api in self.ready["api"] if api["name"] == name)

    def mcp(self, name: str) -> str:
        """The program an MCP client starts."""
        return str(self.home / ".sphynx/mocks/mcp" / name)

    def run(self, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command line of a CLI mock."""
        return subprocess.run(
            [self.home / ".local/bin" / name, *arguments], capture_output=True, text=True, timeout=60
        )


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Starts mocks from source: ``start(source, mcp="[...]", cli="[...]", api="[...]", fixtures="{}")``."""
    running: list[Mocks] = []

    def make(source: str, *, wait: bool = True, **fields: str) -> Mocks:
        given = {"mcp": "[]", "cli": "[]", "api": "[]", "fixtures": "{}", **fields}
        text = HEAD + textwrap.dedent(source) + TAIL.format(**given)
        made = Mocks(tmp_path_factory.mktemp("mocks"), text)
        running.append(made)
        if wait:
            made.wait(lambda: made.ready or made.process.poll() is not None)
            assert made.ready, made.frames
        return made

    yield make
    for made in running:
        made.close()
