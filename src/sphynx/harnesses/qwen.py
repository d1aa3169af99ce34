"""Qwen Code: ``qwen --output-format stream-json`` on any OpenAI-compatible endpoint."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from sphynx.contracts import ExecResult, HarnessSetup, Sandbox
from sphynx.harnesses.cli_agent import MOST_FAILURES, CliAgent, Launch, prepend, write_object
from sphynx.harnesses.installing import NpmRecipe, Recipe
from sphynx.harnesses.mcp_config import complete, standard
from sphynx.harnesses.transcripts.qwen import QwenReader
from sphynx.harnesses.transcripts.reading import Reader
from sphynx.journal.events import Event, Usage

BASE_URLS = ("SPHYNX_QWEN_BASE_URL", "QWEN_BASE_URL")
DEFAULT_BASE_URL = "https://dashscope.aliyuncs.com/compatible-mode/v1"
_KEY = "DASHSCOPE_API_KEY"
_LOOK_MS = 5_000
_LOG = 'grep -E "\\\\[(RETRY|OPENAI_ERROR)\\\\]" "$0/.qwen/debug/latest" | tail -n 20 | cut -c 1-4000'
_ATTEMPT = re.compile(r"\[RETRY\] Attempt (\d+) failed")
_WORDS = re.compile(r"\[OPENAI_ERROR\] OpenAI API Error: (.*?)(?: \{[^{]*)?$", re.MULTILINE)


class QwenHarness(CliAgent):
    """Runs Qwen Code. Its key lies in a settings file, so no environment carries it."""

    name: ClassVar[str] = "qwen"
    version = "0.24.4"
    recipe: ClassVar[Recipe] = NpmRecipe("qwen", "@qwen-code/qwen-code", "qwen", node="22")
    key_names: ClassVar[tuple[str, ...]] = (_KEY,)
    setting_names: ClassVar[tuple[str, ...]] = BASE_URLS
    watched: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self._total: Usage | None = None

    async def configure(self, box: Sandbox, setup: HarnessSetup) -> None:
        base_url = next((setup.keys[name] for name in BASE_URLS if name in setup.keys), DEFAULT_BASE_URL)
        auth = {"selectedType": "openai", "baseUrl": base_url, "apiKey": setup.keys.get(_KEY)}
        settings: dict[str, Any] = {
            "security": {"auth": {name: value for name, value in auth.items() if value}},
            "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            # Without this it asks the model once more after the answer, to remember things.
            "memory": {
                "enableManagedAutoMemory": False,
                "enableManagedAutoDream": False,
                "enableAutoSkill": False,
            },
            "model": {"generationConfig": {"maxRetries": 0}},
        }
        await write_object(box, _settings_file(box), settings)

    async def begin(self, box: Sandbox, setup: HarnessSetup) -> None:
        await complete(box, f"{box.home}/.qwen/settings.json", self.name, standard(setup, trust=True))
        await prepend(box, f"{box.home}/.qwen/AGENTS.md", setup.system_prompt)

    def launch(self, box: Sandbox, setup: HarnessSetup, session_id: str | None) -> Launch:
        arguments = ["--auth-type", "openai", "--approval-mode", "yolo", "--output-format", "stream-json"]
        if setup.model:
            arguments += ["--model", setup.model]
        if session_id:
            arguments += ["--resume", session_id]
        env = {
            "QWEN_CODE_SYSTEM_SETTINGS_PATH": _settings_file(box),
            "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
            # It tells of failed requests in its log alone.
            "QWEN_DEBUG_LOG_FILE": "1",
        }
        return Launch(arguments, env)

    def reader(self, setup: HarnessSetup, session_id: str | None) -> Reader:
        return QwenReader(before=self._total)

    async def gave_up(self, box: Sandbox, said: str) -> str | None:
        argv = ["/bin/sh", "-c", _LOG, box.home]
        log = (await box.exec(argv, timeout_ms=_LOOK_MS)).stdout.decode("utf-8", "replace")
        return words_of(log)

    async def complete(self, box: Sandbox, reader: Reader, ended: ExecResult) -> list[Event]:
        assert isinstance(reader, QwenReader)
        self._total = reader.total or self._total
        return []


def words_of(log: str) -> str | None:
    """The last error in lines of its log, when they tell of a request that failed too often."""
    attempts = [int(number) for number in _ATTEMPT.findall(log)]
    words = _WORDS.findall(log)
    return words[-1].strip() if words and max(attempts, default=0) >= MOST_FAILURES else None


def _settings_file(box: Sandbox) -> str:
    return f"{box.home}/.sphynx/qwen-settings.json"
