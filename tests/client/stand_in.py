"""A real HTTP server on loopback that answers what a test tells it to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Any]


class StandIn:
    """What was asked, in order, and how to answer it."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        self.answer: Callable[[str, Any], Answer | None] = lambda path, body: (404, {"message": "none"})
        self.root: Answer = (404, {})
        self.headers: dict[str, str] = {}
        self.url = ""

    def paths(self) -> list[str]:
        return [path for path, _, _ in self.asked if path != "/"]


@contextmanager
def stand_in() -> Iterator[StandIn]:
    told = StandIn()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            told.asked.append((self.path, dict(self.headers), None))
            self._say(told.root)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", "0"))))
            told.asked.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            self._say(told.answer(self.path.removeprefix("/v1/"), body))

        def _say(self, answer: Answer | None) -> None:
            if answer is None:
                self.close_connection = True
                self.connection.close()
                return
            status, body = answer
            data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            for name, value in told.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            return

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            return

    server = Server(("127.0.0.1", 0), Handler)
    told.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
