"""The workflow engine: a batch is a workflow, a trial is one, and each step of them is remembered.

Inputs and results are ids and short words, written as JSON: what is stored can be read, and nothing that is
stored is ever unpickled.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any

from dbos import DBOS, DBOSConfig, SetEnqueueOptions, SetWorkflowID
from dbos._serialization import Serializer

from sphynx.server.execution.limits import Limit
from sphynx.server.store.database import IDLE_S, normal, sync_engine

NAME = "sphynx"
VERSION = "engine-1"
"""Changes only when stored workflows could not go on in new code."""
BATCHES = "batches"
TRIALS = "trials"
MOST_BYTES = 64_000
_POLL_S = 0.3
_STRAY_S = 15.0
_LOG = logging.getLogger("sphynx.worker")
_UNDER_WAY = ("PENDING", "ENQUEUED", "DELAYED")

TrialStep = Callable[[str], Awaitable[str]]
Planned = tuple[str, str, int]
"""A trial's id, its harness and its place among those that wait; the lowest goes first."""
BatchPlan = Callable[[str], Awaitable[list[Planned]]]
BatchEnd = Callable[[str], Awaitable[bool]]


class Json(Serializer):
    """Stored values as JSON. An error keeps its kind, never its text, which may hold anything."""

    def serialize(self, data: Any) -> str:
        text = json.dumps(data, default=_error)
        if len(text) > MOST_BYTES:
            raise ValueError(f"a workflow value has {len(text)} characters, at most {MOST_BYTES}")
        return text

    def deserialize(self, serialized_data: str) -> Any:
        value = json.loads(serialized_data)
        if isinstance(value, dict) and set(value) == {"failed"}:
            return RuntimeError(value["failed"])
        return value

    def name(self) -> str:
        return "sphynx_json"


def _error(value: Any) -> Any:
    if isinstance(value, BaseException):
        return {"failed": type(value).__name__}
    raise TypeError(f"{type(value).__name__} is not stored")


def executor_id() -> str:
    """A name no other worker process ever has."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"


def _configuration(url: str, executor: str) -> DBOSConfig:
    config: DBOSConfig = {
        "name": NAME,
        "executor_id": executor,
        "application_version": VERSION,
        "log_level": "CRITICAL",  # its errors come with texts and tracebacks; ours say the same in a line
        "serializer": Json(),
    }
    if normal(url).startswith("sqlite"):
        config["system_database_engine"] = sync_engine(url)
    else:
        config["system_database_url"] = normal(url)
        config["sys_db_idle_transaction_timeout_sec"] = IDLE_S
    return config


class Durable:
    """The engine of one worker process; there can be one per process.

    ``run_trial`` is given a trial's id and returns a word once the trial is settled; ``plan`` gives a
    batch's trials, ``close`` ends the batch. Harnesses in ``limits`` have a queue of their own, whose limits
    hold over all workers; ``jobs`` is how many trials this worker runs at a time, from all its queues.
    """

    def __init__(
        self,
        url: str,
        executor: str,
        *,
        jobs: int,
        run_trial: TrialStep,
        plan: BatchPlan,
        close: BatchEnd,
        limits: Mapping[str, Limit] | None = None,
    ) -> None:
        self.executor = executor
        self._jobs = jobs
        self._limits = dict(limits or {})
        self._places = asyncio.Semaphore(jobs)
        self._here: Counter[str] = Counter()
        self._strays: dict[str, float] = {}
        DBOS(config=_configuration(url, executor))

        @DBOS.step(name="run", preemptible=True)
        async def step(trial_id: str) -> str:
            return await run_trial(trial_id)

        @DBOS.step(name="plan")
        async def planned(batch_id: str) -> list[Planned]:
            return await plan(batch_id)

        @DBOS.step(name="close")
        async def closed(batch_id: str) -> bool:
            return await close(batch_id)

        @DBOS.workflow(name="trial")
        async def trial(trial_id: str) -> str:
            with self._under_way(trial_id):
                async with self._places:
                    return await step(trial_id)

        @DBOS.workflow(name="batch")
        async def batch(batch_id: str) -> bool:
            with self._under_way(batch_id):
                handles = []
                for trial_id, harness, place in await planned(batch_id):
                    queue = self._queue(harness)
                    with SetWorkflowID(trial_id), SetEnqueueOptions(priority=place):
                        handles.append(await DBOS.enqueue_workflow_async(queue, trial, trial_id))
                for handle in handles:
                    with suppress(Exception):  # what has become of a trial is in the store
                        await handle.get_result()
                return await closed(batch_id)

        self._batch = batch

    async def launch(self) -> None:
        """Begin to take work."""
        DBOS.launch()
        await DBOS.register_queue_async(BATCHES, worker_concurrency=100, polling_interval_sec=_POLL_S)
        for harness, limit in {"": Limit(), **self._limits}.items():
            rate: Any = {"limit": limit.starts, "period": float(limit.seconds)} if limit.seconds else None
            await DBOS.register_queue_async(
                self._queue(harness), worker_concurrency=min(self._jobs, limit.at_once or self._jobs),
                global_concurrency=limit.at_once,
                limiter=rate, polling_interval_sec=_POLL_S,
            )  # fmt: skip

    def _queue(self, harness: str) -> str:
        return f"{TRIALS}-{harness}" if harness in self._limits else TRIALS

    async def enqueue(self, batch_id: str) -> None:
        """Hand a batch to the workers. A second time is the same as once."""
        with SetWorkflowID(batch_id):
            await DBOS.enqueue_workflow_async(BATCHES, self._batch, batch_id)

    async def take_over(self, live: Collection[str]) -> int:
        """Put back what workers had that are not in ``live``; how many workflows that were.

        So is what the engine gave to this worker and never began here: its answer was lost on the way.
        """
        pending = await DBOS.list_workflows_async(status="PENDING", load_input=False, load_output=False)
        strays = {one.workflow_id for one in pending if one.executor_id == self.executor} - set(self._here)
        now = monotonic()
        self._strays = {name: self._strays.get(name, now) for name in strays}
        found: dict[str, list[str]] = {}
        for workflow in pending:
            lost = now - self._strays.get(workflow.workflow_id, now) > _STRAY_S
            if workflow.queue_name and (lost or workflow.executor_id not in {*live, self.executor}):
                found.setdefault(workflow.queue_name, []).append(workflow.workflow_id)
        for queue, ids in found.items():
            await DBOS.resume_workflows_async(ids, queue_name=queue)
        return sum(map(len, found.values()))

    async def ended(self, ids: Collection[str]) -> set[str]:
        """Those of ``ids`` the engine does nothing about any more, or knows nothing of."""
        if not ids:
            return set()
        known = await DBOS.list_workflows_async(workflow_ids=list(ids), load_input=False, load_output=False)
        return set(ids) - {one.workflow_id for one in known if one.status in _UNDER_WAY}

    async def forget(self, ids: Collection[str]) -> None:
        """Let workflows that have ended be enqueued again."""
        known = await DBOS.list_workflows_async(workflow_ids=list(ids), load_input=False, load_output=False)
        ended = [one.workflow_id for one in known if one.status not in _UNDER_WAY]
        if ended:
            await DBOS.delete_workflows_async(ended)

    @contextmanager
    def _under_way(self, workflow_id: str) -> Iterator[None]:
        self._here[workflow_id] += 1
        try:
            yield
        except Exception as error:
            # Put back as a stray, or begun again with its batch.
            _LOG.warning("a workflow broke off", extra={"id": workflow_id, "error": type(error).__name__})
            raise
        finally:
            self._here[workflow_id] -= 1
            self._here = +self._here
