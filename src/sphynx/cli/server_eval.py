"""``sphynx eval`` against a server: one batch per suite, watched until it stops, then the gate."""

from __future__ import annotations

import json as encoder
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from sphynx.cli import github
from sphynx.cli.eval_request import EvalRequest
from sphynx.cli.github import Outcome
from sphynx.cli.out import Out, stderr, stdout
from sphynx.cli.render import problems as wording
from sphynx.cli.render.junit import junit_xml
from sphynx.cli.reports import write_file
from sphynx.cli.results_view import nothing_scored
from sphynx.cli.server_board import records_of
from sphynx.cli.server_view import print_batch
from sphynx.cli.server_wait import wait_for
from sphynx.client import Sphynx
from sphynx.compiler import compile_files
from sphynx.compiler.compiled import CompiledSuite
from sphynx.engine.plan import choose_cases, choose_variants
from sphynx.errors import ExitCode, SphynxError, UsageError
from sphynx.results.gate import FailOn, GateProblem, gate_batch, headline
from sphynx.results.trigger import from_env
from sphynx.sandboxes.local_root import LocalRoot
from sphynx.schema.wire import RunnerBatchRequest, SuiteBatchRequest
from sphynx.settings.server import batch_link, web_url


@dataclass(slots=True)
class Entry:
    """One suite of the command, as ``--output`` reports it."""

    file: str
    suite: str
    request: SuiteBatchRequest | None = None
    batch_id: str | None = None
    started: dict[str, Any] | None = None
    batch: dict[str, Any] | None = None
    error: str | None = None
    problems: list[GateProblem] = field(default_factory=list[GateProblem])

    def report(self) -> dict[str, Any]:
        """The entry in the report."""
        return {
            "batchId": self.batch_id, "file": self.file, "suite": self.suite, "batch": self.batch,
            "error": self.error, "problems": [problem.text for problem in self.problems],
        }  # fmt: skip

    def outcome(self) -> Outcome:
        """The entry as GitHub is told of it."""
        where = None if self.batch_id is None else link(self.batch_id)
        return Outcome(self.suite, self.file, where, self.batch, self.error, tuple(self.problems))


class ServerEval:
    """One command's run on a server."""

    def __init__(self, sphynx: Sphynx, request: EvalRequest, *, wait: bool) -> None:
        self._sphynx = sphynx
        self._request = request
        self._wait = wait
        self._out: Out = stdout()
        self._err: Out = stderr()
        self._entries: list[Entry] = []

    def run(self) -> int:
        """Compile everything, start everything in turn, and give the exit code."""
        self._entries = self._compiled() if self._request.paths or not self._request.cases else self._stored()
        self._write()
        organization = self._sphynx.whoami().organization
        self._err.line(f"organization {organization.name} at {self._sphynx.base_url}")
        for entry in self._entries:
            try:
                self._one(entry)
            except SphynxError as error:
                entry.error = error.message + (f" ({error.hint})" if error.hint else "")
            except KeyboardInterrupt:
                self._left(entry)
                raise
            self._write()
        outcomes = [entry.outcome() for entry in self._entries]
        github.tell(os.environ, outcomes, self._note, check=self._wait)
        return self._conclude() if self._wait else self._started()

    def _compiled(self) -> list[Entry]:
        request, cwd = self._request, Path.cwd()
        suites = compile_files(list(request.paths), cwd=cwd, staging=LocalRoot().staging)
        for warning in dict.fromkeys(warning for suite in suites for warning in suite.warnings):
            self._err.line(wording.note_line(warning, self._err.style))
        found = [Entry(one.file, one.suite.id, self._chosen(one)) for one in suites]
        found = [entry for entry in found if entry.request is not None]
        if not found:
            ids = list(dict.fromkeys(case.case.id for one in suites for case in one.cases))
            wanted = " or ".join(f'"{case}"' for case in request.cases)
            raise UsageError(f"no case {wanted}", hint=f"there are: {', '.join(ids)}")
        return found

    def _chosen(self, suite: CompiledSuite) -> SuiteBatchRequest | None:
        """The suite's request with the cases, variants and trials that were asked for."""
        cases = {case.case.id for case in choose_cases(suite, self._request.cases)}
        if not cases:
            return None
        labels = {one.label for one in choose_variants(suite, self._request.variants, [])}
        whole = suite.request
        places = [place for place, one in enumerate(suite.variants) if one.label in labels]
        update: dict[str, Any] = {
            "cases": [case for case in whole.cases if case.id in cases],
            "variants": [whole.variants[place] for place in places],
        }
        if self._request.trials is not None:
            update["trials"] = self._request.trials
        return whole.model_copy(update=update)

    def _stored(self) -> list[Entry]:
        if self._request.trials not in (None, 1):
            raise UsageError("a stored case runs one trial here", hint="sphynx case run ID --trials N")
        return [Entry("", case) for case in self._request.cases]

    def _one(self, entry: Entry) -> None:
        runs, trials = self._start(entry)
        batch_id = str(entry.batch_id)
        shown = shown_link(self._sphynx, batch_id, self._err)
        self._err.line(f"{entry.suite}: {shown}")
        github.add_to_summary(os.environ, self._note, f"Started [{entry.suite}]({link(batch_id)})")
        self._write()
        if not self._wait:
            return
        request = self._request
        where = entry.file or "stored case"
        batch = wait_for(
            self._sphynx, batch_id, self._err, timeout_s=request.timeout_s, silent=request.json, where=where
        )
        entry.batch = batch.wire()
        if request.json:
            self._out.line(encoder.dumps(entry.batch, indent=2, ensure_ascii=False))
        else:
            print_batch(batch, self._out, where=where, link=shown)
        gate = gate_batch(
            entry.batch, cast(FailOn, request.fail_on), expected_runs=runs, expected_trials=trials
        )
        entry.error, entry.problems = gate.error, list(gate.problems)

    def _start(self, entry: Entry) -> tuple[int, int]:
        """Start it; how many runs it has and how many trials each is to have."""
        if entry.request is None:
            variants = list(self._request.variants) or None
            started = self._sphynx.evals.cases.run(entry.suite, variants=variants)
            trials = 1
        else:
            body = {**entry.request.wire(), "trigger": from_env(os.environ)}
            started = self._sphynx.runner.start(RunnerBatchRequest.model_validate(body))
            trials = entry.request.trials
        entry.batch_id, entry.started = started.id, started.wire()
        return len(started.runs), trials

    def _left(self, entry: Entry) -> None:
        """Ctrl-C: what was started goes on without this command."""
        entry.error = "interrupted before it was started"
        if entry.batch_id is not None:
            entry.error = "interrupted: the batch goes on at the server"
            self._err.line(f"{entry.suite} goes on at the server: sphynx batches get {entry.batch_id}")
        open_entries = [one for one in self._entries if one.batch_id is None]
        if open_entries:
            self._err.line(f"not started: {', '.join(one.suite for one in open_entries)}")
        self._write()

    def _note(self, text: str) -> None:
        self._err.line(wording.note_line(text, self._err.style))

    def _started(self) -> int:
        for entry in self._entries:
            if entry.started is not None:
                self._out.line(encoder.dumps(entry.started, indent=2, ensure_ascii=False))
        return self._errors(self._entries)

    def _errors(self, entries: Sequence[Entry]) -> int:
        for entry in entries:
            if entry.error is not None:
                where = f"{entry.file}: " if entry.file else ""
                self._say(f"{where}{entry.suite}: {entry.error}")
        return ExitCode.ERROR if any(entry.error is not None for entry in entries) else ExitCode.OK

    def _conclude(self) -> int:
        code = self._errors(self._entries)
        found = [problem for entry in self._entries for problem in entry.problems]
        for problem in found:
            if problem.status is None:
                self._say(problem.text)
        ended = [one for entry in self._entries if entry.batch for one in records_of(entry.batch, "")[1]]
        nothing = nothing_scored(ended)
        if not code and not found and nothing:
            self._err.line(nothing)
        if found:
            self._say(f"gate failed: {headline(found)} (--fail-on {self._request.fail_on})")
        return code or (ExitCode.GATE if found else ExitCode.OK)

    def _say(self, text: str) -> None:
        self._err.line(f"{self._err.style.paint('error:', 'bold', 'red')} {text}")

    def _write(self) -> None:
        if self._request.output is not None:
            text = encoder.dumps(
                [entry.report() for entry in self._entries], ensure_ascii=False, separators=(",", ":")
            )
            write_file(self._request.output, text.encode("utf-8", "replace") + b"\n")
        if self._request.junit is not None:
            ended = [records_of(one.batch, one.file or "stored case") for one in self._entries if one.batch]
            write_file(self._request.junit, junit_xml(ended))


