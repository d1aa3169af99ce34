"""What Claude Code prints."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harnesses.transcripts.claude_lines import calls, says
from harnesses.transcripts.claude_lines import result as tool_result
from harnesses.transcripts.recordings import lines_of, read, recorded
from sphynx.harnesses.transcripts.claude import ClaudeReader
from sphynx.journal.events import Usage


class TestClaude:
    def test_counters_and_price_run_over_the_session(self) -> None:
        first = ClaudeReader()
        turn = read("claude", list(lines_of("claude", "first-turn")), reader=first)
        assert turn.notes.usage == first.total
        second = ClaudeReader(before=first.total)
        usage = read("claude", list(lines_of("claude", "second-turn")), reader=second).notes.usage
        assert usage is not None and turn.notes.usage is not None
        assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (600, 50, 400)
        assert usage.cost_usd == pytest.approx(turn.notes.usage.cost_usd)

    def test_a_turn_that_broke_off_is_counted_from_the_session_file(self) -> None:
        spent = {
            "input_tokens": 6,
            "cache_read_input_tokens": 4,
            "cache_creation_input_tokens": 1,
            "output_tokens": 5,
        }
        pieces = [
            {"type": "assistant", "message": {"id": number, "content": [], "usage": spent}}
            for number in "aabb"
        ]
        lines = [
            b"junk",
            b'{"type": "user", "message": {"content": "x"}}',
            *(json.dumps(p).encode() for p in pieces),
        ]
        reader = ClaudeReader(before=Usage(6, 5, 4, 1))
        reader.count_session([])
        assert reader.notes.usage is None
        reader.count_session(lines)
        assert reader.notes.usage == Usage(6, 5, 4, 1, 16)
        told = ClaudeReader()
        read("claude", list(lines_of("claude", "first-turn")), reader=told)
        usage = told.notes.usage
        told.count_session(lines)
        assert told.notes.usage == usage, "what the program counted itself stands"

    def test_the_price_of_a_model_without_a_list_price_is_not_known(self) -> None:
        usage = recorded("claude", "unpriced-model").notes.usage
        assert usage is not None and usage.cost_usd is None and usage.total == 120

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("turn-limit", "Reached maximum number of turns (2)"),
            ("budget-limit", "Reached maximum budget ($0.004)"),
        ],
    )
    def test_its_own_limits_are_told_apart_from_failures(self, name: str, reason: str) -> None:
        turn = recorded("claude", name, code=1)
        assert (turn.outcome.status, turn.outcome.cause, turn.outcome.reason) == ("limit", "limit", reason)
        assert turn.notes.usage is not None and turn.notes.usage.input_tokens == 1200

    def test_success_with_is_error_is_a_failure(self) -> None:
        result = {
            "type": "result",
            "subtype": "success",
            "is_error": True,
            "result": "no",
            "api_error_status": 401,
        }
        assert read("claude", [result], code=1).outcome.reason == "no"

    def test_success_of_a_process_that_failed_is_a_failure(self) -> None:
        result = {"type": "result", "subtype": "success", "is_error": False}
        assert read("claude", [result], code=1, stderr="crash").outcome.reason == "crash"
        assert read("claude", [result]).outcome.status == "success"

    def test_an_interrupted_turn_failed_though_the_process_exits_0(self) -> None:
        result = {"type": "result", "subtype": "error_during_execution", "is_error": True, "errors": []}
        outcome = read("claude", [result]).outcome
        assert (outcome.status, outcome.reason, outcome.cause) == ("failed", "the turn failed", "harness")

    def test_the_last_retry_tells_why_when_the_result_does_not(self) -> None:
        retry = {"type": "system", "subtype": "api_retry", "error": "server_error"}
        result = {"type": "result", "subtype": "error_during_execution", "is_error": True}
        outcome = read("claude", [retry, result], code=1).outcome
        assert (outcome.reason, outcome.cause) == ("server_error", "model")

    def test_errors_may_be_objects(self) -> None:
        base = {"type": "result", "subtype": "error_during_execution", "is_error": True}
        with_message = read("claude", [{**base, "errors": [{"message": "no session"}]}], code=1)
        without = read("claude", [{**base, "errors": [{"code": 5}]}], code=1)
        assert with_message.outcome.reason == "no session"
        assert without.outcome.reason == '{"code":5}'

    def test_what_a_sub_agent_says_is_not_the_answer_but_what_it_does_counts(self) -> None:
        inner = {"parent_tool_use_id": "toolu_0"}
        turn = read(
            "claude",
            [
                says("the answer"),
                {**says("inner words"), **inner},
                {**calls("Bash", {"command": "ls"}), **inner},
                {**tool_result("a\nb", detail={"stdout": "a\nb", "stderr": ""}), **inner},
            ],
        )
        assert turn.messages == ["the answer"]
        assert turn.commands == [("ls", 0, "a\nb")]

    @pytest.mark.parametrize(
        ("result", "expected"),
        [
            ({"text": "out", "detail": {"stdout": "out", "stderr": "err"}}, (0, "out\nerr")),
            ({"text": "out"}, (0, "out")),
            ({"text": "", "detail": {"stdout": "", "backgroundTaskId": "b1"}}, (None, "")),
            ({"text": "", "detail": {"stdout": "half", "interrupted": True}}, (None, "half")),
            ({"text": "Exit code 7\nbad", "failed": True}, (7, "bad")),
            ({"text": "Error: Exit code 143", "failed": True}, (143, "")),
        ],
    )
    def test_how_a_command_ended(self, result: dict[str, Any], expected: tuple[int | None, str]) -> None:
        turn = read("claude", [calls("Bash", {"command": "x"}), tool_result(**result)])
        assert turn.commands == [("x", *expected)]

    def test_a_command_that_timed_out_has_the_signals_code(self) -> None:
        assert recorded("claude", "timed-out-command").commands == [
            ("echo start; sleep 5", 143, "Command timed out after 1s\nstart")
        ]

    def test_a_command_that_was_not_allowed_never_ran(self) -> None:
        denied = tool_result("Claude requested permissions", failed=True)
        turn = read("claude", [calls("Bash", {"command": "x"}), denied])
        assert turn.commands == []
        assert [(call.name, call.status, call.kind) for call in turn.tools] == [("Bash", "error", "shell")]

    def test_calls_without_a_result_are_told_at_the_end(self) -> None:
        first, second = calls("Bash", {"command": "sleep 9"}, "t1"), calls("Read", {"file_path": "a"}, "t2")
        turn = read("claude", [first, second], code=137)
        assert turn.commands == [("sleep 9", None, "")]
        assert [(call.name, call.status) for call in turn.tools] == [("Read", None)]

    def test_results_of_calls_nobody_made_and_odd_content_change_nothing(self) -> None:
        lines = [
            tool_result("x"),
            {"type": "user", "message": {"role": "user", "content": "just words"}},
            {"type": "assistant", "message": {"content": [{"type": "redacted_thinking"}, {"type": "image"}]}},
            {"type": "stream_event", "event": {}},
            {"type": "system", "subtype": "status"},
        ]
        turn = read("claude", [*lines, {"type": "system", "subtype": "surprise"}])
        assert turn.events == [] and turn.notes.thinking == 1 and turn.notes.unread_count == 1

    def test_the_model_that_answered_is_observed(self) -> None:
        assert (
            read("claude", [{**says("x"), "message": {"model": "other", "content": []}}]).notes.model
            == "other"
        )
        assert recorded("claude", "refused-key").notes.model is None
