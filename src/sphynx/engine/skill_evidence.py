"""Read back what batches of skills left: trials with what their journals say of the skill."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from sphynx.engine.batch_folder import StoredBatch, StoredTrial, list_batches, read_batch, read_events
from sphynx.errors import SphynxError
from sphynx.journal.entries import entry
from sphynx.results.skills import SkillTrial
from sphynx.suite.skills.folder import MAIN
from sphynx.suite.skills.use import marks_of, skill_use

_LOOKED_AT = 200


def skill_trials_of(batches: Iterable[StoredBatch]) -> list[SkillTrial]:
    """Every recorded trial of the batches that ran a skill; the whole journal of each is read."""
    return [found for batch in batches if batch.record.x.get("skill") for found in _trials(batch)]


def _trials(batch: StoredBatch) -> Iterator[SkillTrial]:
    about = batch.record.x["skill"]
    name = str(about["name"])
    marks = _marks(Path(str(about["folder"])))
    prompts = {case: str(value.get("prompt", "")) for case, value in about["cases"].items()}
    places = {case: place for place, case in enumerate(about["cases"])}
    found = [
        _trial(trial, about, name, marks, prompts.get(trial.record.case_id, ""))
        for trial in batch.trials
        if trial.record is not None
    ]
    yield from sorted(found, key=lambda one: (places.get(one.record.case_id, 0), one.record.ordinal))


def _trial(
    trial: StoredTrial, about: dict[str, object], name: str, marks: tuple[str, ...], prompt: str
) -> SkillTrial:
    record = trial.record
    assert record is not None
    found = (entry(event) for event in read_events(trial.folder))
    events = [one for one in found if one is not None]
    use = skill_use(events, name, marks=marks, harness=record.harness, prompt=prompt)
    made = SkillTrial(record, about, actions=use.actions, attempts=use.attempts)
    if made.arm == "without" or use.opened is None:
        return made
    return SkillTrial(record, about, True, use.opened + 1, use.actions, use.attempts)


def _marks(folder: Path) -> tuple[str, ...]:
    try:
        return marks_of((folder / MAIN).read_text("utf-8", "replace"))
    except OSError:
        return ()


def newest_skill_batches(root: Path) -> list[StoredBatch]:
    """The batches of the newest run of skills, in the order they were planned."""
    found: list[StoredBatch] = []
    for folder in list_batches(root)[:_LOOKED_AT]:
        with suppress(SphynxError):  # one that cannot be read says nothing of the others
            batch = read_batch(folder)
            found += [batch] if batch.record.x.get("skill") else []
    run = found[0].record.x.get("skillRun") if found else None
    return [batch for batch in reversed(found) if batch.record.x.get("skillRun") == run]
