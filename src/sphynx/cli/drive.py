"""Drives a run of the engine: the screen ticks, signals stop it, the terminal is left as it was."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from sphynx.cli.eval_request import EvalRequest
from sphynx.cli.out import Out, stderr, stdout
from sphynx.cli.render import figures
from sphynx.cli.screen import Screen
from sphynx.cli.signals import Interrupts
from sphynx.engine import LocalPlan, Stop
from sphynx.engine.batch_folder import batches_folder

T = TypeVar("T")
_TICK_S = 0.1


@dataclass(slots=True)
class Run:
    """One command's run: what was asked, what was planned, where it prints, when it began."""

    request: EvalRequest
    plan: LocalPlan
    out: Out = field(default_factory=stdout)
    err: Out = field(default_factory=stderr)
    began: float = field(default_factory=time.monotonic)

    @property
    def elapsed_ms(self) -> float:
        """Since the run began."""
        return (time.monotonic() - self.began) * 1000

    def folder(self, batch_id: str) -> Path:
        """Where a batch of this run is kept."""
        return batch_folder(self.plan, batch_id)


def batch_folder(plan: LocalPlan, batch_id: str) -> Path:
    """Where a planned batch is kept: in the project its eval file belongs to."""
    root = next(suite.root for suite in plan.suites if suite.batch_id == batch_id)
    return batches_folder(root) / batch_id


def drive(run: Run, screen: Screen, stop: Stop, work: Callable[[], Awaitable[T]]) -> tuple[T, int | None]:
    """Do ``work``; gives its result and the exit code of the signal that stopped it, if one did."""
    return asyncio.run(_driven(screen, stop, work))


def stopping_line(running: int) -> str:
    """What the first Ctrl-C says at once."""
    what = (
        f"{figures.plural(running, 'trial')} running, closing their sandboxes"
        if running
        else "nothing is running"
    )
    return f"stopping: {what} (Ctrl-C again to leave at once)"


async def _driven(screen: Screen, stop: Stop, work: Callable[[], Awaitable[T]]) -> tuple[T, int | None]:
    def first() -> None:
        screen.close()
        screen.say(stopping_line(screen.running))

    async def tick() -> None:
        while True:
            screen.tick()
            await asyncio.sleep(_TICK_S)

    with Interrupts(stop, first, screen.close) as interrupts:
        ticking = asyncio.create_task(tick())
        try:
            result = await work()
        finally:
            ticking.cancel()
            screen.close()
        return result, interrupts.exit_code
