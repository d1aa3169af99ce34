"""Record a local run on a server: its batch, its trials as they end, and that the machine is still there.

A ``ResultSink`` beside the screen and the reports. What it sends goes through one thread, so the run never
waits for the network; what cannot be sent is a note, never the end of the run.
"""

from __future__ import annotations

import os
import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from sphynx.cli.recording_wire import as_scored, events_of, report_of, shortened, trimmed
from sphynx.client import Sphynx
from sphynx.contracts import TrialKey
from sphynx.engine import LocalPlan, Stop
from sphynx.engine.options import LocalOptions, PlannedSuite
from sphynx.engine.other_agents import other_harnesses, provider_keys
from sphynx.engine.plan import needs_of
from sphynx.errors import CompileError, SphynxError, UsageError
from sphynx.journal.events import Event
from sphynx.results.trigger import from_env
from sphynx.schema.records import BatchRecord, TrialRecord
from sphynx.schema.wire import RunnerBatchRequest
from sphynx.settings.server import batch_link

BEAT_S = 60.0
RENEW_S = 600.0
"""Leases last 15 minutes."""
GIVE_UP_S = 120.0
_PAUSES = (0.5, 1.0, 2.0, 5.0, 10.0)
_CHUNK = 100
_TRANSIENT = frozenset({429, 502, 503, 504})


@dataclass(slots=True)
class Recorded:
    """One batch of this run, as the server knows it."""

    id: str
    runs: dict[tuple[str, str], str]
    closed: bool = False
    events: dict[TrialKey, list[Event]] = field(default_factory=dict[TrialKey, list[Event]])


