"""The built-in harnesses and readers keep every promise third parties are asked for."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from harnesses.transcripts.recordings import DATA, READERS, lines_of
from sphynx.contracts import ExecResult, HarnessSetup, Sandbox, TurnResult
from sphynx.harnesses.claude import ClaudeHarness
from sphynx.harnesses.codex import CodexHarness
from sphynx.harnesses.command import CommandHarness
from sphynx.harnesses.conformance import (
    HARNESS_CHECKS,
    READER_CHECKS,
    HarnessCheck,
    ReaderCheck,
    Recording,
    Subject,
    run,
)
from sphynx.harnesses.nop import NopHarness
from sphynx.harnesses.oracle import OracleHarness
from sphynx.sandboxes.local import LocalBackend
from sphynx.sandboxes.local_root import LocalRoot, install_key

pytestmark = pytest.mark.anyio
each_check = pytest.mark.parametrize("check", HARNESS_CHECKS, ids=lambda check: check.name)

RUN = """
case "$SPHYNX_PROMPT" in *SLOW*) exec sleep 60;; esac
echo '{"_tag":"Started","sessionId":"s-1","model":"m"}'
echo '{"_tag":"ToolCall","callId":"1","name":"Read","status":"completed","input":"{}"}'
echo '{"_tag":"Usage","inputTokens":1,"outputTokens":1}'
"""
STAND_IN = """#!/bin/sh
prompt=$(cat)
case "$prompt" in *SLOW*) exec sleep 60;; esac
cat {recording}
"""


async def _solved() -> ExecResult:
    return ExecResult(0, b"", b"", 0, 0, False, 1.0)


SUBJECTS = {
    "command": Subject(CommandHarness, "say hello", {"run": RUN}, slow_prompt="SLOW"),
    "nop": Subject(NopHarness, "do nothing"),
    "oracle": Subject(OracleHarness, "solve it", {"solution": _solved}),
    "codex": Subject(
        CodexHarness, "work", {"keys": {"OPENAI_API_KEY": "sk-conformance-1234567890"}}, slow_prompt="SLOW"
    ),
    "claude": Subject(
        ClaudeHarness,
        "work",
        {"keys": {"ANTHROPIC_API_KEY": "sk-conformance-1234567890"}},
        slow_prompt="SLOW",
    ),
}


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[LocalBackend]:
    root = LocalRoot(tmp_path / "root")
    for harness in (CodexHarness, ClaudeHarness):
        program = root.path / "harness" / install_key(f"{harness.name}@{harness.version}") / "run"
        program.parent.mkdir(parents=True)
        program.write_text(STAND_IN.format(recording=DATA / harness.name / "suite.jsonl"))
        program.chmod(0o755)
    backend = LocalBackend(root, env={"PATH": os.environ["PATH"]})
    yield backend
    await backend.aclose()


@pytest.mark.parametrize("name", SUBJECTS)
@each_check
async def test_harness(check: HarnessCheck, name: str, backend: LocalBackend) -> None:
    await run(check, SUBJECTS[name], backend)


@pytest.mark.parametrize("agent", READERS)
@pytest.mark.parametrize("check", READER_CHECKS, ids=lambda check: check.name)
def test_reader(check: ReaderCheck, agent: str) -> None:
    name = "suite" if (DATA / agent / "suite.jsonl").exists() else "all"
    lines = lines_of(agent, name)
    reasoning = "let me think" if b"let me think" in b"".join(lines) else None
    check.body(Recording(READERS[agent], lines, reasoning))


def test_every_check_says_its_promise() -> None:
    for checks in (HARNESS_CHECKS, READER_CHECKS):
        assert len(checks) >= 12
        assert all(check.promise for check in checks)
        assert len({check.name for check in checks}) == len(checks)


class Careless(NopHarness):
    """Breaks promises the way a first attempt would."""

    async def turn(
        self, box: Sandbox, prompt: str, *, session_id: Any, timeout_ms: int, emit: Any
    ) -> TurnResult:
        await box.exec(["true", "--key", "sk-of-the-user"])
        return TurnResult("failed", reason="no", cause="weather")


@pytest.mark.parametrize(
    "broken", ["a_turn_ends_with_a_result", "keys_are_in_no_arguments", "causes_are_known"]
)
async def test_a_careless_harness_is_caught(broken: str, backend: LocalBackend) -> None:
    check = next(check for check in HARNESS_CHECKS if check.name == broken)
    with pytest.raises(AssertionError):
        await run(check, Subject(Careless, "x", {"keys": {"KEY": "sk-of-the-user"}}), backend)


def test_setup_fields_are_those_of_the_contract() -> None:
    assert {"model", "keys", "run", "solution"} <= set(HarnessSetup.__dataclass_fields__)
