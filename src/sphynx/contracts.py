"""What the engine asks of its plug-ins: sandboxes, harnesses, sinks. Protocols and plain values only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from sphynx.journal.events import Event, Usage
from sphynx.schema.records import BatchRecord, TrialRecord

OnChunk = Callable[[bytes], Awaitable[None] | None]
OnFrame = Callable[[dict[str, Any]], None]
RunFunction = Callable[[Mapping[str, Any], Mapping[str, str], int, OnFrame], Awaitable["ExecResult"]]
"""Runs a variant's own function in the sandbox: payload, environment, limit in ms, who hears its frames."""


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
        """Copy the folder ``source`` of this machine to the folder ``path``, which is made where it is missing.

        Modes and links are kept; what is there under the same names is replaced. ``OSError`` says what failed.
        """
        ...

    async def download(self, path: str, target: Path) -> None:
        """Copy the folder ``path`` to the folder ``target`` of this machine, made where it is missing.

        As ``upload`` does it; pipes, sockets and devices are left out, and no link is followed on either side.
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


@dataclass(frozen=True, slots=True)
class HarnessSetup:
    """What a harness is given once per trial, after the sandbox is open."""

    model: str
    system_prompt: str | None
    run: str | None
    """The profile's ``run`` command line (command harness only)."""
    env: Mapping[str, str]
    """Profile env, named variables and forwarded addresses."""
    timeout_ms: int
    solution: Callable[[], Awaitable[ExecResult]] | None = None
    function: RunFunction | None = None
    """The function that stands in the variant's ``harness``, to be called once per turn."""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the harness's ``keys(variant, env)`` picked: its key, login and base URL. They are secrets."""
    version: str | None = None
    """A version other than the harness's own default."""
    profile_files: tuple[str, ...] = ()
    """The profile's files, as ``home/...`` and ``workspace/...``."""
    show: Callable[[str], None] | None = None
    """Takes the progress of an installation, as text."""
    mcp_servers: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """MCP mocks of the suite: the command line of each, by name. The harness tells its agent of them."""
    recorder: str | None = None
    """Where this machine shares the shell recorder with its trials; ``None``: the trial needs one."""


@dataclass(frozen=True, slots=True)
class TurnResult:
    """How one agent turn ended. ``failed`` voids the trial with ``reason``; ``timed_out`` is its own end."""

    status: Literal["finished", "failed", "timed_out"]
    reason: str = ""
    cause: str = "harness"
    session_id: str | None = None
    usage: Usage | None = None
    exit_code: int | None = None
    observed_model: str | None = None
    thinking: int = 0
    """Pieces of reasoning there were; their text is not kept."""
    unread: tuple[str, ...] = ()
    """Lines of the agent nobody understood, not yet redacted."""
    note: str = ""
    """Something a person should know though it decides nothing, such as an odd exit."""


class Harness(Protocol):
    """Starts and continues one agent. Built per trial by ``registry``."""

    name: str
    version: str

    async def prepare(self, box: Sandbox, setup: HarnessSetup) -> None: ...
    async def turn(
        self,
        box: Sandbox,
        prompt: str,
        *,
        session_id: str | None,
        timeout_ms: int,
        emit: Callable[[Event], None],
    ) -> TurnResult: ...


@dataclass(frozen=True, slots=True)
class TrialKey:
    """Which trial: ``label`` is the variant's label, ``ordinal`` counts from 1."""

    batch_id: str
    suite_id: str
    case_id: str
    label: str
    ordinal: int


class ResultSink(Protocol):
    """Where results go while they arise: the batch folder, the terminal, a server. Never raises."""

    def batch_started(self, batch: BatchRecord) -> None: ...
    def trial_started(self, key: TrialKey) -> None: ...
    def event(self, key: TrialKey, event: Event) -> None: ...
    def output(self, key: TrialKey, stage: str, text: str) -> None: ...
    def trial_ended(self, key: TrialKey, record: TrialRecord) -> None: ...
    def batch_ended(self, batch: BatchRecord) -> None: ...
    def note(self, text: str) -> None: ...
