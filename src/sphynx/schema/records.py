"""The records a local run keeps on disk: ``batch.json`` and one ``trial.json`` per trial.

Plain data under camelCase keys, so that a server can import them and ``jq`` can read them. A field that is
not known is ``null``; nothing is invented.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

TrialStatus = Literal["passed", "failed", "void", "timed_out", "cancelled"]
Cause = Literal[
    "agent",
    "limit",
    "setup",
    "harness",
    "model",
    "sandbox",
    "check",
    "judge",
    "person",
    "cancelled",
    "internal",
]
CAUSES: tuple[Cause, ...] = get_args(Cause)


class Record(BaseModel):
    """Base of stored records: camelCase on disk, snake_case in Python, unknown keys kept."""

    # Built at first use: that is 70 ms that --help and an error need not wait for.
    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="allow", defer_build=True
    )


class UsageRecord(Record):
    """Tokens of a trial; ``input_tokens`` excludes cached ones."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    total_tokens: int
    cost_usd: float | None = None


class CostLine(Record):
    """Money of one component in US dollars; ``usd`` is ``None`` when it is not known."""

    component: Literal["model", "harness", "sandbox", "platform", "user", "judge"]
    classification: str
    usd: float | None
    source: str
    explanation: str = ""
    detail: dict[str, Any] = Field(default_factory=dict)


class Score(Record):
    """What a check measured beside pass or fail: ``score`` from 0 to 1 and named numbers."""

    check: str
    score: float | None = None
    metrics: dict[str, float] = Field(default_factory=dict)


class VerifyStep(Record):
    """A ``command()`` check that ran."""

    command: str
    exit_code: int


class ArtifactRecord(Record):
    """A small text file the trial changed, stored beside the record after redaction."""

    path: str
    byte_size: int
    sha256: str
    file: str | None = None


class TrialRecord(Record):
    """One trial as it ended. Written once, atomically, as ``trial.json``."""

    format: int = 1
    id: str
    batch_id: str
    suite_id: str
    case_id: str
    variant: str
    """The variant's label: ``harness/model`` plus ``@profile``."""
    ordinal: int
    status: TrialStatus
    cause: Cause | None = None
    """Why it did not pass: ``agent`` for a failed check; ``None`` for a pass."""
    stage: str | None = None
    reason: str | None = None
    """One line, at most 240 characters; ``None`` for a scored trial."""
    void_fields: list[str] = Field(default_factory=list)
    isolation: str
    harness: str
    harness_version: str
    model: str
    observed_model: str | None = None
    profile_version: str | None = None
    session_id: str | None = None
    started_at: str
    """ISO 8601, UTC."""
    duration_ms: int
    model_ms: int = 0
    sandbox_ms: int = 0
    turns: int = 0
    ending: str | None = None
    """Why no turn followed the last: ``single-turn``, ``user-done``, ``max-turns``, ``no-session`` (the agent
    cannot continue) or ``no-user`` (the person failed); ``None`` when the agent itself broke off."""
    thinking: int = 0
    """Pieces of reasoning the agent showed; their text is never kept."""
    commands: int = 0
    failed_commands: int = 0
    files_changed: list[str] = Field(default_factory=list)
    usage: UsageRecord | None = None
    warnings: list[str] = Field(default_factory=list)
    """Usage warnings: ``context-grew-fast``, ``nothing-cached``."""
    costs: list[CostLine] = Field(default_factory=list)
    costs_incomplete: bool = False
    exit_code: int = 0
    validations: list[dict[str, Any]] = Field(default_factory=list)
    """``EvalValidation`` shapes of the wire, in order."""
    verify_steps: list[VerifyStep] = Field(default_factory=list)
    scores: list[Score] = Field(default_factory=list)
    diff: str | None = None
    diff_truncated: bool = False
    artifacts: list[ArtifactRecord] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)


class RunPlan(Record):
    """One case on one variant, as planned."""

    case_id: str
    case_name: str
    variant: str
    harness: str
    model: str
    sandbox: str = "local"
    profile: str | None = None
    profile_version: str | None = None
    harness_version: str = ""
    user_model: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    """Settings of the harness that the variant names, such as ``bare``."""
    definition_hash: str
    trials: int
    setup: dict[str, Any] | None = None
    """The wire's ``EvalSetup``: prompt, source, prepare, validator and verify of the case."""


class BatchRecord(Record):
    """A batch of one suite. ``batch.json`` is written before the first trial and again at the end."""

    format: int = 1
    id: str
    suite_id: str
    suite_name: str
    file: str
    """The eval file, relative to where the command ran."""
    runs: list[RunPlan]
    jobs: int = 1
    isolation: str = "none"
    sphynx_version: str
    started_at: str
    finished_at: str | None = None
    status: Literal["running", "finished", "failed", "cancelled"] = "running"
    failure: str | None = None
    trigger: dict[str, str] | None = None
    warnings: list[str] = Field(default_factory=list)
    x: dict[str, Any] = Field(default_factory=dict)
