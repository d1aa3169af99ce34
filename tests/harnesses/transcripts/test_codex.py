"""What Codex prints."""

from __future__ import annotations

from typing import Any

from harnesses.transcripts.recordings import DATA, lines_of, read, recorded
from sphynx.harnesses.transcripts.codex import CodexReader
from sphynx.journal.events import Usage


def item(kind: str, state: str = "completed", **fields: Any) -> dict[str, Any]:
    return {"type": f"item.{state}", "item": {"id": "item_1", "type": kind, **fields}}


DONE = {"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 2}}


class TestCodex:
    def test_other_items_are_tools(self) -> None:
        turn = read(
            "codex",
            [
                item("web_search", query="weather"),
                item("todo_list", items=[{"text": "a", "completed": True}]),
                item("collab_tool_call", tool="spawn_agent", status="completed", prompt="help"),
                item("file_change", changes=[{"path": "/w/a"}], status="failed"),
                item("todo_list", "updated", items=[]),
                item("error", message="Model metadata not found"),
                DONE,
            ],
        )
        told = [(call.name, call.kind, call.status) for call in turn.tools]
        assert told == [
            ("web_search", "web_search", "completed"),
            ("update_plan", "unknown", "completed"),
            ("spawn_agent", "agent_task", "completed"),
            ("apply_patch", "file_edit", "failed"),
        ]
        assert turn.files == [] and turn.notes.unread == [] and turn.outcome.status == "success"

    def test_items_of_unknown_kinds_and_states_are_kept_aside(self) -> None:
        turn = read("codex", [item("hologram"), item("reasoning", "dreamt"), DONE])
        assert turn.notes.unread_count == 2
        assert turn.outcome.status == "success"

    def test_an_mcp_call_may_fail_with_an_error_instead_of_a_result(self) -> None:
        told = {"server": "s", "tool": "t", "status": "failed", "arguments": {}}
        (by_object,) = read("codex", [item("mcp_tool_call", error={"message": "gone"}, **told)]).tools
        (by_text,) = read("codex", [item("mcp_tool_call", error="gone", result="x", **told)]).tools
        assert (by_object.error, by_text.error) == ("gone", "gone")

    def test_a_command_that_outlives_the_turn_has_no_exit_code(self) -> None:
        turn = recorded("codex", "left-running")
        assert turn.commands == [("echo start; sleep 5", None, "")]

    def test_counters_run_over_the_thread_so_a_later_turn_is_what_they_grew_by(self) -> None:
        first = CodexReader(model="gpt-5.5")
        read("codex", list(lines_of("codex", "suite")), reader=first)
        second = CodexReader(model="gpt-5.5", before=first.total)
        later = {"input_tokens": 6000, "cached_input_tokens": 2400, "output_tokens": 300}
        turn = read("codex", [{"type": "turn.completed", "usage": later}], reader=second)
        assert turn.notes.usage == Usage(600, 50, 400, 0, 1050)

    def test_a_turn_that_broke_off_is_counted_from_the_session_file(self) -> None:
        reader = CodexReader()
        lines = (DATA / "codex" / "suite.session.jsonl").read_bytes().splitlines()
        for line in [
            b"junk",
            b'{"payload": null}',
            b'{"payload": {"info": {"total_token_usage": 5}}}',
            *lines[:2],
        ]:
            reader.count_session(line)
        assert reader.notes.usage == Usage(1200, 100, 800, 0, 2100)

    def test_retry_notices_are_no_failure_unless_nothing_better_came(self) -> None:
        notice = {"type": "error", "message": "Reconnecting... 1/5"}
        assert read("codex", [notice, DONE]).outcome.status == "success"
        ended = read("codex", [notice], code=1).outcome
        assert (ended.status, ended.reason, ended.cause) == ("failed", "Reconnecting... 1/5", "model")

    def test_a_failed_turn_without_words_still_failed(self) -> None:
        assert read("codex", [{"type": "turn.failed"}], code=1).outcome.reason == "the turn failed"

    def test_a_turn_is_not_done_when_the_process_failed(self) -> None:
        assert read("codex", [DONE], code=1).outcome.status == "failed"

    def test_a_turn_without_counters_counts_nothing(self) -> None:
        usage = read("codex", [{"type": "turn.completed"}]).notes.usage
        assert usage is not None and usage.total == 0
