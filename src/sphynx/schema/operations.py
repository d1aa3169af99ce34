"""The operations of the HTTP interface: one table that routes, tools and client methods are made from.

Every operation is a POST to ``/v1/<name>`` with a JSON body.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import GenericAlias
from typing import Any, Literal

from sphynx.schema import wire
from sphynx.schema.wire.environment import Permission

ErrorSet = Literal["auth", "environment", "standard"]

ERRORS: dict[ErrorSet, dict[int, tuple[type[wire.Answer], ...]]] = {
    "auth": {
        400: (wire.HttpApiDecodeError,),
        401: (wire.Unauthorized,),
        404: (wire.NotFound,),
        500: (wire.InternalError,),
    },
    "environment": {
        400: (wire.HttpApiDecodeError, wire.BadRequest),
        401: (wire.Unauthorized,),
        403: (wire.Forbidden,),
        404: (wire.NotFound,),
    },
    "standard": {
        400: (wire.HttpApiDecodeError, wire.BadRequest),
        401: (wire.Unauthorized,),
        403: (wire.Forbidden,),
        404: (wire.NotFound,),
        409: (wire.Conflict,),
    },
}
"""The error bodies an operation may answer with, by status."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation.

    ``request`` is ``None`` where any JSON object will do; ``response`` is ``None`` for an answer without a
    body (status 204). ``permission`` is ``None`` where any valid credential will do. ``retry_safe`` says that
    sending it twice is the same as once. ``public`` is false for what only the CLI uses.
    """

    name: str
    tag: str
    request: Any
    response: type[wire.Answer] | GenericAlias | None
    permission: Permission | None
    retry_safe: bool
    errors: ErrorSet = "standard"
    public: bool = True

    @property
    def path(self) -> str:
        """Where it is posted to."""
        return f"/v1/{self.name}"

    @property
    def status(self) -> int:
        """The status of success."""
        return 204 if self.response is None else 200


_ALL = (
    Operation("auth.whoami", "Auth", None, wire.Whoami, None, True, "auth"),
    Operation(
        "environment.list",
        "Environment",
        None,
        wire.EnvironmentListing,
        "credentials:read",
        True,
        "environment",
    ),
    Operation(
        "environment.set",
        "Environment",
        wire.SetVariablesRequest,
        list[wire.EnvironmentVariable],
        "credentials:write",
        False,
        "environment",
    ),
    Operation(
        "environment.remove",
        "Environment",
        wire.RemoveVariableRequest,
        None,
        "credentials:write",
        False,
        "environment",
    ),
    Operation(
        "evals.batches.start", "Batches", wire.SuiteBatchRequest, wire.StartedBatch, "evals:write", False
    ),
    Operation("evals.batches.get", "Batches", wire.ById, wire.EvalBatch, "evals:read", True),
    Operation("evals.batches.list", "Batches", wire.ListBatchesRequest, wire.BatchPage, "evals:read", True),
    Operation("evals.suites.list", "Suites", wire.ListSuitesRequest, wire.EvalSuitePage, "evals:read", True),
    Operation("evals.suites.get", "Suites", wire.ById, wire.EvalSuiteDetail, "evals:read", True),
    Operation("evals.cases.list", "Cases", wire.ListCasesRequest, wire.EvalCasePage, "evals:read", True),
    Operation("evals.cases.get", "Cases", wire.ById, wire.EvalCaseDetail, "evals:read", True),
    Operation("evals.cases.run", "Cases", wire.RunCaseBatchRequest, wire.StartedBatch, "evals:write", False),
    Operation("evals.runs.list", "Runs", wire.ListRunsRequest, wire.EvalRunPage, "evals:read", True),
    Operation("evals.runs.get", "Runs", wire.ById, wire.EvalRun, "evals:read", True),
    Operation("evals.models.list", "Models", wire.ListModelsRequest, wire.ModelCatalogue, "evals:read", True),
    Operation("prompts.get", "Prompts", wire.GetPromptRequest, wire.Prompt, "prompts:read", True),
    Operation("prompts.list", "Prompts", wire.ListPromptsRequest, wire.PromptList, "prompts:read", True),
    Operation("prompts.create", "Prompts", wire.CreatePromptRequest, wire.Prompt, "prompts:write", False),
    Operation("prompts.update", "Prompts", wire.UpdatePromptRequest, wire.Prompt, "prompts:write", False),
    Operation("prompts.promote", "Prompts", wire.PromotePromptRequest, wire.Ok, "channels:write", True),
    Operation(
        "runner.start",
        "Runner",
        wire.RunnerBatchRequest,
        wire.StartedBatch,
        "evals:write",
        False,
        public=False,
    ),
    Operation(
        "runner.lease",
        "Runner",
        wire.CredentialLeaseRequest,
        wire.CredentialLease,
        "credentials:use",
        True,
        public=False,
    ),
    Operation(
        "runner.leaseVariables",
        "Runner",
        wire.VariableLeaseRequest,
        wire.VariableLease,
        "credentials:use",
        True,
        public=False,
    ),
    Operation("runner.report", "Runner", wire.ReportedTrial, None, "evals:write", False, public=False),
    Operation("runner.beat", "Runner", wire.ById, None, "evals:write", True, public=False),
    Operation("runner.finish", "Runner", wire.ById, wire.EvalBatch, "evals:write", True, public=False),
)

OPERATIONS: dict[str, Operation] = {operation.name: operation for operation in _ALL}
"""Every operation by its name."""

_OURS = (
    Operation(
        "evals.batches.cancel", "Batches", wire.ById, wire.EvalBatch, "evals:write", False, public=False
    ),
    Operation("evals.batches.link", "Batches", wire.ById, wire.BatchLink, "evals:read", True, public=False),
    Operation(
        "evals.statistics.get",
        "Statistics",
        wire.StatisticsRequest,
        wire.Statistics,
        "evals:read",
        True,
        public=False,
    ),
)

EXTENSIONS: dict[str, Operation] = {operation.name: operation for operation in _OURS}
"""Operations that only our own server has; it announces them at ``/``."""
