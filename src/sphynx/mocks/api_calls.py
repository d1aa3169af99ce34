"""One request to an API mock: from the bytes of its body to an answer and the record of the call."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from sphynx.mocks.api import Api, Endpoint
from sphynx.mocks.handling import HandlerFailed, HandlerTooSlow, MockContext, Runtime
from sphynx.mocks.routes import Routes, query_of
from sphynx.mocks.schemas import Adapter, Mismatch
from sphynx.mocks.snapshots import ERROR, Log, compact, field_names, hidden, snapshot

MOST_BODY = 1_048_576
MOST_REQUESTS = 256
_OURS = frozenset(("content-type", "content-length", "transfer-encoding", "connection", "keep-alive", "date"))


class Answer:
    """What goes back: ``body`` is JSON or empty, ``headers`` are the handler's own."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.body = body
        self.headers = headers or {}


class Broken(Exception):
    """The mock itself is at fault, so the trial cannot be trusted. The text says how."""


class TooSlow(Broken):
    """A handler that took longer than it may."""


class Refused(Exception):
    """The request is at fault: the agent is told, and the trial goes on."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Budget:
    """How many requests one runtime still answers, over all its APIs."""

    __slots__ = ("used",)

    def __init__(self) -> None:
        self.used = 0

    def take(self) -> int:
        """The number of this request, from 0. ``Refused`` once there were enough."""
        self.used += 1
        return self.used - 1


Report = Callable[[dict[str, Any], "str | None"], None]
"""Takes the record of a call, and what is wrong with the mock if anything is."""


class ApiCalls:
    """Answers the requests to one API. Every call is reported before its answer leaves."""

    def __init__(self, api: Api, runtime: Runtime, budget: Budget, report: Report) -> None:
        self.name = api.label
        self._routes = Routes(api.endpoints)
        self._names = field_names(api.get("redact", ()))
        self._runtime = runtime
        self._budget = budget
        self._report = report

    async def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Answer one request. ``headers`` are lowercase."""
        import asyncio

        call = _Call(self, method, target, headers)
        try:
            return await call.run(body)
        except asyncio.CancelledError:
            call.end(_error(499, ""), error="the client left before its answer")
            raise

    def refuse(self, method: str, target: str, headers: Mapping[str, str], status: int, why: str) -> Answer:
        """Answer a request whose body cannot be taken."""
        call = _Call(self, method, target, headers)
        return call.end(_error(status, why), error=why)


