"""The builders' fields as ``TypedDict``s, so that an editor completes and checks them.

What a field means and allows stands in the field tables beside each builder; a test keeps both equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, Required, TypeAlias, TypedDict

from sphynx.suite.context import Prepare, Solution, Validator

if TYPE_CHECKING:
    from sphynx.suite.cases import Case
    from sphynx.suite.checks import Command, Named
    from sphynx.suite.interfaces import Mock
    from sphynx.suite.sources import Source
    from sphynx.suite.variants import Variant


class CacheFields(TypedDict):
    """One prepared directory to restore and save."""

    key: str
    path: str


class ProfileFields(TypedDict, total=False):
    """Files and settings layered on a harness; with ``skill`` its folder is an Agent Skill."""

    name: Required[str]
    dir: Required[str]
    skill: str | None
    old: str | None
    use: str | None


class CommandFields(TypedDict, total=False):
    """The dict form of ``command()``."""

    command: Required[str]
    timeout_ms: int | None


class NamedFields(TypedDict, total=False):
    """The dict form of ``named()``."""

    name: Required[str]
    fn: Required[Validator]
    timeout_ms: int | None


class ScriptFields(TypedDict):
    """The dict form of ``script()``."""

    replies: Sequence[str]


class HumanFields(TypedDict, total=False):
    """What ``human()`` takes."""

    goal: Required[str]
    prompt: Required[str]
    harness: str | None
    model: str | None


class JudgeFields(TypedDict, total=False):
    """What ``judge()`` takes."""

    name: Required[str]
    harness: str | None
    provider: str | None
    model: Required[str]
    prompt: Required[str]
    expected: str | None
    files: Sequence[str]
    choices: Required[Mapping[str, float]]
    threshold: float
    timeout_ms: int | None
    workspace: bool
    criteria: Sequence[str]
    votes: int


class RepoSource(TypedDict, total=False):
    """The dict form of ``repo()``: ``url`` is what ``repo()`` takes."""

    kind: Required[Literal["repo"]]
    url: Required[str]
    ref: str | None


class FilesSource(TypedDict):
    """The dict form of ``files()``."""

    kind: Literal["files"]
    files: Mapping[str, str]


class EmptySource(TypedDict):
    """The dict form of ``empty``."""

    kind: Literal["empty"]


class Person(Protocol):
    """Who answers the agent: ``script()`` or ``human()``."""

    @property
    def sphynx_kind(self) -> str: ...


class Judge(Protocol):
    """A model judge: ``judge()``."""

    @property
    def sphynx_kind(self) -> str: ...
    @property
    def given(self) -> Mapping[str, Any]: ...


SourceLike: TypeAlias = "Source | RepoSource | FilesSource | EmptySource"
CheckLike: TypeAlias = "Validator | Named | NamedFields | Judge | JudgeFields"
Validate: TypeAlias = "CheckLike | Command | CommandFields | Sequence[CheckLike]"
UserLike: TypeAlias = "Person | ScriptFields | HumanFields"


class CaseFields(TypedDict, total=False):
    """What ``case()`` takes."""

    id: Required[str]
    name: str | None
    variables: Mapping[str, str]
    source: SourceLike | None
    prepare: Prepare | None
    cache: CacheFields | None
    tags: Sequence[str]
    user: UserLike | None
    max_turns: int | None
    timeout_ms: int | None
    validate: Required[Validate]
    solution: str | Solution | None
    fixtures: Mapping[str, Any] | None


class VariantFields(TypedDict, total=False):
    """What ``variant()`` takes."""

    harness: Required[str | Callable[..., Any]]
    model: Required[str]
    sandbox: str | None
    profile: ProfileFields | None
    harness_version: str | None
    image: str | None
    bare: bool | None


class SuiteFields(TypedDict, total=False):
    """What ``suite()`` takes."""

    id: Required[str]
    name: str | None
    prompt: Required[str]
    source: SourceLike | None
    cases: Required[Sequence[Case | CaseFields]]
    variants: Required[Sequence[Variant | VariantFields]]
    trials: int
    capture_source: bool
    capture_validation: bool
    include: Sequence[str]
    mcp: Sequence[Mock]
    cli: Sequence[Mock]
    api: Sequence[Mock]
