"""The judges of a trial that runs: what they are shown, when they are asked, what becomes of the trial."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sphynx.contracts import Sandbox
from sphynx.engine.batch_folder import read_events
from sphynx.engine.judging import Bench, Judged, Shown, ask, verdict
from sphynx.engine.other_agents import Spend
from sphynx.journal.events import Event, Message
from sphynx.judges.evidence import conversation
from sphynx.judges.files import JudgeFile, read_files
from sphynx.judges.records import skipped
from sphynx.suite.judges import JudgeSpec

if TYPE_CHECKING:
    from sphynx.engine.trial import Trial


MOST_CHANGED = 20
"""Changed files that a judge of criteria is shown."""


@dataclass(slots=True)
class Hearing:
    """The judges of one trial as far as they were asked."""

    shown: Shown
    files: dict[str, JudgeFile]
    judged: dict[int, Judged] = field(default_factory=dict[int, Judged])

    def records(self, judges: Iterable[JudgeSpec]) -> list[dict[str, Any]]:
        """One record per judge, in their order."""
        found = [self.judged.get(judge.index) for judge in judges]
        return [one.record for one in found if one is not None]

    @property
    def spends(self) -> list[Spend]:
        """What all askings took."""
        return [spend for one in self.judged.values() for spend in one.spends]


async def before_close(trial: Trial, box: Sandbox) -> None:
    """Read the files judges want, and ask those that look around in the workspace."""
    judges = trial.job.case.case.judges
    if not judges or trial.status is not None:
        return
    paths = [path for judge in judges for path in judge.files]
    if any(judge.criteria for judge in judges):
        # Those that decide criteria see what the agent changed, as far as it fits.
        paths += trial.changes.paths[:MOST_CHANGED]
    found = await read_files(box, paths)
    redact = trial.redactor.text
    files = {path: replace(file, text=redact(file.text)) for path, file in found.items()}
    trial.hearing = Hearing(_shown(trial), files)
    await _ask(trial, [judge for judge in judges if judge.workspace], box)


async def after_close(trial: Trial) -> None:
    """Ask the other judges, one after another, and settle the trial."""
    hearing = trial.hearing
    if hearing is None or trial.status is not None:
        return
    judges = trial.job.case.case.judges
    await _ask(trial, [judge for judge in judges if not judge.workspace], None)
    scored = trial.scored
    assert scored is not None
    records = hearing.records(judges)
    status, scored.exit_code, lost = verdict(scored.status, records)
    scored.scores += [score for judge in judges if (score := hearing.judged[judge.index].score) is not None]
    trial.void_fields += lost
    if status == "void":
        reason = next(record["message"] for record in records if record["status"] == "error")
        trial.end("void", cause="judge", stage="judges", reason=reason)
    else:
        trial.end(status, cause="agent" if status == "failed" else None, stage=None, reason=None)


def records_of(trial: Trial) -> list[dict[str, Any]]:
    """The record of every judge of the trial's case; those that were not asked are skipped."""
    judged = trial.hearing.judged if trial.hearing else {}
    return [
        judged[judge.index].record if judge.index in judged else skipped(judge)
        for judge in trial.job.case.case.judges
    ]


def shown_of(prompt: str, events: Iterable[Event]) -> Shown:
    """What judges are shown of a journal whose events are redacted."""
    answer = ""

    def watched() -> Iterable[Event]:
        nonlocal answer
        for event in events:
            if isinstance(event, Message) and event.role == "assistant":
                answer = event.text
            yield event

    steps = conversation(watched())
    return Shown(prompt, steps, answer)


def _shown(trial: Trial) -> Shown:
    folder = trial.machine.folder.trial_folder(trial.job.key)
    return shown_of(trial.redactor.text(trial.job.case.prompt), read_events(folder))


async def _ask(trial: Trial, judges: Iterable[JudgeSpec], box: Sandbox | None) -> None:
    key, hearing = trial.job.key, trial.hearing
    assert hearing is not None
    bench = Bench(
        backend=trial.machine.backend,
        trial_id=f"{key.batch_id}-{key.case_id}-{key.ordinal}",
        host_env=trial.machine.host_env,
        isolate=trial.machine.isolate,
        show=lambda text: trial.show("judges", trial.redactor.text(text)),
    )
    for judge in judges:
        hearing.judged[judge.index] = await ask(judge, hearing.shown, hearing.files, bench, box)
