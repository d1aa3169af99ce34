"""Who answers the agent in a conversation, as far as a case knows.

People are made in ``sphynx.validators``, which this room cannot import: they are told apart by their
``sphynx_kind``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, cast

from sphynx.suite.fields import Fault, Field, faults_in, listing, mapping, sequence, show, text
from sphynx.suite.judges import agent_name

REPLIES = listing(text(low=1, high=4_000), low=1, high=24, of="replies")
SCRIPT_FIELDS = (
    Field("replies", "Sequence[str]", REPLIES, doc="1 to 24 texts, said in order", required=True),
)
HUMAN_FIELDS = (
    Field("goal", "str", text(low=1, high=2_000), doc="what the person wants done", required=True),
    Field(
        "prompt", "str", text(low=1, high=8_000), doc="the brief they answer from when asked", required=True
    ),
    Field("harness", "str | None", agent_name, doc="the agent that plays them", default="a model plays them"),
    Field("model", "str | None", text(low=1, high=200), doc="the model of that agent"),
)


class ScriptedUser:
    """The dict form of ``script()``: fixed replies, said in order."""

    __slots__ = ("replies",)
    sphynx_kind = "script"

    def __init__(self, replies: list[str]) -> None:
        self.replies = replies


class SimulatedUser:
    """A person with a goal, played by ``harness`` with ``model``; both ``None``: by a model alone."""

    __slots__ = ("given", "goal", "harness", "model", "prompt")
    sphynx_kind = "human"

    def __init__(self, given: Mapping[str, object]) -> None:
        self.given = given
        self.goal = cast(str, given.get("goal") or "")
        self.prompt = cast(str, given.get("prompt") or "")
        self.harness = cast("str | None", given.get("harness"))
        self.model = cast("str | None", given.get("model"))


User: TypeAlias = "ScriptedUser | SimulatedUser"


def user_from(value: object) -> User | None:
    """The person of a case, made from ``script()``, ``human()`` or a dict; ``None`` when there is none."""
    items = mapping(value)
    kind = getattr(value, "sphynx_kind", None)
    if kind == "human":
        return SimulatedUser(cast(Any, value).given)
    if kind == "script":
        return ScriptedUser(cast(Any, value).replies)
    if items is None:
        return None
    if "replies" in items:
        return ScriptedUser(cast("list[str]", sequence(items["replies"]) or []))
    return SimulatedUser(items)


def user_faults(value: Any) -> Iterator[Fault]:
    """What is wrong with a value of the field ``user``."""
    items = mapping(value)
    kind = getattr(value, "sphynx_kind", None)
    if items is not None and "replies" in items:
        for fault in faults_in(SCRIPT_FIELDS, items, what="a script"):
            yield fault.under(".") if fault.at else Fault(f"has an {fault.text}", hint=fault.hint)
    elif items is not None:
        yield from _human_faults(items, ".")
    elif kind == "script":
        for fault in REPLIES(value.replies):
            yield fault.under(": script()")
    elif kind == "human":
        yield from _human_faults(value.given, ": human().")
    else:
        yield Fault(f"must be human(...) or script([...]), not {show(cast('object', value))}")


def _human_faults(given: Mapping[str, object], at: str) -> Iterator[Fault]:
    for fault in faults_in(HUMAN_FIELDS, given, what="human()"):
        yield fault.under(at) if fault.at else Fault(f"has an {fault.text}", hint=fault.hint)
    if given.get("harness") is not None and given.get("model") is None:
        yield Fault("is missing, a harness needs one", at=f"{at}model", hint='model="gpt-5.6-luna"')
    if given.get("model") is not None and given.get("harness") is None:
        hint = 'harness="codex"; SPHYNX_USER_MODEL chooses the model of people no harness plays'
        yield Fault("cannot stand without harness", at=f"{at}model", hint=hint)
