"""An HTTP proxy on loopback that can be told to refuse, to answer itself, or to say nothing at all."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

import httpx

Rule = Callable[["Proxied"], int | None]


class Proxied:
    """One request: what was asked, for the how manieth time, and how it was answered."""

    def __init__(self, name: str, body: Any, number: int) -> None:
        self.name = name
        self.body = body
        self.number = number
        self.status = 0


class Proxy:
    """``rule`` may answer a request with a status of its own; a negative one after forwarding it."""

    def __init__(self, target: str, cut: Literal["dropped", "silent"]) -> None:
        self.target = target
        self.asked: list[Proxied] = []
        self.rule: Rule = lambda request: None
        self.url = ""
        self._manner = cut
        self._whole = threading.Event()
        self._whole.set()

    def cut(self) -> None:
        """From now on nothing gets through."""
        self._whole.clear()

    def mend(self) -> None:
        """All gets through again; what was held back meanwhile is lost."""
        self._whole.set()

    def named(self, name: str) -> list[Proxied]:
        return [one for one in list(self.asked) if one.name == name]

    def lost(self) -> bool:
        """Whether the network is cut; a silent one says so only when it is mended."""
        if self._whole.is_set():
            return False
        if self._manner == "silent":
            self._whole.wait(200)
        return True

    def answer(self, method: str, path: str, headers: dict[str, str], data: bytes) -> httpx.Response | int:
        name = path.removeprefix("/v1/")
        request = Proxied(name, json.loads(data or b"null"), len(self.named(name)) + 1)
        self.asked.append(request)
        status = self.rule(request)
        if status is not None and status > 0:
            request.status = status
            return status
        with httpx.Client() as http:
            response = http.request(method, self.target + path, headers=headers, content=data, timeout=30)
        request.status = abs(status or response.status_code)
        return response if status is None else -status


@contextmanager
def proxy(target: str, cut: Literal["dropped", "silent"] = "dropped") -> Iterator[Proxy]:
    """A proxy in front of a server, until the block ends."""
    told = Proxy(target, cut)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._forward()

        def do_POST(self) -> None:
            self._forward()

        def _forward(self) -> None:
            data = self.rfile.read(int(self.headers.get("content-length", "0")))
            dropped = ("host", "content-length", "connection", "accept-encoding")
            headers = {key: value for key, value in self.headers.items() if key.lower() not in dropped}
            answer = 0 if told.lost() else told.answer(self.command, self.path, headers, data)
            if answer == 0 or told.lost():
                self.close_connection = True
                self.connection.close()
                return
            if isinstance(answer, int):
                status, body = answer, json.dumps({"_tag": "Proxy", "message": f"proxy {answer}"}).encode()
            else:
                status, body = answer.status_code, answer.content
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            return

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            return

    server = Server(("127.0.0.1", 0), Handler)
    told.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield told
    finally:
        told.mend()
        server.shutdown()
        server.server_close()
        thread.join()
