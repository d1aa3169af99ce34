"""What eve streams, turned into the lines a command harness prints. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, cast

Status = Literal["completed", "failed", "parked"]
Line: TypeAlias = dict[str, Any]
"""One thing to print, by ``_tag``: ``toolCall`` (``call``), ``usage`` (``counts``), ``message`` (``text``) or
``finished`` (``reason``)."""

_COUNTS = ("cacheReadTokens", "cacheWriteTokens", "inputTokens", "outputTokens")
_EXIT_CODES: dict[Status, int] = {"completed": 0, "failed": 1, "parked": 3}


class EveOutcome:
    """How a session ended. ``reason`` is empty when it completed."""

    __slots__ = ("reason", "status")

    def __init__(self, status: Status, reason: str = "") -> None:
        self.status: Status = status
        self.reason = reason

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EveOutcome):
            return NotImplemented
        return (self.status, self.reason) == (other.status, other.reason)

    def __hash__(self) -> int:
        return hash((self.status, self.reason))

    def __repr__(self) -> str:
        return f"EveOutcome({self.status!r}, {self.reason!r})"

    @property
    def exit_code(self) -> int:
        """0 completed, 1 failed, 3 parked."""
        return _EXIT_CODES[self.status]

    @property
    def finish(self) -> str:
        """The reason of the ``Finished`` line."""
        return f"{self.status}: {self.reason}" if self.reason else self.status


class EveState:
    """What is known so far. Not changed by :func:`reduce_eve`, which returns a new one.

    ``answer`` is the last message, ``result`` the structured result as JSON text, ``pending`` the calls that
    were requested (``call id -> (input, name)``), ``outcome`` how the session ended, when it has.
    """

    __slots__ = ("answer", "outcome", "pending", "result")

    def __init__(
        self,
        answer: str | None = None,
        result: str | None = None,
        pending: Mapping[str, tuple[object, str]] | None = None,
        outcome: EveOutcome | None = None,
    ) -> None:
        self.answer = answer
        self.result = result
        self.pending = dict(pending or {})
        self.outcome = outcome

    def but(self, **changed: Any) -> EveState:
        """This state with some of it changed."""
        return EveState(**{**{name: getattr(self, name) for name in self.__slots__}, **changed})


def reduce_eve(state: EveState, event: Mapping[str, Any]) -> tuple[EveState, list[Line]]:
    """The next state, and the lines to print for one eve event.

    Unknown events change nothing, and after the first outcome no event does.
    """
    step = _STEPS.get(str(event.get("type")))
    if step is None or state.outcome is not None:
        return state, []
    return step(state, _object(event.get("data")))


def settle(state: EveState, outcome: EveOutcome) -> tuple[EveState, list[Line]]:
    """End the session: the answer when it completed, then ``finished``."""
    lines: list[Line] = []
    answer = state.answer if state.result is None else state.result
    if outcome.status == "completed" and answer is not None:
        lines.append({"_tag": "message", "text": answer})
    lines.append({"_tag": "finished", "reason": outcome.finish})
    return state.but(outcome=outcome), lines


def _requested(state: EveState, data: Mapping[str, Any]) -> tuple[EveState, list[Line]]:
    pending = dict(state.pending)
    for action in _objects(data.get("actions")):
        pending[str(action.get("callId"))] = (action.get("input"), _name(action))
    return state.but(pending=pending), []


def _returned(state: EveState, data: Mapping[str, Any]) -> tuple[EveState, list[Line]]:
    result = _object(data.get("result"))
    call_id = result.get("callId")
    pending = dict(state.pending)
    given, name = pending.pop(str(call_id), (None, str(result.get("toolName") or "unknown")))
    call: Line = {
        "callId": call_id,
        "input": given,
        "name": name,
        "output": result.get("output"),
        "status": data.get("status"),
    }
    message = _object(data.get("error")).get("message")
    if message is not None:
        call["error"] = message
    return state.but(pending=pending), [{"_tag": "toolCall", "call": call}]


def _said(state: EveState, data: Mapping[str, Any]) -> tuple[EveState, list[Line]]:
    text = data.get("message")
    if text is None or data.get("finishReason") == "tool-calls":
        return state, []
    return state.but(answer=str(text)), []


def _structured(state: EveState, data: Mapping[str, Any]) -> tuple[EveState, list[Line]]:
    return state.but(result=json.dumps(data.get("result"), separators=(",", ":"), ensure_ascii=False)), []


def _stepped(state: EveState, data: Mapping[str, Any]) -> tuple[EveState, list[Line]]:
    usage = data.get("usage")
    if not isinstance(usage, Mapping):
        return state, []
    given = cast("Mapping[str, object]", usage)
    return state, [{"_tag": "usage", "counts": {name: _count(given.get(name)) for name in _COUNTS}}]


def _waiting(state: EveState, data: Mapping[str, Any]) -> tuple[EveState, list[Line]]:
    if data.get("wait") != "next-user-message":
        return state, []
    return settle(state, EveOutcome("completed"))


def _completed(state: EveState, _data: Mapping[str, Any]) -> tuple[EveState, list[Line]]:
    return settle(state, EveOutcome("completed"))


def _failed(state: EveState, data: Mapping[str, Any]) -> tuple[EveState, list[Line]]:
    reason = data.get("message") or data.get("code") or "eve gave no reason"
    return settle(state, EveOutcome("failed", str(reason)))


def _asked(state: EveState, data: Mapping[str, Any]) -> tuple[EveState, list[Line]]:
    asked = "; ".join(_request(request) for request in _objects(data.get("requests")))
    return settle(state, EveOutcome("parked", asked or "input required"))


def _unauthorized(state: EveState, data: Mapping[str, Any]) -> tuple[EveState, list[Line]]:
    return settle(state, EveOutcome("parked", f"authorization required for {data.get('name')}"))


def _turn_waiting(state: EveState, data: Mapping[str, Any]) -> tuple[EveState, list[Line]]:
    # Newer than 0.58: a turn that waits for a person ends the stream's news without a session.waiting.
    if data.get("on") != "input":
        return state, []
    return settle(state, EveOutcome("parked", "input required"))


_STEPS: dict[str, Callable[[EveState, Mapping[str, Any]], tuple[EveState, list[Line]]]] = {
    "action.result": _returned,
    "actions.requested": _requested,
    "authorization.required": _unauthorized,
    "input.requested": _asked,
    "message.completed": _said,
    "result.completed": _structured,
    "session.completed": _completed,
    "session.failed": _failed,
    "session.waiting": _waiting,
    "step.completed": _stepped,
    "turn.failed": _failed,
    "turn.waiting": _turn_waiting,
}


def _request(request: Mapping[str, Any]) -> str:
    action = _object(request.get("action"))
    kind = request.get("kind") or action.get("kind") or "input"
    tool = action.get("toolName") or action.get("name")
    where = f"{kind} on {tool}" if tool else str(kind)
    return f"{where}: {request['prompt']}" if request.get("prompt") else where


def _name(action: Mapping[str, Any]) -> str:
    return str(action.get("toolName") or action.get("name") or action.get("kind") or "unknown")


def _count(value: object) -> int:
    """A token count; what is no whole number from zero up counts as none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _object(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _objects(value: object) -> list[Mapping[str, Any]]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [found for item in items if (found := _object(item))]
