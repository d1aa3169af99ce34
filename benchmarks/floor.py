"""The floor: what the same two commands cost when nothing is recorded, redacted or cleaned.

    python benchmarks/floor.py TRIALS JOBS FOLDER

Spawns the agent and the check of ``noop_evals`` for every trial, in a folder of its own, with plain asyncio.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

AGENT = "printf hello > hello.txt"
CHECK = 'test "$(cat hello.txt)" = hello'


async def trial(folder: Path) -> None:
    folder.mkdir()
    for command in (AGENT, CHECK):
        process = await asyncio.create_subprocess_exec("bash", "-c", command, cwd=folder)
        if await process.wait():
            raise SystemExit(f"error: {command} failed")
    shutil.rmtree(folder)


async def main(trials: int, jobs: int, folder: Path) -> None:
    slots = asyncio.Semaphore(jobs)

    async def one(number: int) -> None:
        async with slots:
            await trial(folder / str(number))

    async with asyncio.TaskGroup() as group:
        for number in range(trials):
            group.create_task(one(number))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])))
