"""Run the code checks of a case: all of them, one after another, each with its own evidence and limit."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

from sphynx.guest import frames, limits
from sphynx.guest.calling import Loop
from sphynx.guest.console import Running, belongs_to, captured
from sphynx.guest.context import Context
from sphynx.guest.protocol import EXIT_FAILED, EXIT_OK, Outbox
from sphynx.guest.record import Record
from sphynx.guest.verdicts import BadValue, Outcome, fields_of, judge

_AGAIN = 0.25
"""Seconds between two attempts to end a check."""
_SWALLOWED = 5
"""How often the time limit is raised in a check that catches everything before its process is given up."""


class OutOfTime(BaseException):
    """Raised inside a check that is past its time limit. No ``except Exception`` catches it."""


class Planned:
    """A check to run: its function, its place among the case's checks, its name and its limit."""

    __slots__ = ("fn", "index", "name", "timeout_ms")

    def __init__(self, fn: Any, index: int, name: str, timeout_ms: int) -> None:
        self.fn = fn
        self.index = index
        self.name = name
        self.timeout_ms = timeout_ms


class Ended:
    """How one check ended, as the result line needs it."""

    __slots__ = ("broke", "message", "passed")

    def __init__(self, passed: bool, message: str | None, *, broke: bool = False) -> None:
        self.passed = passed
        self.message = message
        self.broke = broke


def run_checks(checks: list[Planned], context: Context, outbox: Outbox, *, capture: bool, tree: str) -> int:
    """Run every check and send its records, then the result. Gives the exit code.

    The message of the result is the first failing check's, else the last check's.
    """
    passed, broke = True, False
    message: str | None = None
    runner = _CheckRunner(context, outbox, capture=capture, tree=tree)
    for ended in runner.run_all(checks):
        if passed:
            message = ended.message
        passed = passed and ended.passed
        broke = broke or ended.broke
    text = None if message is None else limits.cut(message, limits.MESSAGE)
    outbox.send({"t": "result", "passed": passed, "message": text})
    return EXIT_FAILED if broke else EXIT_OK


class _CheckRunner:
    def __init__(self, context: Context, outbox: Outbox, *, capture: bool, tree: str) -> None:
        self._context = context
        self._outbox = outbox
        self._capture = capture
        self._tree = tree
        self._loop = Loop()

    def run_all(self, checks: list[Planned]) -> Iterator[Ended]:
        for check in checks:
            record = Record(self._outbox, index=check.index, name=check.name, capture=self._capture)
            record.send()
            yield self._run(check, Running(record, check.fn))

    def _run(self, check: Planned, running: Running) -> Ended:
        record = running.record
        try:
            os.chdir(self._context.workspace)
            with captured(), belongs_to(running), _Limit(check, running, self._outbox):
                try:
                    value = self._loop.call(check.fn, self._context, running, check.timeout_ms)
                finally:
                    running.flush()
            if forgotten := running.forgotten():
                return self._broke(record, f'check "{check.name}" {forgotten}')
            record.returned(fields_of(value))
            outcome = judge(value)
        except BadValue as error:
            return self._broke(record, f'check "{check.name}" {error}')
        except (OutOfTime, TimeoutError) as error:
            if isinstance(error, TimeoutError) and not self._loop.timed_out:
                return self._raised(check, running, error)
            return self._broke(record, _out_of_time(check))
        except BaseException as error:
            return self._raised(check, running, error)
        return self._judged(record, outcome)

    def _judged(self, record: Record, outcome: Outcome) -> Ended:
        record.measured(outcome.score, outcome.metrics)
        record.end("passed" if outcome.passed else "failed", outcome.message or "")
        return Ended(outcome.passed, outcome.message)

    def _raised(self, check: Planned, running: Running, error: BaseException) -> Ended:
        record = running.record
        if forgotten := running.forgotten():
            return self._broke(record, f'check "{check.name}" {forgotten}', frames.stack(error, self._tree))
        assertion = _assertion(error)
        if assertion is not None:
            message = frames.assertion_text(assertion)
            record.end("failed", message, error=frames.stack(error, self._tree))
            return Ended(False, message)
        if isinstance(error, SystemExit):
            said = f"called sys.exit({error.code!r})"
        else:
            said = f"raised {frames.one_line(error)}"
        where = frames.place(error, self._tree)
        at = f" ({where[0]}:{where[1]})" if where else ""
        return self._broke(record, f'check "{check.name}" {said}{at}', frames.stack(error, self._tree))

    def _broke(self, record: Record, message: str, error: str | None = None) -> Ended:
        record.end("error", message, error=message if error is None else error)
        return Ended(False, message, broke=True)


def _assertion(error: BaseException) -> AssertionError | None:
    """The failed assertion an error stands for: itself, or a task group's when all its errors are such."""
    if isinstance(error, AssertionError):
        return error
    if isinstance(error, BaseExceptionGroup):
        leaves = [_assertion(inner) for inner in error.exceptions]
        return leaves[0] if all(leaves) else None
    return None


def _out_of_time(check: Planned) -> str:
    return f'check "{check.name}" ran past its time limit of {check.timeout_ms / 1000:g}s'


class _Limit:
    """Ends a check that does not end itself, by raising :class:`OutOfTime` in the main thread.

    An async check gets its own, gentler timeout first; this one is for code that never comes back to the
    event loop. A check that catches even this is given up with its process: its record is sent, the host
    sees no result and marks what did not run.
    """

    def __init__(self, check: Planned, running: Running, outbox: Outbox) -> None:
        self._outbox = outbox
        self._armed = True
        self._check = check
        self._running = running
        self._raised = 0

    def __enter__(self) -> None:
        self._before = signal.signal(signal.SIGALRM, self._ring)
        grace = _AGAIN if self._running.is_async else 0
        signal.setitimer(signal.ITIMER_REAL, self._check.timeout_ms / 1000 + grace, _AGAIN)

    def __exit__(self, *exc: object) -> None:
        self._armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before or signal.SIG_DFL)

    def _ring(self, number: int, frame: object) -> None:
        if not self._armed or self._outbox.is_sending():
            return  # half a frame would spoil the next one; the timer rings again
        self._raised += 1
        if self._raised > _SWALLOWED:
            message = f"{_out_of_time(self._check)} and cannot be interrupted"
            self._running.record.end("error", message, error=message)
            sys.stdout.flush()
            os._exit(EXIT_FAILED)
        raise OutOfTime
