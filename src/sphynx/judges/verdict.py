"""A judge's answer, read strictly: one of the declared choices and a reason, or nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sphynx.journal.events import Usage
from sphynx.redaction import utf16_length

REASON_LIMIT = 2_000


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back from a judge, before it is read."""

    text: str
    usage: Usage | None = None
    tools: str = ""
    """Tools it used though it must not, for a message."""
    refusal: str = ""
    incomplete: str = ""
    """Why the answer is not whole."""
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Verdict:
    """A valid judgment."""

    choice: str
    reason: str


class InvalidAnswer(Exception):
    """The answer is no judgment; its text says why, for people."""


def schema(choices: Iterable[str], *, lengths: bool = False) -> dict[str, Any]:
    """The JSON Schema of an answer. Structured outputs take it without ``lengths``; they are checked here."""
    reason: dict[str, Any] = {"type": "string"}
    if lengths:
        reason |= {"minLength": 1, "maxLength": REASON_LIMIT}
    return {
        "type": "object",
        "properties": {"choice": {"type": "string", "enum": list(choices)}, "reason": reason},
        "required": ["choice", "reason"],
        "additionalProperties": False,
    }


def read(answer: Answer, choices: Mapping[str, float]) -> Verdict:
    """The verdict of an answer. ``InvalidAnswer``: tools, a refusal, half an answer, or no judgment."""
    check(answer)
    return parse(answer.text, choices)


def check(answer: Answer) -> None:
    """``InvalidAnswer`` for one that is no judgment whatever it says: tools, a refusal, half an answer."""
    if answer.tools:
        raise InvalidAnswer(f"used tools ({answer.tools}), which a judge must not")
    if answer.refusal:
        raise InvalidAnswer(f"refused to judge: {answer.refusal}")
    if answer.incomplete:
        raise InvalidAnswer(f"gave only half an answer: {answer.incomplete}")


def parse(text: str, choices: Mapping[str, float]) -> Verdict:
    """Exactly ``{"choice": ..., "reason": ...}``. Nothing is mended: no fences, no case, no extra keys."""
    try:
        value = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        raise InvalidAnswer("did not answer with one JSON object") from None
    if not isinstance(value, dict):
        raise InvalidAnswer("did not answer with one JSON object")
    if set(value) != {"choice", "reason"}:
        raise InvalidAnswer("answered with other keys than choice and reason")
    choice, reason = value["choice"], value["reason"]
    if not isinstance(choice, str) or choice not in choices:
        raise InvalidAnswer(f"chose {json.dumps(choice, ensure_ascii=False)[:100]}, which is not a choice")
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidAnswer("gave no reason")
    if utf16_length(reason) > REASON_LIMIT:
        raise InvalidAnswer(f"gave a reason longer than {REASON_LIMIT:,} characters")
    return Verdict(choice, reason)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands twice")
    return value
