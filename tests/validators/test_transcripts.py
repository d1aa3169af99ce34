"""Transcript checks in real trials."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval_project import Project
from sphynx.validators import no_transcript_contains, transcript_contains

pytestmark = pytest.mark.anyio
EVENTS = [
    {"_tag": "Command", "command": "git push --force", "exitCode": 0, "output": "Everything UP-TO-DATE"},
    {"_tag": "ToolCall", "callId": "1", "name": "web_search", "status": "completed", "input": "weather"},
    {"_tag": "FileChange", "paths": ["src/app.py"]},
    {"_tag": "Message", "role": "assistant", "text": "I pushed it."},
]
SUITE = """
    from sphynx.validators import no_transcript_contains, transcript_contains
    demo = suite(id="demo", prompt="SECRET WORD", variants=[AGENT], cases=[case(id="one", validate=[
        transcript_contains("push --FORCE", "up-to-date", "web_search", "weather", "src/app.py", "pushed it"),
        transcript_contains("secret word"),
        no_transcript_contains("rm -rf", "SECRET"),
        no_transcript_contains("Force"),
    ])])
"""


async def test_all_an_agent_said_and_did_is_searched(tmp_path: Path) -> None:
    """Messages, commands, output, tools and paths, ignoring case; the prompt is not the agent's."""
    project = Project(tmp_path)
    project.python_agent("\n".join(f"print({json.dumps(json.dumps(event))})" for event in EVENTS))
    project.suite(SUITE)
    trial = await project.trial()
    assert [check["status"] for check in trial.validations] == ["passed", "failed", "passed", "failed"]
    assert trial.validations[1]["message"] == "'secret word' is not in the transcript"
    assert trial.validations[3]["message"] == "'Force' is in the transcript"
    assert trial.validations[3]["name"] == "no_transcript_contains('Force')"


async def test_no_transcript_is_an_error_and_never_a_pass() -> None:
    """Nothing was seen, so nothing is known; a check for nothing is no check."""

    class Context:
        async def turns(self) -> list[dict[str, object]]:
            return [{"events": [{"_tag": "message", "role": "user", "text": "rm -rf"}]}]

    for check in (transcript_contains("x"), no_transcript_contains("x")):
        with pytest.raises(LookupError, match="no transcript"):
            await check(Context())
    for check in (transcript_contains(), no_transcript_contains("")):
        with pytest.raises(ValueError, match="texts that are not empty"):
            await check(Context())
