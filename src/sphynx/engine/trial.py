"""One trial from open sandbox to record: the stages in order, and what their failure means.

A stage that breaks makes the trial void with its name, cause and reason. The agent running past its time
limit is an end of its own. Only the checks decide passed or failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from time import monotonic
from typing import Any

import anyio

from sphynx.compiler.compiled import CompiledCase, CompiledSuite, CompiledVariant
from sphynx.contracts import Harness, ResultSink, Sandbox, SandboxBackend, TrialKey
from sphynx.engine import checkpoint, credentials, judging_trials, other_agents, record, stages
from sphynx.engine.batch_folder import BatchFolder
from sphynx.engine.checkpoint import Checkpoints
from sphynx.engine.checks import Scored
from sphynx.engine.diff import Changes
from sphynx.engine.journaling import TrialJournal
from sphynx.engine.judging_trials import Hearing
from sphynx.engine.mocks import TrialMocks
from sphynx.engine.other_agents import Spend
from sphynx.engine.prepare import CaseCache
from sphynx.engine.turns import Conversation
from sphynx.errors import StageError
from sphynx.redaction import Redactor
from sphynx.schema.records import Cause, TrialRecord, TrialStatus

CLOSE_S = 4.0
"""How long closing a sandbox may take when the run is being stopped."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What the trials of one batch share."""

    backend: SandboxBackend
    folder: BatchFolder
    sinks: Sequence[ResultSink]
    host_env: Mapping[str, str]
    forwarded: Mapping[str, str]
    cache: CaseCache | None = None
    recorder: str | None = None
    isolate: bool = False
    keep_workspace: bool = False
    checkpoints: Checkpoints | None = None
    """Where a trial that may go on elsewhere leaves what that needs; the machine is then its alone."""


@dataclass(frozen=True, slots=True)
class TrialJob:
    """Which trial to run."""

    key: TrialKey
    suite: CompiledSuite
    case: CompiledCase
    variant: CompiledVariant


@dataclass(slots=True)
class Trial:
    """A trial under way: what the stages have found out so far."""

    job: TrialJob
    machine: Machine
    redactor: Redactor
    journal: TrialJournal
    started_at: datetime
    box: Sandbox | None = None
    harness: Harness | None = None
    before: Any = None
    login: str = ""
    """What a check's login shell reads of the home: its ``.profile`` before the agent began."""
    mocks: TrialMocks | None = None
    prepared: dict[str, Any] = field(default_factory=dict)
    talk: Conversation | None = None
    changes: Changes = field(default_factory=Changes)
    scored: Scored | None = None
    asked: list[Spend] = field(default_factory=list[Spend])
    """What the model that played the person took, reply by reply."""
    hearing: Hearing | None = None
    """What judges said; ``None`` while there is nothing for them to judge."""
    status: TrialStatus | None = None
    cause: Cause | None = None
    stage: str | None = None
    reason: str | None = None
    isolation: str = "none"
    model_ms: float = 0.0
    begun: float = field(default_factory=monotonic)
    spent_ms: float = 0.0
    """What attempts before this one took, as far as it goes on from what they did."""
    void_fields: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def end(self, status: TrialStatus, *, cause: Cause | None, stage: str | None, reason: str | None) -> None:
        """Settle the trial; the first reason stands."""
        if self.status is None:
            self.status, self.cause, self.stage, self.reason = status, cause, stage, reason

    def took_ms(self) -> float:
        """Milliseconds from the trial's begin to now."""
        return self.spent_ms + (monotonic() - self.begun) * 1000

    def show(self, stage: str, text: str) -> None:
        """Hand redacted output of a stage to whoever watches."""
        for sink in self.machine.sinks:
            sink.output(self.job.key, stage, text)

    def env(self) -> dict[str, str]:
        """Variables of the trial that not every process gets: those its profile names."""
        return credentials.named_variables(self.job.variant, self.machine.host_env)


async def run_trial(job: TrialJob, machine: Machine) -> TrialRecord:
    """Run one trial and give its record. Raises only when cancelled, after its sandbox was closed."""
    trial = _begin(job, machine)
    try:
        await _live(trial)
    except StageError as error:
        trial.end("void", cause=stages.known_cause(error.cause), stage=error.stage, reason=error.message)
    except anyio.get_cancelled_exc_class():
        with anyio.CancelScope(shield=True, deadline=anyio.current_time() + CLOSE_S):
            await _close(trial)
        raise
    except Exception as error:
        trial.end("void", cause="internal", stage=None, reason=_first_line(error))
    await _close(trial)
    duration_ms = trial.took_ms()
    try:
        return record.build(trial, duration_ms=duration_ms)
    except Exception as error:
        reason = f"The result could not be recorded: {_first_line(error)}"
        return record.broken_record(trial, reason, duration_ms=duration_ms)


def _begin(job: TrialJob, machine: Machine) -> Trial:
    # Keys that are renewed while it runs are for later trials: this one hides those it began with.
    machine = replace(machine, host_env=dict(machine.host_env))
    redactor = Redactor(credentials.secrets(job.variant, machine.host_env, machine.forwarded))
    for secret in other_agents.secrets(job.case.case, machine.host_env):
        redactor.add(secret)
    key = job.key
    watch = [lambda event, sink=sink: sink.event(key, event) for sink in machine.sinks]
    journal = TrialJournal(redactor, lambda event: machine.folder.event(key, event), watch)
    return Trial(job, machine, redactor, journal, datetime.now(UTC))


async def _live(trial: Trial) -> None:
    if not await checkpoint.resumed(trial):
        await stages.open_sandbox(trial)
        await stages.set_up(trial)
        await stages.run_agent(trial)
        await stages.see_changes(trial)
        await checkpoint.keep(trial)
    if trial.status is None:
        await stages.score(trial)
    await judging_trials.before_close(trial, stages.opened(trial))
    await stages.keep_workspace(trial)
    if trial.hearing is not None:
        await _close(trial)
        await judging_trials.after_close(trial)


async def _close(trial: Trial) -> None:
    if trial.mocks is not None:
        await trial.mocks.stop()
    if trial.box is None:
        return
    try:
        await trial.box.close()
    except Exception as error:
        trial.notes.append(f"the sandbox was not closed cleanly: {_first_line(error)}")


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
