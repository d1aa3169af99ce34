"""``cli()``, ``command()``: a program on the agent's PATH."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Required, TypedDict, Unpack, cast

from sphynx.mocks.definition import (
    Declared,
    Field,
    Handler,
    Said,
    anything,
    function,
    kind_of,
    listing,
    repeated,
    text,
    texts,
)
from sphynx.mocks.mcp import adapter_of, schema_faults
from sphynx.mocks.schemas import NOTHING, Adapter, SchemaError

_FLAG = r"--[a-z0-9]+(?:-[a-z0-9]+)*"
_OPTION_KEYS = ("description", "type", "name")
_RESERVED = ("--help", "--version")


class OptionFields(TypedDict, total=False):
    """One option of a command: ``type`` is ``string`` (the default) or ``boolean``, ``name`` its flag."""

    description: str
    type: Literal["string", "boolean"]
    name: str


class CommandFields(TypedDict, total=False):
    """What ``command()`` takes."""

    path: Required[Sequence[str]]
    description: str | None
    input_schema: Any
    output_schema: Any
    options: Mapping[str, OptionFields]
    handler: Required[Handler]


class Option:
    """One option: ``key`` of the input, ``flag`` on the command line, ``boolean`` without a value."""

    __slots__ = ("boolean", "description", "flag", "key")

    def __init__(self, key: str, given: Mapping[str, Any]) -> None:
        self.key = key
        self.flag = str(given.get("name") or "--" + kebab(key))
        self.boolean = given.get("type") == "boolean"
        self.description = str(given.get("description") or "")


def kebab(key: str) -> str:
    """``userId`` and ``user_id`` as a flag spells them: ``user-id``."""
    return re.sub(r"[_\s]+", "-", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", key)).lower()


def _path(value: Any) -> str | None:
    said = texts(value)
    if said or not value:
        return said or "must hold at least one word"
    wrong = next((word for word in value if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.:-]*", word)), None)
    return f'holds "{wrong}", which is no word of a command line' if wrong else None


def _options(value: Any) -> str | None:
    if not isinstance(value, Mapping):
        return f"must be a dict of options, not {kind_of(value)}"
    for key, given in cast("Mapping[Any, Any]", value).items():
        if not isinstance(given, Mapping):
            return f'["{key}"] must be a dict, not {kind_of(given)}'
        unknown = [name for name in cast("Mapping[str, Any]", given) if name not in _OPTION_KEYS]
        if unknown:
            return f'["{key}"] has an unknown field "{unknown[0]}"; it has: {", ".join(_OPTION_KEYS)}'
        said = _option(str(key), cast("Mapping[str, Any]", given))
        if said:
            return said
    return None


def _option(key: str, given: Mapping[str, Any]) -> str | None:
    if given.get("type", "string") not in ("string", "boolean"):
        return f'["{key}"].type must be "string" or "boolean"'
    flag = Option(key, given).flag
    if not re.fullmatch(_FLAG, flag):
        return f'["{key}"] is the flag {flag}, which must be -- and lowercase words with hyphens'
    return f'["{key}"] is {flag}, which every command has' if flag in _RESERVED else None


class Command(Declared):
    """One command of a CLI mock."""

    __slots__ = ()
    builder = "command"
    named_by = "path"
    fields: ClassVar[Sequence[Field]] = (
        Field("path", _path, "the words that call it, as a list", required=True),
        Field("description", text(), "its line in the help"),
        Field("input_schema", anything, "what it takes, an object with a key per option"),
        Field("output_schema", anything, "what it prints"),
        Field("options", _options, "an entry per key of the input"),
        Field("handler", function, "is called with the input", required=True),
    )

    @property
    def words(self) -> tuple[str, ...]:
        """The words that call it."""
        return tuple(self.get("path", ()))

    @property
    def input(self) -> Adapter:
        """The input's adapter."""
        return adapter_of(self, "input_schema", NOTHING)

    @property
    def output(self) -> Adapter | None:
        """The output's adapter, if it has a schema."""
        return adapter_of(self, "output_schema", None)

    @property
    def options(self) -> list[Option]:
        """Its options, in order."""
        return [Option(key, given) for key, given in self.get("options", {}).items()]

    def unfit(self) -> Said:
        yield from schema_faults(self, "input_schema", "output_schema")
        for flag in repeated([option.flag for option in self.options]):
            yield "options", f"holds the flag {flag} more than once", "name= gives an option another flag"
        try:
            schema = self.input.json_schema()
        except SchemaError:
            return
        yield from self._unmatched(schema)

    def _unmatched(self, schema: Mapping[str, Any]) -> Said:
        keys: dict[str, Any] = schema.get("properties") or {}
        known = {option.key: option for option in self.options}
        for key in keys:
            if key not in known:
                yield (
                    "options",
                    f'has no entry for the input key "{key}"',
                    "every key of the input is an option",
                )
        for key, option in known.items():
            if key not in keys:
                yield "options", f'has "{key}", which the input does not have', None
            elif option.boolean and key in (schema.get("required") or []):
                hint = "make it optional or give it a default: a flag that is not there is no value"
                yield "options", f'["{key}"] is boolean, but the input requires it', hint


class CliFields(TypedDict, total=False):
    """What ``cli()`` takes."""

    path: Required[str]
    version: str | None
    description: str | None
    commands: Required[Sequence[Command]]


class Cli(Declared):
    """A CLI mock: ``path`` is the name of its executable."""

    __slots__ = ()
    sphynx_kind = "cli"
    builder = "cli"
    made_of = ("commands",)
    named_by = "path"
    fields: ClassVar[Sequence[Field]] = (
        Field(
            "path",
            text(pattern=r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", example="users"),
            "the name of the executable",
            required=True,
        ),
        Field("version", text(high=100), "what --version prints"),
        Field("description", text(), "the first line of its help"),
        Field("commands", listing(Command, "command(...)", low=1), "its commands", required=True),
    )

    @property
    def commands(self) -> list[Command]:
        """Its commands, in order."""
        return list(self.get("commands", ()))

    def unfit(self) -> Said:
        for words in repeated([command.label for command in self.commands]):
            yield "commands", f'holds "{words}" more than once', "a path is one command"


def cli(**fields: Unpack[CliFields]) -> Cli:
    """A program for ``suite(cli=[...])``. Never raises: what is wrong is told with the suite's problems."""
    return Cli(fields)


def command(**fields: Unpack[CommandFields]) -> Command:
    """A command of a ``cli()``. ``handler(input)`` or ``handler(input, ctx)`` gives what is printed as JSON;
    what it raises goes to standard error, with exit code 1."""
    return Command(fields)
