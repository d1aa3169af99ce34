"""The real ``eve dev`` on the scripted model. Installs Node 24 and eve from npm."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sphynx.runner import create_emitter
from sphynx.runner.eve import run_eve, serve_eve
from sphynx.testing.scripted_model import ScriptedModel, call, fail, say, shell, use

pytestmark = pytest.mark.agents

PACKAGES = ["node@24", "eve@0.80.1", "ai@7", "zod@4", "just-bash@3", "@ai-sdk/openai-compatible@3"]
AGENT = """import { defineAgent } from "eve";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
const stub = createOpenAICompatible({
  name: "stub", baseURL: process.env.STUB_BASE_URL!, apiKey: "sk-test", includeUsage: true });
export default defineAgent({
  model: stub(process.env.SPHYNX_MODEL ?? "m"), modelContextWindowTokens: 64_000 });
"""
SANDBOX = """import { defineSandbox } from "eve/sandbox";
import { JustBashSandbox } from "eve/sandbox/just-bash";
export const environment = JustBashSandbox.environment();
export default defineSandbox(() => environment.open());
"""
APPROVAL = """import { defineTool } from "eve/tools";
import { always } from "eve/tools/approval";
import { z } from "zod";
export default defineTool({ description: "Danger", inputSchema: z.object({ x: z.string() }),
  approval: always(), execute: () => "done" });
"""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An eve agent with its packages installed."""
    npm = shutil.which("npm")
    assert npm is not None, "npm is needed"
    folder = tmp_path_factory.mktemp("eve")
    manifest = {"private": True, "type": "module", "engines": {"node": "24.x"}}
    (folder / "package.json").write_text(json.dumps(manifest))
    subprocess.run(
        [npm, "install", "--no-audit", "--no-fund", *PACKAGES], cwd=folder, check=True, capture_output=True
    )
    (folder / "agent").mkdir()
    (folder / "agent/instructions.md").write_text("You are a tester.\n")
    (folder / "agent/agent.ts").write_text(AGENT)
    (folder / "agent/sandbox.ts").write_text(SANDBOX)
    return folder


def environment(app: Path, model: ScriptedModel, **more: str) -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{app}/node_modules/node/bin{os.pathsep}{os.environ['PATH']}",
        "STUB_BASE_URL": model.openai_url,
        "SPHYNX_PROMPT": "Create hello.txt",
        "SPHYNX_MODEL": "stub-model",
        "SPHYNX_WORKSPACE": str(app),
        "SPHYNX_HOME": str(app),
        "SPHYNX_TRACE_LOG": str(app / "trace"),
        **more,
    }


def play(app: Path, model: ScriptedModel, **more: str) -> tuple[int, list[dict[str, Any]]]:
    env = environment(app, model, **more)
    program = [sys.executable, "-c", "from sphynx.runner.eve.command import run; run()"]
    done = subprocess.run(program, env=env, cwd=app, capture_output=True, text=True, timeout=180)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_a_session_and_its_next_turn(app: Path) -> None:
    """A tool call, usage per model call, the answer; and the session goes on in a new process."""
    steps = [use(shell("echo hi > hello.txt; cat hello.txt; exit 3")), say("done"), say("and more")]
    with ScriptedModel({"sk-test": steps}) as model:
        code, lines = play(app, model)
        assert (code, [line["_tag"] for line in lines]) == (
            0,
            ["Started", "ToolCall", "Usage", "Usage", "Message", "Finished"],
        )
        assert (lines[1]["name"], json.loads(lines[1]["output"])["exitCode"]) == ("bash", 3)
        assert (lines[4]["text"], lines[5]["reason"]) == ("done", "completed")
        code, again = play(app, model, SPHYNX_SESSION_ID=lines[0]["sessionId"], SPHYNX_PROMPT="Go on")
    assert code == 0
    assert [line["text"] for line in again if line["_tag"] == "Message"] == ["and more"]


def test_a_refused_key(app: Path) -> None:
    """The provider's own words are the reason, and the program exits 1."""
    with ScriptedModel({"sk-test": [fail(401, "key refused by the stub")]}) as model:
        code, lines = play(app, model)
    assert (code, lines[-1]["_tag"]) == (1, "Finished")
    assert "key refused by the stub" in lines[-1]["reason"]


def test_a_tool_that_wants_approval(app: Path) -> None:
    """Nobody is there to approve: the session is parked and the program exits 3."""
    (app / "agent/tools").mkdir(exist_ok=True)
    (app / "agent/tools/danger.ts").write_text(APPROVAL)
    try:
        with ScriptedModel({"sk-test": [use(call("danger", {"x": "1"})), say("never")]}) as model:
            code, lines = play(app, model)
    finally:
        (app / "agent/tools/danger.ts").unlink()
    assert (code, lines[-1]["reason"][:27]) == (3, "parked: tool-approval on da")


@pytest.mark.anyio
async def test_a_structured_answer(app: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a schema the structured result is the answer, as JSON."""
    raw: list[str] = []
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
    with ScriptedModel({"sk-test": [use(call("eve__reply", {"answer": "x"}))]}) as model:
        for name, value in environment(app, model).items():
            monkeypatch.setenv(name, value)
        async with await serve_eve(cwd=app) as server:
            outcome = await run_eve(
                emitter=create_emitter(write=raw.append), prompt="p", url=server.url, output_schema=schema
            )
    assert outcome.status == "completed"
    assert [line["text"] for line in map(json.loads, raw) if line["_tag"] == "Message"] == ['{"answer":"x"}']
