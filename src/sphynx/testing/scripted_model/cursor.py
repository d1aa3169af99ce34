"""Which step answers a request.

In ``conversation`` order no cursor is kept at all: every protocol sends the whole conversation again, so the
place in the script follows from the request, and any number of trials may share a key. Only failures leave no
trace in the conversation; they are counted per identical request. In ``arrival`` order the requests of a key
take one step each, as they come.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from sphynx.testing.scripted_model.conversation import Seen
from sphynx.testing.scripted_model.steps import Step

Order = Literal["conversation", "arrival"]


class Script:
    """The steps for one key or path prefix. The last step repeats when the script has run out."""

    def __init__(
        self, steps: Sequence[Step], *, order: Order = "conversation", asides: Sequence[Step] = ()
    ) -> None:
        self.steps = tuple(steps)
        self.order = order
        self.asides = tuple(asides)
        self._arrived = 0
        self._failures: Counter[str] = Counter()

    def next(self, seen: Seen) -> Step:
        """The step that answers ``seen``. An aside whose condition holds comes first and takes no step."""
        for aside in self.asides:
            if seen.fits(aside.when):
                return aside
        if self.order == "arrival":
            index = self._fitting(self._arrived, seen)
            self._arrived = index + 1
            return self.steps[index]
        return self._by_conversation(seen)

    def _by_conversation(self, seen: Seen) -> Step:
        index = 0
        for number in range(seen.model_turns):
            index = self._fitting(index, seen.before_answer(number), answering=True) + 1
        same = fingerprint(seen)
        for _ in range(self._failures[same]):
            index = self._fitting(index, seen) + 1
        step = self.steps[self._fitting(index, seen)]
        if not step.answers:
            self._failures[same] += 1
        return step

    def _fitting(self, start: int, seen: Seen, *, answering: bool = False) -> int:
        """The first step from ``start`` on that may answer; the last step when none does."""
        for index in range(start, len(self.steps)):
            step = self.steps[index]
            if seen.fits(step.when) and (step.answers or not answering):
                return index
        return len(self.steps) - 1


def fingerprint(seen: Seen) -> str:
    """The same for a request and its repetition by the same session, whether it streams or not."""
    session = next((seen.headers[name] for name in _SESSION_HEADERS if name in seen.headers), "")
    turns = [(turn.role, turn.text) for turn in seen.turns]
    return hashlib.sha256(json.dumps([seen.key, session, turns]).encode()).hexdigest()


_SESSION_HEADERS = ("session-id", "x-claude-code-session-id", "x-session-id", "x-session-affinity")
