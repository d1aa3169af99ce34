"""Bundles written by hand and run in real processes: a fresh interpreter, and a child of a warm one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

# The warm form: import once, fork, run the op in the child, leave by os._exit.
FORKED = """
import json, os, sys
from sphynx.guest.bundle import load
from sphynx.guest.program import run_op
from sphynx.guest.protocol import sender
folder, request, descriptor = sys.argv[1:]
loaded = load(folder)
pid = os.fork()
if pid == 0:
    code = 70
    try:
        os.set_inheritable(int(descriptor), False)
        code = run_op(loaded, json.load(open(request)), sender(int(descriptor)))
    finally:
        os._exit(code)
os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) % 256)
"""

HEAD = """\
import asyncio, os, subprocess, sys, threading, time
from sphynx import Verdict, case, named, suite, variant
"""

TAIL = """
smoke = suite(id="smoke", prompt="p", cases=[case(id="one", validate=[{checks}]{more})],
              variants=[variant(harness="nop", model="m")])
"""


class Answer:
    """What a run of the guest sent, and how it ended."""

    def __init__(self, frames: list[dict[str, Any]], exit_code: int, output: str) -> None:
        self.frames = frames
        self.exit_code = exit_code
        self.output = output

    @property
    def records(self) -> list[dict[str, Any]]:
        """The last record of every check, in order."""
        last = {f["record"]["id"]: f["record"] for f in self.frames if f["t"] == "validation"}
        return list(last.values())

    @property
    def record(self) -> dict[str, Any]:
        assert len(self.records) == 1
        return self.records[0]

    def one(self, kind: str) -> dict[str, Any]:
        """The only frame of this kind."""
        found = [frame for frame in self.frames if frame["t"] == kind]
        assert len(found) == 1, (kind, self.frames, self.output)
        return found[0]

    @property
    def done(self) -> bool:
        return bool(self.frames) and self.frames[-1] == {"t": "done"}


class Guest:
    """A bundle folder, a workspace and the means to run an op on them."""

    def __init__(self, root: Path, how: str) -> None:
        self.root = root
        self.how = how
        self.folder = root / "bundle"
        self.workspace = root / "workspace"
        self.home = root / "home"
        for folder in (self.workspace, self.home):
            folder.mkdir()

    def bundle(self, files: Mapping[str, str], *, module: str = "smoke_eval", **described: Any) -> None:
        for name, text in files.items():
            path = self.folder / "tree" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        described = {
            "format": 1,
            "entry": "smoke_eval.py",
            "module": module,
            "roots": ["."],
            "requirements": [],
            "python": "3.11",
            **described,
        }
        (self.folder / "bundle.json").write_text(json.dumps(described))

    def checks(self, source: str, *names: str, more: str = "", timeout_ms: int | None = None, **payload: Any):
        """Write an eval file whose only case has the checks ``names``, and run them all."""
        tail = TAIL.format(checks=", ".join(names), more=more and f", {more}")
        self.bundle({"smoke_eval.py": HEAD + textwrap.dedent(source) + tail})
        if timeout_ms is not None:
            limits = [{"index": i, "timeout_ms": timeout_ms} for i in range(len(names))]
            payload["checks"] = [
                {**limit, **given} for limit, given in zip(limits, payload.get("checks", [{}] * 20))
            ]
        return self.run("checks", payload)

    def function(self, op: str, source: str, name: str = "step", **payload: Any) -> Answer:
        """Write an eval file whose only case has ``prepare`` or ``solution``, and run it."""
        tail = TAIL.format(checks="lambda c: True", more=f", {op}={name}")
        self.bundle({"smoke_eval.py": HEAD + textwrap.dedent(source) + tail})
        return self.run(op, payload)

    def run(
        self,
        op: str = "checks",
        payload: Mapping[str, Any] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        suite: int = 0,
        case: str = "one",
        timeout: float = 30,
        cwd: Path | None = None,
    ) -> Answer:
        request = self.root / "request.json"
        asked = {"op": op, "suite": suite, "case": case, "payload": dict(payload or {})}
        request.write_text(json.dumps({**asked, "workspace": str(self.workspace), "home": str(self.home)}))
        read, write = os.pipe()
        command = [str(self.folder), str(request), str(write)]
        if self.how == "forked":
            command = [sys.executable, "-P", "-c", FORKED, *command]
        else:
            options = [
                part for pair in zip(("--bundle", "--request", "--result-fd"), command) for part in pair
            ]
            command = [sys.executable, "-P", "-m", "sphynx.guest", *options]
        surroundings = {"PATH": os.environ["PATH"], "HOME": str(self.home), **(env or {})}
        with open(self.root / "output.txt", "w+b") as output:
            with subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                pass_fds=[write], cwd=cwd or self.workspace, env=surroundings, start_new_session=True,
            ) as process:  # fmt: skip
                os.close(write)
                with open(read, "rb") as source:
                    data = source.read()
                try:
                    code = process.wait(timeout)
                finally:
                    process.kill()
            output.seek(0)
            said = output.read().decode("utf-8", "replace")
        frames = [json.loads(line) for line in data.splitlines()]
        return Answer(frames, code, said)


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    """A guest in the fresh form."""
    return Guest(tmp_path, "fresh")


@pytest.fixture(params=["fresh", "forked"])
def either(tmp_path: Path, request: pytest.FixtureRequest) -> Guest:
    """A guest in each of the two forms."""
    return Guest(tmp_path, request.param)