class Recording:
    """Records the batches of one local run. ``note`` takes lines for people."""

    def __init__(self, sphynx: Sphynx, stop: Stop, note: Callable[[str], None]) -> None:
        self._sphynx = sphynx
        self._stop = stop
        self._note = note
        self._batches: dict[str, Recorded] = {}
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._done = threading.Event()
        self._planned: LocalPlan | None = None
        self._own: dict[str, str] = {}
        self._env: dict[str, str] = {}
        self._gone = False
        self._sender = threading.Thread(target=self._send, daemon=True)
        self._beater = threading.Thread(target=self._beat, daemon=True)

    def start(self, plan: LocalPlan, requests: Sequence[RunnerBatchRequest]) -> list[str]:
        """Start a batch at the server for every planned suite; their ids there, in the plan's order."""
        for planned, request in zip(plan.suites, requests, strict=True):
            key = secrets.token_hex(16)
            started = self._retried(lambda r=request, k=key: self._sphynx.runner.start(r, idempotency_key=k))
            batch = self._retried(lambda found=started: self._sphynx.evals.batches.get(found.id))
            runs = {(run.case.id, _label(run.variant)): run.id for run in batch.runs}
            self._batches[planned.batch_id] = Recorded(started.id, runs)
        self._sender.start()
        self._beater.start()
        return [one.id for one in self._batches.values()]

    @property
    def links(self) -> dict[str, str]:
        """Where each batch of this run can be looked at, by its id here."""
        return {local: batch_link(os.environ, one.id) for local, one in self._batches.items()}

    def leased(self, plan: LocalPlan) -> LocalOptions:
        """The run's options with the keys and variables the server lends; the shell's own values win.

        A key that is refused is simply missing. A variable that is refused ends the run with the server's
        message.
        """
        self._own = dict(plan.options.env)
        self._planned, self._env = plan, {**self._lent(plan), **self._own}
        return replace(plan.options, env=self._env)

    def renew(self) -> None:
        """Ask for everything again before its lease is over; trials that begin later get what it is then."""
        if self._planned is None:
            return
        with suppress(SphynxError):  # what was lent first goes on being used
            self._env |= {name: v for name, v in self._lent(self._planned).items() if name not in self._own}

    def _lent(self, plan: LocalPlan) -> dict[str, str]:
        env, lent = self._own, dict[str, str]()
        for planned in plan.suites:
            batch = self._batches[planned.batch_id]
            lent |= self._variables(batch, planned, env)
            harnesses = [one.variant.harness for one in planned.variants]
            harnesses += [name for one in planned.cases for name in other_harnesses(one.case)]
            for harness in dict.fromkeys(harnesses):
                lent |= self._key(batch, harness)
            lent |= self._still_needed(batch, planned, replace(plan.options, env={**lent, **env}))
        return lent

    def close(self) -> None:
        """Send what is left and close every batch, also after a stop."""
        if self._sender.is_alive():
            self._queue.put(None)
            self._sender.join()
        self._done.set()
        for batch in self._batches.values():
            if not batch.closed:
                self._finish(batch)

    # -- the sink -------------------------------------------------------------------------------------------

    def batch_started(self, batch: BatchRecord) -> None:
        """It was started at the server before."""

    def trial_started(self, key: TrialKey) -> None:
        """The server hears of a trial when it ends."""
        self._batches[key.batch_id].events[key] = []

    def event(self, key: TrialKey, event: Event) -> None:
        """Kept until the trial ends, command output cut as the journal shows it."""
        self._batches[key.batch_id].events.setdefault(key, []).append(trimmed(event))

    def output(self, key: TrialKey, stage: str, text: str) -> None:
        """Setup output is not recorded."""

    def trial_ended(self, key: TrialKey, record: TrialRecord) -> None:
        """Report it. One that was cancelled never ran as far as the server is concerned."""
        batch = self._batches[key.batch_id]
        events = batch.events.pop(key, [])
        if record.status != "cancelled":
            self._queue.put(lambda: self._report(batch, key, record, events))

    def batch_ended(self, batch: BatchRecord) -> None:
        """Closed at the end of the run, when every report is in."""

    def note(self, text: str) -> None:
        """Notes are for people who watch."""

    # -- what is sent ---------------------------------------------------------------------------------------

    def _send(self) -> None:
        while (job := self._queue.get()) is not None:
            job()

    def _report(self, batch: Recorded, key: TrialKey, record: TrialRecord, events: list[Event]) -> None:
        if batch.closed:
            return
        name = f"{key.case_id} on {key.label}, trial {key.ordinal}"
        try:
            given_up = self._reported(
                report_of(batch.runs[key.case_id, key.label], record, events_of(events))
            )
        except SphynxError as error:
            if error.status == 409:
                self._closed(batch, error.message)
            else:
                self._note(f"{name} was not recorded and shows as void: {error.message}")
        except Exception as error:  # the reports after this one still have to be sent
            self._note(f"{name} was not recorded and shows as void: {type(error).__name__}")
        else:
            if given_up:
                self._note(f"{name} was too large for the server, it was recorded without {given_up}")

    def _reported(self, report: dict[str, Any]) -> str:
        """Send a report in the fullest form the server takes; what had to be given up for that."""
        given_up = ""
        while True:
            try:
                self._retried(lambda body=report: self._sphynx.runner.report(body))
                return given_up
            except SphynxError as error:
                if error.status == 413 and (less := shortened(report)) is not None:
                    report, given_up = less
                elif error.status == 400 and "failure" in report:
                    # A server older than reports of broken trials.
                    report = as_scored(report)
                else:
                    raise

    def _beat(self) -> None:
        renewed = time.monotonic()
        while not self._done.is_set():
            if time.monotonic() - renewed > RENEW_S:
                renewed = time.monotonic()
                self.renew()
            for batch in self._batches.values():
                if batch.closed:
                    continue
                try:
                    self._sphynx.runner.beat(batch.id)
                except SphynxError as error:
                    if error.status == 409:
                        self._closed(batch, error.message)
            self._done.wait(BEAT_S)

    def _closed(self, batch: Recorded, message: str) -> None:
        batch.closed = True
        self._stop.stop(message)

    def _finish(self, batch: Recorded) -> None:
        try:
            self._retried(lambda: self._sphynx.runner.finish(batch.id))
        except SphynxError as error:
            if error.status == 409:
                self._note(error.message)
            else:
                self._note(
                    f"batch {batch.id} was not closed ({error.message}); "
                    "it will be marked failed 10 minutes after this machine goes quiet"
                )

    def _key(self, batch: Recorded, harness: str) -> dict[str, str]:
        from sphynx.settings.names import KNOWN

        try:
            lease = self._sphynx.runner.lease(batch.id, harness=harness)
        except SphynxError:
            return {}
        if "authJson" in lease.values:
            return {f"SPHYNX_{harness.upper()}_AUTH_JSON": lease.values["authJson"]}
        names = {
            ("baseUrl" if known.optional else "apiKey"): known.name
            for known in KNOWN.values()
            if known.for_harness == harness
        }
        return {names[name]: value for name, value in lease.values.items() if name in names}

    def _variables(self, batch: Recorded, planned: PlannedSuite, env: Mapping[str, str]) -> dict[str, str]:
        named = [name for one in planned.variants if one.profile for name in one.profile.variables]
        wanted = [name for name in dict.fromkeys(named) if name not in env]
        found: dict[str, str] = {}
        for at in range(0, len(wanted), _CHUNK):
            names = wanted[at : at + _CHUNK]
            lease = self._retried(
                lambda some=names: self._sphynx.runner.lease_variables(batch.id, names=some)
            )
            found |= lease.values
        return found

    def _still_needed(self, batch: Recorded, planned: PlannedSuite, options: LocalOptions) -> dict[str, str]:
        """Keys that judges and persons need and neither the shell has nor a harness was lent."""
        found: dict[str, str] = {}
        names = [need.name for need in needs_of([planned], options) if not need.found]
        names += [name for one in planned.cases for name in provider_keys(one.case)]
        for name in dict.fromkeys(names):
            if not options.env.get(name):
                with suppress(SphynxError):
                    found |= self._sphynx.runner.lease_variables(batch.id, names=[name]).values
        return found

    def _retried(self, call: Callable[[], Any]) -> Any:
        """Up to two minutes while the network is away or the server is busy, with one note about it.

        After two minutes in vain, what follows is tried once each until something comes through again.
        """
        end = time.monotonic() + (0 if self._gone else GIVE_UP_S)
        for number in range(1_000):
            try:
                result = call()
                self._gone = False
                return result
            except SphynxError as error:
                away = error.status is None or error.status in _TRANSIENT
                if not away or isinstance(error, UsageError):
                    raise
                if time.monotonic() >= end:
                    self._gone = True
                    raise
                if number == 0:
                    self._note(f"{error.message}; trying again for two minutes")
                time.sleep(_PAUSES[min(number, len(_PAUSES) - 1)])
        raise AssertionError("unreachable")


