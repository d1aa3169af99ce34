"""Claude Code: ``claude -p --output-format stream-json``, in bare mode unless a variant says otherwise."""

from __future__ import annotations

import shlex
from typing import ClassVar

from sphynx.contracts import ExecResult, HarnessSetup, Sandbox
from sphynx.harnesses.cli_agent import CliAgent, Launch, read_object, write_object
from sphynx.harnesses.installing import NpmRecipe, Recipe
from sphynx.harnesses.mcp_config import joined, standard
from sphynx.harnesses.transcripts.claude import ClaudeReader
from sphynx.harnesses.transcripts.reading import Reader
from sphynx.journal.events import Event, Usage

BASE_URL = "SPHYNX_CLAUDE_BASE_URL"
_SETTINGS = "workspace/.claude/settings.json"
_MCP = "workspace/.mcp.json"


class ClaudeHarness(CliAgent):
    """Runs Claude Code. Its key lies in a file that a settings entry reads, so no environment carries it."""

    name: ClassVar[str] = "claude"
    version = "2.1.332"
    recipe: ClassVar[Recipe] = NpmRecipe("claude", "@anthropic-ai/claude-code", "claude")
    key_names: ClassVar[tuple[str, ...]] = ("ANTHROPIC_API_KEY",)
    setting_names: ClassVar[tuple[str, ...]] = (BASE_URL,)

    def __init__(self) -> None:
        super().__init__()
        self._total: Usage | None = None

    async def configure(self, box: Sandbox, setup: HarnessSetup) -> None:
        if key := setup.keys.get("ANTHROPIC_API_KEY"):
            await box.write(_key_file(box), key.encode(), mode=0o600)
        if setup.system_prompt is not None:
            await box.write(_prompt_file(box), setup.system_prompt.encode())

    async def begin(self, box: Sandbox, setup: HarnessSetup) -> None:
        shipped = _SETTINGS in setup.profile_files
        settings = await read_object(box, f"{box.workspace}/.claude/settings.json") if shipped else {}
        if setup.keys.get("ANTHROPIC_API_KEY"):
            settings.setdefault("apiKeyHelper", f"cat {shlex.quote(_key_file(box))}")
        await write_object(box, _settings_file(box), settings)
        if setup.mcp_servers:
            brought = _MCP in setup.profile_files
            there = await read_object(box, f"{box.workspace}/.mcp.json") if brought else {}
            joined(self.name, there.get("mcpServers") or {}, setup.mcp_servers)
            await write_object(box, _mcp_file(box), {"mcpServers": standard(setup)})

    def launch(self, box: Sandbox, setup: HarnessSetup, session_id: str | None) -> Launch:
        arguments = ["-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"]
        # Bare mode has no web search to switch off.
        arguments += ["--bare"] if setup.options.get("bare", True) else ["--disallowedTools", "WebSearch"]
        if setup.model:
            arguments += ["--model", setup.model]
        if session_id:
            arguments += ["--resume", session_id]
        arguments += ["--settings", _settings_file(box)]
        if setup.system_prompt is not None:
            arguments += ["--append-system-prompt-file", _prompt_file(box)]
        if setup.profile_files:
            arguments += ["--add-dir", box.workspace]
        configs = [f"{box.workspace}/.mcp.json"] if _MCP in setup.profile_files else []
        configs += [_mcp_file(box)] if setup.mcp_servers else []
        arguments += ["--mcp-config", *configs] if configs else []
        return Launch(arguments, self._env(box, setup))

    def _env(self, box: Sandbox, setup: HarnessSetup) -> dict[str, str]:
        env = {
            "CLAUDE_CONFIG_DIR": f"{box.home}/.claude",
            "CLAUDE_CODE_TMPDIR": box.tmp,
            # The program refuses to work without questions as root unless it is told that it is contained.
            "IS_SANDBOX": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_MAX_RETRIES": "2",
        }
        if base_url := setup.keys.get(BASE_URL):
            env["ANTHROPIC_BASE_URL"] = base_url
        return env

    def reader(self, setup: HarnessSetup, session_id: str | None) -> Reader:
        return ClaudeReader(before=self._total)

    async def complete(self, box: Sandbox, reader: Reader, ended: ExecResult) -> list[Event]:
        assert isinstance(reader, ClaudeReader)
        session = reader.notes.session_id
        if reader.total is None and session:
            files = 'cat "$1"/projects/*/"$2".jsonl'
            argv = ["/bin/sh", "-c", files, "sh", f"{box.home}/.claude", session]
            found = await box.exec(argv, timeout_ms=5_000, keep=64_000_000)
            reader.count_session(found.stdout.splitlines())
        self._total = reader.total or self._total
        return []


def _key_file(box: Sandbox) -> str:
    return f"{box.home}/.claude/sphynx-key"


def _prompt_file(box: Sandbox) -> str:
    return f"{box.home}/.claude/sphynx-system.md"


def _mcp_file(box: Sandbox) -> str:
    return f"{box.home}/.claude/sphynx-mcp.json"


def _settings_file(box: Sandbox) -> str:
    return f"{box.home}/.claude/sphynx-settings.json"
