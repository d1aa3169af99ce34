"""Checks of what the agent said and did, without a model: free, and the same every time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


class TranscriptCheck:
    """A check of the whole conversation; see :func:`transcript_contains`."""

    __slots__ = ("_needles", "_wanted")

    def __init__(self, needles: Sequence[str], wanted: bool) -> None:
        self._needles = tuple(needles)
        self._wanted = wanted

    @property
    def sphynx_name(self) -> str:
        """What the check is called in results."""
        return repr(self)

    def __repr__(self) -> str:
        name = "transcript_contains" if self._wanted else "no_transcript_contains"
        return f"{name}({', '.join(map(repr, self._needles))})"

    async def __call__(self, ctx: Any) -> dict[str, Any]:
        """The verdict. ``LookupError`` when there is no transcript: nothing was seen, so nothing is known."""
        if not self._needles or not all(self._needles):
            raise ValueError(f"{self!r} needs texts that are not empty")
        hay = "\n".join(_texts(await ctx.turns())).casefold()
        if not hay.strip():
            raise LookupError("there is no transcript: the agent reported nothing it said or did")
        there = [needle for needle in self._needles if needle.casefold() in hay]
        wrong = [needle for needle in self._needles if needle not in there] if self._wanted else there
        word = "is not" if self._wanted else "is"
        return {
            "passed": not wrong,
            "message": "; ".join(f"{text!r} {word} in the transcript" for text in wrong),
        }


def transcript_contains(*needles: str) -> TranscriptCheck:
    """A check that passes when every text stands, ignoring case, in what the agent said or did: messages,
    commands with their output, tool calls, paths it wrote. A trial without any of these is an error."""
    return TranscriptCheck(needles, True)


def no_transcript_contains(*needles: str) -> TranscriptCheck:
    """A check that passes when none of the texts stands in what the agent said or did, as
    :func:`transcript_contains` reads it. A trial without a transcript is an error, never a pass."""
    return TranscriptCheck(needles, False)


def _texts(turns: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for turn in turns:
        for event in turn["events"]:
            if event["_tag"] == "message" and event["role"] == "user":
                continue
            for key in ("text", "command", "output", "name", "input", "error"):
                if event.get(key):
                    yield str(event[key])
            yield from event.get("paths") or ()
