"""The lists of checks, what is checked, and the little they share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sphynx.contracts import Harness, HarnessSetup, Sandbox, TurnResult
from sphynx.harnesses.conformance.watched import WatchedBox
from sphynx.harnesses.transcripts.reading import Exit, Outcome, Reader
from sphynx.journal.events import Event

NOW = 1_893_456_000_000
LIMIT_MS = 60_000


@dataclass(frozen=True, slots=True)
class Subject:
    """A harness to check: ``factory()`` makes one, ``prompt`` is something it does in seconds.

    ``setup`` are fields of ``HarnessSetup``; ``model`` is ``conformance`` and ``timeout_ms`` a minute when
    they are missing. ``slow_prompt`` is something it would take a minute for, when there is such a thing.
    """

    factory: Callable[[], Harness]
    prompt: str
    setup: Mapping[str, Any] = field(default_factory=dict[str, Any])
    slow_prompt: str | None = None


class Trial:
    """One prepared harness in its sandbox. ``box`` notes what it starts, ``events`` what it emits."""

    def __init__(self, subject: Subject, box: Sandbox) -> None:
        self.subject = subject
        self.box = WatchedBox(box)
        self.events: list[Event] = []
        given = {
            "system_prompt": None,
            "run": None,
            "env": {},
            "timeout_ms": LIMIT_MS,
            "model": "conformance",
        }
        self.setup = HarnessSetup(**{**given, **subject.setup})
        self.harness = subject.factory()

    async def prepare(self) -> None:
        """Give the harness its setup."""
        await self.harness.prepare(self.box, self.setup)

    async def turn(
        self, prompt: str | None = None, *, session_id: str | None = None, timeout_ms: int = LIMIT_MS
    ) -> TurnResult:
        """One turn, with the subject's own prompt unless another is given."""
        text = self.subject.prompt if prompt is None else prompt
        return await self.harness.turn(
            self.box, text, session_id=session_id, timeout_ms=timeout_ms, emit=self.events.append
        )


@dataclass(frozen=True, slots=True)
class Recording:
    """A transcript to check a reader on: ``lines`` of one turn that went well.

    ``reasoning`` is a text the recording holds inside the model's reasoning, if it holds any.
    """

    reader: Callable[[], Reader]
    lines: Sequence[bytes]
    reasoning: str | None = None

    def read(self, lines: Sequence[bytes] | None = None, exit: Exit = Exit(0)) -> Read:
        """Read lines (all of the recording's by default) to the end of the process."""
        reader = self.reader()
        events: list[Event] = []
        for line in self.lines if lines is None else lines:
            events += reader.read(line, NOW)
        left, outcome = reader.end(exit, NOW)
        return Read(reader, [*events, *left], outcome)


@dataclass(frozen=True, slots=True)
class Read:
    """What a reader made of a transcript."""

    reader: Reader
    events: list[Event]
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class HarnessCheck:
    """One promise of the harness contract."""

    name: str
    promise: str
    body: Callable[[Trial], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ReaderCheck:
    """One promise every transcript reader makes."""

    name: str
    promise: str
    body: Callable[[Recording], None]


HARNESS_CHECKS: list[HarnessCheck] = []
READER_CHECKS: list[ReaderCheck] = []


def harness_check(body: Callable[[Trial], Awaitable[None]]) -> Callable[[Trial], Awaitable[None]]:
    """Add ``body`` to the harness checks; its docstring is the promise."""
    HARNESS_CHECKS.append(HarnessCheck(body.__name__, (body.__doc__ or "").strip(), body))
    return body


def reader_check(body: Callable[[Recording], None]) -> Callable[[Recording], None]:
    """Add ``body`` to the reader checks; its docstring is the promise."""
    READER_CHECKS.append(ReaderCheck(body.__name__, (body.__doc__ or "").strip(), body))
    return body
