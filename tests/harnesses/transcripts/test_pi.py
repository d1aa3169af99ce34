"""What Pi prints."""

from __future__ import annotations

from typing import Any

import pytest

from harnesses.transcripts.recordings import read, recorded
from sphynx.journal.events import Usage


def _pi(stop: str, **message: Any) -> dict[str, Any]:
    return {"type": "message_end", "message": {"role": "assistant", "stopReason": stop, **message}}


class TestPi:
    @pytest.mark.parametrize(
        ("last", "code", "status", "cause", "reason"),
        [
            (_pi("stop"), 0, "success", "harness", ""),
            (_pi("length"), 0, "limit", "limit", "the answer reached the model's output limit"),
            (_pi("error", errorMessage="401 no"), 0, "failed", "model", "401 no"),
            (_pi("error"), 1, "failed", "model", "the model failed"),
            (_pi("aborted"), 0, "failed", "harness", "the agent stopped (aborted)"),
            (_pi("stop"), 1, "failed", "harness", "crash"),
        ],
    )
    def test_the_last_message_says_how_the_turn_ended(
        self, last: Any, code: int, status: str, cause: str, reason: str
    ) -> None:
        outcome = read("pi", [last], code=code, stderr="crash").outcome
        assert (outcome.status, outcome.cause, outcome.reason) == (status, cause, reason)

    def test_the_model_that_answered_is_named_with_its_provider(self) -> None:
        assert read("pi", [_pi("stop", provider="p", model="m")]).notes.model == "p/m"
        assert read("pi", [_pi("stop", model="m")]).notes.model is None

    def test_every_message_carries_its_own_tokens_and_price(self) -> None:
        spent = {"input": 6, "output": 2, "cacheRead": 4, "cacheWrite": 1, "cost": {"total": 0.25}}
        content = [{"type": "text", "text": "hi"}]
        turn = read(
            "pi", [_pi("stop", usage=spent, content=content), _pi("stop", usage=spent, content="odd")]
        )
        assert turn.notes.usage == Usage(12, 4, 8, 2, 26, 0.5)
        (message,) = turn.events
        assert message.usage.cost_usd == 0.25  # type: ignore[union-attr]

    @pytest.mark.parametrize(
        ("result", "failed", "expected"),
        [
            ({"structuredContent": {"output": "a\n", "exit_code": 3}}, True, (3, "a\n")),
            ({"structuredContent": {"output": None, "exit_code": None}}, True, (None, "")),
            ({"content": [{"type": "text", "text": "a\n\n\nCommand exited with code 7"}]}, True, (7, "a")),
            ({"content": [{"type": "text", "text": "a"}]}, False, (0, "a")),
            ({"content": [{"type": "text", "text": "(no output)"}]}, False, (0, "")),
            ({"content": [{"type": "text", "text": "a\nCommand timed out after 1 seconds"}]}, True,
             (None, "a\nCommand timed out after 1 seconds")),
            ({"content": [{"type": "text", "text": "Validation failed"}]}, True, None),
        ],
    )  # fmt: skip
    def test_how_a_command_ended_in_new_and_old_versions(
        self, result: Any, failed: bool, expected: tuple[int | None, str] | None
    ) -> None:
        start = {
            "type": "tool_execution_start",
            "toolCallId": "c",
            "toolName": "bash",
            "args": {"command": "x"},
        }
        end = {
            "type": "tool_execution_end",
            "toolCallId": "c",
            "toolName": "bash",
            "result": result,
            "isError": failed,
        }
        turn = read("pi", [start, end])
        assert turn.commands == ([("x", *expected)] if expected else [])
        assert len(turn.tools) == (0 if expected else 1)

    def test_a_call_that_never_ended_is_told_at_the_end(self) -> None:
        start = {
            "type": "tool_execution_start",
            "toolCallId": "c",
            "toolName": "bash",
            "args": {"command": "x"},
        }
        assert read("pi", [start], code=137).commands == [("x", None, "")]

    def test_a_result_without_its_call_is_told_all_the_same(self) -> None:
        result = {"content": [{"type": "text", "text": "x"}]}
        end = {"type": "tool_execution_end", "toolCallId": "c", "toolName": "read", "result": result}
        assert [call.name for call in read("pi", [end]).tools] == ["read"]

    def test_a_command_that_timed_out(self) -> None:
        ((command, code, _),) = recorded("pi", "left-running").commands
        assert (command, code) == ("echo start; sleep 5", None)
