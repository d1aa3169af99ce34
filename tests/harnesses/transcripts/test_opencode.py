"""What OpenCode prints."""

from __future__ import annotations

from typing import Any

import pytest

from harnesses.transcripts.recordings import read, recorded
from sphynx.journal.events import Usage


def _part(kind: str, **part: Any) -> dict[str, Any]:
    return {"type": kind, "sessionID": "ses_1", "part": part}


class TestOpenCode:
    @pytest.mark.parametrize(
        ("reason", "status", "cause"),
        [
            ("stop", "success", "harness"),
            ("unknown", "success", "harness"),
            ("tool-calls", "failed", "harness"),
            ("length", "limit", "limit"),
            ("content-filter", "failed", "model"),
            ("error", "failed", "model"),
        ],
    )
    def test_the_last_step_says_how_the_turn_ended(self, reason: str, status: str, cause: str) -> None:
        outcome = read("opencode", [_part("step_finish", reason=reason)]).outcome
        assert (outcome.status, outcome.cause) == (status, cause)
        assert read("opencode", [_part("step_finish", reason=reason)], code=1).outcome.status == "failed"

    def test_steps_are_summed_and_a_price_of_0_is_no_price(self) -> None:
        tokens = {"input": 10, "output": 4, "reasoning": 3, "cache": {"read": 5, "write": 1}}
        priced = _part("step_finish", reason="stop", tokens=tokens, cost=0.5)
        free = _part("step_finish", reason="stop", tokens=tokens, cost=0)
        turn = read("opencode", [priced, priced])
        assert turn.notes.usage == Usage(20, 14, 10, 2, 46, 1.0)
        assert turn.notes.thinking == 2
        unpriced = read("opencode", [free]).notes.usage
        assert unpriced is not None and unpriced.cost_usd is None

    def test_an_error_has_its_message_wherever_it_stands(self) -> None:
        for error, reason in (
            ({"data": {"message": "no"}}, "no"),
            ({"message": "plain"}, "plain"),
            ({"name": "Odd"}, '{"name":"Odd"}'),
            (None, "the turn failed"),
        ):
            assert read("opencode", [{"type": "error", "error": error}], code=1).outcome.reason == reason

    def test_a_command_that_was_stopped_keeps_what_it_printed_and_has_no_exit_code(self) -> None:
        assert recorded("opencode", "left-running").commands == [("echo start; sleep 5", None, "start\n")]

    def test_a_refused_command_never_ran(self) -> None:
        state = {"status": "error", "input": {"command": "x"}, "error": "rejected"}
        turn = read("opencode", [_part("tool_use", tool="bash", callID="c", state=state)])
        assert turn.commands == [] and turn.tools[0].error == "rejected"

    def test_output_is_taken_from_where_it_is(self) -> None:
        state = {"status": "completed", "input": {"command": "x"}, "output": "seen", "metadata": {"exit": 0}}
        assert read("opencode", [_part("tool_use", tool="bash", state=state)]).commands == [("x", 0, "seen")]

    def test_the_path_of_a_change_is_the_one_it_reports(self) -> None:
        state = {"status": "completed", "input": {"filePath": "a"}, "metadata": {}}
        assert read("opencode", [_part("tool_use", tool="write", state=state)]).files == ["a"]

    def test_reasoning_steps_blank_texts_and_unknown_lines(self) -> None:
        lines = [_part("reasoning", text="hm"), _part("text", text=""), _part("mystery"), {"type": "text"}]
        turn = read("opencode", lines)
        assert turn.messages == [] and turn.notes.thinking == 1 and turn.notes.unread_count == 2
