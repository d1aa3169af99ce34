"""HTTP mocks: requests and answers, limits, what is recorded. Asked by real clients over real sockets."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sphynx.errors import DefinitionError
from sphynx.mocks.api import api, endpoint, with_api
from sphynx.mocks.api_calls import MOST_REQUESTS, ApiCalls, Budget
from sphynx.mocks.faults import delay, fail_once
from sphynx.mocks.handling import Runtime
from sphynx.mocks.http import ApiServer


@dataclass
class Item:
    id: str
    name: str


@dataclass
class Params:
    id: str


@dataclass
class ById:
    params: Params
    query: dict[str, Any] = field(default_factory=dict)


class Order(msgspec.Struct):
    item: str
    count: int


class Ordering(msgspec.Struct):
    body: Order
    headers: dict[str, str]


ANY: dict[str, Any] = {}
ITEM = {"status": 200, "body": {"id": "fixture", "name": "Test item"}}


def get_item(request: ById) -> dict[str, Any]:
    if request.params.id != "fixture":
        return {"status": 404, "body": {"message": "Item not found"}}
    return ITEM


def take_order(request: Ordering, ctx: Any) -> dict[str, Any]:
    ctx.log({"accessToken": "t0p", "count": request.body.count})
    ctx.state.setdefault("orders", []).append(request.body.item)
    return {
        "status": 201,
        "body": {"orders": ctx.state["orders"], "api_key": "k-123"},
        "headers": {"location": "/orders/1", "Content-Length": "7", "set-cookie": "sid=1"},
    }


async def echo(request: Any) -> dict[str, Any]:
    return {"status": 200, "body": request}


def hang(request: Any, ctx: Any) -> dict[str, Any]:
    ctx.signal.wait(30)
    return {"status": 204}


catalog = api(
    name="catalog",
    redact=["accessToken"],
    endpoints=[
        endpoint(method="GET", path="/items/:id", input_schema=ById, responses={200: Item, 404: ANY},
                 handler=get_item),
        endpoint(method="GET", path="/items/new", responses={204: None}, handler=lambda: {"status": 204}),
        endpoint(method="post", path="/orders", input_schema=Ordering, responses={201: ANY},
                 handler=take_order),
        endpoint(method="POST", path="/echo", responses={200: ANY}, handler=echo),
        endpoint(method="GET", path="/hang", responses={204: None}, handler=hang),
        endpoint(method="GET", path="/slow", responses={200: Item},
                 handler=delay(lambda request: ITEM, 0.05)),
        endpoint(method="GET", path="/flaky", responses={200: Item, 503: ANY},
                 handler=fail_once(lambda request: ITEM, times=2,
                                   response={"status": 503, "body": {"retry": True}})),
        endpoint(method="GET", path="/raises", responses={200: ANY}, handler=lambda: 1 / 0),
        endpoint(method="GET", path="/wrong", responses={200: Item},
                 handler=lambda: {"status": 200, "body": {"id": 7}}),
        endpoint(method="GET", path="/undeclared", responses={200: ANY}, handler=lambda: {"status": 500}),
        endpoint(method="GET", path="/unjson", responses={200: ANY},
                 handler=lambda: {"status": 200, "body": object()}),
        endpoint(method="GET", path="/bodyless", responses={204: None},
                 handler=lambda: {"status": 204, "body": {}}),
        endpoint(method="GET", path="/nothing", responses={200: ANY}, handler=lambda: None),
        endpoint(method="GET", path="/header", responses={200: ANY},
                 handler=lambda: {"status": 200, "body": 1, "headers": {"x": "a\r\nset-cookie: b"}}),
        endpoint(method="GET", path="/big", responses={200: ANY},
                 handler=lambda: {"status": 200, "body": "x" * 5_000_000}),
    ],
)  # fmt: skip


class Served:
    """The catalog on a port, with a short time limit for handlers."""

    def __init__(self, limit_s: float = 0.5) -> None:
        self.records: list[dict[str, Any]] = []
        self.broken: list[str] = []
        self.url = ""
        self._limit_s = limit_s
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> Served:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _serve(self) -> None:
        def report(record: dict[str, Any], broken: str | None) -> None:
            self.records.append(record)
            self.broken.extend([broken] if broken else [])

        calls = ApiCalls(catalog, Runtime({"orders": ["first"]}, limit_s=self._limit_s), Budget(), report)
        server = await ApiServer.listen(calls)
        self.url, self._loop, self._stop = server.url, asyncio.get_running_loop(), asyncio.Event()
        self._ready.set()
        await self._stop.wait()
        await server.close()

    def raw(self, data: bytes) -> bytes:
        """What the server sends back for these bytes until it closes."""
        with self.connected(data) as sock:
            found = b""
            while part := sock.recv(65_536):
                found += part
        return found

    def connected(self, data: bytes) -> socket.socket:
        """A connection over which these bytes were sent."""
        sock = socket.create_connection(("127.0.0.1", int(self.url.rpartition(":")[2])), timeout=10)
        sock.sendall(data)
        return sock


@pytest.fixture
def served() -> Iterator[Served]:
    with Served() as served:
        yield served


@pytest.fixture
def client(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url, trust_env=False, timeout=20) as client:
        yield client


def test_the_fixtures_are_without_problems() -> None:
    assert list(catalog.problems()) == []


def test_declared_answers_are_given_and_recorded(served: Served, client: httpx.Client) -> None:
    found = client.get("/items/fixture", params={"tag": ["a", "b"], "one": "1"})
    assert (found.status_code, found.json()) == (200, ITEM["body"])
    assert found.headers["content-type"] == "application/json"
    assert client.get("/items/none").status_code == 404
    first, second = served.records
    assert {key: first[key] for key in ("api", "index", "method", "path", "matched", "status", "error")} == {
        "api": "catalog", "index": 0, "method": "GET", "path": "/items/fixture", "matched": True,
        "status": 200, "error": None,
    }  # fmt: skip
    given = json.loads(first["input"]["text"])
    assert (given["params"], given["query"], given["body"]) == (
        {"id": "fixture"},
        {"tag": ["a", "b"], "one": "1"},
        None,
    )
    assert given["headers"]["host"].startswith("127.0.0.1")
    assert json.loads(first["output"]["text"])["body"] == ITEM["body"]
    assert first["output"]["format"] == "json" and first["output"]["state"] == "captured"
    assert (second["status"], second["error"], served.broken) == (404, None, [])
    assert second["durationMs"] >= 0 and second["startedAt"] > 1e12


def test_a_literal_path_is_meant_before_a_named_part(client: httpx.Client) -> None:
    """And 204 has no body and no length."""
    found = client.get("/items/new")
    assert (found.status_code, found.content) == (204, b"")
    assert "content-length" not in found.headers


def test_bodies_headers_state_and_logs(served: Served, client: httpx.Client) -> None:
    """Framing headers are the server's own; secrets by name are out before anything is recorded."""
    found = client.post(
        "/orders",
        json={"item": "a", "count": 2, "password": "hunter2"},
        headers={"authorization": "Bearer abc", "x-api-key": "abc", "cookie": "a=b"},
    )
    assert (found.status_code, found.headers["location"]) == (201, "/orders/1")
    assert found.json() == {"orders": ["first", "a"], "api_key": "k-123"}
    (record,) = served.records
    given, output = json.loads(record["input"]["text"]), json.loads(record["output"]["text"])
    for name in ("authorization", "x-api-key", "cookie"):
        assert given["headers"][name] == "[redacted]"
    assert given["body"] == {"item": "a", "count": 2, "password": "[redacted]"}
    assert (output["body"]["api_key"], output["headers"]["set-cookie"]) == ("[redacted]", "[redacted]")
    assert json.loads(record["logs"][0]["text"]) == {"accessToken": "[redacted]", "count": 2}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{no json", "the body is not JSON"),
        (b'{"item": "a"}', "catalog POST /orders: body: object missing required field count"),
        (b'{"item": "a", "count": "two"}', "catalog POST /orders: body.count: expected int, got str"),
        (b"", "catalog POST /orders: body: expected object, got null"),
    ],
)
def test_a_wrong_request_is_the_agents_own(
    served: Served, client: httpx.Client, content: bytes, said: str
) -> None:
    """It is told what is wrong and where, and the trial goes on."""
    found = client.post("/orders", content=content)
    assert (found.status_code, found.json()) == (400, {"error": said})
    assert (served.records[0]["error"], served.records[0]["matched"], served.broken) == (said, True, [])


