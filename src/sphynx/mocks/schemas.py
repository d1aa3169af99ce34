"""One way to treat every kind of schema: check a value, turn it to JSON, describe it as JSON Schema.

msgspec Structs and other types, pydantic models and ``TypeAdapter``s, dataclasses, ``TypedDict``s, and plain
JSON Schema as a dict. A library is imported only when a schema needs it, by name, so that what travels into
a sandbox needs nothing but the standard library until the author's own schema asks for more.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol, cast

NOTHING: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
"""The input of what takes none."""


class SchemaError(Exception):
    """A schema of a kind nobody here understands, or one whose library is not installed."""


class Mismatch(Exception):
    """A value does not fit its schema; the text names the field."""


class Adapter(Protocol):
    """What a mock does with a schema."""

    def load(self, value: Any, *, texts: bool = False) -> Any:
        """JSON in, what the handler receives out. ``Mismatch`` when it does not fit. With ``texts`` a number
        may be given as text, where the schema's library can read it."""
        ...

    def dump(self, value: Any) -> Any:
        """What a handler returned in, JSON out. ``Mismatch`` when it does not fit."""
        ...

    def json_schema(self, *, output: bool = False) -> dict[str, Any]:
        """The schema as JSON Schema, an object at its root where it is one."""
        ...


def adapt(schema: Any) -> Adapter:
    """The adapter for ``schema``. ``SchemaError`` says why there is none."""
    if schema is NOTHING:
        return _Nothing()
    if isinstance(schema, Mapping):
        return _JsonSchema(cast("Mapping[str, Any]", schema))
    if hasattr(schema, "validate_python") and hasattr(schema, "json_schema"):
        return _Pydantic(schema)
    if hasattr(schema, "model_validate") or hasattr(schema, "__pydantic_validator__"):
        return _Pydantic(_library("pydantic", schema).TypeAdapter(schema))
    return _types(schema)


def libraries(suite: Any) -> set[str]:
    """The packages that the schemas of a suite's mocks need where the mocks are served."""
    adapters: list[Any] = []
    for part in [part for mock in (*suite.mcp, *suite.cli) for part in mock.parts()]:
        adapters += [getattr(part, "input", None), part.output]
    for endpoint in [part for api in suite.api for part in api.endpoints]:
        adapters += [endpoint.input, *(endpoint.response(status) for status in endpoint.get("responses"))]
    return {adapter.library for adapter in adapters if hasattr(adapter, "library")}


