"""How a case passes, on the wire: code checks and judges."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from sphynx.schema.wire.names import BuiltInHarness
from sphynx.schema.wire.shape import STORED, Maybe, NonNegativeInt, Request, Text, given


class SourceFile(Request):
    """One source file of a check, as its author wrote it."""

    path: Annotated[
        str, Text(high=512, pattern=r"^(?!\.{1,2}(?:\/|$))[^/\\:\0]+(?:\/(?!\.{1,2}(?:\/|$))[^/\\:\0]+)*$")
    ]
    content: Annotated[str, Text(high=1_000_000)]


class ManifestEntry(Request):
    """Which check of a bundle an index is, and what it is called."""

    index: NonNegativeInt
    name: Annotated[str, Text(high=200)]


class CodeCheck(Request):
    """A program that holds one or more code checks."""

    capture: Maybe[bool] = None
    manifest: Maybe[Annotated[list[ManifestEntry], Field(min_length=1, max_length=20)]] = None
    name: Annotated[str, Text(low=1, high=100)]
    source: Annotated[str, Text(low=1, high=1_000_000)]


class CodeValidator(Request):
    """Code checks: one ES module, with the source it was made from."""

    capture: Maybe[bool] = None
    manifest: Maybe[Annotated[list[ManifestEntry], Field(min_length=1, max_length=20)]] = None
    name: Annotated[str, Text(low=1, high=100)]
    source: Annotated[str, Text(low=1, high=1_000_000)]
    source_files: Maybe[Annotated[list[SourceFile], Field(max_length=100)]] = None


JudgeFiles: TypeAlias = Maybe[
    Annotated[list[Annotated[str, Text(low=1, high=512)]], Field(min_length=1, max_length=8)]
]


class ProviderJudge(Request):
    """A judge asked through a model provider."""

    kind: Literal["judge"]
    name: Annotated[str, Text(low=1, high=100)]
    model: Annotated[str, Text(low=1, high=200)]
    prompt: Annotated[str, Text(low=1, high=32_000)]
    expected: Maybe[Annotated[str, Text(high=32_000)]] = None
    choices: dict[Annotated[str, Text(low=1)], Annotated[float, Field(ge=0, le=1)]]
    files: Maybe[
        Annotated[list[Annotated[str, Text(low=1, high=512)]], Field(min_length=1, max_length=8)]
    ] = None
    threshold: Annotated[float, Field(ge=0, le=1)] = 1
    timeout_ms: Annotated[int, Field(ge=1_000, le=300_000)] = 120_000
    provider: Literal["openai"]


class HarnessJudge(Request):
    """A judge asked through an agent."""

    kind: Literal["judge"]
    name: Annotated[str, Text(low=1, high=100)]
    model: Annotated[str, Text(low=1, high=200)]
    prompt: Annotated[str, Text(low=1, high=32_000)]
    expected: Maybe[Annotated[str, Text(high=32_000)]] = None
    choices: dict[Annotated[str, Text(low=1)], Annotated[float, Field(ge=0, le=1)]]
    files: Maybe[
        Annotated[list[Annotated[str, Text(low=1, high=512)]], Field(min_length=1, max_length=8)]
    ] = None
    threshold: Annotated[float, Field(ge=0, le=1)] = 1
    timeout_ms: Annotated[int, Field(ge=1_000, le=300_000)] = 120_000
    harness: BuiltInHarness


def _judge_arm(value: Any) -> str:
    return "provider" if given(value, "harness") is None else "harness"


Judge: TypeAlias = Annotated[
    Annotated[ProviderJudge, Tag("provider")] | Annotated[HarnessJudge, Tag("harness")],
    Discriminator(_judge_arm),
]


class JudgedValidator(Request):
    """Code checks and model judges together."""

    kind: Literal["judged"]
    capture: Maybe[bool] = None
    name: Annotated[str, Text(low=1, high=100)]
    checks: Annotated[list[CodeCheck], Field(max_length=20)]
    judges: Annotated[list[Judge], Field(min_length=1, max_length=20)]
    source_files: Maybe[Annotated[list[SourceFile], Field(max_length=100)]] = None


def _validator_arm(value: Any) -> str:
    return "code" if given(value, "kind") is None else "judged"


EvalValidator: TypeAlias = Annotated[
    Annotated[CodeValidator, Tag("code")] | Annotated[JudgedValidator, Tag("judged")],
    Discriminator(_validator_arm),
]


class StoredSourceFile(SourceFile):
    """``SourceFile`` in an answer."""

    model_config = STORED
