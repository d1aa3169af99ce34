"""The server that ``with_api()`` gives a validator: in a thread of its own, for one ``with`` block."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from sphynx.errors import DefinitionError
from sphynx.mocks.api import Api
from sphynx.mocks.api_calls import ApiCalls, Budget
from sphynx.mocks.handling import Runtime
from sphynx.mocks.http import ApiServer


class OwnServer:
    """An API mock of a validator's own. ``url`` is where it listens inside the block."""

    def __init__(self, api: Api, fixtures: Mapping[str, Any] | None) -> None:
        problems = list(api.problems())
        if problems:
            raise DefinitionError(problems)
        self._api = api
        self._fixtures = fixtures
        self._records: list[dict[str, Any]] = []
        self._loop: Any = None
        self._thread: threading.Thread | None = None
        self._stop: Any = None
        self.url = ""

    def calls(self) -> list[dict[str, Any]]:
        """The calls so far, as ``ctx.api.calls()`` gives those of a trial."""
        return list(self._records)

    def __enter__(self) -> OwnServer:
        ready = threading.Event()
        failed: list[BaseException] = []
        self._thread = threading.Thread(target=self._work, args=(ready, failed), daemon=True)
        self._thread.start()
        ready.wait()
        if failed:
            raise failed[0]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        if self._thread is not None:
            self._thread.join()

    async def __aenter__(self) -> OwnServer:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def _work(self, ready: threading.Event, failed: list[BaseException]) -> None:
        import asyncio

        try:
            asyncio.run(self._serve(ready))
        except BaseException as error:
            failed.append(error)
            ready.set()

    async def _serve(self, ready: threading.Event) -> None:
        import asyncio

        runtime = Runtime(self._fixtures)
        calls = ApiCalls(self._api, runtime, Budget(), lambda record, broken: self._records.append(record))
        server = await ApiServer.listen(calls)
        self._loop, self._stop, self.url = asyncio.get_running_loop(), asyncio.Event(), server.url
        ready.set()
        await self._stop.wait()
        await server.close()
