"""What OpenCode prints."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harnesses.transcripts.recordings import NOW, read, recorded
from sphynx.harnesses.transcripts.opencode import OpenCodeReader
from sphynx.harnesses.transcripts.reading import Exit
from sphynx.journal.events import Command, ToolCall, Usage


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

    def test_a_command_that_ran_when_the_turn_broke_off_is_found_in_the_export(self) -> None:
        running = {"status": "running", "input": {"command": "sleep 9"}, "time": {"start": 5}}
        done = {"status": "completed", "input": {"command": "ls"}}
        tools = [{"tool": "bash", "state": state} for state in (running, done)]
        parts: list[Any] = [*tools, {"type": "text"}, 5]
        odd: list[Any] = [{"tool": "bash", "state": {"status": "running", "time": {"start": "x"}}}]
        value = {"info": {}, "messages": [{"parts": parts}, {"parts": odd}, {"parts": 1}, "odd"]}
        text = b"Exporting session: ses_1\n" + json.dumps(value).encode()
        command, call = OpenCodeReader().exported(text, NOW)
        assert isinstance(command, Command) and isinstance(call, ToolCall)
        assert (command.command, command.exit_code, command.started_at) == ("sleep 9", None, 5)
        assert (call.name, call.status) == ("bash", None)
        for nothing in (b"", b"no session", b"[1]", b'{"messages": 5}'):
            assert OpenCodeReader().exported(nothing, NOW) == []

    def test_reasoning_steps_blank_texts_and_unknown_lines(self) -> None:
        lines = [_part("reasoning", text="hm"), _part("text", text=""), _part("mystery"), {"type": "text"}]
        turn = read("opencode", lines)
        assert turn.messages == [] and turn.notes.thinking == 1 and turn.notes.unread_count == 2

    def test_its_log_is_no_reason(self) -> None:
        """What it says beside its log is."""
        logged = 'timestamp=2026-12-01T01:58:42Z level=ERROR message="stream error"'
        _, outcome = OpenCodeReader().end(Exit(1, f"{logged}\nNo such model\n"), NOW)
        assert outcome.reason == "No such model"
        _, outcome = OpenCodeReader().end(Exit(1, logged), NOW)
        assert outcome.reason == "the agent ended without an answer (exit code 1)"
