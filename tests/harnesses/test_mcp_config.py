"""MCP mocks in agents' configuration: every agent's own form, beside what the profile brings."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sphynx.contracts import HarnessSetup, Sandbox, SandboxSpec
from sphynx.errors import StageError
from sphynx.registry import load_harness
from sphynx.sandboxes.local.backend import LocalBackend
from sphynx.sandboxes.local_root import LocalRoot

pytestmark = pytest.mark.anyio

FILES = {
    "claude": "home/.claude/sphynx-mcp.json",
    "gemini": "home/.gemini/settings.json",
    "qwen": "home/.qwen/settings.json",
    "pi": "home/.pi/agent/mcp.json",
    "cursor": "home/.cursor/mcp.json",
    "fx": "home/.fx/mcp.json",
}
PROFILES = {
    "codex": ("home/.codex/config.toml", '[mcp_servers.users]\ncommand = "x"\n'),
    "claude": ("workspace/.mcp.json", '{"mcpServers": {"users": {"command": "x"}}}'),
    "gemini": ("home/.gemini/settings.json", '{"mcpServers": {"users": {"command": "x"}}}'),
    "qwen": ("home/.qwen/settings.json", '{"mcpServers": {"users": {"command": "x"}}}'),
    "pi": ("home/.pi/agent/mcp.json", '{"mcpServers": {"users": {"command": "x"}}}'),
    "cursor": ("workspace/.cursor/mcp.json", '{"mcpServers": {"users": {"command": "x"}}}'),
    "fx": ("home/.fx/mcp.json", '{"mcp": {"users": {"type": "local"}}}'),
}


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Sandbox]:
    backend = LocalBackend(LocalRoot(tmp_path), env=dict(os.environ))
    yield await backend.open(SandboxSpec(trial_id="one"))
    await backend.aclose()


def setup(*profile_files: str, env: dict[str, str] | None = None) -> HarnessSetup:
    return HarnessSetup(
        model="anthropic/claude-sonnet-4-5", system_prompt=None, run="true", env=env or {}, timeout_ms=1000,
        profile_files=profile_files, mcp_servers={"users": ["/mocks/users"]},
    )  # fmt: skip


def place(box: Sandbox, path: str) -> str:
    part, _, rest = path.partition("/")
    return f"{box.home if part == 'home' else box.workspace}/{rest}"


@pytest.mark.parametrize("agent", FILES)
async def test_the_mock_is_added_to_the_agents_own_file(box: Sandbox, agent: str) -> None:
    """What a profile's file holds already stays."""
    path = place(box, FILES[agent])
    key = "mcp" if agent == "fx" else "mcpServers"
    if agent != "claude":
        await box.write(path, json.dumps({"theirs": 1, key: {"other": {"command": "y"}}}).encode())
    harness: Any = load_harness(agent)()
    await harness.begin(box, setup())
    config = json.loads(await box.read(path))
    command = config[key]["users"]["command"]
    assert command == (["/mocks/users"] if agent == "fx" else "/mocks/users")
    if agent != "claude":
        assert config["theirs"] == 1 and config[key]["other"] == {"command": "y"}
    else:
        assert path in harness.launch(box, setup(), None).arguments


@pytest.mark.parametrize("agent", PROFILES)
async def test_a_server_of_the_same_name_in_the_profile_is_an_error(box: Sandbox, agent: str) -> None:
    path, text = PROFILES[agent]
    await box.write(place(box, path), text.encode())
    harness: Any = load_harness(agent)()
    with pytest.raises(StageError, match=f'already configures an MCP server "users" for {agent}') as caught:
        await harness.begin(box, setup(path))
    assert (caught.value.stage, caught.value.cause) == ("harness", "setup")


async def test_codex_and_opencode_take_it_on_the_command_line_and_in_the_environment(box: Sandbox) -> None:
    codex: Any = load_harness("codex")()
    arguments = codex.launch(box, setup(), None).arguments
    (entry,) = [text for text in arguments if text.startswith("mcp_servers.users=")]
    assert 'command="/mocks/users"' in entry and "required=true" in entry
    opencode: Any = load_harness("opencode")()
    brought = json.dumps({"mcp": {"other": {"type": "local"}}})
    launch = opencode.launch(box, setup(env={"OPENCODE_CONFIG_CONTENT": brought}), None)
    mcp = json.loads(launch.env["OPENCODE_CONFIG_CONTENT"])["mcp"]
    assert mcp["users"] == {"type": "local", "command": ["/mocks/users"], "enabled": True}
    assert mcp["other"] == {"type": "local"}


async def test_without_mocks_nothing_is_written(box: Sandbox) -> None:
    """A command agent gets no variable and no file."""
    harness: Any = load_harness("cursor")()
    bare = HarnessSetup(model="m", system_prompt=None, run="true", env={}, timeout_ms=1000)
    await harness.begin(box, bare)
    with pytest.raises(FileNotFoundError):
        await box.read(f"{box.home}/.cursor/mcp.json")
