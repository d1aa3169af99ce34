"""The checks of transcript readers."""

from __future__ import annotations

from collections.abc import Sequence

from sphynx.harnesses.conformance.checks import NOW, Recording, reader_check
from sphynx.harnesses.transcripts.reading import Exit
from sphynx.journal import store
from sphynx.journal.events import Event, Message, Started
from sphynx.journal.tool_names import KINDS

ODD_LINES = (
    b"plain text", b"}", b"[1, 2]", b"null", b"12", b'"text"', b'{"type": 3}', b'{"type": "from_the_future"}',
    b'{"type": "assistant", "message": 5}', b"\xff\xfe\x00", b'{"a": ' + b"[" * 50 + b"]" * 50 + b"}",
)  # fmt: skip


@reader_check
def a_good_turn_is_a_success(recording: Recording) -> None:
    """The whole recording with exit code 0 is a success that needs no reason."""
    read = recording.read()
    assert read.outcome.status == "success", read.outcome.reason
    assert read.events
    assert read.reader.notes.unread == []


@reader_check
def reading_is_pure(recording: Recording) -> None:
    """Two readers of the same lines give the same events."""
    assert recording.read().events == recording.read().events


@reader_check
def events_can_be_stored(recording: Recording) -> None:
    """Every event comes back from its stored line as it was, and carries a time."""
    for event in recording.read().events:
        assert store.decode(store.encode(event)) == event
        assert event.at is not None


@reader_check
def the_session_is_named_once(recording: Recording) -> None:
    """There is at most one ``Started``, with the session the notes hold."""
    read = recording.read()
    started = [event for event in read.events if isinstance(event, Started)]
    assert len(started) <= 1
    assert all(event.session_id == read.reader.notes.session_id for event in started)


@reader_check
def kinds_of_tools_are_known(recording: Recording) -> None:
    """A tool's ``kind`` is a canonical name."""
    for event in recording.read().events:
        kind = getattr(event, "kind", None)
        assert kind is None or kind in KINDS, kind


@reader_check
def tokens_have_the_one_meaning(recording: Recording) -> None:
    """No count is negative, and the parts make the total: input excludes what is read or written cached."""
    usage = recording.read().reader.notes.usage
    if usage is not None:
        parts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
        assert min(parts) >= 0
        assert usage.total == sum(parts)


@reader_check
def reasoning_is_not_kept(recording: Recording) -> None:
    """What the model thought is counted, and in no event."""
    if recording.reasoning is None:
        return
    read = recording.read()
    assert recording.reasoning not in repr(read.events)
    assert read.reader.notes.thinking >= 1


@reader_check
def odd_lines_break_nothing(recording: Recording) -> None:
    """Lines of any shape, anywhere, never raise and change no event of the others."""
    plain = recording.read()
    for odd in ODD_LINES:
        mixed = [line for known in recording.lines for line in (odd, known)]
        read = recording.read(mixed)
        assert _told(read.events) == _told(plain.events), odd


@reader_check
def unknown_lines_are_set_aside(recording: Recording) -> None:
    """A line nobody knows is kept for people to see; a blank one is not."""
    read = recording.read([b"who is this", b"", b"   "], Exit(1))
    assert read.reader.notes.unread == ["who is this"]
    assert read.reader.notes.unread_count == 1


@reader_check
def a_broken_transcript_is_no_success(recording: Recording) -> None:
    """Cut after any line and killed, it fails with a reason, and loses no event from before the cut."""
    whole = _told(recording.read().events)
    for end in range(len(recording.lines)):
        read = recording.read(recording.lines[:end], Exit(137))
        assert read.outcome.status == "failed", f"after line {end}"
        assert read.outcome.reason
    assert whole


@reader_check
def silence_is_told_by_stderr(recording: Recording) -> None:
    """A process that printed nothing failed with what it wrote to stderr."""
    read = recording.read([], Exit(1, "first\n\nNot signed in\n"))
    assert read.outcome.status == "failed"
    assert "Not signed in" in read.outcome.reason
    assert read.events == []


@reader_check
def the_end_comes_once(recording: Recording) -> None:
    """Asked again, ``end`` gives no event twice."""
    read = recording.read()
    left, outcome = read.reader.end(Exit(0), NOW)
    assert list(left) == []
    assert outcome == read.outcome


@reader_check
def long_lines_are_read(recording: Recording) -> None:
    """A line of a megabyte is read like any other."""
    recording.read([b"x" * 1_000_000, *recording.lines])


def _told(events: Sequence[Event]) -> list[str]:
    """What events say; a message that came in pieces is one, since a line between may part them."""
    told: list[str] = []
    said = ""
    for event in events:
        if isinstance(event, Message):
            said += event.text
            continue
        told += [said] if said else []
        told.append(repr(event))
        said = ""
    return [*told, said]
