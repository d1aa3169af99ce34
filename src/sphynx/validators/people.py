"""People who answer the agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack, cast

if TYPE_CHECKING:
    from sphynx.suite.shapes import HumanFields


class Script:
    """Fixed replies, said in order: reply n after turn n; the conversation ends when none is left."""

    __slots__ = ("replies",)
    sphynx_kind = "script"

    def __init__(self, replies: Sequence[str]) -> None:
        given = cast("object", replies)
        self.replies = list(replies) if isinstance(given, (list, tuple)) else cast("list[str]", replies)

    def __repr__(self) -> str:
        return f"script({self.replies!r})"


def script(replies: Sequence[str]) -> Script:
    """A person who says 1 to 24 given replies (1 to 4,000 characters each) whatever the agent answers.

    What is wrong with them is told with the suite's other problems.
    """
    return Script(replies)


class Human:
    """A simulated person with a goal; see :func:`human`."""

    __slots__ = ("given",)
    sphynx_kind = "human"

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = given

    def __repr__(self) -> str:
        return f"human({self.given.get('goal')!r})"


def human(**fields: Unpack[HumanFields]) -> Human:
    """A person who wants ``goal`` (up to 2,000 characters) and answers from ``prompt`` (up to 8,000).

    They answer only what the agent asks and end the conversation when the goal is met. A model plays them
    (``SPHYNX_USER_MODEL``), or the agent ``harness`` with ``model``. What is wrong with a field is told with
    the suite's other problems.
    """
    return Human(cast("Mapping[str, Any]", fields))
