"""One adapter for every kind of schema: what goes in, what comes out, how it is described."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, TypedDict

import msgspec
import pydantic
import pytest

from sphynx.mocks.schemas import Mismatch, SchemaError, adapt


class StructUser(msgspec.Struct):
    id: str
    age: int = 3


class ModelUser(pydantic.BaseModel):
    id: str
    age: int = 3


@dataclass
class DataUser:
    id: str
    age: int = 3


@pydantic.dataclasses.dataclass
class ModelDataUser:
    id: str
    age: int = 3


class DictUser(TypedDict):
    id: str
    age: NotRequired[int]


JSON_USER = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["id"],
}
KINDS = [StructUser, ModelUser, DataUser, ModelDataUser, DictUser, JSON_USER, pydantic.TypeAdapter(DataUser)]


def named(kind: Any) -> str:
    return getattr(kind, "__name__", type(kind).__name__)


def part(value: Any, name: str) -> Any:
    return value[name] if isinstance(value, dict) else getattr(value, name)


@pytest.mark.parametrize("kind", KINDS, ids=named)
def test_every_kind_checks_reads_and_describes(kind: Any) -> None:
    """The handler gets the author's own type, JSON Schema has an object at its root."""
    adapter = adapt(kind)
    value = adapter.load({"id": "u", "age": 4})
    assert (part(value, "id"), part(value, "age")) == ("u", 4)
    if isinstance(kind, type) and kind is not DictUser:
        assert isinstance(value, kind)
    schema = adapter.json_schema()
    assert schema["type"] == "object"
    assert set(schema["properties"]) == {"id", "age"}
    assert schema["required"] == ["id"]


@pytest.mark.parametrize("kind", KINDS, ids=named)
@pytest.mark.parametrize(("given", "said"), [({"id": 7}, "id"), ({}, "id"), ("text", ".")])
def test_every_kind_names_the_field_that_is_wrong(kind: Any, given: Any, said: str) -> None:
    with pytest.raises(Mismatch, match=said):
        adapt(kind).load(given)


@pytest.mark.parametrize("kind", KINDS, ids=named)
@pytest.mark.parametrize(
    "given",
    [{"id": "u", "age": 4}, StructUser("u", 4), ModelUser(id="u", age=4), DataUser("u", 4)],
    ids=named,
)
def test_every_kind_takes_every_kind_of_result(kind: Any, given: Any) -> None:
    """A handler may give a dict or any model; what goes out is JSON."""
    assert adapt(kind).dump(given) == {"id": "u", "age": 4}


@pytest.mark.parametrize("kind", KINDS, ids=named)
def test_a_result_of_the_wrong_shape_is_refused(kind: Any) -> None:
    with pytest.raises(Mismatch):
        adapt(kind).dump({"id": "u", "age": "old"})


def test_other_types_work_too() -> None:
    """Lists, unions, constraints; types only pydantic knows."""
    assert adapt(list[StructUser]).dump([StructUser("u")]) == [{"id": "u", "age": 3}]
    assert adapt(str | None).load(None) is None
    limited = adapt(Annotated[int, msgspec.Meta(ge=1)])
    with pytest.raises(Mismatch, match=">= 1"):
        limited.load(0)
    assert adapt(list[ModelUser]).load([{"id": "u"}])[0] == ModelUser(id="u")
    assert adapt(pydantic.HttpUrl).json_schema()["format"] == "uri"


class Tree(msgspec.Struct):
    children: list[Tree] = []


class Recursive(pydantic.BaseModel):
    inner: list[Recursive] = []


@pytest.mark.parametrize("kind", [Tree, Recursive])
def test_a_schema_that_holds_itself_keeps_its_own_definition(kind: Any) -> None:
    schema = adapt(kind).json_schema()
    assert schema["type"] == "object"
    assert kind.__name__ in schema["$defs"]


def test_models_inside_other_types_keep_their_definitions() -> None:
    assert "StructUser" in adapt(list[StructUser]).json_schema()["$defs"]


@pytest.mark.parametrize("value", [3, "str", None, {"type": "nonsense"}, lambda: 1])
def test_what_is_no_schema_is_refused_in_one_line(value: Any) -> None:
    with pytest.raises(SchemaError) as caught:
        adapt(value)
    assert "\n" not in str(caught.value)


def test_nothing_is_imported_that_no_schema_asks_for() -> None:
    """The builders load the standard library only."""
    code = (
        "import sys, sphynx.mocks.mcp, sphynx.mocks.cli, sphynx.mocks.api;"
        "print([m for m in ('msgspec', 'pydantic', 'jsonschema', 'asyncio', 'inspect', 'http.client')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
