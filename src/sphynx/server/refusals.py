"""How the server says no: a status, a tag and a message for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class Refusal(Exception):
    """Becomes an error body ``{"_tag", "message"}``, with ``issues`` for a body of the wrong form."""

    def __init__(
        self,
        status: int,
        tag: str,
        message: str,
        *,
        issues: Sequence[Mapping[str, Any]] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.tag = tag
        self.message = message
        self.issues = issues
        self.headers = dict(headers or {})

    def body(self) -> dict[str, Any]:
        """The error body."""
        body: dict[str, Any] = {"_tag": self.tag, "message": self.message}
        return body if self.issues is None else {**body, "issues": [dict(issue) for issue in self.issues]}


def bad_request(message: str) -> Refusal:
    """The body has the right form, but what it asks for cannot be done."""
    return Refusal(400, "BadRequest", message)


def unauthorized(message: str) -> Refusal:
    """No credential, or one that is not valid."""
    return Refusal(401, "Unauthorized", message)


def forbidden(permission: str) -> Refusal:
    """The key lacks a permission."""
    return Refusal(403, "Forbidden", f"the API key lacks the permission {permission}")


def not_found(what: str) -> Refusal:
    """It does not exist, or not in this organization."""
    return Refusal(404, "NotFound", f"there is no {what}")


def conflict(message: str) -> Refusal:
    """It clashes with what is already there."""
    return Refusal(409, "Conflict", message)


def too_large(limit: int) -> Refusal:
    """The body is larger than the server reads."""
    return Refusal(413, "PayloadTooLarge", f"the body is larger than {limit:,} bytes")


def too_many(seconds: int) -> Refusal:
    """The key has asked too often."""
    return Refusal(
        429,
        "TooManyRequests",
        f"too many requests with this API key, try again in {seconds} s",
        headers={"retry-after": str(seconds)},
    )
