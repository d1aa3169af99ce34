"""Mocks beside bare servers of the same kind, in one run: HTTP against Starlette on uvicorn, MCP against the
official SDK's server, the start of a program against Python importing the schemas' library.

    python benchmarks/mocks.py [--quick]
    python benchmarks/mocks.py --quick --check    fail also when one doubled since the baseline
    python benchmarks/mocks.py --save             write mocks-baseline.json

Both sides get the same client and take turns; the best of five rounds counts, of
up to 15 while we are the slower side. Ratios are ours / theirs, so
smaller is better; the aim is at most 2, and the exit code is 1 above it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

AIM = 2.0
ROUNDS = 5
BASELINE = Path(__file__).parent / "mocks-baseline.json"
EVAL = """
import msgspec
from sphynx import case, suite, variant
from sphynx.mocks.api import api, endpoint
from sphynx.mocks.api_calls import Budget
from sphynx.mocks.cli import cli, command
from sphynx.mocks.mcp import server, tool

Budget.take = lambda self: 0  # a benchmark asks more often than a trial may

class Wanted(msgspec.Struct):
    id: str

class Request(msgspec.Struct):
    params: Wanted

class Item(msgspec.Struct):
    id: str
    name: str

async def by_request(request):
    return {"status": 200, "body": Item(request.params.id, "Test item")}

async def by_id(wanted):
    return Item(wanted.id, "Test item")

made = suite(
    id="made", prompt="p", cases=[case(id="one", validate=lambda ctx: True)],
    variants=[variant(harness="nop", model="m")],
    api=[api(name="catalog", endpoints=[endpoint(method="GET", path="/items/:id", input_schema=Request,
                                                 responses={200: Item}, handler=by_request)])],
    mcp=[server(name="catalog", tools=[tool(name="get", input_schema=Wanted, output_schema=Item,
                                            handler=by_id)])],
    cli=[cli(path="catalog", commands=[command(path=["get"], input_schema=Wanted, output_schema=Item,
                                               options={"id": {}}, handler=by_id)])],
)
"""
STARLETTE = """
import socket, sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

async def by_id(request):
    return JSONResponse({"id": request.path_params["id"], "name": "Test item"})

# With the protocol named asyncio turns Nagle's algorithm off, as for sockets it makes itself.
sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
sock.bind(("127.0.0.1", 0))
sock.listen(2048)
print(sock.getsockname()[1], flush=True)
app = Starlette(routes=[Route("/items/{id}", by_id)])
uvicorn.Server(uvicorn.Config(app, log_level="critical", access_log=False)).run([sock])
"""
SDK = """
from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel

class Item(BaseModel):
    id: str
    name: str

server = MCPServer("catalog")

@server.tool()
async def get(id: str) -> Item:
    return Item(id=id, name="Test item")

