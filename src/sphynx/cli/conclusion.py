"""How a run ends: the gate over all its batches, or what a stopped run says and how to go on with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sphynx.cli.drive import Run
from sphynx.cli.eval_request import EvalRequest
from sphynx.cli.github import Outcome
from sphynx.cli.render import figures, summary
from sphynx.cli.reports import Reports
from sphynx.cli.results_view import nothing_scored
from sphynx.engine import BatchResult
from sphynx.errors import ExitCode
from sphynx.results.gate import FailOn, GateOutcome, gate_records, headline
from sphynx.results.wire import batch_to_wire


def conclude(
    run: Run, results: Sequence[BatchResult], reports: Reports, outcomes: list[Outcome] | None = None
) -> int:
    """Apply the gate to every batch, say what it found, and give the exit code.

    ``outcomes`` is filled with what GitHub is to be told.
    """
    fail_on = cast(FailOn, run.request.fail_on)
    gated = [_gated(result, run.request, reports) for result in results]
    errors = [
        f"{result.record.file}: {gate.error}"
        for result, gate in zip(results, gated, strict=True)
        if gate.error is not None
    ]
    found = [problem for gate in gated for problem in gate.problems]
    if outcomes is not None:
        outcomes += [_told(result, gate) for result, gate in zip(results, gated, strict=True)]
    records = [record for result in results for record in result.trials]
    if not run.request.json:
        _overall(run, results)
    nothing = nothing_scored(records)
    for error in errors:
        _error(run, error)
    for problem in found:
        if problem.status is None:
            _error(run, problem.text)
    if found:
        tail = ", nothing was scored" if nothing else ""
        _error(run, f"gate failed: {headline(found)}{tail} (--fail-on {fail_on})")
    elif nothing:
        run.err.line(nothing)
    if errors:
        return ExitCode.ERROR
    return ExitCode.GATE if found else ExitCode.OK


def _gated(result: BatchResult, request: EvalRequest, reports: Reports) -> GateOutcome:
    # Without its skill an agent may well fail: a skill is gated by a baseline, and by trials when asked to.
    own = bool(result.record.x.get("skill")) and not request.gate_named
    rule = cast(FailOn, "never" if own else request.fail_on)
    gate = gate_records(result.record, result.trials, rule)
    reports.conclude(result.record.id, gate.error, [problem.text for problem in gate.problems])
    return gate


def _told(result: BatchResult, outcome: GateOutcome) -> Outcome:
    record = result.record
    wire = batch_to_wire(record, result.trials, {})
    return Outcome(record.suite_id, record.file, None, wire, outcome.error, outcome.problems)


def stopped(
    run: Run, results: Sequence[BatchResult], reports: Reports, reason: str, signal_code: int | None
) -> int:
    """Say what there is of a run that was stopped, and how to go on with it."""
    records = [record for result in results for record in result.trials]
    if not run.request.json:
        for line in summary.totals_lines(records, run.out.style, run.elapsed_ms):
            run.out.line(line)
    for result in results:
        left = sum(record.status == "cancelled" for record in result.trials)
        reports.conclude(result.record.id, result.record.failure or reason, [])
        if left:
            run.err.line(f"  resume with: sphynx eval --local --resume {result.record.id}")
    if signal_code is None:
        _error(run, f"{reason} ({run.request.timeout_s:g}s)" if run.request.timeout_s else reason)
        return ExitCode.ERROR
    return signal_code


def _overall(run: Run, results: Sequence[BatchResult]) -> None:
    """One line over several batches."""
    if len(results) < 2:
        return
    records = [record for result in results for record in result.trials]
    lead = f"{figures.plural(len(results), 'suite')}, "
    lines = summary.totals_lines(records, run.out.style, run.elapsed_ms, lead=lead, indent="")
    run.out.write("".join(line + "\n" for line in ("", *lines)))


def _error(run: Run, text: str) -> None:
    run.err.line(f"{run.err.style.paint('error:', 'bold', 'red')} {text}")
