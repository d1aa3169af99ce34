"""A stdout line is an event, a usage count, or chatter; it never raises."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sphynx.journal.command_lines import parse, why_ignored
from sphynx.journal.events import (
    Command,
    FileChange,
    Finished,
    Message,
    MessageUsage,
    Started,
    ToolCall,
    Usage,
)

NOW = 1000


def line(**fields: object) -> bytes:
    return json.dumps(fields).encode()


COMMAND = {"_tag": "Command", "command": "ls", "exitCode": 0, "output": ""}
TOOL_CALL = {"_tag": "ToolCall", "callId": None, "name": "t", "status": None, "input": "{}"}
MESSAGE = {"_tag": "Message", "role": "assistant", "text": "hi"}


@pytest.mark.parametrize(
    ("fields", "event"),
    [
        ({"_tag": "Started", "sessionId": "s", "model": "m", "at": 5}, Started("s", "m", NOW)),
        (MESSAGE, Message("assistant", "hi", at=NOW)),
        (
            {**MESSAGE, "role": "user", "usage": {"inputTokens": 1, "outputTokens": 2}},
            Message("user", "hi", MessageUsage(1, 2), NOW),
        ),
        ({**COMMAND, "exitCode": None, "startedAt": 3}, Command("ls", None, "", NOW, 3)),
        ({"_tag": "FileChange", "paths": ["/w/a", "/w/b"], "at": 7}, FileChange(("/w/a", "/w/b"), 7)),
        (TOOL_CALL, ToolCall(None, "t", None, "{}", at=NOW)),
        ({"_tag": "Finished", "reason": "done", "at": 0}, Finished("done", 0)),
        ({"_tag": "Usage", "inputTokens": 3, "outputTokens": 4}, Usage(3, 4, 0, 0, 7)),
        ({"_tag": "Usage", "inputTokens": 3, "outputTokens": 4, "totalTokens": 9}, Usage(3, 4, 0, 0, 9)),
    ],
)
def test_known_lines(fields: dict, event: object) -> None:
    """Every tag of the protocol; ``at`` is kept, or is when the line was read (always so for Started)."""
    assert parse(line(**fields), NOW) == event
    assert parse(line(**fields, extra={"nested": [1]}), NOW) == event
    assert parse(b"  " + line(**fields) + b"\r", NOW) == event


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"starting up...",
        b"{",
        b"[]",
        b'"_tag"',
        b"null",
        line(_tag="Unknown"),
        line(reason="no tag"),
        line(**{**COMMAND, "exitCode": 0.5}),
        line(**{**COMMAND, "exitCode": "0"}),
        line(_tag="Command", command="ls", output=""),
        line(_tag="ToolCall", name="t", input="{}"),
        line(**{**TOOL_CALL, "input": None}),
        line(**{**MESSAGE, "role": "system"}),
        line(_tag="Message", text="no role"),
        line(_tag="Usage", inputTokens=-1, outputTokens=0),
        line(_tag="Usage", inputTokens=1),
        line(_tag="FileChange", paths="one"),
        b'{"_tag":"Finished","reason":NaN}',
        b'{"_tag":"Finished","reason":"a\x00b"}',
        b'{"_tag":"Finished","reason":"x","deep":' + b"[" * 100_000,
    ],
)
def test_chatter_is_ignored(text: bytes) -> None:
    """What does not fit is nothing, whatever it is."""
    assert parse(text, NOW) is None


def test_numbers_as_other_languages_write_them() -> None:
    """``1.0`` is a whole number, a time with a fraction is a time."""
    assert parse(line(**{**COMMAND, "exitCode": 2.0, "at": 12.75}), NOW) == Command("ls", 2, "", 12)
    assert parse(line(_tag="Usage", inputTokens=3.0, outputTokens=1), NOW) == Usage(3, 1, 0, 0, 4)


def test_a_time_no_calendar_has_is_the_read_time() -> None:
    """An ``at`` before 1970 or beyond every date says nothing."""
    for at in (-1, 10**20):
        assert parse(line(_tag="Finished", reason="x", at=at), NOW) == Finished("x", NOW)


def test_bytes_that_are_not_text_become_replacements() -> None:
    """Bad UTF-8 and lone surrogates do not lose the line."""
    assert parse(b'{"_tag":"Finished","reason":"a\xffb"}', NOW) == Finished("a\ufffdb", NOW)
    assert parse(b'{"_tag":"Finished","reason":"a\\ud800b"}', NOW) == Finished("a\ufffdb", NOW)
    assert parse(b'{"_tag":"Finished","reason":"\\ud83d\\ude00\xff"}', NOW) == Finished("😀\ufffd", NOW)


@given(st.binary(max_size=200))
def test_no_bytes_raise(data: bytes) -> None:
    """Anything a process may print."""
    parse(data, NOW)
    parse(b'{"_tag":"Message"' + data, NOW)
    why_ignored(b'{"_tag":"Message"' + data)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("depth", [100, 400, 700, 900, 5_000, 100_000])
def test_a_deep_line_is_no_event_and_no_error(depth: int) -> None:
    """However deep a value is nested, the line is ignored with some reason or none."""
    line = b'{"_tag":"ToolCall","input":' + b"[" * depth + b"]" * depth + b"}"
    assert parse(line, NOW) is None
    assert (why_ignored(line) or "ToolCall").startswith("ToolCall")


@given(
    fields=st.dictionaries(
        st.sampled_from(["role", "text", "usage", "at", "exitCode", "command", "output", "paths", "reason"]),
        json_values,
    ),
    tag=st.sampled_from(["Message", "Command", "FileChange", "Finished", "Usage", "Started", "ToolCall"]),
)
def test_no_json_raises(fields: dict, tag: str) -> None:
    """Known keys with values of any type."""
    parse(line(**{**fields, "_tag": tag}), NOW)


def test_a_million_lines_take_seconds() -> None:
    """A hundred thousand events and as many lines of chatter, well under a second or two."""
    event, chatter = line(**COMMAND), b"2030-01-01 some log line of a chatty agent, nothing to see here"
    began = time.process_time()
    for _ in range(100_000):
        parse(event, NOW)
        parse(chatter, NOW)
    assert time.process_time() - began < 2
