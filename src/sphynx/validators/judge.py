"""Model judges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack, cast

if TYPE_CHECKING:
    from sphynx.suite.shapes import JudgeFields


class Judge:
    """A model that reads the evidence of a trial and picks one of its choices; see :func:`judge`."""

    __slots__ = ("given",)
    sphynx_kind = "judge"

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = given

    def __repr__(self) -> str:
        return f"judge({self.given.get('name')!r})"


def judge(**fields: Unpack[JudgeFields]) -> Judge:
    """A model judge, for ``validate``: it passes when the score of its choice reaches ``threshold``.

    ``name``, ``model``, ``prompt`` and ``choices`` (label to score, 0 to 1) are required, and one of
    ``harness`` (an agent in a fresh sandbox) and ``provider="openai"``. ``expected``, ``files``,
    ``threshold`` (1), ``timeout_ms`` (120,000), ``workspace`` and ``votes`` (1) are optional.

    A judge that cannot decide makes the trial void, never failed. What is wrong with a field is told with the
    suite's other problems.
    """
    return Judge(cast("Mapping[str, Any]", fields))