def test_an_unknown_route_is_recorded_as_unmatched(served: Served, client: httpx.Client) -> None:
    found = client.delete("/items/fixture")
    assert (found.status_code, found.json()) == (404, {"error": "there is no DELETE /items/fixture here"})
    assert (served.records[0]["matched"], served.records[0]["error"], served.broken) == (False, None, [])


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/raises", "division by zero"),
        ("/wrong", "the body of 200 does not fit its schema: id: expected str, got int"),
        ("/undeclared", "the handler answered 500, declared are 200"),
        ("/unjson", "the body of 200 cannot be JSON: "),
        ("/bodyless", "the handler gave 204 a body, and none is declared"),
        ("/nothing", "the handler gave NoneType, not a dict with status and body"),
        ("/header", "the handler's header 'x' cannot be sent"),
    ],
)
def test_a_mock_at_fault_says_so_and_breaks_the_trial(
    served: Served, client: httpx.Client, path: str, said: str
) -> None:
    found = client.get(path)
    assert (found.status_code, found.json()) == (500, {"error": "the mock failed"})
    assert served.records[0]["error"].startswith(said)
    assert served.broken[0].startswith(f"catalog GET {path}: {said}")


def test_a_handler_that_hangs_is_given_up(served: Served, client: httpx.Client) -> None:
    """Others are answered meanwhile."""
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.get, "/hang")
        assert httpx.get(f"{served.url}/items/fixture", trust_env=False).status_code == 200
        assert waiting.result().status_code == 504
    assert served.broken == ["catalog GET /hang: the handler took longer than 0.5 s"]


