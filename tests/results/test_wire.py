"""A recorded local batch reads like one of the service."""

from __future__ import annotations

from sphynx.cli.recording_wire import report_of
from sphynx.journal.entries import entries
from sphynx.journal.events import Command, Message
from sphynx.redaction import Redactor
from sphynx.results.evidence import store_validation
from sphynx.results.wire import batch_to_wire
from sphynx.schema.records import (
    ArtifactRecord,
    BatchRecord,
    CostLine,
    RunPlan,
    Score,
    TrialRecord,
    UsageRecord,
    VerifyStep,
)
from sphynx.schema.wire import EvalBatch

START = "2030-01-01T00:00:00.000Z"


def plan(variant: str = "codex/m", **fields: object) -> RunPlan:
    values = {
        "case_id": "c",
        "case_name": "C",
        "harness": "codex",
        "model": "m",
        "definition_hash": "d",
        **fields,
    }
    return RunPlan(variant=variant, trials=2, **values)


def batch(status: str = "finished", *runs: RunPlan, **fields: object) -> BatchRecord:
    return BatchRecord(
        id="b1", suite_id="s", suite_name="S", file="s_eval.py", runs=list(runs or (plan(),)),
        sphynx_version="0", started_at=START, finished_at="2030-01-01T00:01:00.000Z", status=status,
        trigger={"source": "cli"}, **fields,
    )  # fmt: skip


def trial(ordinal: int, status: str, **fields: object) -> TrialRecord:
    values = {"variant": "codex/m", "started_at": START, **fields}
    return TrialRecord(
        id=f"b1/{ordinal}", batch_id="b1", suite_id="s", case_id="c", ordinal=ordinal, status=status,
        isolation="none", harness="codex", harness_version="0.1", model="m", duration_ms=1500, **values,
    )  # fmt: skip


def test_calls_the_contract_does_not_know_do_not_break_its_readers() -> None:
    """A check that asked for ``ctx.summary()``: the call stands beside the contract's fields."""
    nothing = {"text": "", "format": "text", "state": "unavailable", "truncated": False}
    calls = [
        {"index": at, "method": method, "startedAt": 1.0, "durationMs": 0.1, "input": nothing,
         "output": nothing, "error": None}
        for at, method in enumerate(("answer", "summary"))
    ]  # fmt: skip
    check = {
        "id": "code:0", "index": 0, "name": "n", "kind": "code", "status": "passed", "startedAt": 1.5,
        "durationMs": 1, "message": "", "exitCode": 0, "truncated": False, "input": None, "output": None,
        "error": None, "calls": calls, "logs": [],
    }  # fmt: skip
    done = trial(1, "passed", validations=[store_validation(check, Redactor())])
    wire = batch_to_wire(batch("finished", plan()), [done], {})
    read = EvalBatch.model_validate(wire).runs[0].trials[0].validations[0]
    assert [call.method for call in read.calls] == ["answer"]
    (own,) = wire["runs"][0]["trials"][0]["validations"][0]["x-sphynx"]["calls"]
    assert own["method"] == "summary"
    report = report_of("r", done, [])
    assert [call["method"] for call in report["outcome"]["validations"][0]["calls"]] == ["answer"]


def test_a_full_batch_is_what_the_wire_model_reads() -> None:
    """Every field of the contract, validated by the wire's own model."""
    check = {
        "id": "code:0", "index": 0, "name": "n", "kind": "code", "status": "passed", "startedAt": 1.5,
        "durationMs": 1, "message": "", "exitCode": 0, "truncated": False, "input": None, "output": None,
        "error": None, "calls": [], "logs": [],
    }  # fmt: skip
    full = trial(
        1,
        "passed",
        usage=UsageRecord(input_tokens=1, output_tokens=2, total_tokens=3, cost_usd=0.5),
        costs=[CostLine(component="model", classification="estimate", usd=0.5, source="x")],
        validations=[store_validation(check, Redactor())],
        verify_steps=[VerifyStep(command="true", exit_code=0)],
        artifacts=[ArtifactRecord(path="a.py", byte_size=1, sha256="0" * 64, file="artifact-1.py")],
        scores=[Score(check="n", score=0.5, metrics={"m": 2})],
        files_changed=["a.py"],
        commands=3,
        failed_commands=1,
    )
    journal = entries([Message(role="user", text="go", at=1), Command("ls", 0, "", 2, 1)])
    setup = {"prompt": "go", "source": {"kind": "repo", "url": "u", "ref": None}, "verify": "true"}
    wire = batch_to_wire(
        batch("finished", plan(setup=setup)), [full, trial(2, "failed", cause="agent")], {"b1/1": journal}
    )
    read = EvalBatch.model_validate(wire)
    (run,) = read.runs
    assert run.distribution.pass_rate == 0.5
    assert [item.status for item in run.trials] == ["passed", "failed"]
    assert run.setup.prompt == "go"
    assert wire["runs"][0]["finishedAt"] == "2030-01-01T00:00:01.500Z"
    assert wire["runs"][0]["trials"][0]["trajectory"] == journal
    assert wire["runs"][0]["trials"][0]["x-sphynx"]["scores"][0]["metrics"] == {"m": 2}
    assert wire["costs"]["estimatedEquivalentUsd"] == 0.5


def test_trials_that_were_not_scored_are_void_with_their_reason() -> None:
    """A time-out says ``timed``; a cancelled trial says why; a scored one has no failure."""
    wire = batch_to_wire(
        batch("cancelled"),
        [
            trial(2, "cancelled", reason="stopped", cause="cancelled"),
            trial(1, "timed_out", reason="ran past 1s", cause="limit", stage="agent"),
        ],
        {},
    )
    first, second = wire["runs"][0]["trials"]
    assert (first["status"], first["timed"], first["failure"]) == ("void", True, "ran past 1s")
    assert (second["status"], second["timed"], second["failure"]) == ("void", False, "stopped")
    assert first["x-sphynx"] == {
        "status": "timed_out", "isolation": "none", "cause": "limit", "stage": "agent",
    }  # fmt: skip
    assert (wire["status"], wire["runs"][0]["status"]) == ("failed", "failed")
    assert wire["failure"]
    EvalBatch.model_validate(wire)


def test_a_batch_that_still_runs() -> None:
    """Runs without all their trials are running, and not finished at any time."""
    going = batch("running", plan(), plan("codex/n", model="n"))
    going.finished_at = None
    wire = batch_to_wire(going, [trial(1, "passed"), trial(2, "passed")], {})
    assert [run["status"] for run in wire["runs"]] == ["finished", "running"]
    assert wire["runs"][1]["finishedAt"] is None
    assert wire["runs"][1]["trials"] == []
    EvalBatch.model_validate(wire)


def test_one_unknown_price_marks_the_batch() -> None:
    """The sum of the known ones is shown as incomplete."""
    known = [CostLine(component="model", classification="estimate", usd=0.5, source="x")]
    wire = batch_to_wire(
        batch(), [trial(1, "passed", costs=known), trial(2, "passed", costs=known, costs_incomplete=True)], {}
    )
    assert wire["costs"]["incomplete"] is True
    assert wire["costs"]["estimatedEquivalentUsd"] == 1.0
    assert wire["runs"][0]["trials"][0]["costs"]["incomplete"] is False
