"""The evidence a judge is shown: one JSON object, so that nothing in it can pass for instructions.

The texts that go in are redacted already: a cut never leaves the half of a secret.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sphynx.journal.events import Command, Event, FileChange, Message, ToolCall
from sphynx.redaction import cut, utf16_length

TEXT_LIMIT = 4_000
TOTAL_LIMIT = 48_000
"""Characters of all steps together; a longer conversation keeps its start and its end, half of this each."""
MARK = " [truncated]"

Step = dict[str, Any]


def compact(value: Any) -> str:
    """JSON without spaces, characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def evidence(
    *,
    prompt: str,
    steps: Sequence[Step],
    answer: str,
    expected: str | None,
    files: Sequence[Mapping[str, str]] | None = None,
) -> str:
    """The evidence as text. ``files`` stand there only for a judge that reads some."""
    value: dict[str, Any] = {
        "input": prompt,
        "conversation": list(steps),
        "output": answer,
        "expected": expected,
    }
    if files is not None:
        value["files"] = [{"path": file["path"], "text": file["text"]} for file in files]
    return compact(value)


def conversation(events: Iterable[Event]) -> list[Step]:
    """What happened, step by step, each text cut at 4,000 and all steps at 48,000 characters.

    Requests to HTTP mocks are in the journal as tool calls, so they are steps too.
    """
    return bounded(step for event in events if (step := _step(event)) is not None)


def bounded(steps: Iterable[Step]) -> list[Step]:
    """``steps``, or their start and end around ``{"omitted": n}`` when they are too long together."""
    half = TOTAL_LIMIT // 2
    head: list[Step] = []
    rest: deque[tuple[Step, int]] = deque()
    total = head_size = rest_size = dropped = 0
    full = False
    for step in steps:
        size = utf16_length(compact(step)) + 1
        total += size
        full = full or head_size + size > half
        if not full:
            head.append(step)
            head_size += size
            continue
        rest.append((step, size))
        rest_size += size
        while rest_size > TOTAL_LIMIT:
            rest_size -= rest.popleft()[1]
            dropped += 1
    if total <= TOTAL_LIMIT:
        return [*head, *(step for step, _ in rest)]
    tail = list(_fitting_end(rest, half))[::-1]
    return [*head, {"omitted": dropped + len(rest) - len(tail)}, *tail]


def _fitting_end(steps: deque[tuple[Step, int]], room: int) -> Iterator[Step]:
    for step, size in reversed(steps):
        room -= size
        if room < 0:
            return
        yield step


def _step(event: Event) -> Step | None:
    if isinstance(event, Message):
        return {"user" if event.role == "user" else "agent": _cut(event.text)}
    if isinstance(event, Command):
        return {
            "command": _cut(event.command),
            "exitCode": event.exit_code,
            "output": _cut(event.output),
        }
    if isinstance(event, ToolCall):
        given = (("input", event.input), ("output", event.output), ("error", event.error))
        return {"tool": _cut(event.name), **{key: _cut(text) for key, text in given if text is not None}}
    if isinstance(event, FileChange):
        return {"wrote": list(event.paths)}
    return None


def _cut(text: str) -> str:
    kept, shortened = cut(text, TEXT_LIMIT)
    return kept + MARK if shortened else kept
