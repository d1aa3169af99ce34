"""The ``command`` harness: a process of one's own, driven by environment variables and event lines.

The process is ``bash -c <run>`` in the workspace, stdin closed. It prints one JSON event per line; other
lines are ignored. Its exit code never fails a trial; a ``Finished`` that begins with ``failed:`` does.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from sphynx.contracts import ExecResult, HarnessSetup, Sandbox, TurnResult
from sphynx.errors import StageError
from sphynx.guest import recorder
from sphynx.harnesses.cli_agent import write_object
from sphynx.harnesses.mcp_config import standard
from sphynx.journal.command_journal import CommandJournal
from sphynx.journal.events import Event
from sphynx.journal.lines import LineSplitter

TRACE_LIMIT = 4_000_000
"""Bytes of the shell recorder's log that are read after a turn."""
STDERR_KEPT = 64_000
MOST_PROMPT_BYTES = 131_000
"""Linux passes at most 128 KiB in one environment variable."""


class CommandHarness:
    """Runs the profile's ``run`` once per turn.

    When the process names a session id in its first ``Started``, a later turn is started with it in
    ``SPHYNX_SESSION_ID``; a process that names none has one turn.
    """

    name = "command"
    version = ""

    def __init__(self) -> None:
        self._run = ""
        self._env: dict[str, str] = {}
        self._trace = ""

    async def prepare(self, box: Sandbox, setup: HarnessSetup) -> None:
        """Write the system prompt and, where the machine shares none, the shell recorder."""
        if not setup.run:
            raise StageError("the profile has no run command", stage="harness", cause="setup")
        self._run = setup.run
        folder = f"{box.home}/.sphynx"
        self._trace = f"{folder}/trace-{re.sub(r'[^A-Za-z0-9_-]+', '-', box.id)}.ndjson"
        script = setup.recorder
        if script is None:
            script = f"{folder}/{recorder.NAME}"
            for name, text in recorder.FILES.items():
                await box.write(f"{folder}/{name}", text.encode())
        self._env = {
            "ZDOTDIR": script.rpartition("/")[0],
            **setup.env,
            "SPHYNX_MODEL": setup.model,
            "SPHYNX_HOME": box.home,
            "SPHYNX_WORKSPACE": box.workspace,
            "SPHYNX_TRACE_LOG": self._trace,
            "BASH_ENV": script,
        }
        if setup.system_prompt is not None:
            path = f"{folder}/system-prompt.md"
            await box.write(path, setup.system_prompt.encode("utf-8", "surrogatepass"))
            self._env["SPHYNX_SYSTEM_PROMPT_FILE"] = path
        if setup.mcp_servers:
            self._env["SPHYNX_MCP_CONFIG"] = f"{folder}/mcp.json"
            await write_object(box, f"{folder}/mcp.json", {"mcpServers": standard(setup)})

    async def turn(
        self,
        box: Sandbox,
        prompt: str,
        *,
        session_id: str | None,
        timeout_ms: int,
        emit: Callable[[Event], None],
    ) -> TurnResult:
        """Run the process to its end and emit what it printed, then what the recorder saw."""
        env = {**self._env, "SPHYNX_PROMPT": passable(prompt)}
        if session_id is not None:
            env["SPHYNX_SESSION_ID"] = session_id
        await box.write(self._trace, b"")
        journal, lines = CommandJournal(), LineSplitter()

        def on_stdout(data: bytes) -> None:
            take(lines.feed(data))

        def take(ready: list[bytes]) -> None:
            now = _now_ms()
            for line in ready:
                event = journal.feed(line, now)
                if event is not None:
                    emit(event)

        result = await box.exec(
            ["bash", "-c", self._run],
            cwd=box.workspace,
            env=env,
            timeout_ms=timeout_ms,
            on_stdout=on_stdout,
            keep=STDERR_KEPT,
        )
        take(lines.finish())
        for event in (*journal.finish(result.exit_code, _now_ms()), *await self._traced(box, journal)):
            emit(event)
        return _ended(result, journal, lines)

    async def _traced(self, box: Sandbox, journal: CommandJournal) -> list[Event]:
        try:
            text = await box.read(self._trace, limit=TRACE_LIMIT)
        except OSError:
            return []
        return journal.trace(recorder.read_trace(text.decode("utf-8", "replace"))) if text else []


_NO_BASH = b'command not found: "bash"'


def passable(prompt: str) -> str:
    """The prompt, or ``StageError`` when no process can be given it in its environment."""
    if "\0" in prompt:
        raise StageError("the prompt holds a NUL character", stage="agent", cause="setup")
    size = len(prompt.encode("utf-8", "surrogatepass"))
    if size > MOST_PROMPT_BYTES:
        text = f"the prompt has {size} bytes, a process can be given {MOST_PROMPT_BYTES} in its environment"
        raise StageError(text, stage="agent", cause="setup")
    return prompt


def _ended(result: ExecResult, journal: CommandJournal, lines: LineSplitter) -> TurnResult:
    status, reason, cause = "finished", "", "harness"
    if result.timed_out:
        status, cause = "timed_out", "limit"
    elif result.exit_code == 127 and result.stderr.startswith(_NO_BASH):
        status, reason, cause = "failed", 'The agent could not start: there is no "bash" on PATH', "setup"
    elif journal.failure is not None:
        status, reason = "failed", journal.failure
    return TurnResult(
        status=status,
        reason=reason,
        cause=cause,
        session_id=journal.session_id,
        usage=journal.usage,
        exit_code=result.exit_code,
        note=_note(result, lines, journal),
    )


def _note(result: ExecResult, lines: LineSplitter, journal: CommandJournal) -> str:
    notes = []
    if result.exit_code != 0 and not result.timed_out:
        said = [
            line.strip() for line in result.stderr.decode("utf-8", "replace").splitlines() if line.strip()
        ]
        notes.append(f"the agent exited with status {result.exit_code}" + (f": {said[-1]}" if said else ""))
    if lines.dropped:
        dropped = "1 output line was" if lines.dropped == 1 else f"{lines.dropped} output lines were"
        notes.append(f"{dropped} too long to read ({lines.dropped_bytes} bytes)")
    if journal.ignored:
        ignored = "1 event line was" if journal.ignored == 1 else f"{journal.ignored} event lines were"
        first = "" if journal.ignored == 1 else "first "
        notes.append(f"{ignored} ignored: {first}{journal.ignored_why}")
    return "; ".join(notes)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
