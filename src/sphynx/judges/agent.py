"""A judge asked through an agent: in a fresh sandbox, or beside a copy of the workspace it may look at."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio

from sphynx.contracts import ExecResult, GuestRequest, Harness, OnChunk, OnFrame, Sandbox
from sphynx.errors import StageError
from sphynx.journal.spoken import Spoken
from sphynx.judges.instructions import COPY
from sphynx.judges.verdict import Answer
from sphynx.suite.judges import JudgeSpec

GRACE_S = 10.0
"""A harness stops its agent at the limit; one that does not is cancelled this much later."""
COPY_MS = 120_000


async def ask(judge: JudgeSpec, harness: Harness, box: Sandbox, prompt: str) -> Answer:
    """One turn of an agent that is ready in ``box``.

    ``TimeoutError`` past the judge's limit, ``StageError`` when the agent fails.
    """
    heard = Spoken()
    with anyio.fail_after(judge.timeout_ms / 1000 + GRACE_S):
        result = await harness.turn(
            box, prompt, session_id=None, timeout_ms=judge.timeout_ms, emit=heard.take
        )
    if result.status == "timed_out":
        raise TimeoutError
    if result.status == "failed":
        raise StageError(result.reason or "the agent failed", stage="judge", cause="judge")
    metadata: dict[str, Any] = {
        "harness": harness.name,
        "harnessVersion": harness.version,
        "sessionId": result.session_id,
        "model": result.observed_model,
        "tools": list(dict.fromkeys(heard.tools)),
    }
    return Answer(
        heard.text, usage=result.usage, tools="" if judge.workspace else heard.used, metadata=metadata
    )


class BesideWorkspace:
    """The agent's sandbox as a judge that looks around gets it.

    Home, temporary folder and working folder are new; the copy of the workspace stands below the working
    folder, so that what the agent left there as settings or instructions for agents is not taken as such.
    """

    def __init__(self, box: Sandbox) -> None:
        root = f"{box.tmp}/judge-{secrets.token_hex(4)}"
        self.id = box.id
        self.backend = box.backend
        self.isolation = box.isolation
        self.workspace = f"{root}/work"
        self.home = f"{root}/home"
        self.tmp = f"{root}/tmp"
        self._root = root
        self._box = box
        install_once = getattr(box, "install_once", None)
        if install_once is not None:
            self.install_once = install_once

    async def begin(self) -> None:
        """Make the folders and the copy. ``StageError`` when it cannot be made."""
        # What the agent made unreadable is left out: it must not be able to silence its judge that way.
        copy = (
            'mkdir -p "$1/home" "$1/tmp" "$1/work" && { cp -a -- "$2" "$1/work/$3" || test -d "$1/work/$3"; }'
        )
        argv = ["/bin/sh", "-c", copy, "sh", self._root, self._box.workspace, COPY]
        done = await self._box.exec(argv, cwd=self._box.tmp, timeout_ms=COPY_MS)
        if done.exit_code != 0:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            text = "the workspace could not be copied" + (f": {said[-1]}" if said else "")
            raise StageError(text, stage="judge", cause="sandbox")

    async def exec(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout_ms: int | None = None,
        on_stdout: OnChunk | None = None,
        on_stderr: OnChunk | None = None,
        keep: int = 1_000_000,
    ) -> ExecResult:
        """Run a program with the judge's own home."""
        own = {"HOME": self.home, "TMPDIR": self.tmp}
        return await self._box.exec(
            argv,
            cwd=self.workspace if cwd is None else cwd,
            env={**own, **(env or {})},
            timeout_ms=timeout_ms,
            on_stdout=on_stdout,
            on_stderr=on_stderr,
            keep=keep,
        )

    async def guest(
        self, request: GuestRequest, *, on_frame: OnFrame, on_output: OnChunk | None = None
    ) -> ExecResult:
        """Functions of the eval file are not for judges."""
        raise StageError("a judge runs no function of the eval file", stage="judge", cause="internal")

    async def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Write one file; relative paths start at the judge's working folder."""
        await self._box.write(self._own(path), data, mode=mode)

    async def read(self, path: str, *, limit: int | None = None) -> bytes:
        """Read one file; relative paths start at the judge's working folder."""
        return await self._box.read(self._own(path), limit=limit)

    async def upload(self, source: Path, path: str) -> None:
        """Copy a folder in; relative paths start at the judge's working folder."""
        await self._box.upload(source, self._own(path))

    async def download(self, path: str, target: Path) -> None:
        """Copy a folder out; relative paths start at the judge's working folder."""
        await self._box.download(self._own(path), target)

    async def close(self) -> None:
        """Remove the copy; the sandbox itself stays open."""
        await self._box.exec(["rm", "-rf", "--", self._root], cwd=self._box.tmp, timeout_ms=COPY_MS)

    def _own(self, path: str) -> str:
        return path if path.startswith("/") else f"{self.workspace}/{path}"