def test_a_client_that_leaves_stops_its_handler() -> None:
    """The call is recorded all the same."""
    with Served(limit_s=30) as served:
        with pytest.raises(httpx.ReadTimeout):
            httpx.get(f"{served.url}/hang", trust_env=False, timeout=0.2)
        begun = time.monotonic()
        while not served.records:
            assert time.monotonic() - begun < 5
            time.sleep(0.01)
    assert (served.records[0]["status"], served.broken) == (499, [])
    assert served.records[0]["error"] == "the client left before its answer"


def test_deep_nesting_is_answered_too(served: Served, client: httpx.Client) -> None:
    """What cannot be looked through for secrets is not recorded."""
    for depth in (300, 700, 100_000):
        found = client.post("/echo", content=b"[" * depth + b"]" * depth)
        assert found.status_code in (200, 400, 500)
    assert len(served.records) == 3
    assert served.records[1]["input"]["text"] in ("", '"[redacted]"') or served.records[1]["status"] == 400


def test_large_answers_go_out_whole_and_are_recorded_cut(served: Served, client: httpx.Client) -> None:
    assert len(client.get("/big").json()) == 5_000_000
    output = served.records[0]["output"]
    assert (len(output["text"]), output["truncated"], served.broken) == (64_000, True, [])


@pytest.mark.parametrize("chunked", [False, True])
def test_bodies_up_to_one_mebibyte_are_taken(served: Served, client: httpx.Client, chunked: bool) -> None:
    def sent(size: int) -> httpx.Response:
        data = b'"' + b"x" * (size - 2) + b'"'
        return client.post("/echo", content=iter([data[:70_000], data[70_000:]]) if chunked else data)

    assert len(sent(1_048_576).json()["body"]) == 1_048_574
    try:
        refused = sent(1_048_577)
    except httpx.WriteError:
        pass  # the connection was closed while the client still wrote
    else:
        assert refused.status_code == 413
        assert refused.json() == {"error": "the body is larger than 1,048,576 bytes"}
    assert (served.records[-1]["status"], served.broken) == (413, [])


