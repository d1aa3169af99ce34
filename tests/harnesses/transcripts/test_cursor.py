"""What Cursor Agent prints, by its documentation."""

from __future__ import annotations

from typing import Any

from harnesses.transcripts.recordings import read, recorded
from sphynx.journal.events import Usage


def _cursor(name: str, given: Any, result: Any) -> dict[str, Any]:
    body = {"args": given, "result": result}
    return {"type": "tool_call", "subtype": "completed", "call_id": "c", "tool_call": {name: body}}


class TestCursor:
    """Its lines are those of the vendor's documentation; the program itself was not run."""

    def test_a_documented_session(self) -> None:
        turn = recorded("cursor", "all")
        assert turn.messages == ["I will read it first.", "All done."]
        assert turn.commands == [("echo bad; exit 3", 3, "bad\nerr"), ("sleep 60", None, "")]
        assert turn.files == ["made.txt"]
        named = [(call.name, call.kind) for call in turn.tools]
        assert named == [("read", "file_read"), ("mcp__notes__save_note", "mcp")]
        assert (turn.notes.model, turn.notes.thinking, turn.outcome.status) == ("gpt-5", 1, "success")

    def test_tokens_are_counted_when_a_version_tells_them(self) -> None:
        usage = {"inputTokens": 5, "outputTokens": 2, "cacheReadTokens": 1, "odd": "x"}
        result = {"type": "result", "subtype": "success", "is_error": False, "usage": usage}
        assert read("cursor", [result]).notes.usage == Usage(5, 2, 1, 0, 8)

    def test_how_a_turn_ended(self) -> None:
        def ended(code: int, **fields: Any) -> tuple[str, str, str]:
            result = {"type": "result", "subtype": "success", "is_error": False, **fields}
            outcome = read("cursor", [result], code=code, stderr="crash").outcome
            return outcome.status, outcome.cause, outcome.reason

        assert ended(0) == ("success", "harness", "")
        assert ended(1) == ("failed", "harness", "crash")
        assert ended(1, is_error=True, result="no key") == ("failed", "model", "no key")

    def test_a_refused_command_never_ran_and_odd_bodies_do_no_harm(self) -> None:
        turn = read(
            "cursor",
            [
                _cursor("shellToolCall", {"command": "x"}, {"rejected": {"reason": "no"}}),
                _cursor("shellToolCall", {"command": "y"}, {"success": {"exitCode": None, "stdout": 5}}),
                {
                    "type": "tool_call",
                    "subtype": "completed",
                    "call_id": "d",
                    "tool_call": {"oddToolCall": "body"},
                },
                {"type": "assistant", "message": {"content": "plain"}},
                {"type": "assistant", "message": {"content": []}},
            ],
        )
        assert turn.commands == [("y", None, "")]
        assert [(call.name, call.status) for call in turn.tools] == [("shell", "error"), ("odd", "error")]
        assert turn.messages == ["plain"]
