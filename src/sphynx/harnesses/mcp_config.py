"""MCP mocks in the forms that agents' configuration files have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sphynx.contracts import HarnessSetup, Sandbox
from sphynx.errors import StageError
from sphynx.harnesses.cli_agent import read_object, write_object


def standard(setup: HarnessSetup, **more: Any) -> dict[str, Any]:
    """``mcpServers`` entries: command, arguments and what else an agent wants to read."""
    return {
        name: {"command": argv[0], "args": list(argv[1:]), **more} for name, argv in setup.mcp_servers.items()
    }


def listed(setup: HarnessSetup, **more: Any) -> dict[str, Any]:
    """``mcp`` entries of agents that take the command line as one list."""
    return {
        name: {"type": "local", "command": list(argv), "enabled": True, **more}
        for name, argv in setup.mcp_servers.items()
    }


def joined(harness: str, there: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """The profile's servers and the mocks. ``StageError`` when a mock has the name of one."""
    for name in ours:
        if name in there:
            raise StageError(
                f'the profile already configures an MCP server "{name}" for {harness}, as a mock is named',
                stage="harness",
                cause="setup",
            )
    return {**there, **ours}


async def complete(
    box: Sandbox, path: str, harness: str, ours: Mapping[str, Any], key: str = "mcpServers"
) -> None:
    """Add the mocks to a JSON file the profile may have brought; nothing happens without mocks."""
    if not ours:
        return
    config = await read_object(box, path)
    there = config.get(key)
    config[key] = joined(harness, there if isinstance(there, Mapping) else {}, ours)
    await write_object(box, path, config)
