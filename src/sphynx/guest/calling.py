"""Call an author's function, async or not. All coroutines of one op run on one event loop."""

from __future__ import annotations

from typing import Any

from sphynx.guest.console import Running


def is_async(fn: Any) -> bool:
    """Whether calling ``fn`` gives a coroutine: also for a partial, a bound method or a callable object."""
    import inspect

    while hasattr(fn, "func") and hasattr(fn, "args"):
        fn = fn.func
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(type(fn), "__call__", None))  # noqa: B004


class Loop:
    """The event loop of one op, started when the first coroutine needs it.

    Plain functions are called with no loop running, so that they may use ``asyncio.run`` or a library that
    brings its own. Objects that async checks share (clients, connections) stay usable: it is one loop.
    """

    def __init__(self) -> None:
        self._runner: Any = None
        self.timed_out = False

    def call(
        self, fn: Any, argument: Any, running: Running | None = None, timeout_ms: int | None = None
    ) -> Any:
        """What ``fn(argument)`` returns, awaited when it has to be. ``TimeoutError`` with ``timed_out`` set
        when a coroutine is past ``timeout_ms``."""
        import inspect

        self.timed_out = False
        if running is not None and running.is_async:
            return self._run(lambda: fn(argument), timeout_ms)
        value = fn(argument)
        if not inspect.isawaitable(value):
            return value
        if running is not None:
            running.is_async = True
        return self._run(lambda: value, timeout_ms)

    def _run(self, make: Any, timeout_ms: int | None) -> Any:
        import asyncio
        import contextvars

        if self._runner is None:
            self._runner = asyncio.Runner()

        async def main() -> Any:
            limit = asyncio.timeout(None if timeout_ms is None else timeout_ms / 1000)
            try:
                async with limit:
                    return await make()
            finally:
                self.timed_out = limit.expired()

        return self._runner.run(main(), context=contextvars.copy_context())
