"""The client: one protocol, two drivers, errors for people, nothing sent twice."""

from __future__ import annotations

import inspect
import itertools
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from client.stand_in import StandIn, stand_in
from server.test_walk import sample
from sphynx import AsyncSphynx, Sphynx, SphynxError
from sphynx.client import calls
from sphynx.client.drivers import SyncDriver
from sphynx.client.protocol import Server, exchange
from sphynx.errors import UsageError
from sphynx.schema.operations import OPERATIONS

RUN = {
    "batchId": "b", "case": {"id": "c", "name": "c"}, "costs": None, "definitionHash": "h",
    "distribution": {
        "commandMax": 0, "commandMedian": 0, "commandMin": 0, "deterministic": False, "failed": 0,
        "passRate": 0, "passed": 0, "scored": 0, "trials": 1, "voided": 0,
    },
    "finishedAt": None, "harnessVersion": "", "id": "r", "local": False, "profileVersion": None,
    "setup": {"prepare": None, "prompt": "", "source": {"kind": "empty"}, "validator": None, "verify": None},
    "startedAt": "2030-01-01T00:00:00.000Z", "status": "running", "suite": {"id": "s", "name": "s"},
    "trials": [], "trigger": None,
    "variant": {
        "harness": "codex", "id": "v", "model": "m", "profile": None, "sandbox": "e2b", "userModel": None,
    },
}  # fmt: skip
BATCH: dict[str, Any] = {
    "costs": None, "failure": None, "finishedAt": None, "id": "b", "local": False, "runs": [RUN],
    "startedAt": "2030-01-01T00:00:00.000Z", "status": "running", "trigger": None,
}  # fmt: skip
REQUEST: dict[str, Any] = {
    "cases": [{"id": "a", "verify": "true"}],
    "suite": {"id": "s", "prompt": "p"},
    "trials": 1,
    "variants": [{"harness": "codex", "model": "m"}],
}


@pytest.fixture
def server() -> Iterator[StandIn]:
    with stand_in() as told:
        yield told


def finished(**more: Any) -> dict[str, Any]:
    return {**BATCH, "status": "finished", "finishedAt": "2030-01-01T00:01:00.000Z", **more}


def public_methods(kind: type, seen: str = "") -> dict[str, list[str]]:
    """Every operation under its dotted name, with its parameters."""
    client = kind("k", "http://127.0.0.1:9")
    found: dict[str, list[str]] = {}

    def walk(thing: Any, path: str) -> None:
        for name in dir(thing):
            if name.startswith("_") or name in ("base_url", "close"):
                continue
            value = getattr(thing, name)
            if callable(value):
                found[f"{path}{name}"] = [str(p) for p in inspect.signature(value).parameters.values()]
            else:
                walk(value, f"{path}{name}.")

    walk(client, "")
    return found


def test_both_clients_offer_the_same_methods_with_the_same_parameters() -> None:
    assert public_methods(Sphynx) == public_methods(AsyncSphynx)


def test_every_operation_of_the_table_has_a_method() -> None:
    names = {name.replace("lease_variables", "leaseVariables") for name in public_methods(Sphynx)}
    wanted = {"whoami" if name == "auth.whoami" else name for name in OPERATIONS}
    assert wanted <= names
    extra = {name.rpartition(".")[2] for name in names - wanted}
    assert extra == {"iterate", "wait", "start_and_wait", "cancel", "link", "get"}


def test_an_answer_has_aware_times_and_keeps_what_it_does_not_know(server: StandIn) -> None:
    server.answer = lambda path, body: (200, finished(colour="red"))
    with Sphynx("k", server.url) as client:
        batch = client.evals.batches.get("b")
    assert batch.started_at == datetime(2030, 1, 1, tzinfo=UTC)
    assert batch.wire()["colour"] == "red"
    assert batch.wire()["startedAt"] == "2030-01-01T00:00:00.000Z"
    assert server.asked[0][0] == "/"
    assert server.asked[1][1]["authorization"] == "Bearer k"


