"""Events become the wire's journal entries, long payloads cut and marked."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from case_data import case_id, load
from sphynx.journal.entries import PAYLOAD_LIMIT, entries, entry
from sphynx.journal.events import Command, Event, FileChange, Message, MessageUsage, ToolCall
from sphynx.schema.wire import EvalTrial


@pytest.mark.parametrize("case", load("journal"), ids=case_id)
def test_worked_case(case: dict) -> None:
    """The worked cases of the contract."""
    events = [msgspec.convert(event, Event) for event in case["input"]["events"]]
    assert entries(events) == case["expected"]["entries"]


def test_messages_and_file_changes() -> None:
    """A message keeps its role, text and usage, a change its paths; time is when it ended."""
    usage = MessageUsage(input_tokens=3, output_tokens=2, cost_usd=0.5)
    assert entry(Message(role="assistant", text="hi", usage=usage, at=4)) == {
        "_tag": "message",
        "role": "assistant",
        "text": "hi",
        "usage": {
            "inputTokens": 3,
            "outputTokens": 2,
            "cacheReadTokens": 0,
            "cacheWriteTokens": 0,
            "totalTokens": 5,
            "costUsd": 0.5,
        },
        "finishedAtMillis": 4,
    }
    assert entry(FileChange(paths=("/w/a",))) == {
        "_tag": "fileChange",
        "paths": ["/w/a"],
        "finishedAtMillis": None,
    }


@given(st.text(max_size=30), st.integers(PAYLOAD_LIMIT - 20, PAYLOAD_LIMIT + 5))
def test_payloads_keep_4000_units(tail: str, fill: int) -> None:
    """Output of any alphabet is at most 4,000 UTF-16 units, and the flag says whether it was longer."""
    whole = "x" * fill + tail
    shown = entry(Command(command="c", exit_code=0, output=whole)) or {}
    assert len(shown["output"].encode("utf-16-le", "surrogatepass")) // 2 <= PAYLOAD_LIMIT
    assert whole.startswith(shown["output"])
    assert shown["outputTruncated"] == (shown["output"] != whole)


def test_each_payload_of_a_tool_call_has_its_flag() -> None:
    """Input, output and error are cut apart from each other; what is absent stays absent."""
    call = ToolCall(call_id=None, name="t", status="failed", input="i" * 5000, error="e")
    shown = entry(call) or {}
    assert (len(shown["input"]), shown["inputTruncated"]) == (4000, True)
    assert (shown["error"], shown["errorTruncated"]) == ("e", False)
    assert "output" not in shown
    assert shown["outputTruncated"] is False


def test_entries_are_what_the_wire_model_reads() -> None:
    """Every kind of entry is one the wire's own model accepts."""
    events = [
        Message(role="user", text="go", at=1),
        Command(command="ls", exit_code=None, output="x", at=2, started_at=1),
        ToolCall(call_id="c", name="t", status=None, input="{}", output="o", error="e"),
        FileChange(paths=("a",), at=3),
    ]
    trajectory = EvalTrial.model_fields["trajectory"]
    from pydantic import TypeAdapter

    assert len(TypeAdapter(trajectory.annotation).validate_python(entries(events))) == 4
