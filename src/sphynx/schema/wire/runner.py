"""What a local run tells a server: starting, leasing keys, reporting trials.

These shapes are read from the service's own source, some only in part; the service lists them nowhere.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from sphynx.schema.wire.batch import EvalTrigger
from sphynx.schema.wire.environment import VariableName
from sphynx.schema.wire.names import Harness
from sphynx.schema.wire.shape import Answer, DateTimeUtc, Int, Maybe, Request, Text
from sphynx.schema.wire.suite import SuiteBatchRequest
from sphynx.schema.wire.trial import Artifact, EvalValidations, EvalVerifyStep


class RunnerBatchRequest(SuiteBatchRequest):
    """Start a batch that this machine runs (``local``), or that the CLI started (``trigger``)."""

    local: bool = False
    trigger: EvalTrigger | None = None


class CredentialLeaseRequest(Request):
    """Ask for a harness key for one batch; ``id`` is the batch's."""

    harness: Harness
    id: str


class CredentialLease(Answer):
    """A harness key by field name, until ``expiresAt``."""

    auth_method_id: str
    expires_at: DateTimeUtc
    values: dict[str, str]


class VariableLeaseRequest(Request):
    """Ask for the values of 1 to 100 variables for one batch."""

    id: str
    names: Annotated[list[VariableName], Field(min_length=1, max_length=100)]


class VariableLease(Answer):
    """Values by name, until ``expiresAt``."""

    expires_at: DateTimeUtc
    values: dict[str, str]


class HarnessUsage(Answer):
    """Tokens as a harness reports them."""

    cache_read_tokens: Int
    cache_write_tokens: Int
    cache_write_1h_tokens: Maybe[Int] = Field(default=None, alias="cacheWrite1hTokens")
    cost_usd: Maybe[float] = None
    input_tokens: Int
    output_tokens: Int
    total_tokens: Int


class StartedEvent(Answer):
    """The agent's session began."""

    tag: Literal["Started"] = Field(alias="_tag")
    at: Maybe[float] = None
    model: str
    session_id: str


class MessageEvent(Answer):
    """Something was said."""

    tag: Literal["Message"] = Field(alias="_tag")
    at: Maybe[float] = None
    role: Literal["assistant", "user"]
    text: str
    usage: Maybe[HarnessUsage] = None


class CommandEvent(Answer):
    """A shell command ran."""

    tag: Literal["Command"] = Field(alias="_tag")
    at: Maybe[float] = None
    command: str
    exit_code: Int | None
    output: str
    started_at: Maybe[float] = None


class FileChangeEvent(Answer):
    """Files changed."""

    tag: Literal["FileChange"] = Field(alias="_tag")
    at: Maybe[float] = None
    paths: list[str]


class ToolCallEvent(Answer):
    """A tool was called."""

    tag: Literal["ToolCall"] = Field(alias="_tag")
    at: Maybe[float] = None
    call_id: str | None
    input: str
    name: str
    output: Maybe[str] = None
    error: Maybe[str] = None
    started_at: Maybe[float] = None
    status: str | None


class FinishedEvent(Answer):
    """The agent ended, and why."""

    tag: Literal["Finished"] = Field(alias="_tag")
    at: Maybe[float] = None
    reason: str


HarnessEvent: TypeAlias = Annotated[
    StartedEvent | MessageEvent | CommandEvent | FileChangeEvent | ToolCallEvent | FinishedEvent,
    Field(discriminator="tag"),
]


class TrialOutcome(Answer):
    """How a scored trial ended."""

    artifacts: list[Artifact]
    command_count: Int
    exit_code: Int
    model_ms: Int
    sandbox_ms: Int
    status: Literal["passed", "failed", "void"]
    validations: Maybe[EvalValidations] = None
    verify_steps: list[EvalVerifyStep]
    void_fields: list[str]


class ScoredTrialReport(Request):
    """One trial with its outcome; ``ordinal`` counts from 1."""

    events: list[HarnessEvent]
    ordinal: Annotated[int, Field(gt=0)]
    run_id: str
    sandbox_id: str | None = None
    usage: HarnessUsage | None = None
    outcome: TrialOutcome
    user_spend: Any = None


class BrokenTrialReport(Request):
    """One trial that could not be scored, and why."""

    events: list[HarnessEvent]
    ordinal: Annotated[int, Field(gt=0)]
    run_id: str
    sandbox_id: str | None = None
    usage: HarnessUsage | None = None
    failure: Annotated[str, Text(low=1)]


ReportedTrial: TypeAlias = ScoredTrialReport | BrokenTrialReport