def start(request: EvalRequest, *, wait: bool) -> int:
    """``sphynx eval`` on the server of ``SPHYNX_BASE_URL``."""
    try:
        sphynx = Sphynx()
    except UsageError as error:
        if error.message != "SPHYNX_API_KEY is not set":
            raise
        hint = "export SPHYNX_API_KEY=..., or run it on this machine: sphynx eval --local"
        raise UsageError(error.message, hint=hint) from None
    with sphynx:
        return ServerEval(sphynx, request, wait=wait).run()


def settle(
    sphynx: Sphynx, batch_id: str, *, json: bool, fail_on: str = "failures", timeout_s: float | None = None
) -> int:
    """Wait for one batch of a stored case, show it, and apply the gate."""
    err, out = stderr(), stdout()
    shown = shown_link(sphynx, batch_id, err)
    err.line(shown)
    try:
        batch = wait_for(sphynx, batch_id, err, timeout_s=timeout_s, silent=json, where="stored case")
    except KeyboardInterrupt:
        err.line(f"the batch goes on at the server: sphynx batches get {batch_id}")
        raise
    if json:
        out.line(encoder.dumps(batch.wire(), indent=2, ensure_ascii=False))
    else:
        print_batch(batch, out, where="stored case", link=shown)
    trials = max((len(run.trials) for run in batch.runs), default=0)
    gate = gate_batch(
        batch.wire(), cast(FailOn, fail_on), expected_runs=len(batch.runs), expected_trials=trials
    )
    lead = err.style.paint("error:", "bold", "red")
    if gate.error is not None:
        err.line(f"{lead} {gate.error}")
    elif gate.problems:
        err.line(f"{lead} gate failed: {headline(gate.problems)} (--fail-on {fail_on})")
    return gate.exit_code


def link(batch_id: str) -> str:
    """Where a batch can be looked at."""
    return batch_link(os.environ, batch_id)


def shown_link(sphynx: Sphynx, batch_id: str, err: Out) -> str:
    """The same for a person at a terminal: signed, where the server does that, so that it needs no key.

    Anywhere else it is plain, because logs are read by many.
    """
    if err.stream.isatty():
        with suppress(SphynxError):
            return f"{web_url(os.environ)}{sphynx.evals.batches.link(batch_id).path}"
    return link(batch_id)
