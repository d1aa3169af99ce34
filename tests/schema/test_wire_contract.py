"""Every model of the wire is what the contract says: names, required, null, limits, enums, defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError

from sphynx.schema import wire
from sphynx.schema.operations import ERRORS, OPERATIONS

CONTRACT = yaml.safe_load((Path(__file__).parent.parent / "data" / "contract.yaml").read_text("utf-8"))
PUBLIC = CONTRACT["components"]
RUNNER = CONTRACT["runner_components"]
COMPONENTS = {**PUBLIC, **RUNNER}
ANY_OBJECT = {name for name, part in COMPONENTS.items() if part.get("type") == "any_object"}
NOT_READ = {name for name, part in RUNNER.items() if part["verified"] == "unknown"}
ELSEWHERE = {"r.CommandUsageLine"}
"""A line of the command harness, which ``sphynx.journal`` reads."""

OURS = {"e2b": ["docker"]}
"""Names a server of one's own knows beside the contract's, in the set that holds the key."""

LIMITS = {
    "minLength": "minLength", "maxLength": "maxLength", "pattern": "pattern", "minItems": "minItems",
    "maxItems": "maxItems", "min": "minimum", "max": "maximum", "exclusiveMin": "exclusiveMinimum",
    "format": "format",
}  # fmt: skip


def plain(name: str) -> str:
    return name.removeprefix("x.").removeprefix("r.")


def wanted(part: dict[str, Any]) -> dict[str, Any]:
    """One type of the contract in the words of JSON Schema, references resolved down to the models."""
    if "ref" in part:
        name = part["ref"]
        target = COMPONENTS[name]
        if target["kind"] == "object":
            return {"model": name}
        if name in NOT_READ:
            return {}
        return wanted({key: value for key, value in target.items() if key != "kind"})
    if "anyOf" in part:
        arms = [{"ref": arm} if isinstance(arm, str) else arm for arm in part["anyOf"]]
        return {"arms": [wanted(arm) for arm in arms]}
    if "enum" in part:
        return {"enum": part["enum"]}
    out: dict[str, Any] = {"type": part["type"]}
    if part["type"] == "any":
        return {}
    for key, name in LIMITS.items():
        if key in part and not (key == "minLength" and part[key] == 0):
            out[name] = part[key]
    if part["type"] == "array":
        out["items"] = wanted(part["items"])
    if part["type"] == "map":
        out["values"] = wanted(part["values"])
        keys = wanted(part["keys"]) if "keys" in part else {"type": "string"}
        out["keys"] = keys
    if part["type"] == "object":
        out["fields"] = fields(part["fields"])
    return out


def fields(given: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, part in given.items():
        if part.get("type") == "never":
            continue
        default = part.get("default")
        if isinstance(default, str) and (default.startswith("<") or "+" in default):
            default = None
        out[name] = {
            "type": wanted(part),
            "required": bool(part.get("required")),
            "nullable": bool(part.get("nullable")) or part.get("type") == "any",
            "default": default,
        }
    return out


def is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


class Shown:
    """A model as JSON Schema says it, in the same words."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        self.schema = TypeAdapter(kind).json_schema(by_alias=True)
        self.defs = self.schema.get("$defs", {})

    def whole(self) -> dict[str, Any]:
        schema = self.schema
        if "$ref" in schema:
            schema = self.defs[schema["$ref"].rpartition("/")[2]]
        return self.inside(schema) if is_model(self.kind) else self.of(schema)

    def of(self, schema: dict[str, Any]) -> dict[str, Any]:
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            known = [part for part in COMPONENTS if plain(part) == name.removeprefix("Stored")]
            return {"model": known[0]} if known else self.inside(self.defs[name])
        for key in ("anyOf", "oneOf"):
            if key in schema:
                arms = [arm for arm in schema[key] if arm.get("type") != "null"]
                return self.of(arms[0]) if len(arms) == 1 else {"arms": [self.of(arm) for arm in arms]}
        if "enum" in schema or "const" in schema:
            names = schema.get("enum", [schema.get("const")])
            ours = [name for mark, added in OURS.items() if mark in names for name in added]
            return {"enum": [name for name in names if name not in ours]}
        kind = schema.get("type")
        if kind is None:
            return {}
        out = {name: schema[name] for name in LIMITS.values() if name in schema}
        if kind == "array":
            return {"type": kind, **out, "items": self.of(schema["items"])}
        if kind == "object":
            return self.table(schema) if "properties" not in schema else self.inside(schema)
        return {"type": kind, **out}

    def table(self, schema: dict[str, Any]) -> dict[str, Any]:
        values = schema.get("additionalProperties", True)
        keys = self.of({"type": "string", **schema.get("propertyNames", {})})
        if "patternProperties" in schema:
            ((pattern, values),) = schema["patternProperties"].items()
            keys["pattern"] = pattern
        return {"type": "map", "values": {} if values is True else self.of(values), "keys": keys}

    def inside(self, schema: dict[str, Any]) -> dict[str, Any]:
        required = schema.get("required", [])
        out: dict[str, Any] = {}
        for name, part in schema.get("properties", {}).items():
            if name == "x-sphynx":
                continue
            arms = part.get("anyOf", part.get("oneOf", []))
            shown = self.of({key: value for key, value in part.items() if key != "default"})
            out[name] = {
                "type": shown,
                "required": name in required,
                "nullable": not shown or any(arm.get("type") == "null" for arm in arms),
                "default": part.get("default"),
            }
        return {"type": "object", "fields": out}