@pytest.mark.anyio
async def test_the_async_client_says_the_same_on_the_wire(server: StandIn) -> None:
    pages = {None: {"batches": [], "next": {"id": "x", "startedAtMillis": 1}, "total": 0}}
    server.answer = lambda path, body: (
        200,
        pages[None] if "cursor" not in body else {"batches": [], "next": None, "total": 0},
    )
    async with AsyncSphynx("k", server.url) as client:
        assert [item async for item in client.evals.batches.iterate(limit=5)] == []
    assert [body for path, _, body in server.asked if path != "/"] == [
        {"limit": 5},
        {"limit": 5, "cursor": {"id": "x", "startedAtMillis": 1}},
    ]


def test_runs_are_iterated_over_numbered_pages(server: StandIn) -> None:
    def page(path: str, body: Any) -> tuple[int, Any]:
        return 200, {"page": body.get("page", 1), "pageSize": 1, "runs": [RUN], "total": 3}

    server.answer = page
    with Sphynx("k", server.url) as client:
        assert len(list(client.evals.runs.iterate("c"))) == 3


def test_a_wrong_field_fails_before_anything_is_sent(server: StandIn) -> None:
    with Sphynx("k", server.url) as client, pytest.raises(UsageError) as caught:
        client.evals.cases.run("Not An Id", trials=0)
    assert {issue.partition(":")[0] for issue in caught.value.issues} == {"id", "trials"}
    assert server.asked == []


def test_a_missing_key_says_which_variable_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPHYNX_API_KEY", raising=False)
    with pytest.raises(UsageError, match="SPHYNX_API_KEY is not set"):
        Sphynx()


def test_nobody_at_the_address_is_said_with_the_address() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        with Sphynx("k", url) as client, pytest.raises(SphynxError) as caught:
            client.whoami()
    assert url in caught.value.message
    assert "SPHYNX_BASE_URL" in (caught.value.hint or "")


def test_a_refusal_carries_status_tag_message_and_fields(server: StandIn) -> None:
    issue = {"_tag": "Missing", "path": ["cases", 0, {"_tag": "symbol", "key": "k"}], "message": "is missing"}
    server.answer = lambda path, body: (
        400,
        {"_tag": "HttpApiDecodeError", "message": "no", "issues": [issue]},
    )
    with Sphynx("k", server.url) as client, pytest.raises(SphynxError) as caught:
        client.evals.batches.get("b")
    error = caught.value
    assert (error.status, error.tag, error.message) == (400, "HttpApiDecodeError", "cases.0.k: is missing")


def test_a_page_of_html_from_a_gateway_is_an_error_with_its_status(server: StandIn) -> None:
    server.answer = lambda path, body: (500, b"<html>oops</html>")
    with Sphynx("k", server.url) as client, pytest.raises(SphynxError) as caught:
        client.evals.batches.get("b")
    assert caught.value.status == 500


def test_a_read_is_asked_again_when_the_gateway_is_busy(server: StandIn) -> None:
    answers = iter([(503, {"message": "busy"}), None, (200, finished())])
    server.answer = lambda path, body: next(answers)
    with Sphynx("k", server.url) as client:
        assert client.evals.batches.get("b").status == "finished"


def test_a_change_is_never_sent_twice(server: StandIn) -> None:
    server.answer = lambda path, body: None
    with Sphynx("k", server.url) as client, pytest.raises(SphynxError, match="broke during"):
        client.evals.batches.start(REQUEST)
    assert server.paths() == ["/v1/evals.batches.start"]


def test_a_start_with_an_idempotency_key_is_repeated_with_the_same_key(server: StandIn) -> None:
    answers = iter([None, (200, {"id": "b", "runs": []})])
    server.answer = lambda path, body: next(answers)
    with Sphynx("k", server.url) as client:
        assert client.runner.start(REQUEST, idempotency_key="a" * 32).id == "b"
    assert {headers["idempotency-key"] for path, headers, _ in server.asked if path != "/"} == {"a" * 32}


