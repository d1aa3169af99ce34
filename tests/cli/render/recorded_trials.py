"""Records as a run leaves them, for the tests of what is printed."""

from __future__ import annotations

from typing import Any

from sphynx.schema.records import BatchRecord, CostLine, RunPlan, TrialRecord, UsageRecord

CASE = "writes-hello"


def trial(
    status: str = "passed", ordinal: int = 1, label: str = "command/steady", **more: Any
) -> TrialRecord:
    values: dict[str, Any] = {
        "id": f"{label}-{ordinal}", "batch_id": "20261130-211405-k3f9", "suite_id": "hello", "case_id": CASE,
        "variant": label, "ordinal": ordinal, "status": status, "isolation": "none", "harness": "command",
        "harness_version": "", "model": "steady", "started_at": "2026-11-30T21:14:05Z", "duration_ms": 300,
    }  # fmt: skip
    return TrialRecord(**{**values, **more})


def check(name: str, status: str, message: str = "", ms: float = 3, **more: Any) -> dict[str, Any]:
    return {"name": name, "status": status, "message": message, "durationMs": ms, "kind": "code", **more}


def batch(*labels: str, trials: int = 3, cases: tuple[str, ...] = (CASE,)) -> BatchRecord:
    return BatchRecord(
        id="20261130-211405-k3f9", suite_id="hello", suite_name="hello", file="examples/hello_eval.py",
        runs=[
            RunPlan(case_id=case, case_name=case, variant=label, harness="command", model="steady",
                    definition_hash="0" * 32, trials=trials)
            for case in cases for label in labels
        ],
        sphynx_version="0.1.0", started_at="2026-11-30T21:14:05Z",
    )  # fmt: skip


def usage(inward: int, outward: int) -> UsageRecord:
    return UsageRecord(input_tokens=inward, output_tokens=outward, total_tokens=inward + outward)


def cost(component: str, usd: float | None) -> CostLine:
    kind = "unknown" if usd is None else "estimate"
    return CostLine(component=component, classification=kind, usd=usd, source="genai-prices")  # type: ignore[arg-type]


MIXED = [
    trial("passed", 1, usage=usage(4_000, 400), costs=[cost("model", 0.01)]),
    trial("passed", 2, usage=usage(4_000, 300), costs=[cost("model", 0.01)]),
    trial("passed", 3, costs=[cost("model", 0.01), cost("judge", 0.01)]),
    trial("passed", 1, "command/flaky", duration_ms=400, usage=usage(3_000, 300)),
    trial("failed", 2, "command/flaky", duration_ms=400, cause="agent",
          validations=[check("exact_text", "failed", 'hello.txt says "helo", expected "hello"'),
                       check("other", "passed")]),
    trial("void", 3, "command/flaky", duration_ms=61_000, cause="setup", stage="prepare",
          costs_incomplete=True, reason="prepare exited with status 3: seed: no such table"),
]  # fmt: skip
