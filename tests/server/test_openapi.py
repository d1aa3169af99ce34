"""The OpenAPI document says what the contract says, component by component and operation by operation."""

from __future__ import annotations

from typing import Any

import pytest

from schema.test_wire_contract import (
    ANY_OBJECT,
    COMPONENTS,
    CONTRACT,
    NOT_READ,
    PUBLIC,
    Shown,
    expected,
    plain,
    wanted,
)
from sphynx.server.api.dispatch import ALL
from sphynx.server.api.openapi import document

DOCUMENT = document(ALL)
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
OBJECTS = sorted(
    name for name, part in COMPONENTS.items() if part["kind"] == "object" and plain(name) in SCHEMAS
)
ENDPOINTS = {
    name: given
    for name, given in {**CONTRACT["endpoints"], **CONTRACT["runner_endpoints"]}.items()
    if given["request"] not in NOT_READ and name in ALL
}


class Served(Shown):
    """A part of the served document, in the words the contract is compared in."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema
        self.defs = SCHEMAS


def without_defaults(shown: dict[str, Any]) -> dict[str, Any]:
    """Those built anew for each model are not in JSON Schema; ``tests/schema`` compares them."""
    for part in shown.get("fields", {}).values():
        if part["default"] in ({}, [], {"kind": "empty"}):
            part["default"] = None
    return shown


@pytest.mark.parametrize("name", OBJECTS)
def test_a_component_is_the_contracts_field_by_field(name: str) -> None:
    schema = SCHEMAS[plain(name)]
    assert Served(schema).inside(schema) == without_defaults(expected(name))
    if COMPONENTS[name].get("closed") and schema.get("additionalProperties") is not False:
        # An answer may grow; what a client sends may not.
        assert schema.get("additionalProperties") is True


def test_no_component_of_the_contract_is_missing() -> None:
    objects = {name for name, part in PUBLIC.items() if part["kind"] == "object"}
    assert {plain(name) for name in objects} <= set(SCHEMAS)


@pytest.mark.parametrize("name", sorted(ENDPOINTS))
def test_an_operation_is_described_as_in_the_contract(name: str) -> None:
    given, told = ENDPOINTS[name], DOCUMENT["paths"][ENDPOINTS[name]["path"]]["post"]
    asked = told["requestBody"]["content"]["application/json"]["schema"]
    if given["request"] in ANY_OBJECT:
        assert name.endswith(("whoami", ".list"))
        assert asked == {"type": ["object", "array"]}
    else:
        assert Served(asked).of(asked) == wanted({"ref": given["request"]})
    ((status, body),) = given["responses"].items()
    answer = told["responses"][str(status)].get("content")
    if body is None:
        assert answer is None
    else:
        schema = answer["application/json"]["schema"]
        assert Served(schema).of(schema) == wanted({"ref": body} if isinstance(body, str) else body)
    if "operationId" in given:
        assert (told["operationId"], told["tags"]) == (given["operationId"], [given["tag"]])
    kinds = CONTRACT["error_sets"][given["errors"]]
    refused = {int(code) for code in told["responses"]} - {status, 413, 429}
    assert refused == set(kinds)
    for code, names in kinds.items():
        schema = told["responses"][str(code)]["content"]["application/json"]["schema"]
        refs = schema.get("anyOf", [schema])
        assert [ref["$ref"].rpartition("/")[2] for ref in refs] == names
