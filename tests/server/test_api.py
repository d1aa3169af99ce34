"""The HTTP interface over a real store: answers of the documented form, refusals with their status."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter

from server.running import Running, running
from sphynx.errors import SphynxError
from sphynx.server.api.dispatch import ALL
from sphynx.server.encoded import Encoded

COMMAND = {
    "harness": "command", "model": "m", "sandbox": "local",
    "profile": {"name": "mine", "files": {}, "run": "echo hi"},
}  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, database_url: str | None) -> Iterator[Running]:
    data = tmp_path_factory.mktemp("server")
    with running(data, allow_local_sandbox=True, database_url=database_url) as told:
        yield told


def start(**more: Any) -> dict[str, Any]:
    return {
        "suite": {"id": "smoke", "prompt": "{{task}}", "name": "Smoke"},
        "cases": [{"id": "one", "variables": {"task": "t"}, "verify": "true", "tags": ["a", "b"]}],
        "variants": [COMMAND],
        "trials": 1,
        **more,
    }


def local(**more: Any) -> dict[str, Any]:
    return start(local=True, checksIn=True, trigger={"source": "cli"}, **more)


def fits(name: str, response: httpx.Response) -> Any:
    """The answer, which must be of the operation's form with no key the contract does not have."""
    assert response.status_code == ALL[name].status, response.text
    model: Any = ALL[name].response
    if model is None:
        return None
    value = TypeAdapter(model).validate_python(response.json(), strict=False)
    dumped = TypeAdapter(model).dump_python(value, mode="json", by_alias=True, exclude_unset=True)
    assert json.loads(json.dumps(dumped)) == response.json()
    return value


def finished(server: Running, key: str, request: dict[str, Any] | None = None) -> dict[str, Any]:
    """A local batch that was reported and closed."""
    started = server.post("runner.start", request or local(), key=key).json()
    for run in started["runs"]:
        report = {
            "events": [
                {"_tag": "Message", "role": "assistant", "text": "done", "at": 5.0},
                {"_tag": "Command", "command": "ls", "exitCode": 1, "output": "x", "at": 6},
                {"_tag": "FileChange", "paths": ["a.py"]},
            ],
            "ordinal": 1,
            "runId": run["id"],
            "usage": {
                "inputTokens": 5, "outputTokens": 7, "cacheReadTokens": 0, "cacheWriteTokens": 0,
                "totalTokens": 12,
            },
            "outcome": {
                "artifacts": [], "commandCount": 1, "exitCode": 0, "modelMs": 1, "sandboxMs": 2,
                "status": "passed", "verifySteps": [{"command": "true", "exitCode": 0}], "voidFields": [],
            },
        }  # fmt: skip
        assert server.post("runner.report", report, key=key).status_code == 204
        assert server.post("runner.report", report, key=key).status_code == 204
    fits("runner.finish", server.post("runner.finish", {"id": started["id"]}, key=key))
    return started


def test_every_read_has_the_documented_form(server: Running) -> None:
    key = server.new_org("forms")
    started = finished(server, key)
    run_id = started["runs"][0]["id"]
    batch = fits("evals.batches.get", server.post("evals.batches.get", {"id": started["id"]}, key=key))
    assert (batch.status, batch.local, batch.runs[0].distribution.passed) == ("finished", True, 1)
    trial = batch.runs[0].trials[0]
    assert [entry.tag for entry in trial.trajectory] == ["message", "command", "fileChange"]
    assert (trial.failed_commands, trial.files_changed) == (1, ["a.py"])
    bodies: dict[str, Any] = {
        "auth.whoami": {}, "environment.list": {}, "evals.batches.list": {"limit": 5},
        "evals.suites.list": {}, "evals.suites.get": {"id": "smoke"},
        "evals.cases.list": {"q": "ON", "sort": "name", "tag": "a"}, "evals.cases.get": {"id": "one"},
        "evals.runs.list": {"caseId": "one"}, "evals.runs.get": {"id": run_id},
        "evals.models.list": {"harness": "codex"}, "prompts.list": {},
    }  # fmt: skip
    answers = {name: fits(name, server.post(name, body, key=key)) for name, body in bodies.items()}
    assert answers["evals.batches.list"].total == 1
    assert answers["evals.cases.list"].cases[0].variants[0].distribution.scored == 1
    assert answers["evals.suites.get"].setup.prompt == "{{task}}"
    assert answers["evals.runs.list"].runs[0].id == run_id
    assert answers["evals.models.list"].total > 10
    assert answers["auth.whoami"].organization.slug == "forms"


