"""What a conversation with a server is made of. A driver performs these, blocking or async."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Send:
    """One HTTP request, answered by a ``Reply`` or a ``Failure``. ``timeout_s=None``: no limit."""

    method: Literal["GET", "POST"]
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait this long."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Tell:
    """Call a function of the caller's, which may be async where the driver is."""

    function: Callable[[Any], Any]
    value: Any


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server said."""

    status: int
    body: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no answer. ``sent`` says whether the server may have had the request."""

    reason: str
    kind: Literal["connect", "timeout", "dropped"]

    @property
    def sent(self) -> bool:
        """Only a connection that never stood is sure to have carried nothing."""
        return self.kind != "connect"


Step: TypeAlias = Send | Pause | Tell
Answered: TypeAlias = Reply | Failure | None
Conversation: TypeAlias = Generator[Step, Answered, T]
