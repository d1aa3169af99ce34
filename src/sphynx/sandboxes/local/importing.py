"""Trying a bundle's import where no process can be kept warm with it."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

from sphynx.errors import CompileError
from sphynx.sandboxes.local.interpreter import part_command
from sphynx.sandboxes.local.link import IMPORT_LIMIT_S, import_failed, import_too_slow


async def check(bundle: Path, *, env: Mapping[str, str], cwd: Path) -> None:
    """Import it once in a process of its own; ``CompileError`` when that fails."""
    here, there = socket.socketpair()
    with there:
        process = await asyncio.create_subprocess_exec(
            *part_command("warmth", there.fileno()),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=env,
            cwd=cwd,
            pass_fds=[there.fileno()],
        )
    reader, writer = await asyncio.open_connection(sock=here)
    try:
        async with asyncio.timeout(IMPORT_LIMIT_S):
            writer.write(f"{bundle}\n".encode())
            line = await reader.readline()
    except TimeoutError:
        raise import_too_slow() from None
    finally:
        writer.close()
        if process.returncode is None:
            process.kill()
        await process.wait()
    if not line:
        raise CompileError("the process that imports the eval file ended at once")
    answer = json.loads(line)
    if "failed" in answer:
        raise import_failed(answer["failed"])
