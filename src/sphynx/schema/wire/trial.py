"""A trial as it is shown: journal, checks with their evidence, usage, costs."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from sphynx.schema.wire.shape import Answer, Int, Maybe, NonNegativeInt, Text

TrialStatus: TypeAlias = Literal["queued", "running", "passed", "failed", "void"]
ValidationKind: TypeAlias = Literal["code", "judge", "command"]
ValidationStatus: TypeAlias = Literal["queued", "running", "passed", "failed", "error", "skipped"]
ValidationMethod: TypeAlias = Literal[
    "answer",
    "transcript",
    "turns",
    "readText",
    "exists",
    "exec",
    "cli.calls",
    "api.calls",
    "api.url",
    "mcp.calls",
]


class EvalUsage(Answer):
    """Tokens; ``inputTokens`` leaves out what came from the cache."""

    cache_read_tokens: Int
    cache_write_tokens: Int
    cost_usd: float | None = None
    input_tokens: Int
    output_tokens: Int
    total_tokens: Int


class JudgeUsage(Answer):
    """Tokens of one judge; ``cacheWrite1hTokens`` is the share of writes kept for an hour."""

    cache_read_tokens: Int
    cache_write_tokens: Int
    cache_write_1h_tokens: Maybe[Int] = Field(default=None, alias="cacheWrite1hTokens")
    cost_usd: Maybe[float] = None
    input_tokens: Int
    output_tokens: Int
    total_tokens: Int


class Judgment(Answer):
    """What a judge decided and why; ``score`` is null when it could not."""

    name: str
    model: str
    evaluator: str
    score: Annotated[float, Field(ge=0, le=1)] | None
    choice: str | None
    reason: str
    threshold: Annotated[float, Field(ge=0, le=1)]
    duration_ms: NonNegativeInt
    error: str | None
    usage: Maybe[JudgeUsage] = None


class ValidationValue(Answer):
    """A value that a check read or returned, cut to 16,000 characters."""

    text: Annotated[str, Text(high=16_000)]
    format: Literal["text", "json"]
    state: Literal["captured", "disabled", "unavailable"]
    truncated: bool


class ValidationCall(Answer):
    """One call a check made on its context."""

    index: NonNegativeInt
    method: ValidationMethod
    started_at: float
    duration_ms: float | None
    input: ValidationValue
    output: ValidationValue
    error: ValidationValue | None


class LogEntry(Answer):
    """One line a check printed."""

    index: NonNegativeInt
    at: float
    level: Literal["stdout", "stderr"]
    value: ValidationValue


class EvalValidation(Answer):
    """One check of a trial with its evidence. ``startedAt`` is epoch milliseconds."""

    id: Annotated[str, Text(low=1, high=200)]
    index: NonNegativeInt
    name: Annotated[str, Text(high=200)]
    kind: ValidationKind
    status: ValidationStatus
    started_at: float | None
    duration_ms: float | None
    message: Annotated[str, Text(high=2_000)]
    exit_code: Int | None
    truncated: bool
    judgment: Maybe[Judgment] = None
    input: ValidationValue
    output: ValidationValue
    error: ValidationValue | None
    metadata: Maybe[ValidationValue] = None
    calls: Annotated[list[ValidationCall], Field(max_length=64)]
    logs: Annotated[list[LogEntry], Field(max_length=64)]


EvalValidations: TypeAlias = Annotated[list[EvalValidation], Field(max_length=40)]


class JournalCommand(Answer):
    """A shell command the agent ran."""

    tag: Literal["command"] = Field(alias="_tag")
    command: str
    exit_code: Int | None
    finished_at_millis: float | None
    output: str
    output_truncated: Maybe[bool] = None
    started_at_millis: float | None


class JournalMessage(Answer):
    """Something the agent or the person said."""

    tag: Literal["message"] = Field(alias="_tag")
    finished_at_millis: float | None
    role: Maybe[Literal["assistant", "user"]] = None
    text: str
    usage: EvalUsage | None = None


class JournalToolCall(Answer):
    """A tool the agent called."""

    tag: Literal["toolCall"] = Field(alias="_tag")
    finished_at_millis: float | None
    input: Maybe[str] = None
    name: str
    output: Maybe[str] = None
    error: Maybe[str] = None
    output_truncated: Maybe[bool] = None
    input_truncated: Maybe[bool] = None
    error_truncated: Maybe[bool] = None
    started_at_millis: float | None = None
    status: str | None


class JournalFileChange(Answer):
    """Files the agent changed."""

    tag: Literal["fileChange"] = Field(alias="_tag")
    finished_at_millis: float | None
    paths: list[str]


EvalJournalEntry: TypeAlias = Annotated[
    JournalCommand | JournalMessage | JournalToolCall | JournalFileChange, Field(discriminator="tag")
]


class Artifact(Answer):
    """A small text file the trial changed, stored apart."""

    path: str
    byte_size: Annotated[int, Field(ge=0)]
    sha256: Annotated[str, Text(pattern=r"^[a-f0-9]{64}$")]


class EvalVerifyStep(Answer):
    """A shell check that ran."""

    command: str
    exit_code: Int


class CostComponent(Answer):
    """Money of one component; ``usd`` is null when it is not known."""

    classification: str
    component: str
    detail: dict[str, Any]
    explanation: str
    source: str
    usd: float | None


class EvalCosts(Answer):
    """What something cost. ``incomplete`` when any part is not known."""

    allocated_usd: float
    estimated_equivalent_usd: float
    incomplete: bool
    known_actual_usd: float
    components: list[CostComponent]
    later_components: Maybe[list[CostComponent]] = None


class EvalTrial(Answer):
    """One attempt of a run."""

    artifacts: list[Artifact]
    commands: Int
    costs: EvalCosts | None
    exit_code: Int
    failed_commands: Int
    failure: str | None = None
    files_changed: list[str]
    id: str
    model_ms: Int
    ordinal: Int
    sandbox_id: str | None
    sandbox_ms: Int
    status: TrialStatus
    timed: bool
    trajectory: list[EvalJournalEntry]
    usage: EvalUsage | None
    validations: EvalValidations
    verify_steps: list[EvalVerifyStep]
    void_fields: list[str]
