"""Gemini CLI: ``gemini --output-format stream-json``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import anyio

from sphynx.contracts import ExecResult, HarnessSetup, Sandbox
from sphynx.harnesses.cli_agent import CliAgent, Launch, filled, now_ms, prepend, read_object, write_object
from sphynx.harnesses.installing import NpmRecipe, Recipe
from sphynx.harnesses.mcp_config import complete, standard
from sphynx.harnesses.transcripts.gemini import GeminiReader
from sphynx.harnesses.transcripts.reading import Reader
from sphynx.journal.events import Event

BASE_URL = "SPHYNX_GEMINI_BASE_URL"
_KEY = "GEMINI_API_KEY"
_TRIES, _PAUSE_S = 5, 0.04
_NEW_LINES = """
file=$(ls -t "$1"/.gemini/tmp/*/chats/*-"$2".jsonl 2>/dev/null | head -n 1)
test -n "$file" || exit 0
printf '%s\\n' "$file"
test "$file" = "$3" && tail -c "+$4" "$file" || cat "$file"
"""


class GeminiHarness(CliAgent):
    """Runs Gemini CLI, and keeps its key out of its commands' environment."""

    name: ClassVar[str] = "gemini"
    version = "0.61.0"
    recipe: ClassVar[Recipe] = NpmRecipe("gemini", "@google/gemini-cli", "gemini", node="20")
    key_names: ClassVar[tuple[str, ...]] = (_KEY,)
    setting_names: ClassVar[tuple[str, ...]] = (BASE_URL,)

    def __init__(self) -> None:
        super().__init__()
        self._file = ""
        self._offset = 0

    async def begin(self, box: Sandbox, setup: HarnessSetup) -> None:
        """Complete the user settings, which the profile may have brought.

        The settings file for administrators would stand above all others, but must belong to root.
        """
        ours: dict[str, Any] = {
            "security": {
                "auth": {"selectedType": "gemini-api-key"},
                "environmentVariableRedaction": {
                    "enabled": True,
                    "blocked": [_KEY],
                    "allowed": sorted(setup.env),
                },
            },
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False, "maxAttempts": 2},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "tools": {"exclude": ["google_web_search"]},
        }
        settings = f"{box.home}/.gemini/settings.json"
        await write_object(box, settings, filled(await read_object(box, settings), ours))
        await complete(box, f"{box.home}/.gemini/settings.json", self.name, standard(setup, trust=True))
        await prepend(box, f"{box.home}/.gemini/GEMINI.md", setup.system_prompt)

    def launch(self, box: Sandbox, setup: HarnessSetup, session_id: str | None) -> Launch:
        arguments = ["--approval-mode", "yolo", "--output-format", "stream-json"]
        if setup.model:
            arguments += ["--model", setup.model]
        if session_id:
            arguments += ["--resume", session_id]
        env = {
            "GEMINI_CLI_HOME": box.home,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_TELEMETRY_ENABLED": "false",
        }
        if key := setup.keys.get(_KEY):
            env[_KEY] = key
        if base_url := setup.keys.get(BASE_URL):
            env["GOOGLE_GEMINI_BASE_URL"] = base_url
        return Launch(arguments, env)

    def reader(self, setup: HarnessSetup, session_id: str | None) -> Reader:
        return GeminiReader()

    async def follow(self, box: Sandbox, reader: Reader) -> Sequence[Event]:
        """Exit codes are in the session file, written about when the stream says that a command is done."""
        assert isinstance(reader, GeminiReader)
        events: list[Event] = []
        for _ in range(_TRIES):
            if not reader.waiting:
                break
            events += await self._session_events(box, reader)
            if reader.waiting:
                await anyio.sleep(_PAUSE_S)
        return events

    async def complete(self, box: Sandbox, reader: Reader, ended: ExecResult) -> list[Event]:
        assert isinstance(reader, GeminiReader)
        events = await self._session_events(box, reader)
        reader.count_steps()
        return events

    async def _session_events(self, box: Sandbox, reader: GeminiReader) -> list[Event]:
        short = (reader.notes.session_id or "")[:8]
        if not short:
            return []
        asked = [box.home, short, self._file, str(self._offset + 1)]
        done = await box.exec(["/bin/sh", "-c", _NEW_LINES, "sh", *asked], timeout_ms=10_000, keep=64_000_000)
        name, _, data = done.stdout.partition(b"\n")
        path = name.decode("utf-8", "replace")
        if path != self._file:
            self._file, self._offset = path, 0
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        now = now_ms()
        return [event for line in whole.splitlines() for event in reader.session(line, now)]