@contextmanager
def recorded(plan: LocalPlan, stop: Stop, note: Callable[[str], None]) -> Iterator[Recording | None]:
    """Record what the block runs; the key of a server is set.

    The plan gets the keys and variables the server lends. Every batch is closed when the block ends, however
    it ends. A suite that fits no server is run all the same, and a note says that it is not recorded.
    """
    with Sphynx() as sphynx:
        recording = _begun(sphynx, plan, stop, note)
        if recording is None:
            yield None
            return
        try:
            plan.options = recording.leased(plan)
            plan.needs = needs_of(plan.suites, plan.options)
            yield recording
        finally:
            recording.close()


def _begun(sphynx: Sphynx, plan: LocalPlan, stop: Stop, note: Callable[[str], None]) -> Recording | None:
    try:
        requests = [request_of(planned) for planned in plan.suites]
    except CompileError as error:
        note(f"this run is not recorded on a server: {error.message}")
        return None
    note(f"recorded for {sphynx.whoami().organization.name}")
    recording = Recording(sphynx, stop, note)
    try:
        ids = recording.start(plan, requests)
    except UsageError as error:
        note(f"this run is not recorded on a server: {error.message}")
        recording.close()
        return None
    except BaseException:
        recording.close()
        raise
    for batch_id in ids:
        note(batch_link(os.environ, batch_id))
    return recording


def request_of(planned: PlannedSuite) -> RunnerBatchRequest:
    """What starts a planned suite as a local batch."""
    whole = planned.compiled.request
    cases = {case.case.id for case in planned.cases}
    labels = {one.label for one in planned.variants}
    places = [place for place, one in enumerate(planned.compiled.variants) if one.label in labels]
    body = whole.wire()
    taken: dict[str, dict[str, Any]] = {}
    for place in places:
        taken.setdefault(planned.compiled.variants[place].label, body["variants"][place])
    return RunnerBatchRequest.model_validate(
        {
            **body,
            "cases": [case for case in body["cases"] if case["id"] in cases],
            "variants": [{**one, "sandbox": "local"} for one in taken.values()],
            "trials": planned.trials,
            "checksIn": True,
            "local": True,
            "trigger": from_env(os.environ),
        }
    )


def _label(variant: Any) -> str:
    return f"{variant.harness}/{variant.model}" + (f"@{variant.profile}" if variant.profile else "")