server.run("stdio")
"""


@contextmanager
def mocks(folder: Path) -> Iterator[tuple[Path, int]]:
    """A guest that serves the mocks, as a trial has it: its home and the port of its API."""
    home, tree = folder / "home", folder / "bundle/tree"
    for path in (home, tree):
        path.mkdir(parents=True)
    (tree / "made_eval.py").write_text(EVAL)
    described = {"format": 1, "entry": "made_eval.py", "module": "made_eval", "roots": ["."]}
    (folder / "bundle/bundle.json").write_text(
        json.dumps({**described, "requirements": [], "python": "3.11"})
    )
    place = {"workspace": str(folder), "home": str(home), "payload": {}}
    (folder / "request.json").write_text(json.dumps({"op": "mocks", "suite": 0, "case": "one", **place}))
    read, write = os.pipe()
    options = ["--bundle", str(folder / "bundle"), "--request", str(folder / "request.json")]
    argv = [sys.executable, "-P", "-m", "sphynx.guest", *options, "--result-fd", str(write)]
    with subprocess.Popen(argv, pass_fds=[write]) as process, open(read, "rb") as frames:
        os.close(write)
        try:
            ready = json.loads(frames.readline())
            if ready["t"] != "ready":
                raise SystemExit(f"error: {ready}")
            # Somebody must read the calls, as the host does.
            with subprocess.Popen(["cat"], stdin=frames, stdout=subprocess.DEVNULL) as reader:
                try:
                    yield home, int(ready["api"][0]["url"].rpartition(":")[2])
                finally:
                    reader.kill()
        finally:
            process.kill()


@contextmanager
def starlette() -> Iterator[int]:
    """The port of a Starlette application that answers the same."""
    with subprocess.Popen([sys.executable, "-c", STARLETTE], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


async def requests(port: int, each: int, connections: int) -> float:
    """Seconds that ``each`` requests on every one of ``connections`` take."""

    async def one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(each):
            writer.write(b"GET /items/fixture HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
            if await reader.readexactly(length) != b'{"id":"fixture","name":"Test item"}':
                raise SystemExit("error: another answer was expected")
        writer.close()

    begun = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(connections):
            group.create_task(one())
    return time.perf_counter() - begun


class McpClient:
    """An MCP client that waits for each answer, over a program's pipes."""

    def __init__(self, argv: list[str]) -> None:
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        info = {"name": "benchmark", "version": "1"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        self.ask("initialize", params)
        self._send({"method": "notifications/initialized"})

    def ask(self, method: str, params: Any) -> Any:
        assert self._process.stdout is not None
        self._send({"id": 1, "method": method, "params": params})
        answer = json.loads(self._process.stdout.readline())
        if "result" not in answer:
            raise SystemExit(f"error: {answer}")
        return answer["result"]

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()

    def calls(self, count: int) -> float:
        """Seconds that ``count`` calls of the tool take."""
        begun = time.perf_counter()
        for _ in range(count):
            found = self.ask("tools/call", {"name": "get", "arguments": {"id": "fixture"}})
            if found["structuredContent"] != {"id": "fixture", "name": "Test item"}:
                raise SystemExit(f"error: {found}")
        return time.perf_counter() - begun

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def starts(argv: list[str], count: int) -> float:
    """Seconds that ``count`` starts of a program take."""
    begun = time.perf_counter()
    for _ in range(count):
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def row(
    name: str, unit: str, count: int, ours: Callable[[], float], theirs: Callable[[], float], peer: str
) -> float:
    """Measure both in turns, print the best of each, and give their ratio."""
    best = [float("inf"), float("inf")]
    for done in range(3 * ROUNDS):
        # A busy machine gets more rounds; the best of each side counts all the same.
        if done >= ROUNDS and best[0] <= best[1]:
            break
        best = [min(best[0], ours()), min(best[1], theirs())]
    a, b = (1000 * seconds / count for seconds in best)
    rate = f", {1000 / a:,.0f}/s against {1000 / b:,.0f}/s" if unit == "request" else ""
    print(f"{name:34} {a:8.3f} ms   {peer:26} {b:8.3f} ms   ratio {a / b:.2f}{rate}", flush=True)
    return a / b


def measure(scale: int) -> dict[str, float]:
    """The ratio of every row."""
    met: dict[str, float] = {}
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="sphynx-mocks-")))
        home, port = held.enter_context(mocks(folder))
        other = held.enter_context(starlette())
        for connections in (1, 16):
            each = 40 * scale if connections == 1 else 10 * scale
            name = f"HTTP, {connections} connection{'s' if connections > 1 else ''}"
            met[name] = row(
                name, "request",
                each * connections,
                lambda each=each, n=connections: asyncio.run(requests(port, each, n)),
                lambda each=each, n=connections: asyncio.run(requests(other, each, n)),
                "Starlette on uvicorn",
            )  # fmt: skip
        ours = McpClient([str(home / ".sphynx/mocks/mcp/catalog")])
        theirs = McpClient([sys.executable, "-c", SDK])
        calls = 30 * scale
        met["MCP, one call"] = row(
            "MCP, one call", "call", calls, lambda: ours.calls(calls), lambda: theirs.calls(calls), "mcp SDK"
        )
        ours.close()
        theirs.close()
        program = [str(home / ".local/bin/catalog"), "get", "--id", "fixture"]
        for library in ("msgspec", "pydantic"):
            bare = [sys.executable, "-c", f"import {library}"]
            met[f"CLI, beside {library}"] = row(
                "CLI, one command", "start", 2 * scale, lambda: starts(program, 2 * scale),
                lambda bare=bare: starts(bare, 2 * scale), f'python -c "import {library}"',
            )  # fmt: skip
    return met


def report(found: dict[str, float], check: bool) -> int:
    """1 when a ratio is above the aim or, with ``check``, above 1 and twice what it was when it was saved."""
    saved = json.loads(BASELINE.read_text()) if check else {}
    worse = {name: ratio for name, ratio in found.items() if ratio > 1 and ratio > 2 * saved.get(name, ratio)}
    for name, ratio in found.items():
        if ratio > AIM:
            print(f"error: {name}: ratio {ratio:.2f}, at most {AIM:g}", file=sys.stderr)
        elif name in worse:
            print(f"error: {name}: ratio {ratio:.2f}, it was {saved[name]:g}", file=sys.stderr)
    bad = bool(worse) or any(ratio > AIM for ratio in found.values())
    print("aim missed" if bad else "aim met", flush=True)
    return int(bad)


def main() -> int:
    parser = argparse.ArgumentParser(description=textwrap.dedent(str(__doc__)))
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, for a first look")
    parser.add_argument("--check", action="store_true", help="compare with mocks-baseline.json")
    parser.add_argument("--save", action="store_true", help="write mocks-baseline.json")
    given = parser.parse_args()
    found = measure(1 if given.quick else 10)
    if given.save:
        rounded = {name: round(ratio, 2) for name, ratio in found.items()}
        BASELINE.write_text(json.dumps(rounded, indent=2) + "\n")
    return report(found, given.check)


if __name__ == "__main__":
    raise SystemExit(main())
