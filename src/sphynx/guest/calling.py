"""Call an author's function, async or not. All coroutines of one op run on one event loop."""

from __future__ import annotations

from typing import Any


class Caller:
    """Who is asking the context: ``is_async`` while it is a coroutine, which awaits what it is given."""

    is_async: bool

    def __init__(self, fn: Any) -> None:
        self.is_async = is_async(fn)
        self._given: list[tuple[str, Any]] = []

    def later(self, method: str, coroutine: Any) -> Any:
        """Give ``coroutine`` to an async function, and remember to look whether it awaited it."""
        self._given.append((method, coroutine))
        return coroutine

    def forgotten(self) -> str | None:
        """``called exists() without await``, of the first method whose answer nobody waited for.

        Without this, ``if not ctx.exists("a")`` would silently be false whatever the agent did.
        """
        import inspect

        given, self._given = self._given, []
        unheard = [(name, item) for name, item in given if inspect.getcoroutinestate(item) == "CORO_CREATED"]
        for _, coroutine in unheard:
            coroutine.close()
        if not unheard:
            return None
        name = "".join(f"_{sign.lower()}" if sign.isupper() else sign for sign in unheard[0][0])
        return f"called {name}() without await; write: await ctx.{name}(...)"


def is_async(fn: Any) -> bool:
    """Whether calling ``fn`` gives a coroutine: also for a partial, a bound method or a callable object."""
    import functools
    import inspect

    while isinstance(fn, functools.partial):
        fn = fn.func
    # The class is asked, as a call does; an attribute of the object would not be what is called.
    method = getattr(type(fn), "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(method)


def awaits(caller: Caller | None) -> bool:
    """Whether the code that runs now expects something to await: a coroutine of an async function.

    A thread that an async function started has no loop of its own and gets plain values.
    """
    import asyncio

    return caller is not None and caller.is_async and asyncio._get_running_loop() is not None


class Loop:
    """The event loop of one op, started when the first coroutine needs it.

    Plain functions are called with no loop running, so that they may use ``asyncio.run`` or a library that
    brings its own. Objects that async checks share (clients, connections) stay usable: it is one loop.
    """

    def __init__(self) -> None:
        self._runner: Any = None
        self.timed_out = False

    def call(self, fn: Any, argument: Any, caller: Caller, timeout_ms: int | None = None) -> Any:
        """What ``fn(argument)`` returns, awaited when it has to be.

        ``TimeoutError``, with ``timed_out`` set, when a coroutine is past ``timeout_ms``.
        """
        import inspect

        self.timed_out = False
        if caller.is_async:
            return self._run(lambda: fn(argument), timeout_ms)
        value = fn(argument)
        if not inspect.isawaitable(value):
            return value
        caller.is_async = True
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