def plain(value: Any) -> Any:
    """``value`` as JSON would hold it, as far as it is a model, a Struct or a dataclass."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True)
    if hasattr(value, "__struct_fields__"):
        return import_module("msgspec").to_builtins(value)
    if hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return value


def _library(name: str, schema: Any) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise SchemaError(f"{_called(schema)} needs {name}, which is not installed here") from None


def _called(schema: Any) -> str:
    return getattr(schema, "__name__", None) or str(schema)


def _types(schema: Any) -> Adapter:
    """Structs, dataclasses, ``TypedDict``s and other types through msgspec, else through pydantic."""
    if schema is None or isinstance(schema, (str, bytes, int, float, list, tuple, set)) or _is_code(schema):
        raise SchemaError(
            f"{schema!r} is no schema: give a msgspec Struct, a pydantic model, a dataclass, a TypedDict, "
            "another type, or JSON Schema as a dict"
        )
    try:
        adapter = _Msgspec(_library("msgspec", schema), schema)
        adapter.json_schema()
        return adapter
    except SchemaError:
        first: Exception | None = None
    except Exception as error:
        first = error
    try:
        return _Pydantic(_library("pydantic", schema).TypeAdapter(schema))
    except Exception as error:
        why = str(first or error).splitlines()[0]
        raise SchemaError(f"{_called(schema)} cannot be a schema: {why}") from None


def _is_code(schema: Any) -> bool:
    return hasattr(schema, "__code__")


class _Nothing:
    def load(self, value: Any, *, texts: bool = False) -> Any:
        if value:
            raise Mismatch(f"{next(iter(value))}: is not known, there is no input")
        return {}

    def dump(self, value: Any) -> Any:
        return self.load(value)

    def json_schema(self, *, output: bool = False) -> dict[str, Any]:
        return dict(NOTHING)


class _Msgspec:
    library = "msgspec"

    def __init__(self, library: Any, schema: Any) -> None:
        self._library = library
        self._schema = schema

    def load(self, value: Any, *, texts: bool = False) -> Any:
        try:
            return self._library.convert(value, self._schema, strict=not texts)
        except self._library.ValidationError as error:
            raise Mismatch(_place(str(error))) from None

    def dump(self, value: Any) -> Any:
        builtins = self._builtins(value)
        try:
            return self._library.to_builtins(self._library.convert(builtins, self._schema))
        except self._library.ValidationError as error:
            raise Mismatch(_place(str(error))) from None

    def _builtins(self, value: Any) -> Any:
        try:
            return self._library.to_builtins(plain(value))
        except (TypeError, ValueError, RecursionError) as error:
            raise Mismatch(str(error)) from None

    def json_schema(self, *, output: bool = False) -> dict[str, Any]:
        return _rooted(self._library.json.schema(self._schema))


class _Pydantic:
    library = "pydantic"

    def __init__(self, adapter: Any) -> None:
        self._adapter = adapter

    def load(self, value: Any, *, texts: bool = False) -> Any:
        return self._validated(value)

    def dump(self, value: Any) -> Any:
        try:
            return self._adapter.dump_python(self._fitted(value), mode="json", by_alias=True)
        except ValueError as error:
            raise Mismatch(str(error).splitlines()[0]) from None

    def _fitted(self, value: Any) -> Any:
        """A handler's result, which may be a model of another kind with the same fields."""
        try:
            return self._validated(value)
        except Mismatch:
            other = plain(value)
            if other is value:
                raise
            return self._validated(other)

    def _validated(self, value: Any) -> Any:
        try:
            return self._adapter.validate_python(value, from_attributes=True)
        except ValueError as error:
            raise Mismatch(_pydantic_text(error)) from None

    def json_schema(self, *, output: bool = False) -> dict[str, Any]:
        mode = "serialization" if output else "validation"
        return _rooted(self._adapter.json_schema(mode=mode))


class _JsonSchema:
    library = "jsonschema"

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = dict(schema)
        library = _library("jsonschema", "a JSON Schema")
        kind = library.validators.validator_for(self._schema, default=library.Draft202012Validator)
        try:
            kind.check_schema(self._schema)
        except library.SchemaError as error:
            raise SchemaError(f"the JSON Schema is not one: {error.message}") from None
        self._validator = kind(self._schema)
        self._best: Any = library.exceptions.best_match

    def load(self, value: Any, *, texts: bool = False) -> Any:
        error = self._best(self._validator.iter_errors(value))
        if error is not None:
            raise Mismatch(_at(error.absolute_path, error.message))
        return value

    def dump(self, value: Any) -> Any:
        return self.load(plain(value))

    def json_schema(self, *, output: bool = False) -> dict[str, Any]:
        return self._schema


def _rooted(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema whose root is a reference, with what it refers to at the root: MCP clients want an object."""
    out = dict(schema)
    name = str(out.get("$ref", "")).removeprefix("#/$defs/")
    definitions = out.get("$defs") or {}
    if name not in definitions:
        return out
    out.pop("$ref")
    out = {**definitions[name], **out}
    used = str({key: value for key, value in out.items() if key != "$defs"}) + str(
        {key: value for key, value in definitions.items() if key != name}
    )
    if f"#/$defs/{name}'" not in used:
        out["$defs"] = {key: value for key, value in definitions.items() if key != name}
    if not out["$defs"]:
        out.pop("$defs")
    return out


def _place(said: str) -> str:
    """msgspec's ``Expected `str`, got `int` - at `$.id``` with the field in front."""
    text, found, path = said.rpartition(" - at `$")
    field = path.rstrip("`").lstrip(".") if found else ""
    text = (text if found else said).replace("`", "")
    return f"{field}: {text[:1].lower()}{text[1:]}" if field else f"{text[:1].lower()}{text[1:]}"


def _pydantic_text(error: ValueError) -> str:
    listed: Any = getattr(error, "errors", None)
    if listed is None:
        return str(error)
    found = listed(include_url=False, include_input=False, include_context=False)
    return "; ".join(_at(item["loc"], item["msg"]) for item in found[:5])


def _at(path: Any, said: str) -> str:
    field = ".".join(str(part) for part in path)
    said = said[:1].lower() + said[1:] if not said[:2].isupper() else said
    return f"{field}: {said}" if field else said
