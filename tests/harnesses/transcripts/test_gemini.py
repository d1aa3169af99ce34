"""What Gemini CLI prints, and what its session file adds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harnesses.transcripts.recordings import DATA, NOW, read, recorded
from sphynx.harnesses.transcripts.gemini import GeminiReader
from sphynx.harnesses.transcripts.reading import Exit
from sphynx.journal.events import Command, FileChange, Usage


def _gemini(name: str, given: Any, output: str = "", **result: Any) -> list[dict[str, Any]]:
    told = {"status": "success", "output": output, **result}
    return [
        {"type": "tool_use", "tool_name": name, "tool_id": "c1", "parameters": given},
        {"type": "tool_result", "tool_id": "c1", **told},
    ]


def _session(output: Any, call_id: str = "c1") -> bytes:
    result = [{"functionResponse": {"response": {"output": output}}}]
    return json.dumps(
        {"id": "m1", "type": "gemini", "toolCalls": [{"id": call_id, "result": result}]}
    ).encode()


class TestGemini:
    def reader(self, lines: list[dict[str, Any]]) -> tuple[GeminiReader, list[Any]]:
        reader = GeminiReader()
        events: list[Any] = []
        for line in lines:
            events += reader.read(json.dumps(line).encode(), NOW)
        return reader, events

    def test_a_command_waits_for_its_exit_code_and_keeps_its_place(self) -> None:
        said = {"type": "message", "role": "assistant", "content": "then"}
        wrote = _gemini("write_file", {"file_path": "a"})
        reader, events = self.reader([*_gemini("run_shell_command", {"command": "x"}, "out"), said])
        for line in wrote:
            events += reader.read(json.dumps(line).encode(), NOW)
        assert events == [] and reader.waiting
        events += reader.session(_session("\nOutput: out\nExit Code: 3\nProcess Group PGID: 9\n"), NOW)
        assert not reader.waiting
        assert isinstance(events[0], Command) and events[0].exit_code == 3
        assert isinstance(events[2], FileChange)

    @pytest.mark.parametrize(
        ("output", "code"),
        [
            ("<untrusted_context>\nOutput: a\nProcess Group PGID: 1\n</untrusted_context>", 0),
            ("<untrusted_context>\nOutput: a\nExit Code: 9\nProcess Group PGID: 1\n</untrusted_context>", 9),
            ("\nOutput: Exit Code: 4\nsaid so\nProcess Group PGID: 1", 0),
            ("\nOutput: a\nSignal: 15\nProcess Group PGID: 1", 143),
            ("\nOutput: a\nSignal: SIGTERM\nProcess Group PGID: 1", None),
            ("\nOutput: a\nBackground PIDs: 5\nProcess Group PGID: 1", None),
            ("Command moved to background (PID: 1).", None),
        ],
    )
    def test_the_exit_code_in_the_session_file(self, output: str, code: int | None) -> None:
        reader, _ = self.reader(_gemini("run_shell_command", {"command": "x"}, "a"))
        (event,) = reader.session(_session(output), NOW)
        assert isinstance(event, Command) and event.exit_code == code

    def test_the_session_file_may_be_ahead_of_the_stream(self) -> None:
        reader = GeminiReader()
        assert list(reader.session(_session("\nOutput: a\nExit Code: 2\nProcess Group PGID: 1"), NOW)) == []
        events: list[Any] = []
        for line in _gemini("run_shell_command", {"command": "x"}, "a"):
            events += reader.read(json.dumps(line).encode(), NOW)
        assert [event.exit_code for event in events] == [2]

    def test_session_lines_without_a_result_free_nothing(self) -> None:
        reader, _ = self.reader(_gemini("run_shell_command", {"command": "x"}))
        calls: list[Any] = [{"id": "c1"}, {"id": "c1", "result": [{"text": "?"}]}, "odd"]
        for value in ({"type": "user"}, {"type": "gemini"}, {"type": "gemini", "toolCalls": calls}):
            assert list(reader.session(json.dumps(value).encode(), NOW)) == []
        assert list(reader.session(b"broken", NOW)) == []
        left, _ = reader.end(Exit(0), NOW)
        assert [event.exit_code for event in left if isinstance(event, Command)] == [None]

    def test_what_a_killed_command_printed_is_told_with_the_signals_code(self) -> None:
        assert recorded("gemini", "signal").commands == [
            ("kill -9 $$", 137, "Command terminated by signal: 9")
        ]

    def test_commands_that_failed_to_start_and_calls_left_open(self) -> None:
        refused = _gemini(
            "run_shell_command", {"command": "x"}, status="error", error={"message": "not allowed"}
        )
        running = {
            "type": "tool_use",
            "tool_name": "run_shell_command",
            "tool_id": "c2",
            "parameters": {"command": "y"},
        }
        turn = read("gemini", [*refused, running], code=137)
        assert [(call.name, call.error) for call in turn.tools] == [("run_shell_command", "not allowed")]
        assert turn.commands == [("y", None, "")]

    def test_a_turn_that_broke_off_is_counted_step_by_step(self) -> None:
        reader = GeminiReader()
        for line in (DATA / "gemini" / "suite.session.jsonl").read_bytes().splitlines():
            reader.session(line, NOW)
        reader.end(Exit(137), NOW)
        assert reader.notes.usage == Usage(3000, 250, 2000, 0, 5250)
        assert reader.notes.model == "gemini-2.5-flash"

    @pytest.mark.parametrize(
        ("lines", "code", "status", "cause", "reason"),
        [
            ([{"type": "error", "message": "Loop detected"}], 1, "failed", "model", "Loop detected"),
            ([{"type": "error", "error": "odd"}], 1, "failed", "model", "odd"),
            (
                [{"type": "error", "message": "note"}, {"type": "result", "status": "success"}],
                0,
                "success",
                "harness",
                "",
            ),
            ([], 53, "limit", "limit", "the agent reached its turn limit"),
            ([], 41, "failed", "model", "sign in"),
            ([], 1, "failed", "harness", "sign in"),
            ([{"type": "result", "status": "success"}], 1, "failed", "harness", "sign in"),
        ],
    )
    def test_how_a_turn_ended(
        self, lines: list[Any], code: int, status: str, cause: str, reason: str
    ) -> None:
        outcome = read("gemini", lines, code=code, stderr="sign in").outcome
        assert (outcome.status, outcome.cause, outcome.reason) == (status, cause, reason)

    def test_what_it_always_says_on_stderr_is_no_reason(self) -> None:
        noise = "YOLO mode is enabled. All\nRipgrep is not available. Falling\n"
        assert read("gemini", [], code=1, stderr=noise + "out of memory").outcome.reason == "out of memory"
        assert "exit code 1" in read("gemini", [], code=1, stderr=noise).outcome.reason

    def test_the_model_is_that_of_the_counters_when_no_session_file_names_one(self) -> None:
        stats = {"total_tokens": 12, "input_tokens": 10, "cached": 0, "models": {"flash": {}}}
        turn = read("gemini", [{"type": "result", "status": "success", "stats": stats}])
        assert turn.notes.model == "flash" and turn.notes.usage == Usage(10, 2, 0, 0, 12)

    def test_blank_messages_and_results_of_unknown_calls_are_dropped(self) -> None:
        blank = {"type": "message", "role": "assistant", "content": " \n"}
        stray = {"type": "tool_result", "tool_id": "nobody", "status": "success"}
        turn = read("gemini", [blank, {"type": "message", "role": "user", "content": "x"}, stray])
        assert turn.events == [] and turn.notes.unread == []
