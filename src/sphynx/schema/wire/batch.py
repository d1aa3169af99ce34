"""Batches, runs, suites and cases as they are shown and listed."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from sphynx.schema.wire.checks import StoredSourceFile
from sphynx.schema.wire.names import Harness, Sandbox
from sphynx.schema.wire.shape import Answer, EvalTimestamp, Int, Maybe, Request, Text
from sphynx.schema.wire.suite import EvalCaseId, EvalSuiteId, StoredSource
from sphynx.schema.wire.trial import EvalCosts, EvalTrial

RunStatus: TypeAlias = Literal["running", "finished", "failed"]
TriggerSource: TypeAlias = Literal["dashboard", "api", "cli", "ci", "mcp"]


class Cursor(Answer):
    """An opaque place in a list; send it back as it came."""

    id: str
    name: Maybe[str] = None
    started_at_millis: Int


class EvalTrigger(Answer):
    """What started a batch."""

    source: TriggerSource
    url: Maybe[Annotated[str, Text(high=2_048)]] = None


class EvalDistribution(Answer):
    """A run's counts and what follows from them; ``passRate`` means nothing when ``scored`` is 0."""

    command_max: Int
    command_median: float
    command_min: Int
    deterministic: bool
    failed: Int
    pass_rate: float
    passed: Int
    scored: Int
    trials: Int
    voided: Int


class EvalSuite(Answer):
    """A suite by id and name."""

    id: EvalSuiteId
    name: str


class EvalVariant(Answer):
    """A stored variant; ``userModel`` says who plays the person."""

    harness: Harness
    id: str
    model: str
    profile: str | None
    sandbox: Sandbox
    user_model: str | None


class EvalSetup(Answer):
    """A case's setup as a run recorded it."""

    prepare: str | None
    prompt: str
    source: StoredSource
    validator: str | None
    validator_files: Maybe[Annotated[list[StoredSourceFile], Field(max_length=100)]] = None
    verify: str | None


class RunCase(Answer):
    """The case of a run."""

    id: EvalCaseId
    name: str


class EvalRun(Answer):
    """One case on one variant, with its trials."""

    batch_id: str
    case: RunCase
    costs: EvalCosts | None
    definition_hash: str
    distribution: EvalDistribution
    finished_at: EvalTimestamp | None
    harness_version: str
    id: str
    local: bool
    profile_version: str | None
    setup: EvalSetup
    started_at: EvalTimestamp
    status: RunStatus
    suite: EvalSuite
    trials: list[EvalTrial]
    trigger: EvalTrigger | None
    variant: EvalVariant


class EvalBatch(Answer):
    """The runs started together."""

    costs: EvalCosts | None
    failure: str | None
    finished_at: EvalTimestamp | None
    id: str
    local: bool
    runs: list[EvalRun]
    started_at: EvalTimestamp
    status: RunStatus
    trigger: EvalTrigger | None


class EvalBatchSummary(Answer):
    """One batch in a list."""

    cases: Int
    failure: str | None
    finished_at: EvalTimestamp | None
    id: str
    passed: Int
    runs: Int
    scored: Int
    started_at: EvalTimestamp
    status: RunStatus
    trigger: EvalTrigger | None
    voided: Int


class BatchPage(Answer):
    """Batches, newest first; ``next`` is null on the last page."""

    batches: list[EvalBatchSummary]
    next: Cursor | None
    total: Int


class BatchLink(Answer):
    """Ours, not the contract's: a path of the server that shows one batch to whoever has it, for a while."""

    path: str
    expires_at: EvalTimestamp


class ListBatchesRequest(Request):
    """List batches."""

    cursor: Cursor | None = None
    limit: Maybe[Int] = None


class EvalTally(Answer):
    """How many of the scored trials passed."""

    passed: Int
    scored: Int


class EvalSuiteSummary(Answer):
    """One suite in a list."""

    cases: Int
    id: EvalSuiteId
    last_run_at: EvalTimestamp | None
    name: str
    tally: EvalTally
    variants: Int


class EvalSuitePage(Answer):
    """Suites; ``next`` is null on the last page."""

    next: Cursor | None
    suites: list[EvalSuiteSummary]


class ListSuitesRequest(Request):
    """List suites."""

    cursor: Cursor | None = None
    limit: Maybe[Int] = None


class EvalSuiteSetup(Answer):
    """What the cases of a suite share; null where they differ."""

    prompt: str | None
    source: StoredSource | None


class EvalSuiteDetail(Answer):
    """One suite with its setup and tags."""

    cases: Int
    id: EvalSuiteId
    last_run_at: EvalTimestamp | None
    name: str
    tally: EvalTally
    variants: Int
    setup: EvalSuiteSetup
    tags: list[str]


class EvalVariantResult(Answer):
    """How a case last did on one variant."""

    distribution: EvalDistribution
    last_run_at: EvalTimestamp
    last_run_id: str
    runs: Int
    status: RunStatus
    variant: EvalVariant


class EvalCaseSummary(Answer):
    """One case in a list."""

    id: EvalCaseId
    last_run_at: EvalTimestamp
    name: str
    suite: EvalSuite
    tags: list[str]
    variants: list[EvalVariantResult]


class EvalCasePage(Answer):
    """Cases, with the suites and tags to filter by; ``next`` is null on the last page."""

    cases: list[EvalCaseSummary]
    next: Cursor | None
    suites: list[EvalSuite]
    tags: list[str]


class ListCasesRequest(Request):
    """List cases; ``q`` searches names."""

    cursor: Cursor | None = None
    limit: Maybe[Int] = None
    order: Maybe[Literal["asc", "desc"]] = None
    q: Maybe[str] = None
    sort: Maybe[Literal["recent", "name"]] = None
    suite: Maybe[str] = None
    tag: Maybe[str] = None


class EvalCaseVersion(Answer):
    """One version of a case and what it changed."""

    author: str | None
    changes: list[str]
    created_at: EvalTimestamp
    definition_hash: str


class EvalCaseDetail(Answer):
    """One case with its setup, variants and versions."""

    id: EvalCaseId
    name: str
    setup: EvalSetup
    suite: EvalSuite
    tags: list[str]
    variants: list[EvalVariantResult]
    versions: list[EvalCaseVersion]


class EvalRunPage(Answer):
    """Runs of a case, page by page."""

    page: Int
    page_size: Int
    runs: list[EvalRun]
    total: Int


class ListRunsRequest(Request):
    """List the runs of a case; ``page`` counts from 1."""

    case_id: EvalCaseId
    page: Maybe[Int] = None
    variant: Maybe[str] = None


class CatalogueModel(Answer):
    """A model a harness can use."""

    display_name: str
    id: str
    summary: str | None
    vendor: str | None


class ModelCatalogue(Answer):
    """The models of a harness."""

    harness: Harness
    models: list[CatalogueModel]
    total: Int


class ListModelsRequest(Request):
    """List the models of a harness; ``q`` searches them."""

    harness: Harness
    q: Maybe[str] = None
