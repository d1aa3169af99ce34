"""Who answers the agent in a conversation, as far as a case knows.

People are made in ``sphynx.validators``, which this room cannot import: they are told apart by their
``sphynx_kind``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, cast

from sphynx.suite.fields import Fault, Field, faults_in, listing, mapping, sequence, show, text

REPLIES = listing(text(low=1, high=4_000), low=1, high=24, of="replies")
SCRIPT_FIELDS = (
    Field("replies", "Sequence[str]", REPLIES, doc="1 to 24 texts, said in order", required=True),
)


class ScriptedUser:
    """The dict form of ``script()``: fixed replies, said in order."""

    __slots__ = ("replies",)
    sphynx_kind = "script"

    def __init__(self, replies: list[str]) -> None:
        self.replies = replies


class Script(Protocol):
    """Fixed replies: ``validators.script()`` or its dict form."""

    @property
    def sphynx_kind(self) -> str: ...
    @property
    def replies(self) -> list[str]: ...


def user_from(value: object) -> Script | None:
    """The person of a case; ``None`` when there is none."""
    items = mapping(value)
    if items is None:
        return cast("Script | None", value)
    return ScriptedUser(cast("list[str]", sequence(items.get("replies")) or []))


def user_faults(value: Any) -> Iterator[Fault]:
    """What is wrong with a value of the field ``user``."""
    items = mapping(value)
    if items is not None:
        for fault in faults_in(SCRIPT_FIELDS, items, what="a script"):
            yield fault.under(".") if fault.at else Fault(f"has an {fault.text}", hint=fault.hint)
    elif getattr(value, "sphynx_kind", None) == "script":
        for fault in REPLIES(value.replies):
            yield fault.under(": script()")
    else:
        yield Fault(f"must be script([...]), not {show(cast('object', value))}")
