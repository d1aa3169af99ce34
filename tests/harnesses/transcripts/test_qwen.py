"""What Qwen Code prints."""

from __future__ import annotations

from typing import Any

import pytest

from harnesses.transcripts.claude_lines import calls
from harnesses.transcripts.claude_lines import result as tool_result
from harnesses.transcripts.recordings import Turn, lines_of, read, recorded
from sphynx.harnesses.transcripts.qwen import QwenReader
from sphynx.journal.events import Usage


class TestQwen:
    REPORT = (
        "Command: {c}\nDirectory: (root)\nOutput: {o}\nError: {e}\nExit Code: {x}\nSignal: {s}\nProcess Group"
    )

    def run(self, text: str, *, failed: bool = True, version: str = "0.24.4", **given: Any) -> Turn:
        begun = {"type": "system", "subtype": "init", "session_id": "s", "qwen_code_version": version}
        call = calls("run_shell_command", {"command": "x", **given})
        return read("qwen", [begun, call, tool_result(text, failed=failed)])

    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            ({"o": "hi", "e": "(none)", "x": "3", "s": "(none)"}, (3, "hi")),
            ({"o": "(empty)", "e": "(none)", "x": "0", "s": "(none)"}, (0, "")),
            ({"o": "a", "e": "spawn failed", "x": "1", "s": "(none)"}, (1, "a\nspawn failed")),
            ({"o": "a", "e": "(none)", "x": "(none)", "s": "(none)"}, (None, "a")),
            ({"o": "", "e": "(none)", "x": "0", "s": "15"}, (143, "")),
            ({"o": "", "e": "(none)", "x": "0", "s": "SIGTERM"}, (None, "")),
            ({"o": "x\nError: mine\nmore", "e": "(none)", "x": "2", "s": "0"}, (2, "x\nError: mine\nmore")),
        ],
    )
    def test_the_report_of_a_command(self, fields: dict[str, str], expected: tuple[int | None, str]) -> None:
        assert self.run(self.REPORT.format(c="x\ny", **fields)).commands == [("x", *expected)]

    def test_without_a_report_a_command_succeeded_in_versions_that_tell_failures(self) -> None:
        assert self.run("hi", failed=False).commands == [("x", 0, "hi")]
        assert self.run("hi", failed=False, version="1.0.0").commands == [("x", 0, "hi")]
        assert self.run("hi", failed=False, version="0.15.10").commands == [("x", None, "hi")]
        assert self.run("started", failed=False, is_background=True).commands == [("x", None, "started")]

    def test_a_refused_command_never_ran_and_a_timed_out_one_did(self) -> None:
        assert self.run("Command is not allowed").commands == []
        assert recorded("qwen", "timed-out-command").commands[0][1] is None
        assert recorded("qwen", "signal").commands == [("kill -9 $$", 137, "")]
        assert recorded("qwen", "left-running").commands[0][1] is None

    def test_counters_run_over_the_session_and_include_the_cache(self) -> None:
        first = QwenReader()
        read("qwen", list(lines_of("qwen", "suite")), reader=first)
        later = {"input_tokens": 6000, "output_tokens": 300, "cache_read_input_tokens": 2400}
        result = {"type": "result", "subtype": "success", "is_error": False, "usage": later}
        usage = read("qwen", [result], reader=QwenReader(before=first.total)).notes.usage
        assert usage == Usage(600, 50, 400, 0, 1050)

    def test_a_turn_that_broke_off_is_counted_message_by_message(self) -> None:
        turn = read("qwen", list(lines_of("qwen", "suite")[:-1]), code=137)
        assert turn.notes.usage == Usage(3000, 250, 2000, 0, 5250)

    def test_a_result_without_counters_leaves_them_unknown(self) -> None:
        assert read("qwen", [{"type": "result", "subtype": "success", "is_error": False}]).notes.usage is None
