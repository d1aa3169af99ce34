"""A journal reads as answer, transcript and turns."""

from __future__ import annotations

from sphynx.journal import turns
from sphynx.journal.events import Command, Event, FileChange, Finished, Message, Started

USER, AGENT = "user", "assistant"


def said(role: str, text: str) -> Message:
    return Message(role=role, text=text)


TALK: list[Event] = [
    Started("s", "m"),
    said(USER, "Fix it"),
    Command("ls", 0, ""),
    said(AGENT, "Which one?"),
    Finished("done"),
    said(USER, "The second"),
    said(AGENT, "Working"),
    Command("make", 2, ""),
    Command("make", 0, ""),
    FileChange(("a",)),
    said(AGENT, "Fixed"),
]


def test_the_answer_is_the_last_thing_the_agent_said() -> None:
    """Empty when it said nothing; what the person says is no answer."""
    assert turns.answer(TALK) == "Fixed"
    assert turns.answer([said(USER, "hello")]) == ""


def test_the_transcript_is_the_agents_messages() -> None:
    """With a blank line between, without the person's."""
    assert turns.transcript(TALK) == "Which one?\n\nWorking\n\nFixed"


def test_turns_open_with_the_persons_message() -> None:
    """Each turn: who said what, how many commands, and everything that happened in order."""
    first, second = turns.build(TALK, "Fix it")
    assert {key: first[key] for key in ("index", "userText", "agentText", "commandCount")} == {
        "index": 0,
        "userText": "Fix it",
        "agentText": "Which one?",
        "commandCount": 1,
    }
    assert [event["_tag"] for event in first["events"]] == ["message", "command", "message"]
    assert (second["index"], second["agentText"], second["commandCount"]) == (1, "Fixed", 2)
    assert second["events"][0]["text"] == "The second"


def test_a_journal_without_the_prompt_gets_it() -> None:
    """The prompt opens the first turn also when nobody recorded it, and when nothing happened at all."""
    for events in ([], [Command("ls", 0, "")]):
        (only,) = turns.build(events, "Fix it")
        assert only["userText"] == "Fix it"
        assert only["events"][0]["role"] == "user"
        assert only["commandCount"] == len(events)


def test_an_agent_that_repeats_the_prompt_opens_no_turn() -> None:
    """The same words again before anything happened are no second turn."""
    events = [said(USER, "Fix it"), said(USER, "Fix it"), said(AGENT, "ok")]
    assert len(turns.build(events, "Fix it")) == 1


def test_one_turn_of_known_events() -> None:
    """A turn whose limits are known: the person's message is put first when it is not there."""
    built = turns.turn([Command("ls", 0, ""), said(AGENT, "a"), said(AGENT, "b")], index=3, user_text="Go")
    assert (built["index"], built["userText"], built["agentText"], built["commandCount"]) == (3, "Go", "b", 1)
    assert built["events"][0] == {
        "_tag": "message",
        "role": "user",
        "text": "Go",
        "usage": None,
        "finishedAtMillis": None,
    }
    again = turns.turn([said(USER, "Go")], index=0, user_text="Go", commands=9)
    assert (len(again["events"]), again["commandCount"]) == (1, 9)
