"""The client against the contract itself, both ways, with examples made from it for every operation."""

from __future__ import annotations

import json
from typing import Any, get_args

import jsonschema
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from client.test_client import example
from schema.contract_schema import schema_of
from schema.test_wire_contract import ANY_OBJECT, CONTRACT, NOT_READ
from sphynx.client import calls
from sphynx.errors import UsageError
from sphynx.schema.operations import OPERATIONS
from sphynx.schema.wire.names import Sandbox

ENDPOINTS = {
    name: given
    for name, given in {**CONTRACT["endpoints"], **CONTRACT["runner_endpoints"]}.items()
    if given["request"] not in NOT_READ and name in OPERATIONS
}
BODIES = {name: next(iter(given["responses"].values())) for name, given in ENDPOINTS.items()}
ASKED = sorted(name for name, given in ENDPOINTS.items() if given["request"] not in ANY_OBJECT)
ANSWERED = sorted(name for name, body in BODIES.items() if body is not None)
MORE_SANDBOXES = set(get_args(Sandbox)) - set(CONTRACT["components"]["x.Sandbox"]["enum"])
FEW = settings(
    max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
)


def drawn(schema: dict[str, Any], data: st.DataObject) -> Any:
    return example(schema, schema["$defs"], data.draw)


def validator(schema: dict[str, Any]) -> Any:
    return jsonschema.Draft202012Validator(schema)


def test_every_operation_of_the_contract_is_covered() -> None:
    assert set(ENDPOINTS) == set(OPERATIONS)
    assert set(ANSWERED) | {name for name, body in BODIES.items() if body is None} == set(OPERATIONS)


@pytest.mark.parametrize("name", ASKED)
def test_what_the_contract_allows_is_sent_as_it_is(name: str) -> None:
    schema = schema_of(ENDPOINTS[name]["request"])

    @FEW
    @given(st.data())
    def check(data: st.DataObject) -> None:
        body = drawn(schema, data)
        validator(schema).validate(body)
        assert json.loads(calls.checked(name, body).encoded()) == body

    check()


@pytest.mark.parametrize("name", ASKED)
def test_what_the_models_allow_is_what_the_contract_allows(name: str) -> None:
    ours = TypeAdapter(OPERATIONS[name].request).json_schema(by_alias=True)
    schema = schema_of(ENDPOINTS[name]["request"])

    @FEW
    @given(st.data())
    def check(data: st.DataObject) -> None:
        body = example(ours, ours.get("$defs", {}), data.draw)
        sent = calls.checked(name, body).encoded().decode()
        # Sandboxes that only a server of one's own has.
        for more in MORE_SANDBOXES:
            sent = sent.replace(f'"sandbox":"{more}"', '"sandbox":"local"')
        validator(schema).validate(json.loads(sent))

    check()


def with_more(value: Any) -> Any:
    """A part of an answer with a key that the contract does not know."""
    if isinstance(value, dict):
        return {**value, "notYetKnown": [1]}
    return [with_more(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", ANSWERED)
def test_what_the_contract_answers_is_read_and_nothing_of_it_is_lost(name: str) -> None:
    schema = schema_of(BODIES[name])
    response: Any = OPERATIONS[name].response
    adapter: TypeAdapter[Any] = TypeAdapter(response)

    @FEW
    @given(st.data())
    def check(data: st.DataObject) -> None:
        answer = drawn(schema, data)
        validator(schema).validate(answer)
        assert shown(adapter, name, answer) == answer
        later = later_answer(answer)
        assert shown(adapter, name, later) == later

    check()


def shown(adapter: TypeAdapter[Any], name: str, answer: Any) -> Any:
    read = calls.parse(OPERATIONS[name], json.dumps(answer).encode())
    return json.loads(adapter.dump_json(read, by_alias=True, exclude_unset=True))


def later_answer(answer: Any) -> Any:
    """What a newer server might say: one more key in the answer, or in each item of it."""
    if isinstance(answer, list):
        return [later_answer(item) for item in answer]
    inner = {key: with_more(value) if key in LISTED else value for key, value in answer.items()}
    return {**inner, "notYetKnown": {"a": 1}}


LISTED = ("batches", "prompts", "variables", "subscriptions", "next", "organization", "runs")


@pytest.mark.parametrize("name", ASKED)
def test_a_field_that_is_missing_or_of_another_kind_fails_before_any_call(name: str) -> None:
    schema = schema_of(ENDPOINTS[name]["request"])

    @settings(FEW, max_examples=3)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        body = drawn(schema, data)
        with pytest.raises(UsageError) as caught:
            calls.checked(name, {**body, "colour": "red"})
        assert "colour" in " ".join(caught.value.issues)
        for field in set(body) - {"userSpend"}:  # of which no form is known
            with pytest.raises(UsageError) as caught:
                calls.checked(name, {**body, field: object()})
            assert any(issue.startswith(field) or field in issue for issue in caught.value.issues)

    check()