class _Call:
    """One call under way."""

    def __init__(self, calls: ApiCalls, method: str, target: str, headers: Mapping[str, str]) -> None:
        path, _, query = target.partition("?")
        self._calls = calls
        self._method = method
        self._path = path.partition("#")[0]
        self._input: dict[str, Any] = {
            "params": {},
            "query": query_of(query),
            "headers": dict(headers),
            "body": None,
        }
        self._index = calls._budget.take()
        self._log = Log(calls._names)
        self._matched = False
        self._shown: dict[str, Any] | None = None
        self._started = time.time() * 1000
        self._begun = time.perf_counter()

    async def run(self, body: bytes) -> Answer:
        if self._index >= MOST_REQUESTS:
            why = f"the mocks of a trial answer {MOST_REQUESTS} requests, this was one more"
            return self.end(_error(503, why), error=why, broken=why)
        found = self._calls._routes.find(self._method, self._path)
        if found is None:
            why = f"there is no {self._method} {self._path} here"
            self._read_loosely(body)
            return self.end(_error(404, why))
        endpoint, self._input["params"] = found
        self._matched = True
        try:
            self._input["body"] = _parsed(body)
            return self.end(*await self._handled(endpoint))
        except Refused as refused:
            return self.end(_error(refused.status, refused.message), error=refused.message)
        except Broken as broken:
            text = f"{self._calls.name} {endpoint.label}: {broken}"
            status = 504 if isinstance(broken, TooSlow) else 500
            return self.end(_error(status, "the mock failed"), error=str(broken), broken=text)

    def _read_loosely(self, body: bytes) -> None:
        try:
            self._input["body"] = _parsed(body)
        except Refused:
            self._input["body"] = body.decode("utf-8", "replace")

    async def _handled(self, endpoint: Endpoint) -> tuple[Answer, Any]:
        runtime = self._calls._runtime
        request: Any = self._input
        # Before the handler, which may change what it is given.
        self._shown = snapshot(hidden(self._input, self._calls._names))
        adapter = endpoint.input
        if adapter is not None:
            try:
                request = adapter.load(self._input)
            except Mismatch as error:
                raise Refused(400, f"{self._calls.name} {endpoint.label}: {error}") from None
            except RecursionError:
                raise Refused(400, "the body is nested too deeply") from None
        context = MockContext(runtime, self._log)
        try:
            value = await runtime.call(endpoint.get("handler"), (request,), context)
        except HandlerTooSlow as error:
            raise TooSlow(str(error)) from None
        except HandlerFailed as error:
            raise Broken(str(error)) from None
        return _response(endpoint, value)

    def end(
        self, answer: Answer, body: Any = None, *, error: str | None = None, broken: str | None = None
    ) -> Answer:
        """Report the call, then let the answer go."""
        names = self._calls._names
        if body is None and answer.body and error is None:
            body = json.loads(answer.body)
        output = {"status": answer.status, "headers": dict(answer.headers), "body": body}
        record = {
            "api": self._calls.name,
            "index": self._index,
            "method": self._method,
            "path": self._path,
            "matched": self._matched,
            "startedAt": self._started,
            "durationMs": round((time.perf_counter() - self._begun) * 1000, 3),
            "input": self._shown or snapshot(hidden(self._input, names)),
            "output": snapshot(hidden(output, names)),
            "status": answer.status,
            "error": None if error is None else error[:ERROR],
            "logs": self._log.entries,
        }
        self._calls._report(record, broken)
        return answer


def _parsed(body: bytes) -> Any:
    if not body:
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(400, "the body is not JSON") from None


def _response(endpoint: Endpoint, value: Any) -> tuple[Answer, Any]:
    """The handler's response as bytes, and its body as a value. ``Broken`` when it is not a declared one."""
    given = value if isinstance(value, Mapping) else getattr(value, "__dict__", None)
    if not isinstance(given, Mapping) or "status" not in given:
        raise Broken(f"the handler gave {type(value).__name__}, not a dict with status and body")
    status = given["status"]
    try:
        adapter = endpoint.response(status)
    except (KeyError, TypeError):
        declared = ", ".join(str(known) for known in endpoint.get("responses"))
        raise Broken(f"the handler answered {status!r}, declared are {declared}") from None
    headers = _own_headers(given.get("headers"))
    body = _fitting(adapter, given.get("body"), status)
    try:
        data = b"" if body is None else compact(body).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Broken(f"the body of {status} cannot be JSON: {error}") from None
    return Answer(status, data, headers), body


def _fitting(adapter: Adapter | None, body: Any, status: int) -> Any:
    if adapter is None:
        if body is not None:
            raise Broken(f"the handler gave {status} a body, and none is declared")
        return None
    try:
        return adapter.dump(body)
    except Mismatch as error:
        raise Broken(f"the body of {status} does not fit its schema: {error}") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise Broken(f"the body of {status} cannot be JSON: {error}") from None


def _own_headers(given: Any) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise Broken(f"the handler's headers are {type(given).__name__}, not a dict")
    out: dict[str, str] = {}
    for name, value in given.items():
        line = f"{name}: {value}"
        if not str(name) or not line.isprintable() or not line.isascii() or ":" in str(name):
            raise Broken(f"the handler's header {name!r} cannot be sent")
        if str(name).lower() not in _OURS:
            out[str(name)] = str(value)
    return out


def _error(status: int, message: str) -> Answer:
    return Answer(status, compact({"error": message}).encode())
