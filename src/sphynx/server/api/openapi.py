"""The OpenAPI 3.1 document of the operations."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import models_json_schema

from sphynx._version import __version__
from sphynx.schema.operations import ERRORS, Operation
from sphynx.schema.wire import Answer

_REF = "#/components/schemas/{model}"
_ANY_OBJECT = {"type": ["object", "array"]}
_LIMITS = {413: "PayloadTooLarge", 429: "TooManyRequests"}
"""What any operation may answer beyond the contract; their bodies are an error's."""
_BATCH = "$response.body#/id"
_LINKS: dict[str, dict[str, str]] = {
    "StartedBatch": {
        "evals.batches.get": _BATCH, "evals.batches.cancel": _BATCH, "runner.beat": _BATCH,
        "runner.finish": _BATCH, "evals.runs.get": "$response.body#/runs/0/id",
        "evals.cases.get": "$response.body#/runs/0/caseId",
    },
    "BatchPage": {"evals.batches.get": "$response.body#/batches/0/id"},
    "EvalSuitePage": {"evals.suites.get": "$response.body#/suites/0/id"},
    "EvalCasePage": {"evals.cases.get": "$response.body#/cases/0/id"},
    "EvalRunPage": {"evals.runs.get": "$response.body#/runs/0/id"},
    "Prompt": {"prompts.get": "$response.body#/id"},
}  # fmt: skip
"""Where an answer holds the ``id`` that another operation asks for."""


def document(operations: dict[str, Operation]) -> dict[str, Any]:
    """The document; its components are the models of ``sphynx.schema.wire``."""
    errors: list[type[Answer]] = [
        one for found in ERRORS.values() for kinds in found.values() for one in kinds
    ]
    models = [(model, "serialization") for model in dict.fromkeys(errors)]
    _, defined = models_json_schema(models, ref_template=_REF)  # type: ignore[arg-type]
    components: dict[str, Any] = dict(defined.get("$defs", {}))
    components |= {tag: _error(tag) for tag in _LIMITS.values()}
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
    asked: dict[str, Any] = _ANY_OBJECT
    if operation.request is not None:
        asked = _schema(operation.request, "validation", components)
    responses: dict[str, Any] = {str(operation.status): {"description": "Done"}}
    if operation.response is not None:
        answer = _schema(operation.response, "serialization", components)
        responses["200"]["content"] = {"application/json": {"schema": answer}}
        links = _LINKS.get(getattr(operation.response, "__name__", ""), {})
        if links:
            responses["200"]["links"] = {
                _operation_id(name): {"operationId": _operation_id(name), "requestBody": {"id": where}}
                for name, where in links.items()
            }
    for status, kinds in ERRORS[operation.errors].items():
        refs = [{"$ref": _REF.format(model=kind.__name__)} for kind in kinds]
        schema = refs[0] if len(refs) == 1 else {"anyOf": refs}
        responses[str(status)] = {
            "description": " or ".join(kind.__name__ for kind in kinds),
            "content": {"application/json": {"schema": schema}},
        }
    for limit, tag in _LIMITS.items():
        responses[str(limit)] = {
            "description": tag,
            "content": {"application/json": {"schema": {"$ref": _REF.format(model=tag)}}},
        }
    return {
        "operationId": _operation_id(operation.name),
        "tags": [operation.tag],
        "requestBody": {"required": True, "content": {"application/json": {"schema": asked}}},
        "responses": responses,
    }


def _operation_id(name: str) -> str:
    return name.removeprefix("evals.")


def _error(tag: str) -> dict[str, Any]:
    return {
        "title": tag,
        "type": "object",
        "properties": {"_tag": {"const": tag, "type": "string"}, "message": {"type": "string"}},
        "required": ["_tag", "message"],
    }


def _schema(model: Any, mode: Any, components: dict[str, Any]) -> dict[str, Any]:
    schema = TypeAdapter(model).json_schema(by_alias=True, ref_template=_REF, mode=mode)
    components |= schema.pop("$defs", {})
    name = getattr(model, "__name__", None)
    if schema.get("type") == "object" and name:
        components[name] = schema
        return {"$ref": _REF.format(model=name)}
    return schema
