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

from sphynx.testing.scripted_model import ScriptedModel, fail, say, shell, use

pytestmark = pytest.mark.agents

PACKAGES = ["node@24", "eve@0.80.1", "ai@7", "zod@4", "just-bash@3", "@ai-sdk/openai-compatible@3"]
AGENT = """import { defineAgent } from "eve";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { z } from "zod";
const stub = createOpenAICompatible({
  name: "stub", baseURL: process.env.STUB_BASE_URL!, apiKey: "sk-test", includeUsage: true });
export default defineAgent({
  model: stub(process.env.SPHYNX_MODEL ?? "m"), modelContextWindowTokens: 64_000, OPTIONS });
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
    (folder / "agent/sandbox.ts").write_text(SANDBOX)
    return folder


def play(
    app: Path, model: ScriptedModel, *, options: str = "", **more: str
) -> tuple[int, list[dict[str, Any]]]:
    (app / "agent/agent.ts").write_text(AGENT.replace("OPTIONS", options))
    env = {
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
    program = [sys.executable, "-c", "from sphynx.runner.eve.command import run; run()"]
    done = subprocess.run(program, env=env, cwd=app, capture_output=True, text=True, timeout=180)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_a_session_and_its_next_turn(app: Path) -> None:
    """A tool call with its exit code, usage per model call, the answer; and the session goes on in a new process."""
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
    from sphynx.testing.scripted_model import call

    (app / "agent/tools").mkdir(exist_ok=True)
    (app / "agent/tools/danger.ts").write_text(APPROVAL)
    try:
        with ScriptedModel({"sk-test": [use(call("danger", {"x": "1"})), say("never")]}) as model:
            code, lines = play(app, model)
    finally:
        (app / "agent/tools/danger.ts").unlink()
    assert (code, lines[-1]["reason"][:27]) == (3, "parked: tool-approval on da")


def test_an_output_schema(app: Path) -> None:
    """The agent's schema is sent with the prompt, and the structured result is the answer."""
    from sphynx.testing.scripted_model import call

    with ScriptedModel({"sk-test": [use(call("eve__reply", {"answer": "x"}))]}) as model:
        code, lines = play(app, model, options="outputSchema: z.object({ answer: z.string() })")
    assert code == 0
    assert [line["text"] for line in lines if line["_tag"] == "Message"] == ['{"answer":"x"}']