def test_pages_of_batches_and_cases_hold_everything_once(server: Running) -> None:
    key = server.new_org("pages")
    for number in range(5):
        request = local()
        request["cases"][0]["id"] = f"case-{number}"
        finished(server, key, request)
    with server.client(key) as client:
        batches = list(client.evals.batches.iterate(limit=2))
        assert len({batch.id for batch in batches}) == len(batches) == 5
        assert batches == sorted(batches, key=lambda batch: (batch.started_at, batch.id), reverse=True)
        assert len(list(client.evals.cases.iterate(suite="smoke"))) == 5
        seen, cursor = [], None
        while True:
            page = client.evals.cases.list(sort="name", limit=2, cursor=cursor)
            seen += [case.id for case in page.cases]
            cursor = page.next
            if cursor is None:
                break
        assert seen == [f"case-{number}" for number in range(5)]


def test_a_changed_definition_is_a_new_version_that_says_what_changed(server: Running) -> None:
    key = server.new_org("versions")
    finished(server, key)
    changed = local(suite={"id": "smoke", "prompt": "please {{task}}"})
    changed["cases"][0]["verify"] = "false"
    finished(server, key, changed)
    finished(server, key, changed)
    detail = fits("evals.cases.get", server.post("evals.cases.get", {"id": "one"}, key=key))
    assert [version.changes for version in detail.versions] == [["prompt", "verifier"], []]
    assert detail.versions[0].author == "key of versions"
    assert detail.variants[0].runs == 3


def test_an_unknown_operation_and_method_are_errors_with_a_tag(server: Running) -> None:
    assert server.post("no.such.thing").json()["_tag"] == "NotFound"
    assert httpx.get(f"{server.url}/v1/auth.whoami").status_code == 405


@pytest.mark.parametrize("key", ["-", "anp_wrong", "sk-other", "anp_" + "x" * 500])
def test_a_wrong_key_is_401_and_says_how_to_send_one(server: Running, key: str) -> None:
    response = server.post("auth.whoami", key=key)
    assert (response.status_code, response.json()["_tag"]) == (401, "Unauthorized")
    assert response.headers["www-authenticate"].startswith("Bearer")


def test_writing_implies_reading(server: Running) -> None:
    key = server.new_org("writers", ["prompts:write"])
    assert server.post("prompts.list", key=key).status_code == 200


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({**start(), "trials": 11}, ["trials"]),
        ({**start(), "colour": "red"}, ["colour"]),
        (start(cases=[{"id": "Not An Id"}]), ["cases", 0, "id"]),
        (start(cases=[{"id": "a", "cache": {"key": ""}}]), ["cases", 0, "cache", "key"]),
        ([], []),
        ({**start(), "trials": 2**60}, ["trials"]),
        (start(suite={"id": "s", "prompt": "nul \0"}), ["suite", "prompt"]),
    ],
)  # fmt: skip
def test_a_body_of_the_wrong_form_names_the_field(server: Running, body: Any, path: list[Any]) -> None:
    response = server.post("evals.batches.start", body)
    assert response.status_code == 400
    answer = response.json()
    assert answer["_tag"] == "HttpApiDecodeError"
    assert answer["issues"][0]["path"] == path


@pytest.mark.parametrize("data", [b"", b"{", b"[" * 100_000, b'{"a": NaN}', b'"text"', b"\xff\xfe"])
def test_bytes_that_are_no_json_object_are_400(server: Running, data: bytes) -> None:
    headers = {"authorization": f"Bearer {server.key}"}
    for name in ("auth.whoami", "evals.batches.start"):
        response = server.http.post(f"/v1/{name}", content=data, headers=headers)
        assert response.status_code in (200, 400) if name == "auth.whoami" else response.status_code == 400


def test_a_body_beyond_the_limit_is_413(server: Running) -> None:
    report = {"events": [], "ordinal": 1, "runId": "r", "failure": "x" * 5_000_000}
    assert server.post("runner.report", report).status_code == 413