def test_waiting_tells_of_progress_and_gives_the_batch(server: StandIn) -> None:
    answers = iter([(200, BATCH), (200, BATCH), (200, finished())])
    server.answer = lambda path, body: next(answers)
    seen: list[str] = []
    with Sphynx("k", server.url) as client:
        batch = client.evals.batches.wait(
            "b", poll_interval_ms=1, on_progress=lambda b: seen.append(b.status)
        )
    assert batch.status == "finished"
    assert seen == ["running", "finished"]


def test_a_wait_that_takes_too_long_names_the_batch_and_cancels_nothing(server: StandIn) -> None:
    server.answer = lambda path, body: (200, BATCH)
    with Sphynx("k", server.url) as client, pytest.raises(SphynxError, match="batch b was still running"):
        client.evals.batches.wait("b", poll_interval_ms=1, timeout_ms=30)
    assert set(server.paths()) == {"/v1/evals.batches.get"}


def test_a_signal_stops_waiting(server: StandIn) -> None:
    server.answer = lambda path, body: (200, BATCH)
    signal = threading.Event()
    with Sphynx("k", server.url) as client, pytest.raises(SphynxError, match="stopped waiting"):
        client.evals.batches.wait("b", signal=signal, on_progress=lambda batch: signal.set())


@pytest.mark.anyio
async def test_cancelling_an_async_wait_stops_it(server: StandIn) -> None:
    server.answer = lambda path, body: (200, BATCH)
    async with AsyncSphynx("k", server.url) as client:
        with anyio.move_on_after(0.2) as scope:
            await client.evals.batches.wait("b", poll_interval_ms=10)
    assert scope.cancelled_caught


def test_what_only_our_server_reads_is_refused_where_it_is_not_announced(server: StandIn) -> None:
    request = {**REQUEST, "cases": [{**REQUEST["cases"][0], "x-sphynx": {"solution": "true"}}]}
    server.answer = lambda path, body: (200, {"id": "b", "runs": []})
    with Sphynx("k", server.url) as client, pytest.raises(UsageError, match="does not know: solution"):
        client.evals.batches.start(request)
    assert server.paths() == []
    server.root = (200, {"extensions": ["x-sphynx"]})
    with Sphynx("k", server.url) as client:
        assert client.evals.batches.start(request).id == "b"


def example(schema: Any, defs: dict[str, Any], draw: Any) -> Any:
    """A value of a JSON schema as the wire models write it."""
    if "$ref" in schema:
        schema = defs[schema["$ref"].rpartition("/")[2]]
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return example(draw(st.sampled_from(schema[key])), defs, draw)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    kind = schema.get("type")
    if kind == "object":
        if "properties" not in schema:
            inner = schema.get("additionalProperties", True)
            keys = schema.get("propertyNames", {})
            keys = defs[keys["$ref"].rpartition("/")[2]] if "$ref" in keys else keys
            name = "A" if "A-Z" in keys.get("pattern", "") else "home/a"
            return {} if inner is True else {name: example(inner, defs, draw)}
        wanted = set(schema.get("required", ()))
        return {
            name: example(inner, defs, draw)
            for name, inner in schema["properties"].items()
            if name in wanted or (name != "x-sphynx" and draw(st.booleans()))
        }
    if kind == "array":
        return [example(schema["items"], defs, draw) for _ in range(max(1, schema.get("minItems", 0)))]
    if kind == "integer":
        return draw(st.integers(schema.get("minimum", 1), schema.get("maximum", 5_000)))
    if kind == "number":
        return draw(st.floats(0, 1))
    if kind == "boolean":
        return draw(st.booleans())
    if kind == "null":
        return None
    if schema.get("format") == "date-time":
        return "2030-01-01T00:00:00.000Z"
    if schema.get("pattern") == "^[a-f0-9]{64}$":
        return "0" * 64
    if "home|workspace" in schema.get("pattern", ""):
        return "home/a"
    return "A" if "A-Z" in schema.get("pattern", "") else "2030-01-01" if not schema.get("pattern") else "a"


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_each_operation_round_trips_generated_examples(name: str) -> None:
    """What a client sends a server of the contract reads, and what it answers the client reads."""
    operation = OPERATIONS[name]
    models = [("request", operation.request), ("response", operation.response)]

    @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def check(data: st.DataObject) -> None:
        for side, model in models:
            if model is None:
                continue
            adapter: TypeAdapter[Any] = TypeAdapter(model)
            schema = adapter.json_schema(by_alias=True)
            value = example(schema, schema.get("$defs", {}), data.draw)
            if side == "request":
                assert adapter.dump_python(
                    adapter.validate_python(calls.checked(name, value).body), exclude_unset=True,
                    by_alias=True, mode="json",
                ) == json.loads(json.dumps(value))  # fmt: skip
            else:
                again = calls.parse(operation, json.dumps(value).encode())
                dumped = adapter.dump_python(again, exclude_unset=True, by_alias=True, mode="json")
                assert adapter.validate_python(dumped) == again

    check()


