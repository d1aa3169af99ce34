"""A journal as a conversation: what checks read as answer, transcript and turns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sphynx.journal.entries import entry
from sphynx.journal.events import Event, FileChange, Message, ToolCall
from sphynx.journal.tool_names import kind_of


def answer(events: Iterable[Event]) -> str:
    """The text of the last assistant message; empty when there is none."""
    last = ""
    for event in events:
        if isinstance(event, Message) and event.role == "assistant":
            last = event.text
    return last


def transcript(events: Iterable[Event]) -> str:
    """All assistant messages, a blank line between them."""
    return "\n\n".join(
        event.text for event in events if isinstance(event, Message) and event.role == "assistant"
    )


def build(events: Iterable[Event], opening: str) -> list[dict[str, Any]]:
    """The turns: ``{index, userText, agentText, commandCount, events}``, ``index`` from 0.

    A user message opens a turn and is its first entry; when the journal does not begin with one,
    ``opening`` (the case's prompt) does. The same user message again, before the agent did anything, opens
    nothing. ``agentText`` is the turn's last assistant message.
    """
    turns: list[dict[str, Any]] = []
    for step in _steps(events, opening):
        if step.opens:
            turns.append(_new_turn(len(turns), step.user_text))
        turn = turns[-1]
        turn["events"].append(step.entry)
        turn["commandCount"] += step.is_command
        if step.agent_text is not None:
            turn["agentText"] = step.agent_text
    return turns


def _new_turn(index: int, user_text: str) -> dict[str, Any]:
    return {"index": index, "userText": user_text, "agentText": "", "commandCount": 0, "events": []}


class _Step:
    """One entry, and what it does to the turn it belongs to."""

    __slots__ = ("agent_text", "entry", "is_command", "opens", "user_text")

    def __init__(self, found: dict[str, Any], *, user_text: str | None = None) -> None:
        self.entry = found
        self.opens = user_text is not None
        self.user_text = user_text or ""
        self.is_command = found["_tag"] == "command"
        said = found["_tag"] == "message" and found["role"] == "assistant"
        self.agent_text: str | None = found["text"] if said else None


def _steps(events: Iterable[Event], opening: str) -> Iterator[_Step]:
    said: str | None = None
    acted = False
    for event in events:
        found = _shown(event)
        if found is None:
            continue
        if isinstance(event, Message) and event.role == "user":
            if said is None or acted or event.text != said:
                said, acted = event.text, False
                yield _Step(found, user_text=said)
            continue
        if said is None:
            said = opening
            yield _opening(opening)
        acted = True
        yield _Step(found)
    if said is None:
        yield _opening(opening)


def _shown(event: Event) -> dict[str, Any] | None:
    """The wire's entry, and beside the agent's own name of a tool the ``kind`` that is the same for all."""
    found = entry(event)
    if found is not None and isinstance(event, ToolCall):
        found["kind"] = event.kind or kind_of(event.name)
    elif found is not None and isinstance(event, FileChange):
        found |= {"tool": event.tool, "kind": event.kind}
    return found


def _opening(text: str) -> _Step:
    return _Step(
        {"_tag": "message", "role": "user", "text": text, "usage": None, "finishedAtMillis": None},
        user_text=text,
    )


def turn(
    events: Iterable[Event], *, index: int, user_text: str, commands: int | None = None
) -> dict[str, Any]:
    """One turn of a conversation whose turns are known: ``events`` are what happened in it.

    The person's message comes first even when ``events`` lack it. ``commands`` is given when ``events`` are
    not all there were.
    """
    steps = [found for event in events if (found := _shown(event)) is not None]
    opens = bool(steps) and steps[0]["_tag"] == "message" and steps[0]["role"] == "user"
    if not opens:
        steps.insert(0, _opening(user_text).entry)
    said = [step["text"] for step in steps if step["_tag"] == "message" and step["role"] == "assistant"]
    counted = sum(step["_tag"] == "command" for step in steps)
    return {
        "index": index,
        "userText": user_text,
        "agentText": said[-1] if said else "",
        "commandCount": counted if commands is None else commands,
        "events": steps,
    }
