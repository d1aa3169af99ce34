"""The way to a few allowed hosts for containers without network: a proxy on a socket of this machine.

A container's own loopback leads here (see ``inside.relay``). It asks as programs ask any HTTP proxy, with
``CONNECT host:port`` or with a whole address, and gets through to listed hosts only. What passes is not read.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from sphynx.sandboxes.docker import layout
from sphynx.sandboxes.docker.inside import relay

_DEFAULT_PORTS = (80, 443)
_HEAD_BYTES = 65_536
_CONNECT_S = 30.0
_LONGEST_PATH = 100
"""A socket's path has at most 107 bytes."""
_REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
_AWAY = b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"


def variables() -> dict[str, str]:
    """What tells programs in the container to ask the relay."""
    there = f"http://127.0.0.1:{relay.PORT}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
    own = "localhost,127.0.0.1,::1"
    return {**dict.fromkeys(names, there), "NO_PROXY": own, "no_proxy": own, "NODE_USE_ENV_PROXY": "1"}


def allowed(host: str, port: int, listed: Sequence[str]) -> bool:
    """Whether ``host:port`` is on the list: by name, below ``*.name``, on the port named or on 80 and 443."""
    host = host.lower().rstrip(".")
    for entry in listed:
        name, colon, wanted = entry.partition(":")
        ports = (int(wanted),) if colon else _DEFAULT_PORTS
        fits = host.endswith(name[1:]) if name.startswith("*.") else host == name
        if fits and port in ports:
            return True
    return False


class Egress:
    """The proxy of one backend. ``folder`` is what containers mount; it is made anew when it is gone."""

    def __init__(self, folder: Path, hosts: Sequence[str]) -> None:
        self.folder = folder
        self._short: Path | None = None
        if len(os.fsencode(folder / layout.SOCKET)) > _LONGEST_PATH:
            self._short = self.folder = Path(tempfile.mkdtemp(prefix="sphynx-out-"))
        self._hosts = tuple(hosts)
        self._server: asyncio.Server | None = None
        self._starting = asyncio.Lock()

    async def start(self) -> None:
        """Listen; does nothing when it does already."""
        async with self._starting:
            if self._server is not None:
                return
            self.folder.mkdir(parents=True, exist_ok=True)
            self.folder.chmod(0o755)
            path = self.folder / layout.SOCKET
            path.unlink(missing_ok=True)
            self._server = await asyncio.start_unix_server(self._serve, str(path), limit=_HEAD_BYTES)
            # The relay asks as nobody; who may reach the folder is decided above it.
            path.chmod(0o666)

    async def aclose(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._short is not None:
            shutil.rmtree(self._short, ignore_errors=True)

    async def _serve(self, near_in: asyncio.StreamReader, near_out: asyncio.StreamWriter) -> None:
        try:
            await self._one(near_in, near_out)
        except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # a broken request or connection concerns nobody but the one who made it
        finally:
            near_out.close()
            with contextlib.suppress(OSError):
                await near_out.wait_closed()

    async def _one(self, near_in: asyncio.StreamReader, near_out: asyncio.StreamWriter) -> None:
        head = await near_in.readuntil(b"\r\n\r\n")
        method, target, version = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        tunnel = method.upper() == "CONNECT"
        parts = urlsplit(f"//{target}" if tunnel else target)
        host, port = parts.hostname or "", parts.port or (443 if tunnel else 80)
        if (not tunnel and parts.scheme != "http") or not allowed(host, port, self._hosts):
            near_out.write(_REFUSED + f"{host}:{port} is not among the allowed hosts\n".encode())
            await near_out.drain()
            return
        try:
            async with asyncio.timeout(_CONNECT_S):
                far_in, far_out = await asyncio.open_connection(host, port)
        except (OSError, TimeoutError) as error:
            near_out.write(_AWAY + f"{host}:{port} cannot be reached: {error}\n".encode())
            await near_out.drain()
            return
        if tunnel:
            near_out.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            far_out.write(_direct(head, f"{method} {path} {version}"))
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(_copy(near_in, far_out))
                both.create_task(_copy(far_in, near_out))
        except* OSError:
            pass
        finally:
            far_out.close()


def _direct(head: bytes, first: str) -> bytes:
    """A request as the host itself wants it. One request a connection, so that the next one is looked at."""
    lines = head.split(b"\r\n")[1:-2]
    dropped = (b"connection:", b"proxy-connection:", b"proxy-authorization:", b"keep-alive:")
    kept = [line for line in lines if not line.lower().startswith(dropped)]
    return b"\r\n".join([first.encode("latin-1"), *kept, b"Connection: close", b"", b""])


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(65_536):
        target.write(data)
        await target.drain()
    with contextlib.suppress(OSError):
        target.write_eof()
