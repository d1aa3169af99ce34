"""Run an author's handler: sync or async, inside its time limit, with what it may use of its trial."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, cast

from sphynx.mocks.schemas import Mismatch
from sphynx.mocks.snapshots import Log

HANDLER_S = 30.0
"""How long one handler may take."""


class Signal:
    """Says that nobody waits for the handler any more: its time is over or the client has gone."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = threading.Event()

    @property
    def aborted(self) -> bool:
        """Whether the answer is of no use any more."""
        return self._event.is_set()

    def wait(self, seconds: float) -> bool:
        """Sleep up to ``seconds``; true at once when nobody waits any more."""
        return self._event.wait(seconds)

    def abort(self) -> None:
        """Tell the handler to stop."""
        self._event.set()


class MockContext:
    """What a handler receives as its second argument.

    ``state`` is the trial's own dict, which all its mocks share; it begins as a copy of the case's
    ``fixtures``. ``log(value)`` puts evidence beside the call. ``signal`` says when to give up. Handlers of
    one trial may run at the same time: a plain ``def`` in a thread of its own, an ``async def`` on one loop.
    """

    __slots__ = ("_log", "_runtime", "signal", "state")

    def __init__(self, runtime: Runtime, log: Log) -> None:
        self._runtime = runtime
        self._log = log
        self.state = runtime.state
        self.signal = Signal()

    def log(self, value: Any) -> None:
        """Keep ``value`` (anything JSON can hold, else its ``repr``) with the call."""
        self._log.add(value)

    def count(self, key: object) -> int:
        """How often this was asked before for ``key`` in this trial."""
        return self._runtime.count(key)


class HandlerFailed(Exception):
    """A handler raised, ran out of time or gave back what its schema does not allow."""


class HandlerTooSlow(HandlerFailed):
    """A handler ran out of time."""


class Runtime:
    """One trial's mocks at work: their state, and a thread for every plain handler that runs."""

    def __init__(self, fixtures: Mapping[str, Any] | None = None, *, limit_s: float = HANDLER_S) -> None:
        from copy import deepcopy

        self.state: dict[str, Any] = deepcopy(dict(fixtures or {}))
        self.limit_s = limit_s
        self._counts: dict[object, int] = {}
        self._lock = threading.Lock()

    def count(self, key: object) -> int:
        """How often this was asked before for ``key``."""
        with self._lock:
            number = self._counts.get(key, 0)
            self._counts[key] = number + 1
            return number

    async def call(
        self, handler: Callable[..., Any], arguments: tuple[Any, ...], context: MockContext
    ) -> Any:
        """What the handler gives back. ``HandlerFailed`` says what it raised, or that its time was over."""
        import asyncio

        limit = asyncio.timeout(self.limit_s)
        try:
            async with limit:
                return await self._called(handler, arguments, context)
        except asyncio.CancelledError:
            context.signal.abort()
            raise
        except (SystemExit, KeyboardInterrupt) as error:
            raise HandlerFailed(f"the handler raised {type(error).__name__}") from None
        except Exception as error:
            if limit.expired():
                context.signal.abort()
                raise HandlerTooSlow(f"the handler took longer than {self.limit_s:g} s") from None
            raise HandlerFailed(said(error)) from error

    async def _called(
        self, handler: Callable[..., Any], arguments: tuple[Any, ...], context: MockContext
    ) -> Any:
        given = (*arguments, context)[: places(handler, len(arguments) + 1)]
        value = handler(*given) if is_async(handler) else await in_thread(handler, given)
        return await value if hasattr(value, "__await__") else value


async def in_thread(work: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """``work(*arguments)`` in a thread of its own, which a hanging handler can keep without harm."""
    import asyncio

    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(value)
        elif isinstance(error, StopIteration):
            future.set_exception(RuntimeError("the handler raised StopIteration"))
        else:
            future.set_exception(error)

    def run() -> None:
        value, problem = None, None
        try:
            value = work(*arguments)
        except Exception as error:
            problem = error
        except BaseException as error:
            problem = RuntimeError(f"the handler raised {type(error).__name__}")
        try:
            loop.call_soon_threadsafe(settle, value, problem)
        except RuntimeError:
            return  # the loop has ended: nobody waits for this any more

    threading.Thread(target=run, daemon=True).start()
    return await future


def is_async(handler: Any) -> bool:
    """Whether calling ``handler`` only makes a coroutine."""
    import functools
    import inspect

    while isinstance(handler, functools.partial):
        handler = cast("Any", handler).func
    method = getattr(type(handler), "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(method)


def places(handler: Any, most: int) -> int:
    """How many positional arguments ``handler`` takes, at most ``most``."""
    import inspect

    try:
        parameters = inspect.signature(handler).parameters.values()
    except (TypeError, ValueError):
        return most
    if any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters):
        return most
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return min(most, sum(parameter.kind in positional for parameter in parameters))


def said(error: BaseException) -> str:
    """What an exception says, in one text; its type where it says nothing."""
    if isinstance(error, Mismatch):
        return str(error)
    try:
        text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    except Exception:
        text = ""
    return text.strip() or type(error).__name__
