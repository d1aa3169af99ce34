"""``journal.jsonl`` keeps every event, also when the process that wrote it was killed."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sphynx.journal import store
from sphynx.journal.events import (
    Command,
    Event,
    FileChange,
    Finished,
    Message,
    MessageUsage,
    Started,
    ToolCall,
)

text = st.text(max_size=20)
moment = st.none() | st.integers(0, 2**53)
events = st.one_of(
    st.builds(Started, text, text, moment),
    st.builds(Message, st.sampled_from(["user", "assistant"]), text, st.none(), moment, moment),
    st.builds(Message, st.just("assistant"), text, st.builds(MessageUsage, st.integers(0), st.integers(0))),
    st.builds(Command, text, st.none() | st.integers(-1, 255), text, moment, moment),
    st.builds(FileChange, st.lists(text, max_size=3).map(tuple), moment),
    st.builds(ToolCall, st.none() | text, text, st.none() | text, st.none() | text, st.none() | text),
    st.builds(Finished, text, moment),
)


@given(events)
def test_an_event_is_one_line_and_comes_back(event: Event) -> None:
    """Whatever its text holds, it is one line, and reading it gives the same event."""
    line = store.encode(event)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert store.decode(line) == event


def test_a_lone_surrogate_does_not_lose_the_event() -> None:
    """Text that has no UTF-8 is stored with a replacement character."""
    event = FileChange(("bad\udce9name",), 3)
    assert store.decode(store.encode(event)) == FileChange(("bad\ufffdname",), 3)


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    """What was written before is all there."""
    path = tmp_path / "journal.jsonl"
    kept = [Finished("one"), Finished("two")]
    path.write_bytes(b"".join(map(store.encode, kept)) + store.encode(Finished("three"))[:-5])
    assert list(store.read(path)) == kept


def test_a_missing_journal_has_no_events(tmp_path: Path) -> None:
    """A trial that never began has none."""
    assert list(store.read(tmp_path / "journal.jsonl")) == []
