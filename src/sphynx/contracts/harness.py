"""What the engine asks of a harness: to set one agent up in a sandbox, and to take a turn with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from sphynx.contracts.sandbox import ExecResult, OnFrame, Sandbox
from sphynx.journal.events import Event, Usage

RunFunction = Callable[[Mapping[str, Any], Mapping[str, str], int, OnFrame], Awaitable["ExecResult"]]
"""Runs a variant's own function in the sandbox: payload, environment, limit in ms, who hears its frames."""


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
