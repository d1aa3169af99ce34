"""Functions of an eval file in a container: they get what they need and leave nothing behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sandboxes.bundles import bundle
from sphynx.contracts import BundleRef, GuestRequest, SandboxSpec
from sphynx.guest.recorder import SCRIPT, read_trace
from sphynx.sandboxes.docker import DockerBackend

pytestmark = [pytest.mark.anyio, pytest.mark.docker]

SOURCE = """
import os, sys

async def prepare(ctx):
    done = await ctx.exec("bash", ["-c", "echo made > made.txt; id -un"])
    print("preparing", flush=True)
    return {"who": done.stdout.strip(), "secret": os.environ.get("OF_CALL", "")}

async def made(ctx):
    return "made" in await ctx.read_text("made.txt")

def never(ctx):
    assert ctx.answer() == "other", "the answer differs"

checks = [made, never]

def solution(ctx):
    with open("solved.txt", "w") as file:
        file.write("solved")
"""


def request(op: Any, payload: dict[str, Any] | None = None, **env: str) -> GuestRequest:
    return GuestRequest(op=op, suite=0, case="one", payload=payload or {}, env=env, timeout_ms=60_000)


async def run(backend: DockerBackend, ref: BundleRef, *requests: GuestRequest) -> list[list[dict[str, Any]]]:
    box = await backend.open(SandboxSpec("functions", bundle=ref))
    said: list[list[dict[str, Any]]] = []
    try:
        for one in requests:
            frames: list[dict[str, Any]] = []
            await box.guest(one, on_frame=frames.append)
            said.append(frames)
        left = await box.exec(["bash", "-c", "ls -A /tmp $TMPDIR; cat made.txt solved.txt 2>/dev/null"])
        said.append([{"left": left.stdout.decode()}])
        watcher = await box.exec(["bash", "-c", "grep -la odd_eval /proc/[0-9]*/cmdline; ls /trial/bundles"])
        assert b"odd" not in watcher.stdout
    finally:
        await box.close()
    return said


async def test_prepare_solution_and_checks(backend: DockerBackend, tmp_path: Path) -> None:
    """Each op answers on its channel; the bundle is gone afterwards."""
    ref = bundle(tmp_path / "bundle", SOURCE)
    prepared, solved, checked, left = await run(
        backend,
        ref,
        request("prepare", OF_CALL="value"),
        request("solution"),
        request("checks", {"answer": "this"}),
    )
    assert prepared[-2:] == [{"t": "prepared", "value": {"who": "agent", "secret": "value"}}, {"t": "done"}]
    assert solved[-1] == {"t": "done"}
    records = {frame["record"]["id"]: frame["record"] for frame in checked if frame["t"] == "validation"}
    assert sorted(record["status"] for record in records.values()) == ["failed", "passed"]
    assert checked[-1] == {"t": "done"}
    assert left == [{"left": "/tmp:\n\n/trial/tmp:\nmade\nsolved"}]


async def test_packages_that_cannot_be_installed(backend: DockerBackend, tmp_path: Path) -> None:
    """A bundle that needs a package, in a container without network, fails with the package's name."""
    ref = bundle(tmp_path / "bundle", SOURCE)
    described = json.loads((ref.path / "bundle.json").read_text())
    described["requirements"] = ["surely-not-there-99==1.0"]
    (ref.path / "bundle.json").write_text(json.dumps(described))
    frames, _ = await run(backend, ref, request("prepare"))
    assert frames[-1] == {"t": "done"}
    assert "cannot install surely-not-there-99==1.0" in frames[0]["message"]


async def test_a_broken_import(backend: DockerBackend, tmp_path: Path) -> None:
    """A bundle that cannot be imported says which line."""
    frames, _ = await run(
        backend, bundle(tmp_path / "bundle", "import surely_not_there\n"), request("prepare")
    )
    assert frames[0]["t"] == "failed"
    assert "evals/odd_eval.py:2" in frames[0]["message"]


async def test_the_recorder_works_inside(backend: DockerBackend) -> None:
    """The shell recorder of agents writes what bash ran."""
    box = await backend.open(SandboxSpec("recorder"))
    await box.write(f"{box.home}/recorder.sh", SCRIPT.encode())
    env = {"BASH_ENV": f"{box.home}/recorder.sh", "SPHYNX_TRACE_LOG": f"{box.home}/trace/log"}
    await box.exec(["bash", "-c", "echo one; ls /nowhere; true 'two words'"], env=env)
    trace = read_trace((await box.read(f"{box.home}/trace/log")).decode())
    assert [command for _, command in trace] == ["echo one", "ls /nowhere", "true 'two words'"]
    await box.close()
