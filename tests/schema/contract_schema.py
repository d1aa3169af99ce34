"""The contract as JSON Schema, made from ``contract.yaml`` alone, none of our models between."""

from __future__ import annotations

from typing import Any

from schema.test_wire_contract import COMPONENTS, LIMITS, NOT_READ


def schema_of(part: Any, *, closed: bool = True) -> dict[str, Any]:
    """A part of the contract, with the components it refers to. ``closed`` refuses keys it does not have."""
    defs: dict[str, Any] = {}
    whole = _of({"ref": part} if isinstance(part, str) else part, defs, closed)
    return {**whole, "$defs": defs}


def _of(part: dict[str, Any], defs: dict[str, Any], closed: bool) -> dict[str, Any]:
    if "ref" in part:
        shown = _named(part["ref"], defs, closed)
    elif "anyOf" in part:
        arms = [{"ref": arm} if isinstance(arm, str) else arm for arm in part["anyOf"]]
        shown = {"anyOf": [_of(arm, defs, closed) for arm in arms]}
    elif "enum" in part:
        shown = {"enum": part["enum"]}
    else:
        shown = _plain(part, defs, closed)
    return {"anyOf": [shown, {"type": "null"}]} if part.get("nullable") else shown


def _named(name: str, defs: dict[str, Any], closed: bool) -> dict[str, Any]:
    if name in NOT_READ:
        return {}
    if name not in defs:
        defs[name] = {}
        target = COMPONENTS[name]
        if "extends" in target:
            base = COMPONENTS[target["extends"]]
            target = {**base, "fields": {**base["fields"], **target["fields"]}}
        if target["kind"] == "object":
            target = {**target, "type": "object"}
        if name == "DateTimeUtc":
            target = {**target, "format": "date-time"}
        defs[name] = _of({key: value for key, value in target.items() if key != "kind"}, defs, closed)
    return {"$ref": f"#/$defs/{name}"}


def _plain(part: dict[str, Any], defs: dict[str, Any], closed: bool) -> dict[str, Any]:
    kind = part["type"]
    if kind in ("any", "any_object"):
        return {} if kind == "any" else {"type": ["object", "array"]}
    shown = {name: part[key] for key, name in LIMITS.items() if key in part}
    if kind == "array":
        return {**shown, "type": "array", "items": _of(part["items"], defs, closed)}
    if kind == "map":
        keys = _of(part["keys"], defs, closed) if "keys" in part else {"type": "string"}
        values = _of(part["values"], defs, closed)
        return {"type": "object", "propertyNames": keys, "additionalProperties": values}
    if kind == "object":
        there = {name: one for name, one in part["fields"].items() if one.get("type") != "never"}
        absent = [name for name, one in part["fields"].items() if one.get("type") == "never"]
        fields = {name: _of(one, defs, closed) for name, one in there.items()}
        required = [name for name, one in there.items() if one.get("required")]
        shown = {"type": "object", "properties": fields, "required": required}
        if closed:
            shown["additionalProperties"] = False
        elif absent:
            shown["not"] = {"anyOf": [{"required": [name]} for name in absent]}
        return shown
    return {**shown, "type": kind}
