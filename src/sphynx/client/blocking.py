"""``Sphynx``: the client for plain code."""

# Written by scripts/blocking_client.py from asynchronous.py: change it there.

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Unpack

import httpx

from sphynx.client.calls import Call, StatisticsFields, call, checked, start_body
from sphynx.client.connection import connect, server_from
from sphynx.client.drivers import SyncDriver
from sphynx.client.protocol import (
    LISTS,
    MAX_POLL_MS,
    POLL_MS,
    WAIT_MS,
    Signal,
    Waiting,
    exchange,
    next_page,
    start_and_wait,
    wait,
)
from sphynx.client.steps import Conversation
from sphynx.schema.wire import (
    BatchLink,
    BatchPage,
    CredentialLease,
    Cursor,
    EnvironmentListing,
    EnvironmentVariable,
    EvalBatch,
    EvalBatchSummary,
    EvalCaseDetail,
    EvalCasePage,
    EvalCaseSummary,
    EvalRun,
    EvalRunPage,
    EvalSuiteDetail,
    EvalSuitePage,
    EvalSuiteSummary,
    ModelCatalogue,
    Ok,
    Prompt,
    PromptList,
    Scope,
    StartedBatch,
    Statistics,
    VariableLease,
    Whoami,
)


class SyncResource:
    """A group of operations."""

    def __init__(self, driver: SyncDriver) -> None:
        self._driver = driver
        self._server = driver.server

    def _run(self, steps: Conversation[Any]) -> Any:
        return self._driver.run(steps)

    def _call(self, what: Call) -> Any:
        return self._driver.run(exchange(self._server, what))

    def _pages(self, name: str, **fields: Any) -> Iterator[Any]:
        asked: dict[str, Any] | None = fields
        while asked is not None:
            page = self._call(call(name, **asked))
            yield from getattr(page, LISTS[name])
            asked = next_page(page, asked)


class SyncBatches(SyncResource):
    """Batches: start, wait, read."""

    def start(self, suite: Any, *, priority: int | None = None) -> StartedBatch:
        """Start a batch of ``suite``, a ``Suite`` or a request. Trials go on at the server.

        Those of a lower ``priority`` (1 to 10, else 5) go first; only a server of one's own knows it.
        """
        return self._call(checked("evals.batches.start", start_body(suite, priority)))

    def wait(
        self,
        id: str,
        *,
        on_progress: Callable[[EvalBatch], Any] | None = None,
        signal: Signal | None = None,
        timeout_ms: float = WAIT_MS,
        poll_interval_ms: float = POLL_MS,
        max_interval_ms: float = MAX_POLL_MS,
    ) -> EvalBatch:
        """The batch once it stops. Neither the time limit nor ``signal`` cancels it: they raise."""
        waiting = Waiting(on_progress, signal, timeout_ms, poll_interval_ms, max_interval_ms)
        return self._run(wait(self._server, id, waiting))

    def start_and_wait(
        self,
        suite: Any,
        *,
        on_progress: Callable[[EvalBatch], Any] | None = None,
        signal: Signal | None = None,
        timeout_ms: float = WAIT_MS,
        poll_interval_ms: float = POLL_MS,
        max_interval_ms: float = MAX_POLL_MS,
    ) -> EvalBatch:
        """``start``, then ``wait``."""
        waiting = Waiting(on_progress, signal, timeout_ms, poll_interval_ms, max_interval_ms)
        started = checked("evals.batches.start", start_body(suite))
        return self._run(start_and_wait(self._server, started, waiting))

    def get(self, id: str) -> EvalBatch:
        """One batch with its runs and trials."""
        return self._call(call("evals.batches.get", id=id))

    def cancel(self, id: str) -> EvalBatch:
        """Cancel a batch; what had not ended is void. Only a server of one's own does that."""
        return self._call(call("evals.batches.cancel", id=id))

    def link(self, id: str) -> BatchLink:
        """A path that shows the batch to whoever has it, for a week. Only a server of one's own has it."""
        return self._call(call("evals.batches.link", id=id))

    def list(self, *, cursor: Cursor | None = None, limit: int | None = None) -> BatchPage:
        """A page of batches, newest first."""
        return self._call(call("evals.batches.list", cursor=_cursor(cursor), limit=limit))

    def iterate(self, *, limit: int | None = None) -> Iterator[EvalBatchSummary]:
        """Every batch, newest first; ``limit`` is the size of a page."""
        return self._pages("evals.batches.list", limit=limit)