def expected(name: str) -> dict[str, Any]:
    part = COMPONENTS[name]
    if part["kind"] != "object":
        return wanted({key: value for key, value in part.items() if key != "kind"})
    given = part["fields"]
    if "extends" in part:
        given = {**COMPONENTS[part["extends"]]["fields"], **given}
    return {"type": "object", "fields": fields(given)}


FACTORIES = {"source": {"kind": "empty"}, "tags": [], "variables": {}, "config": {}}


@pytest.mark.parametrize("name", sorted(set(COMPONENTS) - ANY_OBJECT - NOT_READ - ELSEWHERE))
def test_a_component_has_the_contracts_fields_limits_and_defaults(name: str) -> None:
    shown = Shown(getattr(wire, plain(name))).whole()
    want = expected(name)
    for field, part in want.get("fields", {}).items():
        if part["default"] in ({}, [], {"kind": "empty"}):
            # Built anew for each model, so JSON Schema does not show it; the test below does.
            assert part["default"] == FACTORIES[field]
            part["default"] = None
    assert shown == want


def test_defaults_that_are_built_anew_are_the_contracts() -> None:
    case = wire.EvalCase(id="a")
    assert case.source == wire.SourceEmpty(kind="empty")
    assert (case.tags, case.variables) == ([], {})
    assert wire.UpdatePromptRequest(id="a", content="b").config == {}


@pytest.mark.parametrize("name", sorted(name for name, part in COMPONENTS.items() if part.get("closed")))
def test_requests_refuse_unknown_keys_and_answers_keep_them(name: str) -> None:
    model = getattr(wire, plain(name))
    if issubclass(model, wire.Request):
        with pytest.raises(ValidationError) as caught:
            model.model_validate({"surprise": 1})
        assert any(error["type"] == "extra_forbidden" for error in caught.value.errors())
    else:
        assert model.model_config["extra"] == "allow"


@pytest.mark.parametrize("name", sorted({**CONTRACT["endpoints"], **CONTRACT["runner_endpoints"]}))
def test_an_operation_is_the_contracts(name: str) -> None:
    given = {**CONTRACT["endpoints"], **CONTRACT["runner_endpoints"]}[name]
    ((status, body),) = given["responses"].items()
    if given["request"] in NOT_READ or body in list(NOT_READ):
        assert name not in OPERATIONS
        return
    operation = OPERATIONS[name]
    assert (operation.path, operation.status, operation.errors) == (given["path"], status, given["errors"])
    assert operation.public == (name in CONTRACT["endpoints"])
    if operation.public:
        assert (operation.tag, operation.permission) == (given["tag"], given["permission"])
    else:
        assert operation.retry_safe == given["repeatable"]
    request = None if given["request"] in ANY_OBJECT else getattr(wire, plain(given["request"]))
    assert operation.request is request
    if isinstance(body, dict):
        assert operation.response == list[getattr(wire, plain(body["items"]["ref"]))]
    else:
        assert operation.response is (getattr(wire, plain(body)) if body else None)


def test_the_error_bodies_of_each_set_are_the_contracts() -> None:
    shown = {
        name: {status: [body.__name__ for body in bodies] for status, bodies in by_status.items()}
        for name, by_status in ERRORS.items()
    }
    assert shown == CONTRACT["error_sets"]
