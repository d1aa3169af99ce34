"""The built-in harnesses that judge a suite instead of an agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from sphynx.contracts import ExecResult, HarnessSetup, TurnResult
from sphynx.errors import StageError
from sphynx.harnesses.nop import NopHarness
from sphynx.harnesses.oracle import OracleHarness

pytestmark = pytest.mark.anyio


def ended(exit_code: int, stderr: bytes = b"") -> ExecResult:
    return ExecResult(exit_code, b"", stderr, 0, len(stderr), timed_out=False, duration_ms=1.0)


async def turn(
    harness: Any, solution: Callable[[], Awaitable[ExecResult]] | None, timeout_ms: int = 9000
) -> TurnResult:
    setup = HarnessSetup("m", system_prompt=None, run=None, env={}, timeout_ms=timeout_ms, solution=solution)
    await harness.prepare(None, setup)
    return await harness.turn(None, "x", session_id=None, timeout_ms=timeout_ms, emit=lambda event: None)


async def test_nop_does_nothing_and_ends() -> None:
    assert await turn(NopHarness(), None) == TurnResult("finished")


async def test_oracle_runs_the_solution() -> None:
    async def fine() -> ExecResult:
        return ended(0)

    assert (await turn(OracleHarness(), fine)).status == "finished"


async def test_a_solution_that_fails_is_no_verdict_on_the_checks() -> None:
    async def broken() -> ExecResult:
        return ended(4, b"first\nno such file\n")

    result = await turn(OracleHarness(), broken)
    assert (result.status, result.cause) == ("failed", "setup")
    assert result.reason == "The reference solution exited with status 4: no such file"


async def test_a_solution_past_the_limit_is_timed_out() -> None:
    async def endless() -> ExecResult:
        await anyio.sleep_forever()
        raise AssertionError

    assert (await turn(OracleHarness(), endless, timeout_ms=50)).status == "timed_out"


async def test_a_case_without_a_solution_is_refused() -> None:
    with pytest.raises(StageError, match="no solution"):
        await turn(OracleHarness(), None)
