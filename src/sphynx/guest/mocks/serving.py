"""The op ``mocks``: start a trial's mocks, say where they are, and answer until the trial ends."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from typing import Any

from sphynx.errors import UsageError
from sphynx.guest import frames
from sphynx.guest.mocks import FOLDER
from sphynx.guest.mocks.door import Door
from sphynx.guest.protocol import EXIT_FAILED, Outbox
from sphynx.guest.search_path import BIN
from sphynx.mocks.api_calls import ApiCalls, Budget
from sphynx.mocks.handling import Runtime
from sphynx.mocks.http import ApiServer

_PROFILES = (".bash_profile", ".bash_login", ".profile", ".zprofile")


def run_mocks(suite: Any, case: Any, outbox: Outbox, *, home: str) -> int:
    """Serve the mocks of ``suite`` until this process is killed. A ``failed`` frame says why they cannot."""
    import asyncio

    try:
        asyncio.run(_serve(suite, case, outbox, home))
    except Exception as error:
        why = error.message if isinstance(error, UsageError) else frames.one_line(error)
        outbox.send({"t": "failed", "message": f"The mocks did not start: {why}", "status": None})
    return EXIT_FAILED


async def _serve(suite: Any, case: Any, outbox: Outbox, home: str) -> None:
    import asyncio

    warm(suite)
    runtime = Runtime(case.fixtures)

    def report(kind: str, record: dict[str, Any], broken: str | None = None) -> None:
        outbox.send({"t": "call", "kind": kind, "record": record, "broken": broken})

    budget = Budget()
    listening: list[tuple[Any, ApiServer]] = []
    for api in suite.api:
        calls = ApiCalls(api, runtime, budget, lambda record, broken: report("api", record, broken))
        listening.append((api, await ApiServer.listen(calls)))
    door = Door(
        {server.label: server for server in suite.mcp},
        {cli.label: cli for cli in suite.cli},
        runtime,
        report,
        lambda mark: outbox.send({"t": "mark", "mark": mark}),
    )
    folder = os.path.join(home, FOLDER)
    install(folder, home, [server.label for server in suite.mcp], [cli.label for cli in suite.cli])
    keep = await door.open(folder)
    outbox.send({"t": "ready", "api": [_described(api, server) for api, server in listening]})
    await asyncio.Event().wait()
    keep.close()


def _described(api: Any, server: ApiServer) -> dict[str, Any]:
    endpoints = [
        {"method": part.method, "path": part.path, "description": part.get("description")}
        for part in api.endpoints
    ]
    return {"name": api.label, "url": server.url, "endpoints": endpoints}


def warm(suite: Any) -> None:
    """Make every adapter now: a schema library takes longer to import than a call to answer."""
    called = [part for mock in (*suite.mcp, *suite.cli) for part in mock.parts()]
    for part in called:
        if hasattr(part, "input"):
            part.input.json_schema()
        if part.output is not None:
            part.output.json_schema(output=True)
    for endpoint in [part for api in suite.api for part in api.endpoints]:
        _ = endpoint.input
        for status in endpoint.get("responses"):
            endpoint.response(status)


def install(folder: str, home: str, servers: Sequence[str], clis: Sequence[str]) -> None:
    """Write the relay, a program per MCP server, and a program per CLI on the agent's PATH."""
    from sphynx.guest.mocks import relay

    os.makedirs(os.path.join(folder, "mcp"), mode=0o700, exist_ok=True)
    with open(str(relay.__file__), encoding="utf-8") as source:
        _write(os.path.join(folder, "relay.py"), source.read(), 0o600)
    for name in servers:
        _write(os.path.join(folder, "mcp", name), _program(folder, "mcp", name), 0o700)
    _write(os.path.join(folder, "mark"), _program(folder, "mark", None), 0o700)
    if not clis:
        return
    os.makedirs(os.path.join(home, BIN), exist_ok=True)
    for name in clis:
        path = os.path.join(home, BIN, name)
        if os.path.lexists(path):
            raise UsageError(f"the profile already brings ~/{BIN}/{name}, where the CLI mock belongs")
        _write(path, _program(folder, "cli", name), 0o755)
    _lead_login_shells(home)


def _program(folder: str, kind: str, name: str | None) -> str:
    words = [sys.executable, "-I", "-S", os.path.join(folder, "relay.py"), folder, kind]
    given = shlex.join(words if name is None else [*words, name])
    return f'#!/bin/sh\nexec {given} "$@"\n'


def _lead_login_shells(home: str) -> None:
    """Login shells, which some agents use for every command, set PATH anew: put our folder back in front."""
    line = f'\nPATH="$HOME/{BIN}:$PATH"\n'
    there = [name for name in _PROFILES if os.path.exists(os.path.join(home, name))]
    for name in {*there, ".profile", ".zprofile"}:
        with open(os.path.join(home, name), "a", encoding="utf-8") as profile:
            profile.write(line)


def _write(path: str, text: str, mode: int) -> None:
    if os.path.lexists(path):
        os.unlink(path)
    with open(path, "w", encoding="utf-8") as target:
        target.write(text)
    os.chmod(path, mode)