class SyncSuites(SyncResource):
    """Suites the organization has run."""

    def list(self, *, cursor: Cursor | None = None, limit: int | None = None) -> EvalSuitePage:
        """A page of suites."""
        return self._call(call("evals.suites.list", cursor=_cursor(cursor), limit=limit))

    def get(self, id: str) -> EvalSuiteDetail:
        """One suite with what its cases share."""
        return self._call(call("evals.suites.get", id=id))

    def iterate(self, *, limit: int | None = None) -> Iterator[EvalSuiteSummary]:
        """Every suite."""
        return self._pages("evals.suites.list", limit=limit)


class SyncCases(SyncResource):
    """Stored cases and their histories."""

    def list(
        self,
        *,
        suite: str | None = None,
        tag: str | None = None,
        q: str | None = None,
        sort: Literal["recent", "name"] | None = None,
        order: Literal["asc", "desc"] | None = None,
        cursor: Cursor | None = None,
        limit: int | None = None,
    ) -> EvalCasePage:
        """A page of cases, with each variant's newest run."""
        fields = {"suite": suite, "tag": tag, "q": q, "sort": sort, "order": order, "limit": limit}
        return self._call(call("evals.cases.list", cursor=_cursor(cursor), **fields))

    def get(self, id: str) -> EvalCaseDetail:
        """A case, its versions and the variants it has run on."""
        return self._call(call("evals.cases.get", id=id))

    def run(
        self, id: str, *, trials: int | None = None, variants: Sequence[str] | None = None
    ) -> StartedBatch:
        """Start a batch of the case's newest version, on the variant ids named or on all it has run on."""
        chosen = None if variants is None else [*variants]
        return self._call(call("evals.cases.run", id=id, trials=trials, variants=chosen))

    def iterate(self, *, suite: str | None = None, tag: str | None = None) -> Iterator[EvalCaseSummary]:
        """Every case, of one suite or with one tag if named."""
        return self._pages("evals.cases.list", suite=suite, tag=tag)


class SyncRuns(SyncResource):
    """Runs of a case."""

    def list(self, case_id: str, *, variant: str | None = None, page: int | None = None) -> EvalRunPage:
        """A page of a case's runs, newest first; pages count from 1."""
        return self._call(call("evals.runs.list", case_id=case_id, variant=variant, page=page))

    def get(self, id: str) -> EvalRun:
        """One run and its trials."""
        return self._call(call("evals.runs.get", id=id))

    def iterate(self, case_id: str, *, variant: str | None = None) -> Iterator[EvalRun]:
        """Every run of a case, newest first."""
        return self._pages("evals.runs.list", case_id=case_id, variant=variant)


class SyncModels(SyncResource):
    """Models of the harnesses."""

    def list(self, harness: str, *, q: str | None = None) -> ModelCatalogue:
        """Models a harness can use. None means that no list is available, not that it has no models."""
        return self._call(call("evals.models.list", harness=harness, q=q))


class SyncStatistics(SyncResource):
    """How trials did over time. Only a server of one's own has it."""

    def get(self, **asked: Unpack[StatisticsFields]) -> Statistics:
        """Pass rates, money and time of the last ``days``, per suite, case or variant, newest first."""
        return self._call(call("evals.statistics.get", **asked))


class SyncEvals(SyncResource):
    """Everything about evals."""

    def __init__(self, driver: SyncDriver) -> None:
        super().__init__(driver)
        self.batches = SyncBatches(driver)
        self.suites = SyncSuites(driver)
        self.cases = SyncCases(driver)
        self.runs = SyncRuns(driver)
        self.models = SyncModels(driver)
        self.statistics = SyncStatistics(driver)


