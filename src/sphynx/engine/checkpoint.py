"""What a trial leaves for another worker once its agent is done, so that the agent need not work again.

It holds what the later stages read: the journal as it is stored, how the conversation ended, what the agent
changed. It never holds a secret. Where a stage would read something else than it would have read without the
interruption, nothing is kept and the trial begins anew: see ``why_not``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import anyio.to_thread
import msgspec

from sphynx.contracts import Sandbox, SandboxSpec
from sphynx.engine import stages
from sphynx.engine.batch_folder import read_events
from sphynx.engine.diff import Changes
from sphynx.engine.other_agents import Spend
from sphynx.engine.turns import Conversation
from sphynx.errors import StageError
from sphynx.journal.events import Event, Usage
from sphynx.registry import load_harness
from sphynx.results.artifacts import safe_diff, select

if TYPE_CHECKING:
    from sphynx.engine.trial import Trial

MOST_BYTES = 32_000_000
"""Of a journal; a trial with a longer one begins anew."""


class Checkpoints(Protocol):
    """Where one trial's checkpoint is kept. What cannot be kept or found decides nothing: never raises."""

    async def left(self) -> Mapping[str, Any] | None:
        """What an attempt before this one has left."""
        ...

    async def attach(self, spec: SandboxSpec) -> Sandbox | None:
        """The sandbox it was left in; ``None`` when that is gone."""
        ...

    async def keep(self, box: Sandbox, state: Mapping[str, Any]) -> None:
        """Plain JSON data to go on from in ``box``."""
        ...

    async def give_up(self, why: str) -> None:
        """There is nothing to go on from, and why: the next attempt begins anew."""
        ...


@dataclass(frozen=True, slots=True)
class _Asked:
    model: str
    usage: Usage | None


@dataclass(frozen=True, slots=True)
class _State:
    events: list[Event]
    turn_count: int
    opening: str
    talk: Conversation
    asked: list[_Asked]
    changes: Changes
    harness_version: str
    login: str
    started_at: datetime
    spent_ms: float
    model_ms: float
    notes: list[str]


async def keep(trial: Trial) -> None:
    """Leave what a trial whose agent is done needs to go on elsewhere."""
    kept = trial.machine.checkpoints
    if kept is None or trial.box is None or trial.status is not None:
        return
    folder = trial.machine.folder.trial_folder(trial.job.key)
    try:
        why = why_not(trial, folder)
        if why:
            await kept.give_up(why)
            return
        state = await anyio.to_thread.run_sync(_state, trial, folder)
    except Exception as error:
        await kept.give_up(f"what it had could not be kept ({type(error).__name__})")
        return
    await kept.keep(trial.box, state)


async def resumed(trial: Trial) -> bool:
    """Put the trial where an attempt before this one left it; whether there was something left."""
    kept = trial.machine.checkpoints
    left = await kept.left() if kept is not None else None
    if kept is None or left is None:
        return False
    try:
        state = msgspec.convert(left, _State)
    except msgspec.ValidationError:
        await kept.give_up("what was kept of it cannot be read any more")
        return False
    box = await kept.attach(stages.spec_of(trial))
    if box is None:
        return False
    trial.box = box
    trial.isolation = box.isolation
    _put_back(trial, state)
    return True


def why_not(trial: Trial, folder: Path) -> str:
    """Why a trial cannot be gone on with elsewhere; empty when it can."""
    redact = trial.redactor.text
    if trial.mocks is not None:
        return "its mocks ended with the worker"
    if trial.prepared:
        return "what its prepare gave is stored nowhere"
    if trial.journal.redacted or any(redact(text) != text for text in (trial.login, *trial.changes.paths)):
        return "what it left holds a secret, and those are stored nowhere"
    journal = folder / "journal.jsonl"
    if journal.exists() and journal.stat().st_size > MOST_BYTES:
        return "its journal is too long to be kept"
    return ""


def _state(trial: Trial, folder: Path) -> dict[str, Any]:
    talk, redact = trial.talk, trial.redactor.text
    assert talk is not None
    changes = trial.changes
    diff, left_out = safe_diff(trial.redactor.diff(changes.text))
    forgotten = set(left_out) - set(safe_diff(diff)[1])
    notes = ["left out of the diff, they may hold secrets: " + ", ".join(sorted(forgotten))] * bool(forgotten)
    state = _State(
        events=list(read_events(folder)),
        turn_count=trial.journal.turn_count,
        opening=trial.journal.opening,
        talk=replace(
            talk,
            session_id=talk.session_id and trial.redactor.known(talk.session_id),
            observed_model=talk.observed_model and trial.redactor.known(talk.observed_model),
            unread=tuple(map(redact, talk.unread)),
            note=redact(talk.note),
        ),
        asked=[_Asked(spend.model, spend.usage) for spend in trial.asked],
        changes=Changes(
            paths=changes.paths,
            text=diff,
            notes=[redact(note) for note in (*changes.notes, *notes)],
            contents={
                path: text.encode("utf-8", "replace")
                for path, text in select(changes.contents, trial.redactor)
            },
        ),
        harness_version=trial.harness.version if trial.harness else "",
        login=trial.login,
        started_at=trial.started_at,
        spent_ms=trial.took_ms(),
        model_ms=trial.model_ms,
        notes=[redact(note) for note in trial.notes],
    )
    return msgspec.to_builtins(state)


def _put_back(trial: Trial, state: _State) -> None:
    trial.journal.replay(state.events, opening=state.opening, turn_count=state.turn_count)
    if trial.journal.lost is not None:
        raise StageError(
            f"An event could not be stored: {trial.journal.lost}", stage="journal", cause="internal"
        )
    trial.harness = harness = load_harness(trial.job.variant.variant.harness)()
    harness.version = state.harness_version
    trial.talk = state.talk
    trial.asked = [Spend(one.model, one.usage) for one in state.asked]
    trial.changes = state.changes
    trial.login = state.login
    trial.started_at = state.started_at
    trial.spent_ms = state.spent_ms
    trial.model_ms = state.model_ms
    trial.notes += state.notes
