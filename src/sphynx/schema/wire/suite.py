"""What starts a batch: suites, cases, variants, profiles."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from sphynx.schema.wire.checks import EvalValidator
from sphynx.schema.wire.environment import VariableName
from sphynx.schema.wire.names import BuiltInHarness, Harness, Sandbox
from sphynx.schema.wire.shape import STORED, Answer, Beyond, Maybe, Request, Text, given

EvalCaseId: TypeAlias = Annotated[str, Text(low=1, high=100, pattern=r"^[a-z0-9]+(?:-[a-z0-9]+)*$")]
EvalSuiteId: TypeAlias = Annotated[str, Text(low=1, high=100, pattern=r"^[a-z0-9]+(?:-[a-z0-9]+)*$")]
EvalMaxTurns: TypeAlias = Annotated[int, Field(ge=1, le=50)]
EvalTimeoutMs: TypeAlias = Annotated[int, Field(ge=1_000, le=3_600_000)]
EvalPrompt: TypeAlias = Annotated[str, Text(high=16_384)]
EvalSuiteName: TypeAlias = Annotated[str, Text(low=1, high=200)]
EvalCaseName: TypeAlias = Annotated[str, Text(high=200)]
EvalVerify: TypeAlias = Annotated[str, Text(high=8_192)]
EvalVariableValue: TypeAlias = Annotated[str, Text(high=2_048)]
EvalVariables: TypeAlias = dict[str, EvalVariableValue]
EvalCaseTags: TypeAlias = Annotated[list[Annotated[str, Text(low=1, high=40)]], Field(max_length=12)]
EnvName: TypeAlias = Annotated[str, Text(pattern=r"^[A-Z_][A-Z0-9_]*$")]
ProfilePath: TypeAlias = Annotated[
    str, Text(high=512, pattern=r"^(home|workspace)(?:\/(?!\.\.?(?:\/|$))[^/\0]+)+$")
]
ProfileName: TypeAlias = Annotated[str, Text(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")]


class SourceEmpty(Request):
    """An empty workspace."""

    kind: Literal["empty"]


class SourceRepo(Request):
    """A git repository; ``ref`` is a branch, tag or commit, null for its default branch."""

    kind: Literal["repo"]
    ref: str | None
    url: Annotated[str, Text(low=1)]


class SourceFiles(Request):
    """Files by path, relative to the workspace."""

    kind: Literal["files"]
    files: dict[str, str]


EvalSource: TypeAlias = Annotated[SourceEmpty | SourceRepo | SourceFiles, Field(discriminator="kind")]


class SimulatedByModel(Request):
    """A person played by a model with a goal."""

    kind: Literal["simulated"]
    goal: Annotated[str, Text(low=1, high=2_000)]
    prompt: Annotated[str, Text(low=1, high=8_000)]


class SimulatedByHarness(Request):
    """A person played by an agent with a goal."""

    kind: Literal["simulated"]
    goal: Annotated[str, Text(low=1, high=2_000)]
    prompt: Annotated[str, Text(low=1, high=8_000)]
    harness: BuiltInHarness
    model: Annotated[str, Text(low=1, high=200)]


class ScriptedUser(Request):
    """A person with fixed replies, said in order."""

    kind: Literal["scripted"]
    replies: Annotated[list[Annotated[str, Text(low=1, high=4_000)]], Field(min_length=1, max_length=24)]


def _user_arm(value: Any) -> str:
    if given(value, "kind") == "simulated":
        return (
            "harness" if given(value, "harness") is not None or given(value, "model") is not None else "model"
        )
    return "script"


User: TypeAlias = Annotated[
    Annotated[SimulatedByModel, Tag("model")]
    | Annotated[SimulatedByHarness, Tag("harness")]
    | Annotated[ScriptedUser, Tag("script")],
    Discriminator(_user_arm),
]


class CaseCache(Request):
    """One prepared folder of the workspace, kept under ``key``."""

    key: Annotated[str, Text(low=1)]
    path: Annotated[str, Text(low=1)]


class EvalPrepare(Request):
    """Setup that runs before the agent: an ES module that carries everything it needs."""

    name: Annotated[str, Text(low=1, high=100)]
    source: Annotated[str, Text(low=1, high=1_000_000)]


class EvalCase(Request):
    """One eval: its variables, workspace and check (``verify`` or ``validator``)."""

    cache: Maybe[CaseCache] = None
    id: EvalCaseId
    max_turns: EvalMaxTurns | None = None
    user: User | None = None
    prepare: EvalPrepare | None = None
    source: EvalSource = Field(default_factory=lambda: SourceEmpty(kind="empty"))
    tags: EvalCaseTags = Field(default_factory=list)
    timeout_ms: EvalTimeoutMs | None = None
    variables: EvalVariables = Field(default_factory=dict)
    validator: EvalValidator | None = None
    verify: EvalVerify | None = None
    name: Maybe[EvalCaseName] = None
    beyond: Beyond = None


class EvalSuiteRequest(Request):
    """The prompt (a template with ``{{name}}``) and what all cases share."""

    id: EvalSuiteId
    prompt: EvalPrompt
    source: EvalSource | None = None
    name: Maybe[EvalSuiteName] = None


class HarnessProfile(Request):
    """Files and settings layered on a harness. ``variables`` are names, never values."""

    env: Maybe[dict[EnvName, str]] = None
    files: dict[ProfilePath, Annotated[str, Text(high=96_000)]]
    install: Maybe[str] = None
    name: ProfileName
    run: Maybe[str] = None
    system_prompt: Maybe[str] = None
    variables: Maybe[list[VariableName]] = None


class VariantCredentials(Request):
    """References of the caller's own connections."""

    harness_ref: Maybe[str] = None
    sandbox_ref: Maybe[str] = None


class EvalVariantRequest(Request):
    """What cases run on: harness, model, sandbox and profile."""

    credentials: Maybe[VariantCredentials] = None
    harness: Harness
    model: Annotated[str, Text(low=1)]
    profile: Maybe[HarnessProfile] = None
    sandbox: Sandbox = "e2b"
    beyond: Beyond = None


class SuiteBatchRequest(Request):
    """Start a batch: every case on every variant, ``trials`` times."""

    beyond: Beyond = None

    cases: Annotated[list[EvalCase], Field(min_length=1, max_length=100)]
    checks_in: bool = False
    suite: EvalSuiteRequest
    trials: Annotated[int, Field(ge=1, le=10)]
    variants: Annotated[list[EvalVariantRequest], Field(min_length=1, max_length=20)]


class StartedRun(Answer):
    """One case on one variant, started."""

    case_id: EvalCaseId
    id: str
    variant_id: str


class StartedBatch(Answer):
    """The batch that was started and its runs."""

    id: str
    runs: list[StartedRun]


class ById(Request):
    """Name one thing by its id."""

    id: str


class RunCaseBatchRequest(Request):
    """Run a stored case again, on the variants named or on all it has run on."""

    trials: Annotated[int, Field(ge=1, le=10)] = 1
    variants: Maybe[Annotated[list[str], Field(min_length=1, max_length=20)]] = None
    id: EvalCaseId


class StoredSourceEmpty(SourceEmpty):
    """``SourceEmpty`` in an answer."""

    model_config = STORED


class StoredSourceRepo(SourceRepo):
    """``SourceRepo`` in an answer."""

    model_config = STORED


class StoredSourceFiles(SourceFiles):
    """``SourceFiles`` in an answer."""

    model_config = STORED


StoredSource: TypeAlias = Annotated[
    StoredSourceEmpty | StoredSourceRepo | StoredSourceFiles, Field(discriminator="kind")
]