def test_the_blocking_client_is_the_written_twin_of_the_async_one() -> None:
    script = Path(__file__).parent.parent.parent / "scripts" / "blocking_client.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


PAGES: dict[str, dict[str, Any]] = {
    "evals.batches.list": {"batches": [], "total": 3},
    "evals.suites.list": {"suites": []},
    "evals.cases.list": {"cases": [], "suites": [], "tags": []},
}


@pytest.mark.parametrize("name", sorted(PAGES))
@pytest.mark.anyio
async def test_iterators_walk_the_pages_until_there_is_none(server: StandIn, name: str) -> None:
    """By the cursor of each page, with both clients."""
    group = name.split(".")[1]

    def page(path: str, body: Any) -> tuple[int, Any]:
        number = body.get("cursor", {}).get("startedAtMillis", 0)
        following = {"id": "x", "startedAtMillis": number + 1, "later": 5} if number < 3 else None
        return 200, {**PAGES[name], "next": following}

    server.answer = page
    with Sphynx("k", server.url) as client:
        assert await anyio.to_thread.run_sync(lambda: list(getattr(client.evals, group).iterate())) == []
    async with AsyncSphynx("k", server.url) as client:
        assert [one async for one in getattr(client.evals, group).iterate()] == []
    asked = [body for path, _, body in server.asked if path != "/"]
    assert [body.get("cursor", {}).get("startedAtMillis") for body in asked] == [None, 1, 2, 3] * 2
    # A cursor goes back as it came, what is not known of it included.
    assert asked[1]["cursor"] == {"id": "x", "startedAtMillis": 1, "later": 5}


CHANGES = sorted(name for name, one in OPERATIONS.items() if not one.retry_safe)
READS = sorted(name for name, one in OPERATIONS.items() if one.retry_safe and one.request is None)


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("answer", [None, (502, {"message": "busy"}), (429, {"message": "busy"})])
def test_no_change_is_ever_sent_twice(server: StandIn, name: str, answer: Any) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(OPERATIONS[name].request)
    schema = adapter.json_schema(by_alias=True)
    broken = {"events": [], "ordinal": 1, "runId": "r", "failure": "f"}
    smallest = (
        broken if name == "runner.report" else sample(schema, schema.get("$defs", {}), "a", whole=False)
    )
    server.answer = lambda path, body: answer
    steps = exchange(Server(server.url, "k"), calls.checked(name, smallest))
    with httpx.Client(base_url=server.url) as http, pytest.raises(SphynxError):
        SyncDriver(Server(server.url, "k"), http).run(steps)
    assert server.paths() == [f"/v1/{name}"]


@pytest.mark.parametrize("name", READS)
def test_a_read_is_sent_at_most_three_times(server: StandIn, name: str) -> None:
    server.answer = lambda path, body: (503, {"message": "busy"})
    steps = exchange(Server(server.url, "k"), calls.checked(name, {}), (0.0, 0.0))
    with httpx.Client(base_url=server.url) as http, pytest.raises(SphynxError) as caught:
        SyncDriver(Server(server.url, "k"), http).run(steps)
    assert (caught.value.status, server.paths()) == (503, [f"/v1/{name}"] * 3)


