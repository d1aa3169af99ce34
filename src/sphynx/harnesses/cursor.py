"""Cursor Agent: ``cursor-agent -p --output-format stream-json``. Written from its documentation."""

from __future__ import annotations

from typing import ClassVar

from sphynx.contracts import HarnessSetup, Sandbox
from sphynx.harnesses.cli_agent import CliAgent, Launch, prepend, read_object
from sphynx.harnesses.installing import Recipe, TarballRecipe
from sphynx.harnesses.mcp_config import complete, joined, standard
from sphynx.harnesses.transcripts.cursor import CursorReader
from sphynx.harnesses.transcripts.reading import Reader

_KEY = "CURSOR_API_KEY"
_MCP = "workspace/.cursor/mcp.json"


class CursorHarness(CliAgent):
    """Runs Cursor Agent. It takes its key from the environment only, so its commands can see it."""

    name: ClassVar[str] = "cursor"
    version = "2026.10.01-e373342"
    recipe: ClassVar[Recipe] = TarballRecipe(
        "cursor",
        "https://downloads.cursor.com/lab/$version/$os/$arch/agent-cli-package.tar.gz",
        "cursor-agent",
        archs={"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"},
        latest="curl -fsSL https://cursor.com/install | sed -n 's,.*/lab/\\([^/$]*\\)/.*,\\1,p' | head -n 1",
    )
    key_names: ClassVar[tuple[str, ...]] = (_KEY,)

    async def begin(self, box: Sandbox, setup: HarnessSetup) -> None:
        if setup.mcp_servers:
            # In the home: a file in the workspace would be among the agent's changes.
            brought = f"{box.workspace}/.cursor/mcp.json" if _MCP in setup.profile_files else ""
            there = await read_object(box, brought) if brought else {}
            joined(self.name, there.get("mcpServers") or {}, setup.mcp_servers)
            await complete(box, f"{box.home}/.cursor/mcp.json", self.name, standard(setup))
        await prepend(box, f"{box.workspace}/AGENTS.md", setup.system_prompt)

    def launch(self, box: Sandbox, setup: HarnessSetup, session_id: str | None) -> Launch:
        arguments = ["-p", "--force", "--output-format", "stream-json"]
        if _MCP in setup.profile_files or setup.mcp_servers:
            arguments.append("--approve-mcps")
        if setup.model:
            arguments += ["--model", setup.model]
        if session_id:
            arguments += ["--resume", session_id]
        key = setup.keys.get(_KEY)
        return Launch(arguments, {_KEY: key} if key else {}, prompt_argument=True)

    def reader(self, setup: HarnessSetup, session_id: str | None) -> Reader:
        return CursorReader()
