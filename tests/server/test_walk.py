"""Every operation of the table, those of later extensions too, walked with keys that must not get anywhere.

Bodies are made from each operation's own schema with the names and ids of another organization put wherever a
text may stand, so an operation that is added is walked without a word here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from pydantic import TypeAdapter

from server.running import Running, revoke_keys, running
from server.test_api import finished, local
from sphynx.server.api.dispatch import ALL
from sphynx.server.store.accounts import PERMISSIONS
from sphynx.server.store.database import sync_engine
from sphynx.server.store.tables import METADATA, ORGS

MARK = "alpha-only"
"""Stands in everything the first organization has, and in nothing that is sent with another's key."""
SAYS_NOTHING = {"auth.whoami", "evals.models.list"}


@dataclass
class Walked:
    """A server with two organizations: what the first has, and the second's key."""

    server: Running
    http: httpx.Client
    mine: str
    theirs: str
    words: list[str] = field(default_factory=list[str])

    def ask(self, name: str, body: Any, key: str) -> httpx.Response:
        headers = {"authorization": f"Bearer {key}", "idempotency-key": "used-by-the-first"}
        return self.http.post(f"/v1/{name}", json=body, headers=headers)

    def rows(self) -> dict[str, list[str]]:
        """Everything stored for the first organization."""
        engine = sync_engine(self.server.database_url, poolclass=sa.NullPool)
        with engine.connect() as connection:
            org = connection.execute(sa.select(ORGS.c.id).where(ORGS.c.slug == "walk-a")).scalar_one()
            return {
                table.name: sorted(
                    map(repr, connection.execute(sa.select(table).where(table.c.org_id == org)).all())
                )
                for table in METADATA.sorted_tables
                if "org_id" in table.c
            }


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory, database_url: str | None) -> Iterator[Walked]:
    data = tmp_path_factory.mktemp("walk")
    with (
        running(data, allow_local_sandbox=True, rate_limit=10**9, database_url=database_url) as server,
        httpx.Client(base_url=server.url, timeout=30) as http,
    ):
        walked = Walked(server, http, server.new_org("walk-a"), server.new_org("walk-b"))
        request = local(suite={"id": "suite-a", "name": MARK, "prompt": f"{MARK} {{{{task}}}}"})
        request["cases"][0] |= {"id": "case-a", "name": MARK, "tags": [MARK]}
        done = finished(server, walked.mine, request)
        started = walked.ask("runner.start", request, walked.mine).json()
        report = {"events": [], "ordinal": 1, "runId": started["runs"][0]["id"], "failure": MARK}
        walked.ask("runner.report", report, walked.mine)
        variable = [{"name": "ALPHA", "value": MARK, "secret": False}]
        walked.ask("environment.set", {"variables": variable}, walked.mine)
        prompt = {"id": "prompt-a", "name": MARK, "content": MARK}
        walked.ask("prompts.create", prompt, walked.mine)
        batch = walked.ask("evals.batches.get", {"id": started["id"]}, walked.mine).json()
        run = batch["runs"][0]
        walked.words += [
            done["id"], started["id"], run["id"], run["trials"][0]["id"], run["variant"]["id"],
            "case-a", "suite-a", "prompt-a", "ALPHA",
        ]  # fmt: skip
        yield walked


def sample(schema: Any, defs: dict[str, Any], word: str, *, whole: bool) -> Any:
    """A value of a JSON schema with ``word`` wherever it fits; ``whole`` fills in what may be left out."""
    if "$ref" in schema:
        schema = defs[schema["$ref"].rpartition("/")[2]]
    for key in ("anyOf", "oneOf"):
        if key in schema:
            arm = next(arm for arm in schema[key] if arm.get("type") != "null")
            return sample(arm, defs, word, whole=whole)
    if "const" in schema or "enum" in schema:
        return schema["const"] if "const" in schema else schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        wanted = set(schema.get("properties", {}) if whole else schema.get("required", ()))
        return {
            name: sample(inner, defs, word, whole=False)
            for name, inner in schema.get("properties", {}).items()
            if name in wanted and name != "x-sphynx"
        }
    if kind == "array":
        return [sample(schema["items"], defs, word, whole=False)]
    if kind == "string":
        pattern = schema.get("pattern")
        return word if pattern is None or re.fullmatch(pattern, word) else "A" if "A-Z" in pattern else "a"
    return {"integer": max(1, schema.get("minimum", 1)), "number": 0.5, "boolean": False}.get(kind)


def bodies(name: str, words: list[str]) -> Iterator[Any]:
    request = ALL[name].request
    schema: Any = TypeAdapter(request).json_schema(by_alias=True) if request is not None else {}
    for word in words:
        for whole in (False, True):
            yield sample({"type": "object", **schema}, schema.get("$defs", {}), word, whole=whole)


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_foreign_key_reads_and_changes_nothing(walked: Walked, name: str) -> None:
    before = walked.rows()
    for body in bodies(name, walked.words):
        response = walked.ask(name, body, walked.theirs)
        assert response.status_code < 500, (body, response.text)
        assert MARK not in response.text, (body, response.text)
    assert walked.rows() == before


def test_the_walk_would_have_found_something_to_read(walked: Walked) -> None:
    """With the first organization's own key the same bodies show what is its."""
    reads = {name for name in ALL if name.endswith((".get", ".list"))} - SAYS_NOTHING
    blind = {
        name
        for name in reads
        if not any(MARK in walked.ask(name, body, walked.mine).text for body in bodies(name, walked.words))
    }
    # Batches are listed by id and count, and statistics by id.
    assert blind <= {"evals.batches.list", "evals.statistics.get"}
    assert walked.words[0] in walked.ask("evals.batches.list", {}, walked.mine).text


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_key_without_the_permission_is_403_that_names_it_and_changes_nothing(
    walked: Walked, name: str
) -> None:
    permission = ALL[name].permission
    if permission is None:
        assert walked.ask(name, {}, walked.server.new_org("walk-a", ["evals:read"])).status_code == 200
        return
    implied = {permission, permission.replace(":read", ":write")}
    others = [one for one in PERMISSIONS if one not in implied and one != "platform:impersonate"]
    key = walked.server.new_org("walk-a", others)
    before = walked.rows()
    for body in [{}, *bodies(name, walked.words[:1])]:
        response = walked.ask(name, body, key)
        assert (response.status_code, response.json()["_tag"]) == (403, "Forbidden")
        assert permission in response.json()["message"]
    assert walked.rows() == before


def test_a_revoked_key_and_no_key_at_all_are_401_everywhere(walked: Walked) -> None:
    key = walked.server.new_org("walk-gone")
    revoke_keys(walked.server, "walk-gone")
    for name in ALL:
        for body in [{}, *bodies(name, walked.words[:1])]:
            response = walked.ask(name, body, key)
            assert (response.status_code, response.json()["_tag"]) == (401, "Unauthorized"), name
            assert response.headers["www-authenticate"].startswith("Bearer")
        assert walked.http.post(f"/v1/{name}", json={}).status_code == 401


def test_the_pages_of_a_foreign_organization_show_nothing(walked: Walked) -> None:
    with httpx.Client(base_url=walked.server.url) as browser:
        browser.post("/evals/x", data={"key": walked.theirs})
        for word in walked.words:
            assert MARK not in browser.get(f"/evals/{word}").text
        assert (
            MARK
            in httpx.Client(base_url=walked.server.url, follow_redirects=True)
            .post(f"/evals/{walked.words[0]}", data={"key": walked.mine})
            .text
        )
