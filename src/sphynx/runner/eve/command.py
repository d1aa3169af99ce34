"""``sphynx-eve [FOLDER]``: the ``run`` of a profile whose agent is built on eve."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TextIO

from sphynx.errors import SphynxError
from sphynx.runner.emitter import Emitter, create_emitter
from sphynx.runner.environment import RunnerEnv, env
from sphynx.runner.eve.server import serve_eve
from sphynx.runner.eve.session import run_eve

USAGE = """usage: sphynx-eve [FOLDER]

Starts the eve agent in FOLDER (from the workspace; the workspace itself when left out), runs one session
with the case's prompt and prints it as event lines. Exits 0 when the session completed, 1 when it failed, 3
when it parked because it wants an approval, an answer or a login."""


def run() -> None:
    """The console script."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Run one session; the exit code."""
    if arguments and arguments[0] in ("-h", "--help"):
        _tell(USAGE, sys.stdout)
        return 0
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        _tell(USAGE, sys.stderr)
        return 1
    emitter = create_emitter()
    try:
        given = env()
        return _run(emitter, given, os.path.join(given.workspace, *arguments))  # noqa: PTH118
    except SphynxError as error:
        emitter.finished(f"failed: {error.message}")
        _tell(f"error: {error.message}" + (f"\n  hint: {error.hint}" if error.hint else ""), sys.stderr)
        return 1


def _run(emitter: Emitter, given: RunnerEnv, folder: str) -> int:
    import asyncio

    return asyncio.run(_session(emitter, given, folder))


async def _session(emitter: Emitter, given: RunnerEnv, folder: str) -> int:
    import asyncio
    import signal

    task = asyncio.current_task()
    assert task is not None
    for ending in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(ending, task.cancel)
    try:
        async with await serve_eve(cwd=folder, resume=given.session_id is not None) as server:
            outcome = await run_eve(
                emitter=emitter,
                prompt=given.prompt,
                url=server.url,
                model=given.model,
                session_id=given.session_id,
            )
    except asyncio.CancelledError:
        emitter.finished("failed: stopped by a signal")
        return 1
    return outcome.exit_code


def _tell(text: str, stream: TextIO) -> None:
    stream.write(text + "\n")
