"""One turn of a command harness becomes its journal."""

from __future__ import annotations

import json

import msgspec
import pytest

from case_data import case_id, load
from sphynx.guest.recorder import read_trace
from sphynx.journal.command_journal import CommandJournal
from sphynx.journal.command_lines import why_ignored
from sphynx.journal.events import Command, Event, Finished, Started, Usage


@pytest.mark.parametrize("case", load("command-events"), ids=case_id)
def test_worked_case(case: dict) -> None:
    """The worked cases of the contract: lines read at 1000, 1001, ..., the exit at 5000."""
    given, expected = case["input"], case["expected"]
    journal = CommandJournal()
    events: list[Event] = []
    for at, line in enumerate(given["lines"], start=1000):
        event = journal.feed(line.encode(), at)
        events += [event] if event is not None else []
    events += journal.finish(given["exitCode"], given["exitAtMillis"])
    events += journal.trace(read_trace(given.get("trace", "")))
    as_stored = [json.loads(msgspec.json.encode(event)) for event in events]
    shown = [{k: v for k, v in event.items() if v is not None} for event in as_stored]
    wanted = [{k: v for k, v in event.items() if v is not None} for event in expected["events"]]
    assert shown == wanted
    assert journal.failure == expected["failure"]
    assert journal.usage is None if expected["usage"] is None else journal.usage is not None


def feed(journal: CommandJournal, **fields: object) -> Event | None:
    return journal.feed(json.dumps(fields).encode(), 1)


def test_usage_adds_up_and_is_no_event() -> None:
    """Counts are added, missing cache counts are zero, a missing total is input plus output."""
    journal = CommandJournal()
    assert feed(journal, _tag="Usage", inputTokens=10, outputTokens=2) is None
    assert (
        feed(journal, _tag="Usage", inputTokens=1, outputTokens=1, cacheReadTokens=5, totalTokens=7) is None
    )
    assert journal.usage == Usage(11, 3, 5, 0, 19)


def test_the_last_failure_wins_and_all_are_recorded() -> None:
    """An agent may change its mind about why it failed, not about having failed."""
    journal = CommandJournal()
    assert feed(journal, _tag="Finished", reason="failed: one") == Finished("failed: one", 1)
    assert feed(journal, _tag="Finished", reason="failed:two  ") == Finished("failed:two  ", 1)
    assert feed(journal, _tag="Finished", reason="done") is not None
    assert journal.failure == "The agent failed: two"
    assert journal.finish(0, 2) == []


def test_a_failure_without_words() -> None:
    """``failed:`` alone still fails."""
    journal = CommandJournal()
    feed(journal, _tag="Finished", reason="failed: ")
    assert journal.failure == "The agent failed"


def test_only_the_first_started_counts() -> None:
    """Its session is the one the next turn continues."""
    journal = CommandJournal()
    assert feed(journal, _tag="Started", sessionId="a", model="m", at=9) == Started("a", "m", 1)
    assert feed(journal, _tag="Started", sessionId="b", model="n") is None
    assert (journal.session_id, journal.model) == ("a", "m")


def test_the_trace_adds_only_what_was_not_printed() -> None:
    """By exactly the same text; a command traced twice stays twice."""
    journal = CommandJournal()
    feed(journal, _tag="Command", command="ls", exitCode=1, output="")
    added = journal.trace([(5, "ls"), (6, "ls "), (7, "pwd"), (8, "pwd")])
    assert added == [
        Command("ls ", None, "", 6),
        Command("pwd", None, "", 7),
        Command("pwd", None, "", 8),
    ]


def test_lines_that_name_an_event_and_are_none_are_counted_with_the_first_reason() -> None:
    """They stay ignored, but an author who misspells one should not have to guess; chatter is not counted."""
    journal = CommandJournal()
    for line in (b"plain", b'{"a": 1}', b'{"_tag": 3}', b'{"_tag": "Mess', b'["_tag"]'):
        assert journal.feed(line, 1) is None
    assert (journal.ignored, journal.ignored_why) == (0, None)
    for line in (b'{"_tag":"mesage","role":"assistant","text":"x"}', b'{"_tag":"Finished"}'):
        assert journal.feed(line, 1) is None
    assert journal.ignored == 2
    assert journal.ignored_why == "'mesage' is no event, did you mean 'Message'?"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"_tag":"zzz"}', "'zzz' is no event"),
        ('{"_tag":"filechange"}', "'filechange' is no event, did you mean 'FileChange'?"),
        ('{"_tag":"Finished"}', "Finished: Object missing required field `reason`"),
        ('{"_tag":"Message","role":"tool","text":"x"}', "Message: a value does not fit"),
        ('{"_tag":"Usage","inputTokens":"3","outputTokens":1}', "Usage: Expected `int`, got `str`"),
    ],
)
def test_why_a_line_is_no_event(line: str, why: str) -> None:
    """The nearest name, or the field that is missing or wrong."""
    assert (why_ignored(line.encode()) or "").startswith(why)
