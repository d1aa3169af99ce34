"""People who answer the agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast


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
