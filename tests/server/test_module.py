"""The wire's module under real node, beside the server's direct way: the same verdicts, field by field."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sphynx.compiler import compile_eval
from sphynx.contracts import SandboxSpec
from sphynx.engine import checks
from sphynx.sandboxes.local import LocalBackend
from sphynx.sandboxes.local_root import LocalRoot
from sphynx.schema.wire import CodeValidator
from sphynx.server.definitions import definitions_of
from sphynx.server.execution.rebuilt import bundle_digest, rebuild, write_bundle

pytestmark = [pytest.mark.server, pytest.mark.anyio]

CHECKS = """
import os, signal, subprocess, sys
from sphynx import Verdict, case, suite, variant

async def passes(ctx):
    print("a line of", {"its": "own"})
    sys.stderr.write("to stderr\\n")
    os.write(1, b"past the console\\n")
    assert await ctx.answer() == "hi" and len(await ctx.turns()) == 1
    await ctx.exec("echo out; echo err >&2; exit 3")
    return (await ctx.read_text("out.txt")).strip() == "done" and not await ctx.exists("other.txt")

def fails(ctx):
    return Verdict(False, "no good", score=0.25)

def raises(ctx):
    raise RuntimeError("boom")

def wrong_value(ctx):
    return "yes"

def dies(ctx):
    os.kill(os.getpid(), signal.SIGKILL)

def leaves_a_daemon(ctx):
    subprocess.Popen(["sleep", "30"], start_new_session=True)
    return True

module = suite(
    id="module", prompt="p", variants=[variant(harness="codex", model="m")],
    cases=[
        *[case(id=fn.__name__.replace("_", "-"), validate=[fn])
          for fn in (passes, fails, raises, wrong_value, dies, leaves_a_daemon)],
        case(id="all", validate=[passes, fails, raises]),
    ],
)
"""
NAMES = ("passes", "fails", "raises", "wrong-value", "leaves-a-daemon", "all")
TURNS = [{"index": 0, "userText": "p", "agentText": "hi", "commandCount": 0, "events": []}]
MEASURED = frozenset({"startedAt", "durationMs", "at"})


@dataclass
class Prepared:
    """A case both ways: the module as the wire has it, and what the server's workers make of it."""

    source: str
    stored: Mapping[str, Any]
    packed: bytes


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Prepared]:
    root = tmp_path_factory.mktemp("module")
    (root / "module_eval.py").write_text(CHECKS)
    (request,) = compile_eval(root / "module_eval.py")
    kept = definitions_of(request, runs_here=True)
    out = {}
    for case, definition in zip(request.cases, kept.cases, strict=True):
        assert isinstance(case.validator, CodeValidator)
        digest = bundle_digest(definition.stored)
        assert digest
        out[case.id] = Prepared(case.validator.source, definition.stored, kept.bundles[digest])
    return out


@dataclass
class Node:
    """How node ended on a module, and what it wrote on the wire."""

    code: int
    records: list[dict[str, Any]]
    result: dict[str, Any]
    seconds: float


