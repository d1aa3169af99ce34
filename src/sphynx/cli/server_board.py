"""A batch of a server in the shape the grid, the summaries and the JUnit report read: records of trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sphynx.cli.render.board import Board
from sphynx.schema.records import BatchRecord, CostLine, RunPlan, Score, TrialRecord, UsageRecord, VerifyStep

_COMPONENTS = ("model", "harness", "sandbox", "platform", "user", "judge")


def board_of(
    batch: Mapping[str, Any], where: str, *, began: Mapping[str, float] | None = None, now: float = 0.0
) -> Board:
    """The board of a wire ``EvalBatch``.

    ``where`` stands after the suite's name: its file, or what was asked for. ``began`` says at which
    monotonic time each running trial was first seen, by trial id; one that is new there began ``now``.
    """
    record, trials = records_of(batch, where)
    board = Board.of(record, trials)
    for run, row in zip(batch["runs"], board.rows, strict=True):
        for trial in run["trials"]:
            place = trial["ordinal"] - 1
            if trial["status"] == "running" and 0 <= place < len(row.cells):
                row.cells[place].status = "running"
                row.cells[place].since = (began or {}).get(trial["id"], now)
    return board


def records_of(batch: Mapping[str, Any], where: str) -> tuple[BatchRecord, list[TrialRecord]]:
    """The batch and those of its trials that ended."""
    labels = _labels(batch["runs"])
    plans = [_plan(run, label) for run, label in zip(batch["runs"], labels, strict=True)]
    suite = batch["runs"][0]["suite"] if batch["runs"] else {"id": batch["id"], "name": batch["id"]}
    record = BatchRecord(
        id=batch["id"], suite_id=suite["id"], suite_name=suite["name"], file=where, runs=plans,
        isolation="server", sphynx_version="", started_at=batch["startedAt"],
        finished_at=batch["finishedAt"], status=batch["status"], failure=batch["failure"],
        trigger=batch["trigger"],
    )  # fmt: skip
    trials = [
        _trial(batch, run, label, trial)
        for run, label in zip(batch["runs"], labels, strict=True)
        for trial in run["trials"]
        if trial["status"] not in ("queued", "running")
    ]
    return record, trials


def status_of(trial: Mapping[str, Any]) -> str:
    """How a wire trial ended: on the wire one that ran out of time is a void one that says so."""
    return "timed_out" if trial["status"] == "void" and trial["timed"] else trial["status"]


def label_of(variant: Mapping[str, Any]) -> str:
    """``harness/model`` plus ``@profile``."""
    profile = f"@{variant['profile']}" if variant["profile"] else ""
    return f"{variant['harness']}/{variant['model']}{profile}"


def _labels(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """A label per run; where several variants share one, with what tells them apart."""
    plain = [label_of(run["variant"]) for run in runs]
    counts = Counter((run["case"]["id"], label) for run, label in zip(runs, plain, strict=True))
    if all(count == 1 for count in counts.values()):
        return plain
    ids = {run["variant"]["id"]: label for run, label in zip(runs, plain, strict=True)}
    boxes = {run["variant"]["id"]: run["variant"]["sandbox"] for run in runs}
    told = {name: f"{label} in {boxes[name]}" for name, label in ids.items()}
    shared = Counter(ids.values())
    twice = Counter(told.values())
    return [
        label if shared[label] == 1 else told[name] if twice[told[name]] == 1 else f"{label} {name}"
        for label, name in zip(plain, [run["variant"]["id"] for run in runs], strict=True)
    ]


def _plan(run: Mapping[str, Any], label: str) -> RunPlan:
    variant = run["variant"]
    return RunPlan(
        case_id=run["case"]["id"], case_name=run["case"]["name"], variant=label, harness=variant["harness"],
        model=variant["model"], sandbox=variant["sandbox"], profile=variant["profile"],
        profile_version=run["profileVersion"], harness_version=run["harnessVersion"],
        definition_hash=run["definitionHash"], trials=len(run["trials"]),
    )  # fmt: skip


def _trial(
    batch: Mapping[str, Any], run: Mapping[str, Any], label: str, trial: Mapping[str, Any]
) -> TrialRecord:
    own = trial.get("x-sphynx") or {}
    costs, usage = trial["costs"], trial["usage"]
    # The record's own checks of values are for what is written to disk; another server may know more words.
    return TrialRecord.model_construct(
        id=trial["id"], batch_id=batch["id"], suite_id=run["suite"]["id"], case_id=run["case"]["id"],
        variant=label, ordinal=trial["ordinal"], status=own.get("status") or status_of(trial),
        cause=own.get("cause"), stage=own.get("stage"), reason=trial.get("failure"),
        void_fields=trial["voidFields"], isolation=own.get("isolation") or "server",
        harness=run["variant"]["harness"], harness_version=run["harnessVersion"],
        model=run["variant"]["model"], started_at=run["startedAt"],
        duration_ms=trial["modelMs"] + trial["sandboxMs"], model_ms=trial["modelMs"],
        sandbox_ms=trial["sandboxMs"], commands=trial["commands"], failed_commands=trial["failedCommands"],
        files_changed=trial["filesChanged"], exit_code=trial["exitCode"],
        usage=None if usage is None else UsageRecord.model_validate(usage), costs=_costs(costs),
        costs_incomplete=bool(costs and costs["incomplete"]), validations=trial["validations"],
        verify_steps=[VerifyStep.model_validate(step) for step in trial["verifySteps"]],
        scores=[Score.model_validate(score) for score in own.get("scores", ())],
        notes=[own["note"]] if own.get("note") else [],
    )  # fmt: skip


def _costs(costs: Mapping[str, Any] | None) -> list[CostLine]:
    if costs is None:
        return []
    lines = [*costs["components"], *(costs.get("laterComponents") or ())]
    return [CostLine.model_validate(line) for line in lines if line["component"] in _COMPONENTS]
