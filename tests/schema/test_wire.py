"""What the wire models take and give."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sphynx.schema import utf16, wire

CASE: dict[str, Any] = {"id": "a", "verify": "true"}
BATCH: dict[str, Any] = {
    "cases": [CASE],
    "suite": {"id": "s", "prompt": "p"},
    "trials": 1,
    "variants": [{"harness": "codex", "model": "m"}],
}


def refused(model: Any, value: dict[str, Any]) -> list[tuple[Any, ...]]:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(value)
    return [error["loc"] for error in caught.value.errors()]


def test_a_request_is_sent_with_the_keys_that_were_given_and_no_others() -> None:
    assert wire.SuiteBatchRequest.model_validate(BATCH).wire() == BATCH
    made = wire.EvalCase(id="a", max_turns=3, source=wire.SourceRepo(kind="repo", ref=None, url="u"))
    assert made.wire() == {"id": "a", "maxTurns": 3, "source": {"kind": "repo", "ref": None, "url": "u"}}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("cases", 0, "source"), {"kind": "repo", "ref": None, "url": "u", "depth": 1}),
        (("suite",), {"id": "s", "prompt": "p", "owner": "me"}),
        (("variants", 0), {"harness": "codex", "model": "m", "credentials": {"token": "x"}}),
        (("cases", 0, "user"), {"kind": "simulated", "goal": "g", "prompt": "p", "harness": "codex"}),
        (
            ("cases", 0, "user"),
            {"kind": "simulated", "goal": "g", "prompt": "p", "harness": "command", "model": "m"},
        ),
        (("cases", 0, "validator"), {"kind": "judged", "name": "n", "checks": [], "judges": []}),
        (("cases", 0, "validator"), {"name": "n", "source": "s", "judges": []}),
        (("trials",), "1"),
        (("trials",), True),
        (("trials",), 11),
        (("cases",), []),
        (("cases", 0, "cache"), None),
        (("cases", 0, "id"), "Two Words"),
        (("cases", 0, "id"), "a\n"),
        (("cases", 0, "tags"), ["x"] * 13),
        (("variants", 0, "sandbox"), "podman"),
    ],
)
def test_a_request_that_breaks_the_contract_is_refused(path: tuple[Any, ...], value: Any) -> None:
    import copy

    batch = copy.deepcopy(BATCH)
    spot: Any = batch
    for key in path[:-1]:
        spot = spot[key]
    spot[path[-1]] = value
    assert all(loc[: len(path)] == path for loc in refused(wire.SuiteBatchRequest, batch))


def test_a_key_may_be_absent_without_allowing_null() -> None:
    assert wire.EvalCase.model_validate(CASE).cache is None
    assert refused(wire.EvalCase, {**CASE, "cache": None}) == [("cache",)]
    assert wire.EvalCase.model_validate({**CASE, "maxTurns": None}).max_turns is None


def test_an_answer_keeps_what_a_newer_server_adds() -> None:
    value = {
        "prepare": None, "prompt": "p", "source": {"kind": "empty", "later": 1}, "validator": None,
        "verify": None,
        "validatorFiles": [{"path": "a.py", "content": "x", "language": "py"}], "later": {"a": 1},
    }  # fmt: skip
    assert wire.EvalSetup.model_validate(value).wire() == value
    cursor = {"id": "x", "startedAtMillis": 1, "later": True}
    assert wire.ListBatchesRequest.model_validate({"cursor": cursor}).wire() == {"cursor": cursor}


@pytest.mark.parametrize("path", ["home/.config/x", "workspace/..notes/a", "home/a b/ü"])
def test_profile_paths_that_stay_inside_are_taken(path: str) -> None:
    assert wire.HarnessProfile(name="p", files={path: ""})


@pytest.mark.parametrize(
    "path", ["home", "home/..", "workspace/./a", "etc/x", "home//a", "home/a\0", "home/a/../../x"]
)
def test_profile_paths_that_leave_are_refused(path: str) -> None:
    assert refused(wire.HarnessProfile, {"name": "p", "files": {path: ""}})


def test_lengths_count_utf16_units() -> None:
    assert wire.EvalCase(id="a", verify="😀" * 4_096)
    assert refused(wire.EvalCase, {"id": "a", "verify": "😀" * 4_096 + "x"}) == [("verify",)]


@given(st.text())
def test_a_length_is_what_utf16_takes(text: str) -> None:
    assert utf16.length(text) == len(text.encode("utf-16-le", "surrogatepass")) // 2


@given(st.lists(st.text(max_size=4), max_size=6))
def test_the_order_is_that_of_utf16_units(texts: list[str]) -> None:
    def units(text: str) -> list[int]:
        data = text.encode("utf-16-be", "surrogatepass")
        return [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]

    assert sorted(texts, key=utf16.order) == sorted(texts, key=units)
