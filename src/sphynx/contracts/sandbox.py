"""What the engine asks of a sandbox: one trial's machine, and what opens it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

OnChunk = Callable[[bytes], Awaitable[None] | None]
OnFrame = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class ExecResult:
    """How one process ended. ``exit_code`` is ``128 + n`` when signal ``n`` ended it."""

    exit_code: int
    stdout: bytes
    """The first ``keep`` bytes; ``stdout_bytes`` says how many there were."""
    stderr: bytes
    stdout_bytes: int
    stderr_bytes: int
    timed_out: bool
    duration_ms: float


@dataclass(frozen=True, slots=True)
class BundleRef:
    """A compiled eval file, unpacked: ``path`` holds ``bundle.json`` and the tree it describes."""

    path: Path
    digest: str


@dataclass(frozen=True, slots=True)
class GuestRequest:
    """One function of an eval file to run inside the sandbox (see ``sphynx.guest.protocol``)."""

    op: Literal["prepare", "checks", "solution", "turn", "mocks"]
    suite: int
    case: str
    payload: Mapping[str, Any]
    env: Mapping[str, str]
    timeout_ms: int


class Sandbox(Protocol):
    """One trial's machine. Relative paths are relative to ``workspace``."""

    id: str
    backend: str
    isolation: str
    workspace: str
    home: str
    tmp: str

    async def exec(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout_ms: int | None = None,
        on_stdout: OnChunk | None = None,
        on_stderr: OnChunk | None = None,
        keep: int = 1_000_000,
    ) -> ExecResult:
        """Run ``argv`` with stdin closed. It is over when its process is, never when its pipes are."""
        ...

    async def guest(
        self, request: GuestRequest, *, on_frame: OnFrame, on_output: OnChunk | None = None
    ) -> ExecResult:
        """Run a function of the bundle; verdict frames arrive on a private channel."""
        ...

    async def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Write one file, making its folders."""
        ...

    async def read(self, path: str, *, limit: int | None = None) -> bytes:
        """Read at most ``limit`` bytes; ``FileNotFoundError`` when it is not there."""
        ...

    async def upload(self, source: Path, path: str) -> None:
        """Copy the folder ``source`` of this machine to the folder ``path``, made where it is missing.

        Modes and links are kept; what is there under the same names is replaced. ``OSError`` says why not.
        """
        ...

    async def download(self, path: str, target: Path) -> None:
        """Copy the folder ``path`` to the folder ``target`` of this machine, made where it is missing.

        As ``upload`` does it; pipes, sockets and devices are left out, and no link is followed on any side.
        """
        ...

    async def close(self) -> None:
        """Kill every process of the trial and remove its files. Safe to call twice."""
        ...


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """What a trial wants from a backend."""

    trial_id: str
    bundle: BundleRef | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    isolate: bool = False


class SandboxBackend(Protocol):
    """Opens sandboxes; one per run."""

    async def open(self, spec: SandboxSpec) -> Sandbox: ...
    async def aclose(self) -> None: ...
