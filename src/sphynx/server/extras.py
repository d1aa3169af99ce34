"""``x-sphynx`` of requests: what our own server takes beyond the contract, in which form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from sphynx.schema.wire import SuiteBatchRequest
from sphynx.server.refusals import bad_request
from sphynx.server.store.batches import PRIORITY

Milliseconds = Annotated[int, Field(ge=1, le=86_400_000)]
Criterion = Annotated[str, Field(min_length=1, max_length=4_000)]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class _Extras(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel)


class JudgeExtras(_Extras):
    """How one judge is asked."""

    workspace: bool = False
    criteria: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=4_000)]], Field(max_length=60)
    ] = []
    votes: Literal[1, 3, 5, 7, 9] = 1


class CaseExtras(_Extras):
    """What of a case has no field on the wire. ``mocks`` names those that the case's bundle serves."""

    solution: str | None = None
    check_timeout_ms: Annotated[list[Milliseconds], Field(max_length=20)] | None = None
    command_timeout_ms: Milliseconds | None = None
    judges: dict[Name, JudgeExtras] = {}
    mocks: dict[Literal["mcp", "cli", "api"], Annotated[list[Name], Field(max_length=100)]] = {}
    fixtures: dict[str, Any] = {}


class BatchExtras(_Extras):
    """What of a batch has no field on the wire. Trials of a lower ``priority`` go first."""

    priority: Annotated[int, Field(ge=1, le=10)] = PRIORITY


class VariantExtras(_Extras):
    """What of a variant has no field on the wire."""

    harness_version: Name | None = None
    options: dict[str, Any] = {}


def check(request: SuiteBatchRequest) -> None:
    """Refuse what a request asks for that this server does not know or cannot read."""
    _check(BatchExtras, "the batch", request.beyond)
    for case in request.cases:
        _check(CaseExtras, f'case "{case.id}"', case.beyond)
    for one in request.variants:
        _check(VariantExtras, f"{one.harness}/{one.model}", one.beyond)


def _check(form: type[_Extras], who: str, given: Mapping[str, Any] | None) -> None:
    try:
        form.model_validate(dict(given or {}))
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        unknown = [str(one["loc"][-1]) for one in problems if one["type"] == "extra_forbidden"]
        if unknown:
            what = ", ".join(sorted(unknown))
            raise bad_request(f"{who}: this server does not know {what}: run it with --local") from None
        where = ".".join(str(part) for part in problems[0]["loc"])
        raise bad_request(f"{who}: x-sphynx.{where}: {problems[0]['msg']}") from None