def test_prompts_have_versions_and_channels(server: Running) -> None:
    key = server.new_org("prompts")
    with server.client(key) as client:
        made = client.prompts.create("team/hello", name="Hello", content="one", config={"t": 1})
        assert (made.version, made.channel) == (1, "production")
        assert client.prompts.update("team/hello", content="two").version == 2
        assert client.prompts.get("team/hello").content == "one"
        assert client.prompts.get("team/hello", channel="latest").content == "two"
        assert client.prompts.get("team/hello", version=2, channel="production").content == "two"
        assert client.prompts.promote("team/hello", channel="production", version=2).ok
        shown = client.prompts.get("team/hello", include_versions=True)
        assert (shown.content, len(shown.versions or [])) == ("two", 2)
        listed = client.prompts.list().data[0]
        assert (listed.latest_version, listed.production_version) == (2, 2)
        refused = {
            404: lambda: client.prompts.get("nobody"),
            409: lambda: client.prompts.create("team/hello", name="Again", content="x"),
        }
        for status, call in refused.items():
            with pytest.raises(SphynxError) as caught:
                call()
            assert caught.value.status == status
        with pytest.raises(SphynxError) as caught:
            client.prompts.promote("team/hello", channel="latest", version=1)
        assert caught.value.status == 409


def test_the_openapi_document_has_every_operation_and_closed_references(server: Running) -> None:
    document = httpx.get(f"{server.url}/openapi.json").json()
    assert {path.removeprefix("/v1/") for path in document["paths"]} == set(ALL)
    text = json.dumps(document)
    named = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert named <= set(document["components"]["schemas"])


def test_it_says_what_it_is_and_that_it_is_well(server: Running) -> None:
    assert "x-sphynx" in httpx.get(server.url).json()["extensions"]
    assert httpx.get(f"{server.url}/healthz").json() == {"ok": True}
    assert httpx.get(f"{server.url}/readyz").json() == {"ok": True}
    assert 'sphynx_requests_total{operation="auth.whoami"' in httpx.get(f"{server.url}/metrics").text


def test_a_batch_that_is_as_it_was_is_not_sent_again(server: Running) -> None:
    key = server.new_org("etag")
    started = server.post("runner.start", local(trials=2), key=key).json()
    asked = {"id": started["id"]}
    first = server.post("evals.batches.get", asked, key=key)
    etag = first.headers["etag"]
    known = {"headers": {"if-none-match": etag}}
    same = server.post("evals.batches.get", asked, key=key, **known)
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", etag)
    assert server.post("evals.batches.get", asked, key=server.new_org("etag-b"), **known).status_code == 404
    report = {"events": [], "ordinal": 1, "runId": started["runs"][0]["id"], "failure": "f"}
    server.post("runner.report", report, key=key)
    changed = server.post("evals.batches.get", asked, key=key, **known)
    assert changed.status_code == 200
    assert [one["status"] for one in changed.json()["runs"][0]["trials"]] == ["void", "queued"]
    fits("evals.batches.get", changed)
    server.post("runner.finish", asked, key=key)
    known = {"headers": {"if-none-match": changed.headers["etag"]}}
    done = server.post("evals.batches.get", asked, key=key, **known)
    assert done.json()["status"] == "finished"


def test_the_encoded_batches_a_server_remembers_are_bounded() -> None:
    async def check() -> None:
        kept = Encoded(most_bytes=100)
        made: list[str] = []

        async def get(name: str, version: str = "1") -> bytes:
            async def make() -> tuple[str, bytes]:
                made.append(name)
                return version, name.encode() * 40

            return await kept.get(("org", name), version, make)

        await asyncio.gather(*[get("a") for _ in range(10)])
        assert made == ["a"]
        await get("b")
        await get("a", "2")
        assert made == ["a", "b", "a"]
        await get("c")
        await get("b")
        assert made == ["a", "b", "a", "c", "b"]

    asyncio.run(check())


@pytest.mark.parametrize(
    ("name", "body", "path"),
    [
        (
            "evals.batches.list",
            {"cursor": {"id": "b", "startedAtMillis": True}},
            ["cursor", "startedAtMillis"],
        ),
        ("runner.start", {**local(), "checksIn": 1}, ["checksIn"]),
        (
            "runner.report",
            {
                "events": [{"_tag": "Finished", "at": "5", "reason": "r"}],
                "ordinal": 1,
                "runId": "r",
                "failure": "f",
            },
            ["events", 0, "at"],
        ),
        ("runner.report", {"events": [], "ordinal": True, "runId": "r", "failure": "f"}, ["ordinal"]),
    ],
)
def test_nothing_in_a_body_is_converted(server: Running, name: str, body: Any, path: list[Any]) -> None:
    """Not in shapes that requests share with answers, where clients are lenient, either."""
    response = server.post(name, body)
    assert (response.status_code, response.json()["_tag"]) == (400, "HttpApiDecodeError")
    assert response.json()["issues"][0]["path"] == path
