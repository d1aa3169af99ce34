"""``sphynx serve``: the HTTP interface in this process, the trials in a child of it."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path

import uvicorn

from sphynx.errors import SphynxError, UsageError
from sphynx.server.api.context import Services
from sphynx.server.app import create_app
from sphynx.server.configuration import DATABASE, Configuration
from sphynx.server.execution.limits import limits_from
from sphynx.server.execution.worker import Orders
from sphynx.server.store import accounts
from sphynx.server.store.database import Database
from sphynx.server.store.migrate import migrate
from sphynx.server.vault import open_vault

LOCK = "server.lock"
_LOG = logging.getLogger("sphynx.server")
_RESTART_S = (0.5, 1.0, 2.0, 5.0, 10.0)
_STEADY_S = 30.0
_END_S = 12.0
_BACKLOG = 2_048


def prepare(configuration: Configuration) -> None:
    """Make the data folder, readable by its owner only, and bring the store up to date."""
    try:
        configuration.data.mkdir(parents=True, exist_ok=True)
        configuration.data.chmod(0o700)
    except OSError as error:
        raise UsageError(f"cannot use {configuration.data}: {error.strerror}", hint="--data DIR") from None
    try:
        if configuration.database_url is None:
            _private(configuration.data / DATABASE)
        migrate(configuration.url)
    except UsageError:
        raise
    except Exception as error:
        raise SphynxError(
            f"the database cannot be used: {_first_line(error)}", hint="check --database-url"
        ) from None


def _private(database: Path) -> None:
    """SQLite gives its other files the mode of the first."""
    database.touch(0o600)
    for path in (database, *(database.with_name(database.name + end) for end in ("-wal", "-shm"))):
        with suppress(FileNotFoundError):
            path.chmod(0o600)


@contextmanager
def only_server(data: Path, hint: str = "choose another --data") -> Iterator[None]:
    """Hold the folder's lock: two servers on one file would run the same work twice."""
    with (data / LOCK).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            raise UsageError(
                f"another server (pid {file.read().strip() or '?'}) uses {data}", hint=hint
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


async def first_key(url: str) -> str | None:
    """On the first start, an organization ``default`` and its key; ``None`` when there is one already."""
    database = Database(url)
    try:
        async with database.write() as connection:
            if await accounts.any_org(connection):
                return None
            org = await accounts.create_org(connection, "default", "Default")
            return await accounts.create_key(connection, org, "first")
    finally:
        await database.aclose()


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens there, before anything is made or started. ``SphynxError`` when it cannot."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        why = error.strerror or str(error)
        raise SphynxError(f"cannot listen on {host}:{port}: {why}", hint="--port N, or 0 for any") from None
    return listener


def serve(
    configuration: Configuration,
    environ: Mapping[str, str],
    *,
    workers: bool = True,
    say: Callable[[str], None],
) -> None:
    """Serve until SIGTERM or Ctrl-C. ``say`` gets the lines for people."""
    limits_from(environ)  # what cannot be read is told before anything starts
    prepare(configuration)
    with only_server(configuration.data), listening(configuration.host, configuration.port) as listener:
        vault = open_vault(configuration.data, environ)
        key = asyncio.run(first_key(configuration.url))
        services = Services(configuration, Database(configuration.url), vault, environ)
        config = uvicorn.Config(
            create_app(services), host=configuration.host, port=configuration.port, log_config=None,
            access_log=False, timeout_graceful_shutdown=5, server_header=False,
        )  # fmt: skip
        server = _Server(config, lambda port: _announce(configuration, port, key, say))
        child = WorkerProcess(configuration, environ) if workers and _runs_trials(configuration) else None
        if child is not None:
            child.start()
        try:
            server.run(sockets=[listener])
        finally:
            if child is not None:
                child.stop()
        if not server.started:
            raise SphynxError("the server did not start", hint="its log says more")


class _Server(uvicorn.Server):
    """Says where it listens once it does."""

    def __init__(self, config: uvicorn.Config, listening: Callable[[int], None]) -> None:
        super().__init__(config)
        self._listening = listening

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        with suppress(SystemExit):
            await super().startup(sockets)  # type: ignore[arg-type]
        if self.started:
            self._listening(self.servers[0].sockets[0].getsockname()[1])
        else:
            self.should_exit = True

    async def shutdown(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        await super().shutdown(sockets)  # type: ignore[arg-type]
        # Being asked to stop, and having stopped in order, is no failure: do not die of the signal as well.
        self._captured_signals.clear()


class WorkerProcess:
    """The child that runs trials, started again when it dies."""

    def __init__(self, configuration: Configuration, environ: Mapping[str, str]) -> None:
        self._orders = Orders(
            str(configuration.data), configuration.url, configuration.jobs, configuration.isolate,
            configuration.containers,
        )  # fmt: skip
        self._environ = dict(environ)
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def start(self) -> None:
        """Start it, and watch it from a thread."""
        self._thread.start()

    def stop(self) -> None:
        """Let it hand over its trials and end; kill it when it takes too long."""
        self._stopping.set()
        process = self._process
        if process is None:
            return
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
        self._thread.join(_END_S)

    def _keep(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            began = time.monotonic()
            code = self._run()
            if self._stopping.is_set():
                return
            failures = 0 if time.monotonic() - began > _STEADY_S else failures + 1
            _LOG.warning("the worker ended, it is started again", extra={"code": code})
            self._stopping.wait(_RESTART_S[min(failures, len(_RESTART_S)) - 1] if failures else 0.1)

    def _run(self) -> int:
        process = subprocess.Popen(
            [sys.executable, "-m", "sphynx.server.execution.worker"],
            stdin=subprocess.PIPE,
            env=self._environ,
            start_new_session=True,
        )
        self._process = process
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.write(self._orders.encoded())
            process.stdin.flush()
        return process.wait()


def _announce(configuration: Configuration, port: int, key: str | None, say: Callable[[str], None]) -> None:
    host = f"[{configuration.host}]" if ":" in configuration.host else configuration.host
    say(f"sphynx listens on http://{host}:{port}")
    say(f"data      {configuration.data}")
    say(f"sandboxes {', '.join(configuration.sandboxes) or 'none: nothing can be run, only recorded'}")
    if configuration.containers is not None and (why := configuration.no_containers()):
        say(f"warning: no containers: {why}")
    if not _loopback(configuration.host):
        say("warning: without TLS in front, keys and results travel readable over the network")
    say("")
    say(f"export SPHYNX_BASE_URL=http://{host}:{port}")
    if key is not None:
        say(f"export SPHYNX_API_KEY={key}")
        say("this key is shown once; sphynx admin create-key makes more")


def _runs_trials(configuration: Configuration) -> bool:
    """A daemon that is away may come back, so containers count even when none can be started now."""
    return configuration.allow_local_sandbox or configuration.containers is not None


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
