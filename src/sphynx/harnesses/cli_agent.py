"""What all agents share that are a command line program: install, one process per turn, events, changes.

A subclass says what differs: its package, its settings files, its arguments, its reader.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import msgspec

from sphynx.contracts import ExecResult, HarnessSetup, Sandbox, TurnResult
from sphynx.errors import StageError
from sphynx.harnesses import workspace_changes
from sphynx.harnesses.catalogue import Catalogue
from sphynx.harnesses.installing import Recipe, install
from sphynx.harnesses.transcripts.reading import Exit, Outcome, Reader
from sphynx.harnesses.workspace_changes import Snapshot
from sphynx.journal.events import Event, FileChange, Started
from sphynx.journal.lines import LineSplitter

MAX_ARGUMENT = 100_000
"""Bytes of the longest prompt that is ever an argument; systems refuse those of more than about 128 kB."""
_STDERR_PARTS = 16
MOST_FAILURES = 3
"""So often one request of the agent's may fail before the turn is over, where its program would go on."""
_LOOK_S = 1.0

Emit = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Launch:
    """One process: arguments after the program, and its environment beside the sandbox's own."""

    arguments: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    prompt_argument: bool = False
    """The prompt is the last argument, for a program that may not read standard input."""


class CliAgent:
    """A harness that starts its program once per turn, the prompt on standard input."""

    name: ClassVar[str]
    version: str
    """The default version as a class attribute; the one in use on an object."""
    recipe: ClassVar[Recipe]
    key_names: ClassVar[tuple[str, ...]] = ()
    """Variables that hold the agent's key; the first that is set is used."""
    setting_names: ClassVar[tuple[str, ...]] = ()
    """Further variables of ours the agent is told of, such as its base URL."""
    login_files: ClassVar[tuple[str, ...]] = ()
    """Where the program keeps a login of its own, the likeliest first: ``~/...`` or ``$NAME/...``."""
    catalogue: ClassVar[Catalogue | None] = None
    """How the program lists the models it knows, without a network."""
    watched: ClassVar[bool] = False
    """Whether ``gave_up`` is asked while the program runs."""
    sign_in: ClassVar[str] = ""
    """What else than a key would do, for the message about a missing one."""

    def __init__(self) -> None:
        self.setup: HarnessSetup | None = None
        self.program = ""
        self._turns = 0
        self._session: str | None = None

    # -- before anything runs ---------------------------------------------------------------------------

    @classmethod
    def keys(cls, variant: Any, env: Mapping[str, str]) -> dict[str, str]:
        """The variables of ``env`` this agent may see for ``variant``: its key, its login, its base URL."""
        names = (*cls.keys_for(variant), *cls.setting_names, cls.login_name())
        return {name: env[name] for name in names if env.get(name, "").strip()}

    @classmethod
    def needs(cls, variant: Any, env: Mapping[str, str]) -> list[dict[str, Any]]:
        """What must be set before a run starts: one entry with ``name``, ``found`` and ``why``."""
        names = cls.keys_for(variant)
        if not names:
            return []
        found = any(env.get(name, "").strip() for name in (*names, cls.login_name()))
        return [{"name": names[0], "found": found, "why": f"harness {cls.name} needs it{cls.sign_in}"}]

    @classmethod
    def keys_for(cls, variant: Any) -> tuple[str, ...]:
        """Variables that may hold the key for this variant, the best first."""
        return cls.key_names

    @classmethod
    def login_name(cls) -> str:
        """The variable that carries a login (the text of an ``auth.json``) instead of a key."""
        return f"SPHYNX_{cls.name.upper()}_AUTH_JSON"

    # -- what a subclass says ---------------------------------------------------------------------------

    async def configure(self, box: Sandbox, setup: HarnessSetup) -> None:
        """Write the agent's own files into the home, before the profile's."""

    async def begin(self, box: Sandbox, setup: HarnessSetup) -> None:
        """Before the first turn, when the profile's files are there."""

    def launch(self, box: Sandbox, setup: HarnessSetup, session_id: str | None) -> Launch:
        """How to start one turn."""
        raise NotImplementedError

    def reader(self, setup: HarnessSetup, session_id: str | None) -> Reader:
        """A reader for one turn."""
        raise NotImplementedError

    async def follow(self, box: Sandbox, reader: Reader) -> Sequence[Event]:
        """What the agent's own session files add while it runs; asked after every piece of output."""
        return ()

    async def complete(self, box: Sandbox, reader: Reader, ended: ExecResult) -> list[Event]:
        """What the agent's own session files add after a turn."""
        return []

    async def gave_up(self, box: Sandbox, said: str) -> str | None:
        """The model's own words, once a request failed too often: then the program is stopped.

        Asked every second by an agent whose ``watched`` is set, for programs that repeat a request for
        minutes and have no setting against it. ``said`` is what it printed on standard error since the last
        line on standard output.
        """
        return None

    # -- contracts.Harness ------------------------------------------------------------------------------

    async def prepare(self, box: Sandbox, setup: HarnessSetup) -> None:
        """Install the agent and write its settings. ``StageError`` when it cannot be installed."""
        self.setup = setup
        self.version = setup.version or type(self).version
        self.program = await install(box, self.recipe, self.version, setup.show)
        await self.configure(box, setup)

    async def turn(
        self, box: Sandbox, prompt: str, *, session_id: str | None, timeout_ms: int, emit: Emit
    ) -> TurnResult:
        """Run the agent once. Model and key failures are ``failed`` with the model's own words."""
        setup = self.setup
        if setup is None:
            raise StageError(f"{self.name} was not prepared", stage="agent", cause="internal")
        self._turns += 1
        if self._turns == 1:
            await self.begin(box, setup)
        prompt_file = f"{box.tmp}/prompt-{self._turns}.txt"
        await box.write(prompt_file, prompt.encode("utf-8", "surrogatepass"), mode=0o600)
        before = await workspace_changes.look(box)
        reader = self.reader(setup, session_id)
        stream = _Stream(reader, self._emitter(box, before, emit), lambda: self.follow(box, reader))
        launch = self.launch(box, setup, session_id)
        running = box.exec(
            self._argv(launch, prompt, prompt_file),
            cwd=box.workspace,
            env={**setup.env, **launch.env},
            timeout_ms=timeout_ms,
            on_stdout=stream.out,
            on_stderr=stream.err,
            keep=0,
        )
        ended, words = await self._watch(box, running, stream) if self.watched else (await running, None)
        await stream.close()
        outcome = stream.end(ended)
        if words is not None:
            outcome = Outcome("failed", words, "model")
        for event in await self.complete(box, reader, ended):
            stream.emit(event)
        await self._complete_changes(box, before, stream)
        self._session = reader.notes.session_id or session_id
        return self._result(reader, outcome, ended)

    async def _watch(
        self, box: Sandbox, running: Coroutine[Any, Any, ExecResult], stream: _Stream
    ) -> tuple[ExecResult, str | None]:
        """Wait for the program, or stop it and give the words it would go on hearing."""
        begun, process = time.monotonic(), asyncio.ensure_future(running)
        try:
            while not (await asyncio.wait([process], timeout=_LOOK_S))[0]:
                words = await self.gave_up(box, stream.said())
                if words is not None and not process.done():
                    duration_ms = (time.monotonic() - begun) * 1000
                    return ExecResult(137, b"", b"", 0, 0, False, duration_ms), words
            return process.result(), None
        finally:
            process.cancel()
            await asyncio.wait([process])

    def _argv(self, launch: Launch, prompt: str, prompt_file: str) -> list[str]:
        """The process: its prompt on standard input, or as an argument where that is the only sure way."""
        argv = ["/bin/sh", "-c", 'exec "$@" < "$0"', prompt_file, self.program, *launch.arguments]
        if launch.prompt_argument and len(prompt.encode()) <= MAX_ARGUMENT:
            argv += ["--", prompt]
        return argv

    def _emitter(self, box: Sandbox, before: Snapshot | None, emit: Emit) -> Emit:
        roots = [box.workspace, *([before.root] if before else [])]

        def pass_on(event: Event) -> None:
            if isinstance(event, Started):
                if event.session_id == self._session:
                    return
                self._session = event.session_id
            if isinstance(event, FileChange):
                paths = tuple(workspace_changes.relative(path, roots) for path in event.paths)
                event = msgspec.structs.replace(event, paths=paths)
            emit(event)

        return pass_on

    async def _complete_changes(self, box: Sandbox, before: Snapshot | None, stream: _Stream) -> None:
        """Add what changed without the agent's edit tools: shell commands, programs they ran."""
        after = await workspace_changes.look(box) if before is not None else None
        if before is None or after is None:
            return
        roots = (box.workspace, before.root)
        known = {workspace_changes.relative(path, roots) for path in stream.paths}
        others = [path for path in workspace_changes.changed(before, after) if path not in known]
        if others:
            stream.emit(FileChange(tuple(others), at=now_ms()))

    def _result(self, reader: Reader, outcome: Outcome, ended: ExecResult) -> TurnResult:
        notes = reader.notes
        status = "timed_out" if ended.timed_out else "finished" if outcome.status == "success" else "failed"
        return TurnResult(
            status,
            reason="" if status == "finished" else outcome.reason,
            cause="limit" if status == "timed_out" else outcome.cause,
            session_id=self._session,
            # Counters that never moved say that no answer came, not that it cost nothing.
            usage=notes.usage if notes.usage is not None and notes.usage.total > 0 else None,
            exit_code=ended.exit_code,
            observed_model=notes.model,
            thinking=notes.thinking,
            unread=tuple(notes.unread),
        )