class SyncPrompts(SyncResource):
    """Prompts with versions and channels."""

    def get(
        self,
        id: str,
        *,
        channel: str | None = None,
        version: int | None = None,
        include_versions: bool | None = None,
    ) -> Prompt:
        """A prompt: one version, else what a channel points at, else the default channel's."""
        fields = {"channel": channel, "version": version, "include_versions": include_versions}
        return self._call(call("prompts.get", id=id, **fields))

    def list(self) -> PromptList:
        """Every prompt, newest first."""
        return self._call(call("prompts.list"))

    def create(
        self,
        id: str,
        *,
        name: str,
        content: str,
        config: dict[str, Any] | None = None,
        description: str | None = None,
        message: str | None = None,
    ) -> Prompt:
        """A new prompt. Its version 1 is published to the default channel."""
        fields = {"config": config, "description": description, "message": message}
        return self._call(call("prompts.create", id=id, name=name, content=content, **fields))

    def update(
        self, id: str, *, content: str, config: dict[str, Any] | None = None, message: str | None = None
    ) -> Prompt:
        """Add a version. It is not published: ``promote`` does that."""
        return self._call(call("prompts.update", id=id, content=content, config=config, message=message))

    def promote(self, id: str, *, channel: str, version: int) -> Ok:
        """Point a channel at a version."""
        return self._call(call("prompts.promote", id=id, channel=channel, version=version))


class SyncEnvironment(SyncResource):
    """Variables and subscriptions that agents are given."""

    def list(self) -> EnvironmentListing:
        """Everything that is set; values show as previews."""
        return self._call(call("environment.list"))

    def set(
        self, variables: Sequence[Mapping[str, Any]], *, scope: Scope | None = None
    ) -> list[EnvironmentVariable]:
        """Store 1 to 100 variables, each ``{"name", "value"}`` and ``"secret"`` (true unless said)."""
        return self._call(call("environment.set", variables=[*variables], scope=scope))

    def remove(self, name: str, *, scope: Scope | None = None) -> None:
        """Remove one variable."""
        return self._call(call("environment.remove", name=name, scope=scope))


class SyncRunner(SyncResource):
    """What ``sphynx eval`` uses to record a batch that runs on this machine."""

    def start(self, request: Any, *, idempotency_key: str | None = None) -> StartedBatch:
        """Start a batch. With a key, the same request again gives the first one's batch."""
        headers = {"idempotency-key": idempotency_key} if idempotency_key else None
        return self._call(checked("runner.start", request, headers))

    def lease(self, id: str, *, harness: str) -> CredentialLease:
        """A harness key for one batch."""
        return self._call(call("runner.lease", id=id, harness=harness))

    def lease_variables(self, id: str, *, names: Sequence[str]) -> VariableLease:
        """Values of 1 to 100 variables for one batch."""
        return self._call(call("runner.leaseVariables", id=id, names=[*names]))

    def report(self, trial: Any) -> None:
        """Record one trial: a ``ScoredTrialReport`` or a ``BrokenTrialReport``."""
        return self._call(checked("runner.report", trial))

    def beat(self, id: str) -> None:
        """The batch is still being run."""
        return self._call(call("runner.beat", id=id))

    def finish(self, id: str) -> EvalBatch:
        """The batch is done."""
        return self._call(call("runner.finish", id=id))


class Sphynx:
    """A client of one server.

    ``api_key`` is ``SPHYNX_API_KEY`` unless given, ``base_url`` ``SPHYNX_BASE_URL``, else the hosted service.
    Raises ``UsageError`` without a key. Safe to share between threads; close it, or use it as a context.
    """

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        http: httpx.Client | None = None,
    ) -> None:
        server = server_from(api_key, base_url)
        driver = SyncDriver(server, connect(server, http))
        self._driver = driver
        self._own = http is None
        self.evals = SyncEvals(driver)
        self.prompts = SyncPrompts(driver)
        self.environment = SyncEnvironment(driver)
        self.runner = SyncRunner(driver)

    @property
    def base_url(self) -> str:
        """The server's address."""
        return self._driver.server.base_url

    def whoami(self) -> Whoami:
        """Which organization the key acts for, and what it may do."""
        return self._driver.run(exchange(self._driver.server, call("auth.whoami")))

    def close(self) -> None:
        """Close the connections."""
        if self._own:
            self._driver.http.close()

    def __enter__(self) -> Sphynx:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _cursor(cursor: Cursor | None) -> dict[str, Any] | None:
    return None if cursor is None else cursor.wire()