def test_the_request_after_the_last_is_refused_and_breaks_the_trial(
    served: Served, client: httpx.Client
) -> None:
    for _ in range(MOST_REQUESTS):
        assert client.get("/items/fixture").status_code == 200
    found = client.get("/items/fixture")
    assert found.status_code == 503
    assert "answer 256 requests" in found.json()["error"]
    assert len(served.broken) == 1


def test_fifty_requests_at_once_overlap() -> None:
    with (
        Served(limit_s=10) as served,
        httpx.Client(base_url=served.url, trust_env=False) as client,
        ThreadPoolExecutor(50) as pool,
    ):
        begun = time.monotonic()
        answers = list(pool.map(lambda n: client.get("/slow").status_code, range(50)))
        assert time.monotonic() - begun < 2.4
    assert answers == [200] * 50
    assert sorted(record["index"] for record in served.records) == list(range(50))


def test_an_agents_retries_can_be_tested(client: httpx.Client) -> None:
    assert [client.get("/flaky").status_code for _ in range(4)] == [503, 503, 200, 200]


def test_curl_can_talk_to_it(served: Served) -> None:
    """A large body makes curl ask first whether to send it."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    asked = subprocess.run(
        ["curl", "-sS", "--noproxy", "*", "--data-binary", "@-", "-H", "Expect: 100-continue",
         f"{served.url}/echo"],
        input=json.dumps("y" * 900_000), capture_output=True, text=True, check=True, timeout=20,
    )  # fmt: skip
    assert len(json.loads(asked.stdout)["body"]) == 900_000


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\ncontent-length: -1\r\n\r\n", b"400"),
        (b"POST /echo HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n", b"501"),
        (b"POST /echo HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nx: " + b"a" * 70_000, b"431"),
        (b"GET http://catalog.example/items/new HTTP/1.1\r\nconnection: close\r\n\r\n", b"204"),
        (b"GET /items/new HTTP/1.0\r\n\r\n", b"204"),
        (b"GET /items/new HTTP/1.1\r\n\r\nGET /items/new HTTP/1.1\r\nconnection: close\r\n\r\n", b"204"),
    ],
)
def test_odd_requests_get_an_answer(served: Served, sent: bytes, status: bytes) -> None:
    assert served.raw(sent).startswith(b"HTTP/1.1 " + status)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.binary(max_size=80), max_size=4))
def test_no_bytes_stop_the_server(parts: list[bytes]) -> None:
    """After any garbage the next client is answered."""
    with Served() as served:
        for part in parts:
            served.connected(part).close()
        assert httpx.get(f"{served.url}/items/fixture", trust_env=False).status_code == 200


def test_a_validators_own_server_lives_for_one_block() -> None:
    """Plain and async; its calls are its own; it is closed when the block fails, too."""
    with pytest.raises(RuntimeError), with_api(catalog, fixtures={"orders": []}) as server:
        assert httpx.get(f"{server.url}/items/fixture", trust_env=False).status_code == 200
        assert [call["path"] for call in server.calls()] == ["/items/fixture"]
        raise RuntimeError
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{server.url}/items/fixture", trust_env=False)

    async def inside() -> int:
        async with with_api(catalog) as own, httpx.AsyncClient(trust_env=False) as client:
            return (await client.get(f"{own.url}/items/new")).status_code

    assert asyncio.run(inside()) == 204


def test_a_wrong_api_is_told_before_it_is_served() -> None:
    with pytest.raises(DefinitionError, match=r'api\("A"\): name has a form that is not allowed'):
        with_api(api(name="A", endpoints=[]))
