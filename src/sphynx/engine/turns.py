"""The agent's turns: the opening prompt, then whatever the person says, inside one time limit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import monotonic
from typing import Literal

import anyio

from sphynx.contracts import Harness, Sandbox, TurnResult
from sphynx.engine.durations import short_duration
from sphynx.engine.journaling import TrialJournal
from sphynx.engine.people import Person
from sphynx.errors import StageError
from sphynx.journal.events import Usage

GRACE_S = 10.0
"""A harness stops its agent at the limit; one that does not is cancelled this much later."""
MOST_UNREAD = 1_000
"""Lines nobody understood that are kept of a trial."""

Ending = Literal["single-turn", "user-done", "max-turns", "no-session", "no-user"]
"""Why no turn follows: ``no-session`` when the agent cannot continue, ``no-user`` when the person failed."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """How the agent's part of a trial ended."""

    status: Literal["finished", "failed", "timed_out"]
    ending: Ending | None
    reason: str = ""
    cause: str = "harness"
    session_id: str | None = None
    usage: Usage | None = None
    exit_code: int | None = None
    observed_model: str | None = None
    thinking: int = 0
    """Pieces of reasoning over all turns; their text is not kept."""
    unread: tuple[str, ...] = ()
    """Lines of the agent its harness did not understand, not yet redacted."""
    note: str = ""


async def converse(
    harness: Harness,
    box: Sandbox,
    *,
    opening: str,
    person: Person | None,
    max_turns: int,
    limit_ms: int,
    journal: TrialJournal,
) -> Conversation:
    """Run turns until the person is done or fails, the turns run out, or the agent ends the trial.

    ``limit_ms`` covers what the agent takes over all turns; the person's time does not count. An agent
    that reports no session to continue has a conversation of one turn.
    """
    text = opening
    session: str | None = None
    so_far = Conversation("finished", None)
    left_ms = float(limit_ms)
    turn = 0
    while True:
        turn += 1
        journal.open_turn(text)
        begun = monotonic()
        result = await _turn(harness, box, text, session, left_ms, journal)
        left_ms -= (monotonic() - begun) * 1000
        session = session or result.session_id
        so_far = _added(so_far, result)
        ending: Ending | None = None
        if result.status == "finished":
            try:
                ending, text = await _next(person, turn, max_turns, session, journal)
            except StageError as error:
                result = TurnResult("failed", reason=error.message, cause=error.cause)
                return _ended(_added(so_far, result), result, "no-user", session, limit_ms)
            if ending is None and left_ms <= 0:
                result = TurnResult("timed_out")
        if result.status != "finished" or ending is not None:
            return _ended(so_far, result, ending, session, limit_ms)


async def _turn(
    harness: Harness, box: Sandbox, text: str, session: str | None, left_ms: float, journal: TrialJournal
) -> TurnResult:
    limit = max(1, int(left_ms))
    with anyio.move_on_after(limit / 1000 + GRACE_S):
        try:
            return await harness.turn(box, text, session_id=session, timeout_ms=limit, emit=journal.emit)
        except StageError as error:
            # As a result, so that what earlier turns used is not forgotten.
            return TurnResult("failed", reason=error.message, cause=error.cause)
    return TurnResult("timed_out")


async def _next(
    person: Person | None, turn: int, max_turns: int, session: str | None, journal: TrialJournal
) -> tuple[Ending | None, str]:
    if person is None:
        return "single-turn", ""
    if turn >= max_turns:
        return "max-turns", ""
    if session is None:
        return "no-session", ""
    reply = await person.reply(turn, journal.answer())
    return ("user-done", "") if reply is None else (None, reply)


def _sum(total: Usage | None, more: Usage | None) -> Usage | None:
    if total is None or more is None:
        return total or more
    return total + more


def _added(so_far: Conversation, result: TurnResult) -> Conversation:
    """What adds up over turns, or is what the last turn that knew says."""
    return replace(
        so_far,
        usage=_sum(so_far.usage, result.usage),
        exit_code=result.exit_code,
        observed_model=result.observed_model or so_far.observed_model,
        thinking=so_far.thinking + result.thinking,
        unread=(*so_far.unread, *result.unread)[:MOST_UNREAD],
        note=result.note or so_far.note,
    )


def _ended(
    so_far: Conversation, result: TurnResult, ending: Ending | None, session: str | None, limit_ms: int
) -> Conversation:
    reason, cause = result.reason, result.cause
    if result.status == "timed_out":
        reason, cause = f"The agent ran past its time limit of {short_duration(limit_ms)}", "limit"
    return replace(
        so_far, status=result.status, ending=ending, reason=reason, cause=cause, session_id=session
    )
