"""Agents that would repeat a failed request for minutes are stopped, with the model's own words."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from harnesses.stand_ins import archive_on_path
from sphynx.contracts import HarnessSetup, Sandbox, SandboxSpec
from sphynx.harnesses import opencode, qwen
from sphynx.harnesses.cli_agent import MOST_FAILURES, CliAgent, Launch
from sphynx.harnesses.installing import Recipe, TarballRecipe
from sphynx.harnesses.transcripts.opencode import OpenCodeReader
from sphynx.harnesses.transcripts.reading import Reader
from sphynx.sandboxes.local.backend import LocalBackend
from sphynx.sandboxes.local_root import LocalRoot

FAILED = (
    'timestamp=2026-12-01T01:58:42.270Z level=ERROR run=9f message="stream error" providerID=anthropic '
    'modelID=m session.id=ses_1 small=false agent=build mode=primary error.error="AI_APICallError: slow down"'
)
TEXT = json.dumps({"type": "text", "part": {"text": "hm"}})
DONE = json.dumps({"type": "step_finish", "part": {"reason": "stop"}})
TOLD = """2026-12-01T02:00:49.151Z [ERROR] [OPENAI_ERROR] OpenAI API Error: 429 slow {down} {
2026-12-01T02:00:49.152Z [WARN] [RETRY] Attempt 3 failed with status 429. Retrying with backoff in 6s... {
"""


class Busy(opencode.OpenCodeHarness):
    """OpenCode's way of telling, with a stand-in for its program."""

    name: ClassVar[str] = "busy"
    recipe: ClassVar[Recipe] = TarballRecipe("busy", "https://acme.test/$version.tar.gz", "busy")

    async def configure(self, box: Sandbox, setup: HarnessSetup) -> None: ...

    def launch(self, box: Sandbox, setup: HarnessSetup, session_id: str | None) -> Launch:
        return Launch([])

    def reader(self, setup: HarnessSetup, session_id: str | None) -> Reader:
        return OpenCodeReader()


@pytest.fixture
async def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Any]:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    backend = LocalBackend(LocalRoot(tmp_path / "local"), env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    yield await backend.open(SandboxSpec(trial_id="t"))
    await backend.aclose()


async def run(box: Any, folder: Path, script: str) -> Any:
    archive_on_path(folder, "busy", f"#!/bin/sh\n{script}\n")
    harness: CliAgent = Busy()
    given = HarnessSetup(model="a/m", system_prompt=None, run=None, env={}, timeout_ms=60_000)
    await harness.prepare(box, given)
    return await harness.turn(box, "x", session_id=None, timeout_ms=60_000, emit=lambda event: None)


@pytest.mark.anyio
async def test_a_request_that_failed_three_times_ends_the_turn(box: Any, tmp_path: Path) -> None:
    begun = time.monotonic()
    printed = "\n".join([f"echo '{FAILED}' >&2"] * MOST_FAILURES)
    result = await run(box, tmp_path, f"{printed}\necho $$ > pid; sleep 300")
    assert (result.status, result.reason, result.cause) == ("failed", "slow down", "model")
    assert time.monotonic() - begun < 30
    pid = (await box.read("pid")).decode().strip()
    assert not Path("/proc", pid).exists(), "the program is gone"


@pytest.mark.anyio
async def test_failures_that_the_agent_got_over_do_not_count(box: Any, tmp_path: Path) -> None:
    """Each answer begins the count anew; a failed title is none of the agent's requests."""
    once = f"echo '{FAILED}' >&2; echo '{FAILED.replace('small=false', 'small=true')}' >&2; sleep 0.6"
    script = "\n".join([f"{once}\necho '{TEXT}'"] * MOST_FAILURES + [f"echo '{DONE}'"])
    result = await run(box, tmp_path, script)
    assert (result.status, result.reason) == ("finished", "")


@pytest.mark.anyio
async def test_qwens_log_tells_how_often_a_request_failed(box: Any) -> None:
    agent, log = qwen.QwenHarness(), f"{box.home}/.qwen/debug/latest"
    assert await agent.gave_up(box, "") is None
    await box.write(log, TOLD.replace("Attempt 3", "Attempt 2").encode())
    assert await agent.gave_up(box, "") is None
    await box.write(log, b"[DEBUG] [CHAT] Attempt 3 failed\n" + TOLD.encode())
    assert await agent.gave_up(box, "") == "429 slow {down}"


def test_words_are_told_without_the_name_of_an_error() -> None:
    assert opencode.words_of('AI_APICallError: say \\"hi\\"\\nthere') == 'say "hi" there'
    assert opencode.words_of("Error: Error: no") == "no"
    assert qwen.words_of("") is None
