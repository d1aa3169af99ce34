"""What is kept of a check's evidence: without secrets, within the budgets, in the contract's order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sphynx.redaction import MARK, Redactor, utf16_length
from sphynx.results.evidence import store_validation, store_validations, without_evidence
from sphynx.schema.wire import EvalValidation

SECRET = "hunter2-hunter2"
CLEAN = Redactor([SECRET])


def value(text: str, state: str = "captured") -> dict[str, Any]:
    return {"text": text, "format": "text", "state": state, "truncated": False}


def record(**fields: Any) -> dict[str, Any]:
    return {
        "id": "code:0", "index": 0, "name": "reads", "kind": "code", "status": "passed", "startedAt": 1.5,
        "durationMs": 2, "message": "", "exitCode": 0, "truncated": False,
        "input": value("", "unavailable"), "output": value(""), "error": None, "calls": [], "logs": [],
        **fields,
    }  # fmt: skip


def call(index: int = 0, **fields: Any) -> dict[str, Any]:
    return {
        "index": index, "method": "readText", "startedAt": 1.0, "durationMs": 1, "input": value(""),
        "output": value(""), "error": None, **fields,
    }  # fmt: skip


def log(index: int = 0, text: str = "") -> dict[str, Any]:
    return {"index": index, "at": 1.0, "level": "stdout", "value": value(text)}


def texts(stored: dict[str, Any]) -> list[str]:
    values = [stored["input"], stored["output"], stored["error"], stored.get("metadata")]
    values += [
        part for entry in stored["calls"] for part in (entry["input"], entry["output"], entry["error"])
    ]
    values += [entry["value"] for entry in stored["logs"]]
    return [item["text"] for item in values if item]


def test_every_text_is_redacted() -> None:
    """Message, names, calls, logs, output, error, metadata and the judge's reason."""
    stored = store_validation(
        record(
            id=f"code:{SECRET}",
            name=SECRET,
            kind="judge",
            message=SECRET,
            input=value(SECRET),
            output=value(SECRET),
            error=value(SECRET),
            metadata=value(SECRET),
            calls=[call(input=value(SECRET), output=value(SECRET), error=value(SECRET))],
            logs=[log(text=SECRET)],
            judgment={
                "name": "j", "model": "m", "evaluator": "e", "score": 1, "choice": "a", "reason": SECRET,
                "threshold": 1, "durationMs": 1, "error": SECRET,
            },
        ),
        CLEAN,
    )  # fmt: skip
    assert SECRET not in repr(stored)
    assert stored["output"]["text"] == MARK
    EvalValidation.model_validate(stored)


def test_redaction_comes_before_the_cut() -> None:
    """A secret that crosses a limit leaves no fragment: at most a piece of the mark."""
    for limit, field in ((16_000, "output"), (2_000, "message")):
        long = "x" * (limit - 5) + SECRET
        stored = store_validation(record(**{field: value(long) if field == "output" else long}), CLEAN)
        text = stored["output"]["text"] if field == "output" else stored["message"]
        assert text == "x" * (limit - 5) + MARK[:5]


def test_a_value_keeps_16000_characters_and_a_check_64000() -> None:
    """Spent on input, calls, logs, output, error, metadata, in that order; the rest is marked as cut."""
    big = value("x" * 20_000)
    stored = store_validation(
        record(
            kind="command",
            input=big,
            calls=[call(output=value("y" * 10_000))],
            logs=[log(text="z" * 30_000)],
            output=big,
            error=big,
            metadata=value("m"),
        ),
        CLEAN,
    )
    kept = [
        len(stored["input"]["text"]),
        len(stored["calls"][0]["output"]["text"]),
        len(stored["logs"][0]["value"]["text"]),
        len(stored["output"]["text"]),
        len(stored["error"]["text"]),
        len(stored["metadata"]["text"]),
    ]
    assert kept == [16_000, 10_000, 16_000, 16_000, 6_000, 0]
    assert stored["truncated"]
    assert stored["metadata"]["truncated"]
    assert not stored["calls"][0]["output"]["truncated"]


@given(
    st.lists(st.text(max_size=30).map(lambda text: text * 900), max_size=8),
    st.text(max_size=20).map(lambda text: text * 1200),
)
def test_the_budgets_hold_for_any_text(outputs: list[str], output: str) -> None:
    """In UTF-16 units, whatever the alphabet; the wire's own model accepts the result."""
    calls = [call(index, output=value(text)) for index, text in enumerate(outputs)]
    stored = store_validation(record(calls=calls, output=value(output)), CLEAN)
    lengths = [utf16_length(text) for text in texts(stored)]
    assert max(lengths, default=0) <= 16_000
    assert sum(lengths) <= 64_000
    EvalValidation.model_validate(stored)


def test_what_prepare_returned_is_never_stored() -> None:
    """The input of a code check is unavailable whatever came in."""
    stored = store_validation(record(input=value("the prepared value")), CLEAN)
    assert stored["input"] == value("", "unavailable")


def test_with_capture_off_only_the_verdict_stays() -> None:
    """Values are disabled and empty; status, timing and message are there."""
    full = record(
        status="failed", message="no file", output=value("o"), error=value("e"), calls=[call()], logs=[log()]
    )
    stored = store_validation(full, CLEAN, capture=False)
    assert {item["state"] for item in (stored["input"], stored["output"], stored["error"])} == {"disabled"}
    assert stored["calls"][0]["output"] == value("", "disabled")
    assert (stored["status"], stored["durationMs"], stored["message"]) == ("failed", 2, "no file")
    assert "".join(texts(stored)) == ""


@pytest.mark.parametrize("name", ["calls", "logs"])
def test_at_most_64_calls_and_logs(name: str) -> None:
    """More set the flag that something is missing."""
    entries = [call(index) if name == "calls" else log(index) for index in range(65)]
    stored = store_validation(record(**{name: entries}), CLEAN)
    assert len(stored[name]) == 64
    assert stored["truncated"]
    assert not store_validation(record(**{name: entries[:64]}), CLEAN)["truncated"]


def test_at_most_40_records_of_a_trial() -> None:
    """The wire takes no more."""
    assert len(store_validations([record(index=index) for index in range(45)], CLEAN)) == 40


def test_keys_of_our_own_are_left_out() -> None:
    """The wire's record is closed."""
    assert "x-sphynx" not in store_validation(record(**{"x-sphynx": {"score": 1}}), CLEAN)


def test_giving_up_the_evidence_keeps_the_verdict() -> None:
    """For a report that is too large: values go, what was empty stays empty, the verdict stays."""
    stored = store_validation(record(output=value("o"), calls=[call(output=value("x"))], message="m"), CLEAN)
    bare = without_evidence(stored)
    assert "".join(texts(bare)) == ""
    assert bare["truncated"]
    assert bare["output"] == {"text": "", "format": "text", "state": "unavailable", "truncated": True}
    assert bare["calls"][0]["input"] == stored["calls"][0]["input"]
    assert bare["message"] == "m"
    EvalValidation.model_validate(bare)