def test_start_and_wait_starts_once_and_gives_the_finished_batch(server: StandIn) -> None:
    answers = iter([(200, {"id": "b", "runs": []}), (200, BATCH), (200, finished())])
    server.answer = lambda path, body: next(answers)
    with Sphynx("k", server.url) as client:
        assert client.evals.batches.start_and_wait(REQUEST, poll_interval_ms=1).status == "finished"
    assert server.paths() == ["/v1/evals.batches.start"] + ["/v1/evals.batches.get"] * 2


def test_polls_come_less_often_up_to_the_longest_interval(server: StandIn) -> None:
    at: list[float] = []

    def poll(path: str, body: Any) -> tuple[int, Any]:
        at.append(time.monotonic())
        return 200, finished() if len(at) == 9 else BATCH

    server.answer = poll
    with Sphynx("k", server.url) as client:
        client.evals.batches.wait("b", poll_interval_ms=40, max_interval_ms=80)
    gaps = [later - earlier for earlier, later in itertools.pairwise(at)]
    assert min(gaps) >= 0.04
    assert sum(gaps[-4:]) >= 4 * 0.08
    assert sum(gaps) < 9 * 0.08 + 2


@pytest.mark.anyio
async def test_an_async_progress_function_is_awaited_and_cancelling_sends_nothing(server: StandIn) -> None:
    server.answer = lambda path, body: (200, BATCH)
    seen: list[str] = []

    async def told(batch: Any) -> None:
        await anyio.sleep(0)
        seen.append(batch.id)

    async with AsyncSphynx("k", server.url) as client:
        with anyio.move_on_after(0.2) as scope:
            await client.evals.batches.wait("b", poll_interval_ms=10, on_progress=told)
    assert scope.cancelled_caught
    assert seen == ["b"]
    assert set(server.paths()) == {"/v1/evals.batches.get"}


@pytest.mark.parametrize("name", ["timeout_ms", "poll_interval_ms", "max_interval_ms"])
def test_an_interval_that_is_none_is_refused_before_any_call(server: StandIn, name: str) -> None:
    with Sphynx("k", server.url) as client, pytest.raises(UsageError, match=name):
        client.evals.batches.wait("b", **{name: 0})
    assert server.asked == []


def test_a_state_that_was_seen_is_not_asked_for_again(server: StandIn) -> None:
    """Only of a server that announces it."""
    server.root = (200, {"extensions": ["batches-etag"]})
    answers = iter([(200, BATCH), (304, None), (304, None), (200, finished())])
    server.answer = lambda path, body: next(answers)
    server.headers = {"etag": '"1"'}
    with Sphynx("k", server.url) as client:
        assert client.evals.batches.wait("b", poll_interval_ms=1).status == "finished"
    asked = [headers.get("if-none-match") for path, headers, _ in server.asked if path != "/"]
    assert asked == [None, '"1"', '"1"', '"1"']


@pytest.mark.server
def test_a_server_that_accepts_and_says_nothing_is_unreachable_within_five_seconds() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        begun = time.monotonic()
        with Sphynx("k", url) as client, pytest.raises(SphynxError) as caught:
            client.whoami()
        assert 4 < time.monotonic() - begun < 6.5
        assert f"cannot reach Sphynx at {url}" in caught.value.message


@pytest.mark.server
def test_a_read_that_takes_longer_than_thirty_seconds_says_slow(server: StandIn) -> None:
    gate = threading.Event()
    server.answer = lambda path, body: (gate.wait(60), (200, BATCH))[1]
    begun = time.monotonic()
    try:
        with Sphynx("k", server.url) as client, pytest.raises(SphynxError) as caught:
            client.evals.batches.get("b")
    finally:
        gate.set()
    assert 29 < time.monotonic() - begun < 45
    assert "did not answer evals.batches.get within 30 s" in caught.value.message
    assert "slow" in (caught.value.hint or "")
    assert server.paths() == ["/v1/evals.batches.get"]
