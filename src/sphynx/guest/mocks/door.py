"""The door of a trial's mocks: a socket in the trial's home where :mod:`sphynx.guest.mocks.relay` knocks."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from sphynx.guest.mocks import command_line
from sphynx.guest.mocks.mcp_session import McpSession
from sphynx.mocks.cli import Cli
from sphynx.mocks.handling import Runtime
from sphynx.mocks.mcp import Server

NAME = "door"
_LONGEST = 64 * 1024 * 1024
"""Bytes of the longest message an MCP client may send."""


class Door:
    """Lets clients in: ``mcp``, ``cli``, and ``mark``, by which the host learns that it has heard all."""

    def __init__(
        self,
        servers: Mapping[str, Server],
        clis: Mapping[str, Cli],
        runtime: Runtime,
        report: Callable[[str, dict[str, Any]], None],
        mark: Callable[[str], None],
    ) -> None:
        self._servers = servers
        self._clis = clis
        self._runtime = runtime
        self._report = report
        self._mark = mark

    async def open(self, folder: str) -> Any:
        """Listen in ``folder``."""
        import asyncio

        here = os.getcwd()
        os.chdir(folder)  # a socket's path is short, a trial's folder may not be
        try:
            return await asyncio.start_unix_server(self._welcome, NAME, limit=_LONGEST, backlog=256)
        finally:
            os.chdir(here)

    async def _welcome(self, reader: Any, writer: Any) -> None:
        try:
            head = await reader.readexactly(int(await reader.readexactly(10)))
            kind, name, *rest = [os.fsdecode(part) for part in head.split(b"\0")]
            if kind == "mcp" and name in self._servers:
                await self._mcp(self._servers[name], reader, writer)
            elif kind == "cli" and name in self._clis:
                await self._cli(self._clis[name], rest, writer)
            elif kind == "mark":
                self._mark(name)
                await _finish(writer, 0, "", "")
        except (OSError, EOFError, ValueError):
            pass  # a client that leaves in the middle of a word
        finally:
            writer.close()

    async def _cli(self, cli: Cli, arguments: list[str], writer: Any) -> None:
        outcome = await command_line.run(
            cli, arguments, self._runtime, lambda record: self._report("cli", record)
        )
        await _finish(writer, *outcome)

    async def _mcp(self, server: Server, reader: Any, writer: Any) -> None:
        session = McpSession(server, self._runtime, lambda record: self._report("mcp", record), writer.write)
        try:
            while line := await reader.readline():
                if line.strip():
                    session.take(line)
                await writer.drain()
            await session.drained()
            await writer.drain()
        finally:
            session.close()


async def _finish(writer: Any, code: int, out: str, err: str) -> None:
    data = out.encode("utf-8", "replace")
    writer.write(f"{code} {len(data)}\n".encode() + data + err.encode("utf-8", "replace"))
    await writer.drain()
