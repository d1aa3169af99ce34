"""Runs a packed bundle where only the hosted protocol is spoken. It travels with it: standard library only.

It reads what the service left (files named by environment variables, call logs in the workspace), runs one
op with ``sphynx.guest``, and writes the protocol's lines to the real stdout. Checks answer with
``SPHYNX_VALIDATION=`` records and end with ``SPHYNX_VALIDATOR_RESULT=``; ``prepare`` answers with
``SPHYNX_PREPARE_RESULT=``, or with a reason on stderr and a status other than 0.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from typing import Any

RECORD = "SPHYNX_VALIDATION="
RESULT = "SPHYNX_VALIDATOR_RESULT="
PREPARED = "SPHYNX_PREPARE_RESULT="


class Refused(Exception):
    """Why nothing can be run, in one line."""


def main(folder: str) -> None:
    """Run the request that was unpacked into ``folder`` and end this process with its status."""
    from sphynx.errors import SphynxError
    from sphynx.guest.bundle import load
    from sphynx.guest.program import run_op

    with open(os.path.join(folder, "request.json"), encoding="utf-8") as source:
        request = json.load(source)
    answer = Answer(request["op"])
    try:
        _install(folder)
        payload = _payload(request)
        with _apart():
            loaded = load(folder)
        place = {"workspace": os.getcwd(), "home": os.path.expanduser("~")}
        code = run_op(loaded, {**request, **place, "payload": payload}, answer.take)
    except SphynxError as error:
        answer.failure = f"{error.message} ({error.hint})" if error.hint else error.message
        code = 1
    except Refused as error:
        answer.failure = str(error)
        code = 1
    os._exit(answer.finish(code))


class Answer:
    """Turns the guest's frames into the protocol's lines on a stdout that nothing else can reach."""

    def __init__(self, op: str) -> None:
        self.op = op
        self.failure = ""
        self.result: dict[str, Any] | None = None
        self.stdout = os.dup(1)
        os.set_inheritable(self.stdout, False)
        self.stderr = os.dup(2)
        os.set_inheritable(self.stderr, False)
        if op == "checks":
            # A file, so that a process a check leaves behind holds no pipe of the service's open.
            with tempfile.TemporaryFile() as target:
                os.dup2(target.fileno(), 1)
                os.dup2(target.fileno(), 2)
        else:
            os.dup2(2, 1)

    def take(self, frame: dict[str, Any]) -> None:
        """One frame of ``sphynx.guest.protocol``."""
        kind = frame["t"]
        if kind == "validation":
            self.say(RECORD, {key: value for key, value in frame["record"].items() if key != "x-sphynx"})
        elif kind == "result":
            self.result = {"passed": frame["passed"]}
            if frame.get("message"):
                self.result["message"] = frame["message"]
        elif kind == "prepared":
            self.result = frame["value"]
        elif kind == "failed":
            self.failure = frame["message"] or "it failed"

    def finish(self, code: int) -> int:
        """Write the last line and give the exit status."""
        if self.op != "checks":
            if self.failure or self.result is None:
                self.write(self.stderr, f"{self.failure or 'prepare ended without a value'}\n")
                return code or 1
            self.say(PREPARED, self.result)
            return code
        if self.failure or self.result is None:
            self.result = {"passed": False, "message": self.failure or "the checks ended without a verdict"}
            code = code or 1
        self.say(RESULT, self.result)
        return code

    def say(self, lead: str, value: Any) -> None:
        self.write(self.stdout, f"{lead}{json.dumps(value)}\n")

    def write(self, descriptor: int, text: str) -> None:
        data = text.encode("utf-8", "backslashreplace")
        while data:
            data = data[os.write(descriptor, data) :]


def _payload(request: dict[str, Any]) -> dict[str, Any]:
    api = {
        entry["name"]: entry["url"]
        for entry in _json(_read(".sphynx/api/manifest.json") or "[]", "the API list")
    }
    if request["op"] != "checks":
        return {"cached": os.environ.get("SPHYNX_CACHE_RESTORED") == "1", "api": api}
    return {
        "answer": _named("SPHYNX_ANSWER_FILE"),
        "transcript": _named("SPHYNX_TRANSCRIPT_FILE"),
        "turns": _json(_named("SPHYNX_TURNS_FILE") or "[]", "the turns"),
        "prepared": _json(os.environ.get("SPHYNX_PREPARE_VALUE") or "{}", "what prepare returned"),
        "api": api,
        "calls": {
            "cli": _lines(".sphynx/cli-calls.jsonl"),
            "mcp": _lines(".sphynx/mcp-calls.jsonl"),
            "api": _lines(".sphynx/api/calls.jsonl"),
        },
        "capture": request["capture"],
    }


def _named(variable: str) -> str:
    path = os.environ.get(variable)
    return _read(path) if path else ""


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as source:
            return source.read()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}") from None


def _lines(path: str) -> list[Any]:
    return [_json(line, path) for line in _read(path).strip().splitlines()]


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise Refused(f"{what} cannot be read: {error}") from None


@contextmanager
def _apart() -> Iterator[None]:
    """An empty folder and a minimal environment while the eval file is imported."""
    from sphynx.guest.bundle import minimal_environment

    environ, before = dict(os.environ), os.getcwd()

    with tempfile.TemporaryDirectory(prefix="sphynx-import-") as empty:
        os.chdir(empty)
        os.environ.clear()
        os.environ.update(minimal_environment(environ, empty))
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(environ)
            os.chdir(before)


def _install(folder: str) -> None:
    """Install the pinned requirements that are not there, with uv or pip, into the bundle's own folder."""
    with open(os.path.join(folder, "bundle.json"), encoding="utf-8") as source:
        wanted = [line for line in json.load(source)["requirements"] if not _there(line)]
    if not wanted:
        return
    target = os.path.join(folder, "site")
    uv = shutil.which("uv")
    if uv:
        command = [uv, "pip", "install", "--python", sys.executable]
    else:
        command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
    done = subprocess.run(
        [*command, "--quiet", "--target", target, *wanted],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines()]
        said = [line for line in lines if line and not line.startswith("hint:")] or ["no reason given"]
        raise Refused(f"cannot install {' '.join(wanted)}: {said[-1]}")
    sys.path.append(target)


def _there(line: str) -> bool:
    name, _, version = line.partition("==")
    try:
        return metadata.version(name) == version
    except metadata.PackageNotFoundError:
        return False