def in_node(prepared: Prepared, folder: Path, *, path: str = "") -> Node:
    """Run the module as the hosted service does: in the workspace, evidence in files."""
    workspace = folder / "workspace"
    workspace.mkdir()
    (workspace / "out.txt").write_text("done\n")
    (folder / "module.mjs").write_text(prepared.source)
    env = {"PATH": path or f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin", "HOME": str(folder)}
    for name, text in (("answer", "hi"), ("transcript", "hi"), ("turns", json.dumps(TURNS))):
        (folder / name).write_text(text)
        env[f"SPHYNX_{name.upper()}_FILE"] = str(folder / name)
    node = shutil.which("node")
    assert node, "these tests need node"
    begun = time.monotonic()
    done = subprocess.run(
        [node, str(folder / "module.mjs")], cwd=workspace, env=env, capture_output=True, text=True, timeout=60
    )
    lines = done.stdout.splitlines()
    prefix = "SPHYNX_VALIDATION="
    latest = {}
    for line in lines:
        if line.startswith(prefix):
            record = json.loads(line.removeprefix(prefix))
            latest[record["id"]] = record
    result = json.loads(lines[-1].removeprefix("SPHYNX_VALIDATOR_RESULT="))
    return Node(done.returncode, list(latest.values()), result, time.monotonic() - begun)


async def direct(prepared: Prepared, folder: Path) -> tuple[checks.Scored, float]:
    """The server's way: the definition rebuilt, its checks run in a sandbox by the engine."""
    bundle = write_bundle(prepared.packed, "d", folder / "bundles")
    variant = {"harness": "codex", "model": "m", "version": "", "options": {}}
    rebuilt = rebuild(
        prepared.stored, definition_hash="h", of_variant=variant, profile=None, bundle_ref=bundle
    )
    backend = LocalBackend(LocalRoot(folder / "root"), env={"PATH": "/usr/local/bin:/usr/bin:/bin"})
    payload = {"answer": "hi", "transcript": "hi", "turns": TURNS, "prepared": {}, "api": {}, "calls": {}}
    case = rebuilt.case.case
    try:
        box = await backend.open(SandboxSpec("one", bundle=bundle))
        await box.write("out.txt", b"done\n")
        begun = time.monotonic()
        scored = await checks.run_checks(
            box, case.checks, suite=rebuilt.suite.index, case=case.id, payload={**payload, "capture": True},
            env={},
        )  # fmt: skip
        took = time.monotonic() - begun
        await box.close()
    finally:
        await backend.aclose()
    return scored, took


def fields(value: Any) -> Iterator[tuple[str, Any]]:
    """Every field of a record by its path, but for measured times and the lines of tracebacks."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in MEASURED:
                yield from ((f"{name}.{path}", one) for path, one in fields(inner))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from ((f"{number}.{path}", one) for path, one in fields(inner))
    elif isinstance(value, str) and "Traceback" in value:
        yield "", value.strip().splitlines()[-1]
    else:
        yield "", value


@pytest.mark.parametrize("name", NAMES)
async def test_records_and_verdict_are_the_same_both_ways(
    name: str, cases: dict[str, Prepared], tmp_path: Path
) -> None:
    wire = in_node(cases[name], tmp_path)
    scored, took = await direct(cases[name], tmp_path)
    here = [{key: value for key, value in record.items() if key != "x-sphynx"} for record in scored.records]
    assert len(wire.records) == len(here)
    for ours, theirs in zip(here, wire.records, strict=True):
        told, wanted = dict(fields(ours)), dict(fields(theirs))
        assert {key for key in told.keys() | wanted.keys() if told.get(key) != wanted.get(key)} == set()
    broken = any(record["status"] == "error" for record in here)
    assert wire.result["passed"] is (scored.status == "passed")
    assert wire.code == (1 if broken else 0)
    assert scored.status == ("void" if broken else "passed" if wire.result["passed"] else "failed")
    assert max(wire.seconds, took) < 15, "what a check leaves behind holds nobody"


async def test_a_killed_check_program_is_no_verdict_either_way(
    cases: dict[str, Prepared], tmp_path: Path
) -> None:
    """The wire's host sees an unfinished record and a failing exit, the server an error: both void."""
    wire = in_node(cases["dies"], tmp_path)
    assert (wire.code, wire.result) == (1, {"passed": False, "message": "Python was ended by SIGKILL"})
    assert [record["status"] for record in wire.records] == ["running"]
    scored, _ = await direct(cases["dies"], tmp_path)
    assert (scored.status, scored.records[0]["status"]) == ("void", "error")
    assert "signal 9 ended its program" in str(scored.reason)


async def test_the_module_needs_python_on_the_path_and_the_server_does_not(
    cases: dict[str, Prepared], tmp_path: Path
) -> None:
    wire = in_node(cases["passes"], tmp_path, path="/nowhere")
    message = "python3 (3.11 or newer) could not be started: ENOENT"
    assert (wire.code, wire.result, wire.records) == (1, {"passed": False, "message": message}, [])
    scored, _ = await direct(cases["passes"], tmp_path)
    assert scored.status == "passed"
