"""The server: takes requests, asks the scripts, answers in the request's own protocol."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from sphynx.errors import SphynxError, UsageError
from sphynx.testing.scripted_model import http
from sphynx.testing.scripted_model.conversation import Seen
from sphynx.testing.scripted_model.cursor import Order, Script
from sphynx.testing.scripted_model.protocols import Protocol, protocol_for
from sphynx.testing.scripted_model.steps import Step, fail, steps_from
from sphynx.testing.scripted_model.tools import own_calls

ANY = "*"
"""The key of the script that answers when no other does."""


class ScriptedModel:
    """A model server on 127.0.0.1 that plays scripts. Use it with ``with`` or ``async with``.

    It runs in a thread of its own, so neither a blocked nor a missing event loop in the caller matters. One
    server serves any number of keys, protocols and concurrent conversations::

        with ScriptedModel() as model:
            model.script("sk-agent", [use(shell("ls")), say("done")])
            environment = {"OPENAI_API_KEY": "sk-agent", "OPENAI_BASE_URL": model.openai_url}

    ``scripts`` may be given at once; ``port`` 0 picks a free one.
    """

    def __init__(
        self, scripts: Mapping[str, Sequence[Step | Mapping[str, Any]]] | None = None, *, port: int = 0
    ) -> None:
        self._scripts: dict[str, Script] = {}
        self._wanted_port = port
        self._port = 0
        self._seen: list[tuple[str, Seen]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stop: asyncio.Event | None = None
        self._changed = threading.Condition()
        for key, steps in (scripts or {}).items():
            self.script(key, steps)

    # -- scripts and what was asked ---------------------------------------------------------------------

    def script(
        self,
        key: str,
        steps: Sequence[Step | Mapping[str, Any]],
        *,
        order: Order = "conversation",
        asides: Sequence[Step | Mapping[str, Any]] = (),
    ) -> None:
        """Answer requests with this script; a script given earlier for the same key is replaced.

        ``key`` is an API key, a path prefix that starts with ``/`` (base URLs then begin with
        ``model.url + key``), or ``"*"`` for every request no other script answers; a prefix goes before a
        key. ``order``: ``conversation`` finds each request's place from what it carries, so any number of
        conversations may share a key; ``arrival`` hands out the steps one by one. ``asides`` are steps with a
        condition that answer side requests (titles, summaries) without taking a step.
        """
        if order not in ("conversation", "arrival"):
            raise UsageError(f'script order is "conversation" or "arrival", not "{order}"')
        made = steps_from(steps, f'script "{_shown(key)}"')
        beside = steps_from(asides, "asides") if asides else ()
        self._scripts[key] = Script(made, order=order, asides=beside)

    def requests(self, key: str | None = None) -> list[Seen]:
        """The model calls so far, oldest first; with ``key`` only those its script answered."""
        return [seen for answered_by, seen in list(self._seen) if key in (None, answered_by)]

    def wait_for(self, count: int, *, key: str | None = None, timeout: float = 10.0) -> list[Seen]:
        """Block until ``count`` model calls have come in; ``SphynxError`` after ``timeout`` seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.requests(key)) >= count, timeout):
                came = len(self.requests(key))
                raise SphynxError(f"the scripted model got {came} of {count} requests in {timeout:g} s")
        return self.requests(key)

    # -- where it is ------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """``http://127.0.0.1:<port>``: the base URL for Anthropic and Gemini clients."""
        if not self._port:
            raise UsageError(
                "the scripted model is not running", hint='use it with "with ScriptedModel() as model"'
            )
        return f"http://127.0.0.1:{self._port}"

    @property
    def openai_url(self) -> str:
        """The base URL for OpenAI clients, Responses and chat completions alike."""
        return self.url + "/v1"

    @property
    def gateway_url(self) -> str:
        """The base URL for AI Gateway clients."""
        return self.url + "/v4/ai"

    # -- life -------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Listen. Raises ``SphynxError`` when the port is taken."""
        ready = threading.Event()
        failure: list[OSError] = []
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._run(ready, failure)), name="scripted-model", daemon=True
        )
        self._thread.start()
        ready.wait()
        if failure:
            self._thread.join()
            raise SphynxError(f"the scripted model cannot listen on port {self._wanted_port}: {failure[0]}")

    def close(self) -> None:
        """Stop listening and drop every open connection. Safe to call twice."""
        thread, self._thread = self._thread, None
        if thread is None or self._loop is None or self._stop is None:
            return
        self._loop.call_soon_threadsafe(self._stop.set)
        thread.join()
        self._port = 0

    def __enter__(self) -> ScriptedModel:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> ScriptedModel:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def _run(self, ready: threading.Event, failure: list[OSError]) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        connections: set[asyncio.Task[None]] = set()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(self._connection(reader, writer))
            connections.add(task)
            task.add_done_callback(connections.discard)

        try:
            server = await asyncio.start_server(accept, "127.0.0.1", self._wanted_port, limit=http.MAX_HEAD)
        except OSError as error:
            failure.append(error)
            ready.set()
            return
        self._port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._stop.wait()
        server.close()
        for task in list(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    # -- answering --------------------------------------------------------------------------------------

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await http.read_request(reader)) is not None:
                if not await self._answer(request, writer):
                    break
        except ValueError as error:
            await http.send_json(writer, 400, {"error": {"message": str(error)}}, {"connection": "close"})
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _answer(self, request: http.Request, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether the connection may carry another."""
        protocol = protocol_for(request.path) if request.method == "POST" else None
        if protocol is None:
            await self._side_answer(request, writer)
            return True
        body = request.json()
        content = protocol.read(request.path, request.headers, body)
        seen = Seen(
            protocol.name, request.path, request.key, request.headers, body,
            content.model, content.stream, content.turns, content.tools,
        )  # fmt: skip
        step = self._step_for(seen)
        try:
            calls = own_calls(step.calls, seen)
        except UsageError as error:
            step, calls = fail(400, f"{error.message} ({error.hint})"), ()
        await asyncio.sleep(step.delay)
        if step.status is not None:
            await http.send_json(writer, step.status, protocol.error(step), step.headers)
            return True
        if not seen.stream:
            return await _whole(writer, protocol, step, protocol.reply(step, calls, seen))
        return await _streamed(writer, step, [frame.encode() for frame in protocol.frames(step, calls, seen)])

    def _step_for(self, seen: Seen) -> Step:
        key, script = self._script_for(seen)
        with self._changed:
            self._seen.append((key, seen))
            self._changed.notify_all()
        if script is None:
            return fail(401, "the scripted model has no script for this key or path")
        return script.next(seen)

    def _script_for(self, seen: Seen) -> tuple[str, Script | None]:
        prefixes = [
            key
            for key in self._scripts
            if key.startswith("/") and seen.path.startswith(f"{key.rstrip('/')}/")
        ]
        named = max(prefixes, key=len, default=seen.key if seen.key in self._scripts else ANY)
        return named, self._scripts.get(named)

    async def _side_answer(self, request: http.Request, writer: asyncio.StreamWriter) -> None:
        """What clients ask beside model calls: lists of models, token counts."""
        if request.path.endswith(("/models", "/config")):
            await http.send_json(writer, 200, {"object": "list", "data": [], "models": [], "has_more": False})
        elif request.path.endswith("/count_tokens"):
            await http.send_json(writer, 200, {"input_tokens": max(1, len(request.body) // 4)})
        elif request.path.endswith(":countTokens"):
            await http.send_json(writer, 200, {"totalTokens": max(1, len(request.body) // 4)})
        else:
            await http.send_json(writer, 404, {"error": {"message": "the scripted model has no such path"}})


async def _whole(writer: asyncio.StreamWriter, protocol: Protocol, step: Step, value: dict[str, Any]) -> bool:
    await asyncio.sleep(step.stall)
    if step.cut:
        return False
    if step.stream_error:
        await http.send_json(writer, 500, protocol.error(step))
    else:
        await http.send_json(writer, 200, value, step.headers)
    return True


async def _streamed(writer: asyncio.StreamWriter, step: Step, frames: list[bytes]) -> bool:
    await http.open_stream(writer, step.headers)
    kept = frames[: max(1, len(frames) // 2)] if step.cut else frames
    for number, frame in enumerate(kept):
        await http.send_chunk(writer, frame)
        if number == 0:
            await asyncio.sleep(step.stall)
    if step.cut:
        return False
    await http.send_chunk(writer, b"")
    return True


def _shown(key: str) -> str:
    """A script's key as it may be printed: a real API key never is."""
    return key if key.startswith("/") or key == ANY else f"...{key[-4:]}"
