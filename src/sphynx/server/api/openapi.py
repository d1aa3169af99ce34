"""The OpenAPI 3.1 document of the operations."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import models_json_schema

from sphynx._version import __version__
from sphynx.schema.operations import ERRORS, Operation
from sphynx.schema.wire import Answer

_REF = "#/components/schemas/{model}"


def document(operations: dict[str, Operation]) -> dict[str, Any]:
    """The document; its components are the models of ``sphynx.schema.wire``."""
    errors: list[type[Answer]] = [
        one for found in ERRORS.values() for kinds in found.values() for one in kinds
    ]
    models = [(model, "serialization") for model in dict.fromkeys(errors)]
    _, defined = models_json_schema(models, ref_template=_REF)  # type: ignore[arg-type]
    components: dict[str, Any] = dict(defined.get("$defs", {}))
    paths = {one.path: {"post": _operation(one, components)} for one in operations.values()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Sphynx API", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"bearer": []}],
    }


def _operation(operation: Operation, components: dict[str, Any]) -> dict[str, Any]:
    asked = {"type": "object"}
    if operation.request is not None:
        asked = _schema(operation.request, "validation", components)
    responses: dict[str, Any] = {str(operation.status): {"description": "Done"}}
    if operation.response is not None:
        answer = _schema(operation.response, "serialization", components)
        responses["200"]["content"] = {"application/json": {"schema": answer}}
    for status, kinds in ERRORS[operation.errors].items():
        refs = [{"$ref": _REF.format(model=kind.__name__)} for kind in kinds]
        schema = refs[0] if len(refs) == 1 else {"anyOf": refs}
        responses[str(status)] = {
            "description": " or ".join(kind.__name__ for kind in kinds),
            "content": {"application/json": {"schema": schema}},
        }
    return {
        "operationId": operation.name,
        "tags": [operation.tag],
        "requestBody": {"required": True, "content": {"application/json": {"schema": asked}}},
        "responses": responses,
    }


def _schema(model: Any, mode: Any, components: dict[str, Any]) -> dict[str, Any]:
    schema = TypeAdapter(model).json_schema(by_alias=True, ref_template=_REF, mode=mode)
    components |= schema.pop("$defs", {})
    name = getattr(model, "__name__", None)
    if schema.get("type") == "object" and name:
        components[name] = schema
        return {"$ref": _REF.format(model=name)}
    return schema
