"""Error bodies of the wire."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from sphynx.schema.wire.shape import Answer


class SymbolKey(Answer):
    """A step of a path that is a symbol, not a name."""

    tag: Literal["symbol"] = Field(alias="_tag")
    key: str


PropertyKey: TypeAlias = str | float | SymbolKey


class Issue(Answer):
    """One problem of a body: its kind, where it is, and what is wrong."""

    tag: Literal[
        "Pointer", "Unexpected", "Missing", "Composite", "Refinement", "Transformation", "Type", "Forbidden"
    ] = Field(alias="_tag")
    path: list[PropertyKey]
    message: str


class HttpApiDecodeError(Answer):
    """The body did not fit the request model (status 400)."""

    issues: list[Issue]
    message: str
    tag: Literal["HttpApiDecodeError"] = Field(alias="_tag")


class BadRequest(Answer):
    """The body fits, but what it asks for cannot be done (status 400)."""

    message: str
    tag: Literal["BadRequest"] = Field(alias="_tag")


class Unauthorized(Answer):
    """No credential, or one that is not valid (status 401)."""

    message: str
    tag: Literal["Unauthorized"] = Field(alias="_tag")


class Forbidden(Answer):
    """The credential lacks the permission that the message names (status 403)."""

    message: str
    tag: Literal["Forbidden"] = Field(alias="_tag")


class NotFound(Answer):
    """What the request names does not exist (status 404)."""

    message: str
    tag: Literal["NotFound"] = Field(alias="_tag")


class Conflict(Answer):
    """It clashes with what is already there (status 409)."""

    message: str
    tag: Literal["Conflict"] = Field(alias="_tag")


class InternalError(Answer):
    """The server failed (status 500)."""

    message: str
    tag: Literal["InternalError"] = Field(alias="_tag")
