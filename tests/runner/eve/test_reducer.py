"""``reduce_eve`` maps what eve streams to lines, and never changes what it was given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from case_data import case_id, load
from sphynx.runner.eve import EveOutcome, EveState, reduce_eve

DATA = Path(__file__).resolve().parents[2] / "data"


def reduce_all(events: list[dict[str, Any]]) -> tuple[EveState, list[dict[str, Any]]]:
    state, lines = EveState(), []
    for event in events:
        state, more = reduce_eve(state, event)
        lines += more
    return state, lines


def finish(*events: dict[str, Any]) -> str:
    return reduce_all(list(events))[1][-1]["reason"]


@pytest.mark.parametrize("worked", load("eve"), ids=case_id)
def test_worked_cases(worked) -> None:
    """The mapping follows the worked cases of the contract."""
    state, lines = reduce_all(worked["input"]["events"])
    assert lines == worked["expected"]["emits"]
    expected = worked["expected"]["outcome"]
    assert state.outcome == (
        None if expected is None else EveOutcome(expected["status"], expected.get("reason", ""))
    )


def test_a_recorded_session() -> None:
    """A stream recorded from eve 0.80.1: two calls matched by id, three usages, the answer, the end."""
    events = [json.loads(line) for line in (DATA / "eve-stream.jsonl").read_text().splitlines()]
    state, lines = reduce_all(events)
    assert [line["_tag"] for line in lines] == [
        "toolCall", "usage", "toolCall", "usage", "usage", "message", "finished",
    ]  # fmt: skip
    shell, write = lines[0]["call"], lines[2]["call"]
    assert (shell["name"], shell["input"]["command"][:7], shell["output"]["exitCode"]) == (
        "bash",
        "echo hi",
        3,
    )
    assert (write["status"], write["error"][:31]) == ("failed", "filePath must be an absolute pa")
    assert lines[1]["counts"] == {
        "inputTokens": 100,
        "outputTokens": 7,
        "cacheReadTokens": 40,
        "cacheWriteTokens": 0,
    }
    assert lines[5]["text"] == "done"
    assert state.outcome == EveOutcome("completed")


def asked(*requests: dict[str, Any]) -> dict[str, Any]:
    return {"type": "input.requested", "data": {"requests": list(requests)}}


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (asked({"kind": "tool-approval", "action": {"toolName": "danger"}, "prompt": "Approve Danger?"},
               {"kind": "question", "action": {"toolName": "ask_question"}, "prompt": "Which color?"}),
         "parked: tool-approval on danger: Approve Danger?; question on ask_question: Which color?"),
        (asked({"kind": "question"}), "parked: question"),
        (asked(), "parked: input required"),
        ({"type": "turn.waiting", "data": {"on": "input"}}, "parked: input required"),
        ({"type": "turn.failed", "data": {"code": "MODEL_CALL_FAILED"}}, "failed: MODEL_CALL_FAILED"),
        ({"type": "session.failed", "data": {}}, "failed: eve gave no reason"),
        ({"type": "session.completed"}, "completed"),
    ],
)  # fmt: skip
def test_ends(event: dict[str, Any], reason: str) -> None:
    """How a session may end, with the words people see."""
    assert finish(event) == reason


@pytest.mark.parametrize(
    "event",
    [
        {"type": "turn.waiting", "data": {"on": "tasks"}},
        {"type": "step.failed", "data": {"message": "stub says 401"}},
        {"type": "turn.cancelled", "data": {}},
        {"type": "task.started"},
        {"type": None},
        {},
    ],
)
def test_other_events_are_ignored(event: dict[str, Any]) -> None:
    """What is no end and no content changes nothing."""
    state = EveState(answer="x")
    assert reduce_eve(state, event) == (state, [])


def test_names_of_calls() -> None:
    """A call without a tool name falls back on name, kind, and the result's own name."""
    wanted = {"type": "actions.requested", "data": {"actions": [
        {"callId": "a", "name": "n"}, {"callId": "b", "kind": "k", "input": 1}, "nonsense"]}}  # fmt: skip
    results = [
        {"type": "action.result", "data": {"result": {"callId": name, "toolName": "late"}}}
        for name in ("a", "b", "c", "a")
    ]
    calls = [line["call"] for line in reduce_all([wanted, *results])[1]]
    assert [(call["name"], call["input"]) for call in calls] == [
        ("n", None),
        ("k", 1),
        ("late", None),
        ("late", None),
    ]
    unnamed = {"type": "action.result", "data": {"result": {}}}
    assert reduce_all([unnamed])[1][0]["call"]["name"] == "unknown"


def test_a_state_is_never_changed() -> None:
    """Any state can be reduced again with another event."""
    start = EveState()
    wanted = {"type": "actions.requested", "data": {"actions": [{"callId": "a", "toolName": "t"}]}}
    after, _ = reduce_eve(start, wanted)
    reduce_eve(after, {"type": "action.result", "data": {"result": {"callId": "a"}}})
    assert (start.pending, after.pending) == ({}, {"a": (None, "t")})


def test_exit_codes() -> None:
    """0 completed, 1 failed, 3 parked."""
    assert [EveOutcome(status).exit_code for status in ("completed", "failed", "parked")] == [0, 1, 3]


KEYS = ("callId", "toolName", "input", "message", "finishReason", "usage", "wait", "on", "requests",
        "actions", "result", "error", "kind", "action", "prompt", "inputTokens", "name")  # fmt: skip
TYPES = ("action.result", "actions.requested", "authorization.required", "input.requested",
         "message.completed", "result.completed", "session.completed", "session.failed", "session.waiting",
         "step.completed", "turn.failed", "turn.waiting", "other")  # fmt: skip
PLAIN = st.sampled_from([None, True, -1, 0, 7, 2.0, 0.5, "", "text", "next-user-message", "input", [], {}])
INNER = st.dictionaries(st.sampled_from(KEYS), PLAIN, max_size=5)
MIDDLE = st.dictionaries(
    st.sampled_from(KEYS), PLAIN | INNER | st.lists(INNER | PLAIN, max_size=3), max_size=5
)
EVENT = st.fixed_dictionaries({"type": st.sampled_from(TYPES), "data": MIDDLE | PLAIN})


@given(st.lists(EVENT, max_size=8))
def test_any_stream_reduces(events: list[dict[str, Any]]) -> None:
    """However odd the events, there is at most one finish, it is the last line, and counts are whole."""
    state, lines = reduce_all(events)
    tags = [line["_tag"] for line in lines]
    assert tags.count("finished") == (state.outcome is not None)
    assert "finished" not in tags[:-1]
    for line in lines:
        if line["_tag"] == "usage":
            assert all(isinstance(count, int) and count >= 0 for count in line["counts"].values())
