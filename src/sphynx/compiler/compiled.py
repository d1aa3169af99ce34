"""A compiled suite: what the engine runs and what a request to a server is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphynx.compiler.bundle import Contents
from sphynx.compiler.profiles import Profile
from sphynx.contracts import BundleRef
from sphynx.suite.cases import Case
from sphynx.suite.suites import Suite
from sphynx.suite.variants import Variant

if TYPE_CHECKING:
    from sphynx.schema.wire import SuiteBatchRequest


@dataclass(frozen=True, slots=True)
class CompiledCase:
    """One case ready to run: its ``prompt`` filled in, and the ``source`` that applies to it."""

    case: Case
    prompt: str
    source: Any
    definition_hash: str


@dataclass(frozen=True, slots=True)
class CompiledVariant:
    """One variant with its profile read from disk."""

    variant: Variant
    label: str
    profile: Profile | None


@dataclass(frozen=True)
class CompiledSuite:
    """One suite of one eval file.

    ``file`` is ``path`` as shown to people, ``index`` the suite's position in the file. ``bundle`` is
    ``None`` when no Python function of the file has to run in a trial.
    """

    path: Path
    file: str
    index: int
    suite: Suite
    cases: tuple[CompiledCase, ...]
    variants: tuple[CompiledVariant, ...]
    bundle: BundleRef | None
    warnings: tuple[str, ...] = ()
    contents: Contents | None = field(default=None, repr=False)
    """What the bundle holds; ``None`` when there is no bundle."""

    @property
    def request(self) -> SuiteBatchRequest:
        """The request that starts this suite on a server, made anew at each call.

        ``CompileError`` when the suite cannot run anywhere but here (size, a harness of its own).
        """
        from sphynx.compiler.request import build

        return build(self)