class _Stream:
    """The agent's output on its way into events."""

    def __init__(self, reader: Reader, emit: Emit, follow: Callable[[], Awaitable[Sequence[Event]]]) -> None:
        self.reader = reader
        self.paths: set[str] = set()
        self._emit = emit
        self._follow = follow
        self._lines = LineSplitter()
        self._stderr: deque[bytes] = deque(maxlen=_STDERR_PARTS)
        self._since: deque[bytes] = deque(maxlen=_STDERR_PARTS)

    def emit(self, event: Event) -> None:
        if isinstance(event, FileChange):
            self.paths.update(event.paths)
        self._emit(event)

    async def out(self, chunk: bytes) -> None:
        self._since.clear()
        self._read(self._lines.feed(chunk))
        for event in await self._follow():
            self.emit(event)

    def err(self, chunk: bytes) -> None:
        self._stderr.append(chunk)
        self._since.append(chunk)

    def said(self) -> str:
        """The end of what it printed on standard error since it last printed a line."""
        return b"".join(self._since).decode("utf-8", "replace")

    async def close(self) -> None:
        """Read what is left once the process is over."""
        self._read(self._lines.finish())
        for event in await self._follow():
            self.emit(event)

    def _read(self, lines: Sequence[bytes]) -> None:
        now = now_ms()
        for line in lines:
            for event in self.reader.read(line, now):
                self.emit(event)

    def end(self, ended: ExecResult) -> Outcome:
        now = now_ms()
        said = b"".join(self._stderr)[-65_536:].decode("utf-8", "replace")
        left, outcome = self.reader.end(Exit(ended.exit_code, said, ended.timed_out), now)
        for event in left:
            self.emit(event)
        return outcome


