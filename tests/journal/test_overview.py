"""What ``ctx.summary()`` is made of."""

from __future__ import annotations

import json

from sphynx.journal.events import Command, FileChange, Finished, Message, Started, ToolCall, Usage
from sphynx.journal.overview import MOST, Overview
from sphynx.journal.tool_names import KINDS


def summary(*events, usage=None, thinking=0):
    overview = Overview()
    for event in events:
        overview.add(event)
    return overview.summary(usage, thinking)


def tool(name: str, *, kind: str | None = None, status: str = "completed", error: str | None = None, **given):
    return ToolCall("1", name, status, json.dumps(given), None, error, kind=kind)


def test_nothing_happened() -> None:
    found = summary(Started("s", "m"), Finished("exit 0"))
    assert found == {
        "shellCommands": [], "failedCommands": 0, "filesRead": [], "filesModified": [],
        "toolCalls": dict.fromkeys(KINDS, 0), "totalToolCalls": 0, "webFetches": [], "totalTurns": 0,
        "errors": [], "thinkingBlocks": 0, "tokens": None,
    }  # fmt: skip


def test_commands_keep_their_exit_codes_and_only_known_failures_count() -> None:
    found = summary(Command("a", 0, ""), Command("b", 3, "out"), Command("c", None, ""))
    assert [(c["command"], c["exitCode"]) for c in found["shellCommands"]] == [
        ("a", 0),
        ("b", 3),
        ("c", None),
    ]
    assert (found["failedCommands"], found["toolCalls"]["shell"], found["totalToolCalls"]) == (1, 3, 3)


def test_files_are_listed_once_and_changes_that_were_only_seen_are_no_tool_calls() -> None:
    found = summary(
        tool("Read", file_path="a.py"), tool("read_file", absolute_path="a.py"),
        tool("view", kind="file_read", path="b"),
        tool("read_many_files", paths=["c", "d", 5]), tool("Read", offset=3), tool("Read", kind="file_read"),
        FileChange(("x", "y"), tool="Write", kind="file_write"), FileChange(("y", "z")),
        FileChange(("w",), tool="new", kind="from_the_future"),
    )  # fmt: skip
    assert found["filesRead"] == ["a.py", "b", "c", "d"]
    assert found["filesModified"] == ["x", "y", "z", "w"]
    assert {k: n for k, n in found["toolCalls"].items() if n} == {
        "file_read": 6,
        "file_write": 1,
        "unknown": 1,
    }


def test_paths_are_told_from_the_workspace_each_once() -> None:
    overview = Overview()
    for path in ("/w/a.py", "a.py", "./a.py", "/other/b.py", "/wide/c.py"):
        overview.add(tool("Read", file_path=path))
        overview.add(FileChange((path,)))
    found = overview.summary(None, 0, "/w")
    assert found["filesRead"] == found["filesModified"] == ["a.py", "/other/b.py", "/wide/c.py"]


def test_failed_calls_are_errors_and_read_nothing() -> None:
    found = summary(
        tool("Read", file_path="a", status="error", error="no such file"),
        tool("mcp__notes__save", status="failed"),
        tool("WebFetch", url="https://example.com/a"),
        tool("fetch", uri="https://example.com/b"),
    )
    assert found["errors"] == ["Read: no such file", "mcp__notes__save: failed"]
    assert found["filesRead"] == []
    assert found["webFetches"] == ["https://example.com/a", "https://example.com/b"]
    assert found["toolCalls"]["mcp"] == 1


def test_inputs_that_are_no_objects_are_read_as_nothing() -> None:
    found = summary(ToolCall("1", "Read", "completed", "plain"), ToolCall("2", "Read", "completed", "[1]"),
                    ToolCall(None, "Read", None))  # fmt: skip
    assert (found["filesRead"], found["toolCalls"]["file_read"]) == ([], 3)


def test_turns_are_what_people_said() -> None:
    found = summary(Message("user", "hi"), Message("assistant", "ho"), Message("user", "more"), thinking=4)
    assert (found["totalTurns"], found["thinkingBlocks"]) == (2, 4)


def test_tokens_have_the_one_meaning() -> None:
    found = summary(usage=Usage(10, 2, 3, 4, 19))
    assert found["tokens"] == {"input": 10, "output": 2, "cacheRead": 3, "cacheWrite": 4, "total": 19}


def test_lists_are_bounded_and_counts_go_on() -> None:
    many = MOST + 5
    found = summary(
        *(Command("c", 1, "") for _ in range(many)),
        *(FileChange((f"f{n}",)) for n in range(many)),
        *(tool("x", error="e") for _ in range(many)),
    )
    assert len(found["shellCommands"]) == len(found["filesModified"]) == len(found["errors"]) == MOST
    assert (found["failedCommands"], found["toolCalls"]["unknown"]) == (many, many)
    assert len(summary(Command("x" * 9_000, 0, ""))["shellCommands"][0]["command"]) == 2_000
