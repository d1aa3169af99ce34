"""What FX prints, by its repository."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harnesses.transcripts.recordings import lines_of, read, recorded


class TestFx:
    """Its answer is that of its repository; the program itself was not run."""

    def test_a_documented_answer(self) -> None:
        turn = recorded("fx", "all")
        assert turn.messages == ["All done."]
        assert turn.commands == [("echo bad; exit 3", 3, "")]
        assert [(call.name, call.kind, call.input) for call in turn.tools] == [
            ("write_file", "file_write", None),
            ("web_search", "web_search", '{"query":"weather"}'),
        ]
        assert (turn.notes.model, turn.notes.usage, turn.outcome.status) == ("openai/gpt-5", None, "success")

    def test_the_answer_may_be_printed_over_several_lines(self) -> None:
        (line,) = lines_of("fx", "all")
        spread = json.dumps(json.loads(line), indent=2).encode().splitlines()
        turn = read("fx", [*spread, b"more words"])
        assert turn.messages == ["All done."] and turn.notes.unread == ["more words"]

    @pytest.mark.parametrize(
        ("answer", "code", "cause", "reason"),
        [
            ({"output": "", "exit_code": 1, "error": "ModelNotFound"}, 1, "model", "ModelNotFound"),
            ({"output": "", "exit_code": 1, "auth_failure": {"kind": "key"}}, 1, "model", '{"kind":"key"}'),
            ({"output": "", "exit_code": 0}, 1, "harness", "crash"),
        ],
    )
    def test_how_a_turn_failed(self, answer: Any, code: int, cause: str, reason: str) -> None:
        outcome = read("fx", [answer], code=code, stderr="crash").outcome
        assert (outcome.status, outcome.cause, outcome.reason) == ("failed", cause, reason)

    def test_odd_tool_calls_do_no_harm(self) -> None:
        turn = read("fx", [{"output": "x", "tool_calls": ["odd", {"status": "failed"}]}])
        assert [(call.name, call.status) for call in turn.tools] == [("unknown", "failed")]
        assert read("fx", [{"output": "x", "tool_calls": "odd"}]).messages == ["x"]
