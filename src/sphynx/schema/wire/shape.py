"""What all wire models share: how keys are spelled, what is refused, and texts counted in UTF-16 units."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError, core_schema

from sphynx.schema.utf16 import length

T = TypeVar("T")

STORED = ConfigDict(extra="allow", strict=False)
"""Turns a request model into one for answers."""


class Request(BaseModel):
    """What a client sends. Unknown keys and wrong types are refused; nothing is converted."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", strict=True, defer_build=True
    )

    def wire(self) -> dict[str, Any]:
        """The JSON object to send: camelCase keys, and only the keys that were given."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class Answer(BaseModel):
    """What a server sends. Keys a newer server adds are kept, not refused."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="allow", defer_build=True
    )

    def wire(self) -> dict[str, Any]:
        """The JSON object as it was received or built: camelCase keys, unset ones left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


@dataclass(frozen=True, slots=True)
class Text:
    """Limits of a string. Lengths count UTF-16 units; ``pattern`` has to match the whole string."""

    low: int = 0
    high: int | None = None
    pattern: str | None = None

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        out = handler(schema)
        if self.low:
            out["minLength"] = self.low
        if self.high is not None:
            out["maxLength"] = self.high
        if self.pattern is not None:
            out["pattern"] = self.pattern
        return out

    def check(self, value: str) -> str:
        """``value`` itself, or the error that says which limit it breaks."""
        size = length(value)
        if size < self.low:
            raise PydanticCustomError(
                "text_too_short", "must have at least {low} characters", {"low": self.low}
            )
        if self.high is not None and size > self.high:
            raise PydanticCustomError(
                "text_too_long", "must have at most {high} characters", {"high": self.high}
            )
        if self.pattern is not None and re.fullmatch(self.pattern, value) is None:
            raise PydanticCustomError("text_pattern", "must match {pattern}", {"pattern": self.pattern})
        return value


def given(value: Any, key: str) -> Any:
    """What a value holds under ``key``, still JSON or already a model: tells arms of a union apart."""
    return value.get(key) if isinstance(value, dict) else getattr(value, key, None)


class NotNull:
    """For a key that may be left out but not be null: ``None`` in Python then means "not there"."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        schema = handler(source)
        return schema["schema"] if schema["type"] == "nullable" else schema


Maybe: TypeAlias = Annotated[T | None, NotNull()]
"""A key that may be absent; null is refused."""

Int: TypeAlias = int
NonNegativeInt: TypeAlias = Annotated[int, Field(ge=0)]


def _utc(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _as_text(value: datetime) -> str:
    return value.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03d}Z"


_Time = Annotated[datetime, AfterValidator(_utc), PlainSerializer(_as_text, when_used="json")]
DateTimeUtc: TypeAlias = Annotated[_Time, WithJsonSchema({"type": "string"})]
"""An instant in UTC: ISO 8601 with milliseconds and ``Z`` on the wire, an aware ``datetime`` here."""
EvalTimestamp: TypeAlias = Annotated[_Time, WithJsonSchema({"type": "string", "format": "date-time"})]
Instant: TypeAlias = Annotated[_Time, WithJsonSchema({"type": "string", "format": "date-time"})]
Beyond: TypeAlias = Annotated[dict[str, Any] | None, NotNull(), Field(alias="x-sphynx")]
"""What only our own server reads, under ``x-sphynx``. A client leaves it out for a server that does not
announce it."""
