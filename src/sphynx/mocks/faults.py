"""Wrappers that make a mock behave badly on purpose, to see whether an agent tries again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sphynx.mocks.definition import Handler
from sphynx.mocks.handling import MockContext, is_async, places


def fail_once(
    handler: Handler,
    *,
    times: int = 1,
    error: str = "temporarily unavailable, try again",
    response: Mapping[str, Any] | None = None,
) -> Handler:
    """``handler``, but its first ``times`` calls in each trial fail.

    For MCP and CLI mocks they raise ``error``, which the agent is told. An HTTP handler that raises breaks
    the trial, so give the ``response`` (``{"status": 503, "body": {...}}``) that the agent gets instead.
    """

    async def failing(*given: Any) -> Any:
        context: MockContext = given[-1]
        if context.count(failing) >= times:
            return await _passed_on(handler, given)
        if response is not None:
            return dict(response)
        raise RuntimeError(error)

    return failing


def delay(handler: Handler, seconds: float) -> Handler:
    """``handler``, but every call takes ``seconds`` longer. A handler may take 30 s in all."""

    async def slow(*given: Any) -> Any:
        import asyncio

        await asyncio.sleep(seconds)
        return await _passed_on(handler, given)

    return slow


async def _passed_on(handler: Handler, given: tuple[Any, ...]) -> Any:
    from sphynx.mocks.handling import in_thread

    given = given[: places(handler, len(given))]
    result = handler(*given) if is_async(handler) else await in_thread(handler, given)
    return await result if hasattr(result, "__await__") else result
