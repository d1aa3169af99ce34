"""Is a suite any good: do its checks fail an untouched workspace, and pass the reference solution?"""

from __future__ import annotations

from collections.abc import Sequence

from sphynx.compiler.compiled import CompiledCase, CompiledVariant
from sphynx.contracts import ResultSink
from sphynx.engine.batch_folder import new_batch_id
from sphynx.engine.local import run_plan
from sphynx.engine.options import LocalPlan, PlannedSuite, SelfTestRow
from sphynx.engine.plan import needs_of
from sphynx.engine.stop import Stop
from sphynx.suite import variant


async def self_test(
    plan: LocalPlan, sinks: Sequence[ResultSink] = (), stop: Stop | None = None
) -> list[SelfTestRow]:
    """Run ``nop`` for every case of the plan and ``oracle`` for those with a solution, one trial each.

    The first chosen variant's profile is laid over the workspace as for an agent, since checks may need it.
    """
    halves = [half for planned in plan.suites for half in _halves(planned)]
    check = LocalPlan(halves, plan.options, plan.notes, needs_of(halves, plan.options))
    results = await run_plan(check, sinks, stop)
    found = {
        (half.compiled.path, half.compiled.index, trial.harness, trial.case_id): trial
        for half, result in zip(halves, results, strict=True)
        for trial in result.trials
    }
    rows = []
    for planned in plan.suites:
        place = (planned.compiled.path, planned.compiled.index)
        for case in planned.cases:
            untouched = found[(*place, "nop", case.case.id)]
            reference = found.get((*place, "oracle", case.case.id))
            rows.append(SelfTestRow(case.case.id, planned.compiled.suite.id, untouched, reference))
    return rows


def _halves(planned: PlannedSuite) -> list[PlannedSuite]:
    solved = [case for case in planned.cases if case.case.solution is not None]
    halves = [_half(planned, planned.cases, "nop", "untouched")]
    return [*halves, _half(planned, solved, "oracle", "reference")] if solved else halves


def _half(planned: PlannedSuite, cases: list[CompiledCase], harness: str, model: str) -> PlannedSuite:
    plain = variant(harness=harness, model=model)
    profile = planned.variants[0].profile if planned.variants else None
    return PlannedSuite(
        compiled=planned.compiled,
        cases=cases,
        variants=[CompiledVariant(plain, plain.label, profile)],
        trials=1,
        batch_id=new_batch_id(),
        root=planned.root,
        x={"selfTest": True},
    )
