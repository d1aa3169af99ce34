"""Stands for eve: the same routes, and as a program the same command line. What it does is a scenario.

A scenario is a dict: ``info`` (JSON of ``/eve/v1/info``; ``None`` answers 404), ``start`` (status of the
session's POST), ``session`` (its id), ``events`` (what the stream holds), ``before`` (events of earlier
turns), ``ends`` (the stream closes after the events instead of staying open), ``cut`` (it breaks inside a
chunk), ``plain`` (no chunks), ``prints`` (texts for stderr at start), ``exits`` (leave with this code at
once), ``ready_after`` (seconds of failing health checks), ``deaf`` (ignore SIGTERM), ``child`` (leave a
process that holds the output open).
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Scenario = dict[str, Any]
COMPLETED = [
    {"type": "message.completed", "data": {"finishReason": "stop", "message": "done"}},
    {"type": "session.waiting", "data": {"wait": "next-user-message"}},
]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def scenario(self) -> Scenario:
        return self.server.scenario  # type: ignore[attr-defined]

    def log_message(self, *_: object) -> None:
        pass

    def answer(self, status: int, value: object, **headers: str) -> None:
        body = value.encode() if isinstance(value, str) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name.replace("_", "-"), text)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.server.seen.append(("GET", self.path, None))  # type: ignore[attr-defined]
        if self.path == "/eve/v1/health":
            waiting = time.monotonic() < self.server.ready_at  # type: ignore[attr-defined]
            self.answer(500 if waiting else 200, {"ok": not waiting})
        elif self.path == "/eve/v1/info":
            info = self.scenario.get("info", {"agent": {"name": "a"}})
            self.answer(404 if info is None else 200, info)
        elif "follow=false" in self.path:
            self.answer(200, "", x_eve_stream_tail_index=str(len(self.scenario.get("before", [])) - 1))
        else:
            self.stream(int(self.path.rpartition("=")[2]))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append(("POST", self.path, body))  # type: ignore[attr-defined]
        status = self.scenario.get("start", 202)
        if status >= 300:
            self.answer(status, "\nno model\nmore")
        else:
            self.answer(status, {"ok": True, "sessionId": self.scenario.get("session", "wrun_1")})

    def stream(self, start: int) -> None:
        """Bytes in pieces that cut lines and characters; it stays open unless told otherwise."""
        events = [*self.scenario.get("before", []), *self.scenario.get("events", COMPLETED)]
        lines = [json.dumps(event, ensure_ascii=False) for event in events[start:]]
        raw = ("\n" + "\n".join(lines) + ("" if self.scenario.get("ends") else "\n")).encode()
        self.send_response(200)
        self.send_header("content-type", "application/x-ndjson")
        if self.scenario.get("plain"):
            self.send_header("connection", "close")
            self.end_headers()
            self.wfile.write(raw)
            self.close_connection = True
            return
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        step = max(7, len(raw) // 50)
        for place in range(0, len(raw), step):
            piece = raw[place : place + step]
            self.wfile.write(f"{len(piece):x};note=1\r\n".encode() + piece + b"\r\n")
        if self.scenario.get("cut"):
            self.wfile.write(b"ff\r\n{")
        elif self.scenario.get("ends"):
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.wfile.flush()
            self.server.hung_up.wait(20)  # type: ignore[attr-defined]
        self.close_connection = True


class StandIn(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, scenario: Scenario, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.scenario = scenario
        self.seen: list[tuple[str, str, Any]] = []
        self.hung_up = threading.Event()
        self.ready_at = time.monotonic() + scenario.get("ready_after", 0)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def serving(**scenario: Any) -> Iterator[StandIn]:
    """The stand-in as a server of this process."""
    with StandIn(scenario) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.hung_up.set()
            server.shutdown()


def install(folder: Path, **scenario: Any) -> Path:
    """Put the stand-in where ``npm install`` would have put eve."""
    program = folder / "node_modules" / ".bin" / "eve"
    program.parent.mkdir(parents=True, exist_ok=True)
    here = Path(__file__).resolve()
    program.write_text(
        f"#!{sys.executable}\nimport runpy\nrunpy.run_path({str(here)!r}, run_name='__main__')\n"
    )
    program.chmod(0o755)
    (folder / "scenario.json").write_text(json.dumps(scenario))
    return folder


def main() -> None:
    scenario = json.loads(Path("scenario.json").read_text())
    Path("argv.json").write_text(json.dumps(sys.argv[1:]))
    if scenario.get("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if scenario.get("child"):
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(6)"])
    for text in scenario.get("prints", []):
        sys.stderr.write(text)
        sys.stderr.flush()
    if "exits" in scenario:
        sys.exit(scenario["exits"])
    StandIn(scenario, int(sys.argv[sys.argv.index("--port") + 1])).serve_forever()


if __name__ == "__main__":
    main()