def now_ms() -> int:
    """Epoch milliseconds."""
    return time.time_ns() // 1_000_000


async def read_text(box: Sandbox, path: str) -> str:
    """A file's text, empty when it is not there."""
    try:
        return (await box.read(path)).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""


async def read_object(box: Sandbox, path: str) -> dict[str, Any]:
    """A JSON file, empty when it is not there. ``StageError`` that names it when it is no JSON object."""
    text = await read_text(box, path)
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise StageError(f"{path} is not JSON: {error}", stage="harness", cause="setup") from error
    if not isinstance(value, dict):
        raise StageError(f"{path} is not a JSON object", stage="harness", cause="setup")
    return value


async def write_object(box: Sandbox, path: str, value: Mapping[str, Any]) -> None:
    """Write a JSON file only its owner can read."""
    await box.write(path, json.dumps(value, indent=2).encode(), mode=0o600)


async def prepend(box: Sandbox, path: str, text: str | None) -> None:
    """Put a text before what a file holds; nothing happens without a text."""
    if text is None:
        return
    there = await read_text(box, path)
    await box.write(path, (text.rstrip("\n") + "\n" + (f"\n{there}" if there else "")).encode())


def filled(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Two settings trees as one; ``over`` wins."""
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            value = filled(below, value)
        merged[key] = value
    return merged
