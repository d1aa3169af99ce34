"""Prompts, their versions and channels."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from sphynx.schema.wire.shape import Answer, Instant, Maybe, Request, Text

ChannelName: TypeAlias = Annotated[str, Text(low=1, high=36, pattern=r"^[a-z0-9][a-z0-9_-]*$")]
PromptId: TypeAlias = Annotated[str, Text(low=1, high=255, pattern=r"^[a-z0-9][a-z0-9/_-]*$")]
PromptName: TypeAlias = Annotated[str, Text(low=1, high=255)]
CommitMessage: TypeAlias = Annotated[str, Text(high=500)]
VersionNumber: TypeAlias = Annotated[int, Field(gt=0)]
PromptContent: TypeAlias = Annotated[str, Text(low=1, high=262_144)]


class Version(Answer):
    """One version of a prompt."""

    created_at: Instant
    message: CommitMessage | None
    version: VersionNumber


class Prompt(Answer):
    """A prompt at one version."""

    channel: ChannelName | None
    config: dict[str, Any]
    content: str
    created_at: Instant
    id: PromptId
    message: CommitMessage | None
    name: PromptName
    version: VersionNumber
    versions: Maybe[list[Version]] = None


class PromptSummary(Answer):
    """One prompt in a list."""

    id: PromptId
    latest_version: VersionNumber | None
    name: PromptName
    production_version: VersionNumber | None
    updated_at: Instant


class PromptList(Answer):
    """Prompts, newest first."""

    data: list[PromptSummary]


class GetPromptRequest(Request):
    """Read a prompt; ``version`` wins over ``channel``."""

    channel: Maybe[ChannelName] = None
    id: PromptId
    include_versions: Maybe[bool] = None
    version: Maybe[VersionNumber] = None


class ListPromptsRequest(Request):
    """List prompts. Takes nothing."""


class CreatePromptRequest(Request):
    """Create a prompt."""

    config: Maybe[dict[str, Any]] = None
    content: PromptContent
    description: Maybe[str] = None
    id: PromptId
    message: Maybe[CommitMessage] = None
    name: PromptName


class UpdatePromptRequest(Request):
    """Add a version to a prompt."""

    config: dict[str, Any] = Field(default_factory=dict)
    content: PromptContent
    id: PromptId
    message: Maybe[CommitMessage] = None


class PromotePromptRequest(Request):
    """Point a channel at a version."""

    channel: ChannelName
    id: PromptId
    version: VersionNumber


class Ok(Answer):
    """It worked."""

    ok: Literal[True]
