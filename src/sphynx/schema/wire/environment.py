"""Who a credential acts for, and the variables and subscriptions of an organization."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from sphynx.schema.wire.shape import Answer, DateTimeUtc, Int, Request, Text

Permission: TypeAlias = Literal[
    "prompts:read",
    "prompts:write",
    "channels:read",
    "channels:write",
    "apiKeys:read",
    "apiKeys:write",
    "members:read",
    "members:write",
    "evals:read",
    "evals:write",
    "credentials:read",
    "credentials:write",
    "credentials:use",
    "organization:admin",
    "platform:impersonate",
]
Scope: TypeAlias = Literal["organization", "personal"]
SubscriptionPlan: TypeAlias = Literal["chatgpt", "opencode", "pi"]
SubscriptionStatus: TypeAlias = Literal["active", "invalid"]
VariableName: TypeAlias = Annotated[str, Text(high=128, pattern=r"^[A-Z_][A-Z0-9_]*$")]


class ApiKeyCredential(Answer):
    """The call came with an API key; ``start`` is its first characters, never the key."""

    kind: Literal["apiKey"]
    name: str | None
    start: str | None


class OauthCredential(Answer):
    """The call came with an OAuth access token."""

    kind: Literal["oauth"]


WhoamiCredential: TypeAlias = Annotated[ApiKeyCredential | OauthCredential, Field(discriminator="kind")]


class WhoamiOrganization(Answer):
    """The organization the credential acts for."""

    id: str
    name: str
    slug: str


class Whoami(Answer):
    """Who a credential acts for and what it may do."""

    credential: WhoamiCredential
    organization: WhoamiOrganization
    permissions: list[Permission]


class Subscription(Answer):
    """A plan an agent signs in with. Its token is never returned."""

    created_at: DateTimeUtc
    id: str
    is_default: bool
    last_used_at: DateTimeUtc | None
    plan: SubscriptionPlan
    renews: bool
    scope: Scope
    status: SubscriptionStatus


class EnvironmentVariable(Answer):
    """A stored variable. A secret value shows as its ``preview`` only."""

    created_at: DateTimeUtc
    id: str
    last_used_at: DateTimeUtc | None
    name: str
    preview: str
    revision: Int
    scope: Scope
    secret: bool
    updated_at: DateTimeUtc


class EnvironmentListing(Answer):
    """Everything an agent may be given: subscriptions and variables."""

    subscriptions: list[Subscription]
    variables: list[EnvironmentVariable]


class VariableToSet(Request):
    """One variable to store."""

    name: VariableName
    secret: bool = True
    value: Annotated[str, Text(low=1, high=32_768)]


class SetVariablesRequest(Request):
    """Store 1 to 100 variables."""

    scope: Scope = "organization"
    variables: Annotated[list[VariableToSet], Field(min_length=1, max_length=100)]


class RemoveVariableRequest(Request):
    """Remove one variable."""

    name: VariableName
    scope: Scope = "organization"
