"""Every rule of the contract beyond the shapes, with its status and something a person can act on.

``RULES`` says which test shows which rule; it is compared with the contract's own list.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from server.running import Running, running
from server.test_api import COMMAND, local, start
from sphynx.schema.operations import ERRORS
from sphynx.schema.wire import HttpApiDecodeError
from sphynx.server import quiet
from sphynx.server.api.dispatch import ALL
from sphynx.server.identifiers import now_ms
from sphynx.server.store.database import Database

STARTS, VARIABLES = (
    "test_a_start_that_breaks_a_rule_is_400_and_starts_nothing",
    ("test_variables_that_break_a_rule_are_400_and_none_is_stored"),
)
RULES: dict[str, tuple[int, tuple[str, ...]]] = {
    "reserved-name": (400, (STARTS, VARIABLES)),
    "repeated-name": (400, (VARIABLES,)),
    "personal-needs-user": (400, (VARIABLES,)),
    "server-only-variable": (400, (STARTS,)),
    "env-variables-clash": (400, (STARTS,)),
    "profile-file-count": (400, (STARTS, "test_what_is_just_within_the_limits_starts")),
    "profile-total": (400, (STARTS,)),
    "command-needs-run": (400, (STARTS,)),
    "local-sandbox": (400, ("test_the_local_sandbox_needs_the_servers_leave_or_ones_own_machine",)),
    "one-check": (400, (STARTS,)),
    "validator-count": (400, (STARTS,)),
    "manifest-unique": (400, (STARTS,)),
    "cache-path": (400, (STARTS,)),
    "choices-count": (400, (STARTS,)),
    "distinct-variants": (400, (STARTS,)),
    "trial-cap": (400, (STARTS, "test_what_is_just_within_the_limits_starts")),
    "busy": (409, ("test_a_fourth_batch_is_409_until_one_ends",)),
    "unset-variables": (400, (STARTS, "test_a_local_batch_needs_neither_keys_nor_variables_here")),
    "harness-key": (400, (STARTS, "test_a_local_batch_needs_neither_keys_nor_variables_here")),
    "idempotency": (
        409, ("test_an_idempotency_key_gives_the_first_batch_again_and_refuses_another_request",)
    ),
    "reserved-channel": (409, ("test_the_channel_latest_is_computed_and_cannot_be_promoted_to",)),
    "prompt-id-taken": (409, ("test_a_prompts_id_is_taken_once_per_organization",)),
}  # fmt: skip

CODEX = {"harness": "codex", "model": "m", "sandbox": "local"}
CODE = {"name": "n", "source": "export default 1"}
JUDGE = {
    "kind": "judge", "name": "j", "model": "m", "prompt": "p", "provider": "openai",
    "choices": {"yes": 1, "no": 0},
}  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, database_url: str | None) -> Iterator[Running]:
    data = tmp_path_factory.mktemp("rules")
    with running(data, allow_local_sandbox=True, database_url=database_url) as told:
        yield told


def command(**profile: Any) -> dict[str, Any]:
    return {**COMMAND, "profile": {"name": "mine", "files": {}, "run": "true", **profile}}


def of_case(**more: Any) -> dict[str, Any]:
    case = {"id": "one", "variables": {"task": "t"}, "verify": "true", **more}
    return start(cases=[{key: value for key, value in case.items() if value is not None}])


def judged(**more: Any) -> dict[str, Any]:
    return of_case(
        verify=None, validator={"kind": "judged", "name": "n", "checks": [], "judges": [JUDGE], **more}
    )


PERSON = {
    "id": "talks", "variables": {"task": "t"}, "verify": "true",
    "user": {"kind": "simulated", "goal": "g", "prompt": "p"},
}  # fmt: skip
MANY = {f"c{number}": number / 21 for number in range(21)}
TWICE = [{"index": 0, "name": "a"}, {"index": 0, "name": "b"}]
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("reserved-name", start(variants=[command(variables=["SPHYNX_X"])]), "reserved"),
    ("server-only-variable", start(variants=[command(variables=["E2B_API_KEY"])]), "never reaches a profile"),
    ("env-variables-clash", start(variants=[command(env={"A": "1"}, variables=["A"])]), "both env and"),
    ("profile-file-count", start(variants=[command(files={f"home/{n}": "" for n in range(257)})]), "256"),
    (
        "profile-total",
        start(variants=[command(files={f"home/{n}": "x" * 96_000 for n in range(21)})]),
        "2000000",
    ),
    ("command-needs-run", start(variants=[{**COMMAND, "profile": {"name": "p", "files": {}}}]), "run"),
    ("command-needs-run", start(variants=[{**CODEX, "profile": COMMAND["profile"]}]), "only works with"),
    ("one-check", of_case(validator=CODE), "two checks"),
    ("one-check", of_case(verify=None), "no check"),
    ("manifest-unique", of_case(verify=None, validator={**CODE, "manifest": TWICE}), "twice"),
    ("validator-count", judged(checks=[CODE] * 11 + [{**CODE, "manifest": [
        {"index": n, "name": "x"} for n in range(10)]}]), "at most 20"),
    ("choices-count", judged(judges=[{**JUDGE, "choices": {}}]), "choices"),
    ("choices-count", judged(judges=[{**JUDGE, "choices": MANY}]), "choices"),
    ("cache-path", of_case(cache={"key": "k", "path": "../x"}), "inside the workspace"),
    ("cache-path", of_case(cache={"key": "k", "path": "/abs"}), "inside the workspace"),
    ("cache-path", of_case(cache={"key": "k", "path": "./.sphynx/x"}), "inside the workspace"),
    ("cache-path", of_case(cache={"key": "k", "path": "."}), "inside the workspace"),
    ("distinct-variants", start(variants=[COMMAND, COMMAND]), "differ"),
    ("distinct-variants", start(variants=[COMMAND, {k: v for k, v in COMMAND.items() if k != "sandbox"}]),
     "differ"),
    ("trial-cap", start(cases=[{"id": f"c{n}", "variables": {"task": "t"}, "verify": "true"}
                               for n in range(11)], trials=10), "at most 100"),
    ("unset-variables", start(variants=[command(variables=["NOT_SET"])]), "sphynx env set NOT_SET"),
    ("harness-key", start(variants=[CODEX]), "OPENAI_API_KEY"),
    ("sandbox", start(variants=[{**COMMAND, "sandbox": "e2b"}]), "it has local"),
    ("python-only", of_case(verify=None, validator=CODE), "Python checks only"),
    ("judges", judged(checks=[CODE]), "Python checks only"),
    ("mocks", of_case(**{"x-sphynx": {"mocks": {"mcp": ["m"]}}}), "no program that brings them"),
    ("extras", of_case(**{"x-sphynx": {"robots": {}}}), "does not know robots"),
    ("extras", of_case(**{"x-sphynx": {"judges": {"j": {"votes": 2}}}}), "x-sphynx.judges.j.votes"),
    ("extras", start(variants=[{**COMMAND, "x-sphynx": {"options": 5}}]), "x-sphynx.options"),
    ("keys", start(cases=[PERSON], variants=[CODEX, command(variables=["MINE"])]),
     'not set: MINE (profile "mine"), OPENAI_API_KEY (harness codex), '
     'OPENAI_API_KEY (the person of case "talks"); sphynx env set MINE'),
    ("placeholder", of_case(variables={}), 'no value for "task"'),
    ("repeated-case", start(cases=[of_case()["cases"][0]] * 2), "2 times"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "body", "says"), REFUSED, ids=[f"{r}-{n}" for n, (r, *_) in enumerate(REFUSED)]
)
def test_a_start_that_breaks_a_rule_is_400_and_starts_nothing(
    server: Running, rule: str, body: dict[str, Any], says: str
) -> None:
    response = server.post("evals.batches.start", body)
    assert (response.status_code, says in response.json()["message"]) == (400, True), response.text
    assert server.post("evals.batches.list").json()["total"] == 0


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"variables": [{"name": "SPHYNX_X", "value": "v"}]}, "reserved"),
        ({"variables": [{"name": "A", "value": "v"}, {"name": "A", "value": "w"}]}, "2 times"),
        ({"scope": "personal", "variables": [{"name": "A", "value": "v"}]}, "personal"),
    ],
)
def test_variables_that_break_a_rule_are_400_and_none_is_stored(
    server: Running, body: dict[str, Any], says: str
) -> None:
    response = server.post("environment.set", body)
    assert (response.status_code, says in response.json()["message"]) == (400, True)
    assert server.post("environment.list").json()["variables"] == []
    assert server.post("environment.remove", {"name": "SPHYNX_X"}).status_code == 400


def test_the_local_sandbox_needs_the_servers_leave_or_ones_own_machine(tmp_path: Any) -> None:
    with running(tmp_path) as closed:
        response = closed.post("evals.batches.start", start())
        assert (response.status_code, "--allow-local-sandbox" in response.text) == (400, True)
        assert closed.post("runner.start", start()).status_code == 400
        assert closed.post("runner.start", local()).status_code == 200


def test_a_fourth_batch_is_409_until_one_ends(server: Running) -> None:
    key = server.new_org("busy")
    ids = [server.post("runner.start", local(), key=key).json()["id"] for _ in range(3)]
    assert server.post("runner.start", local(), key=key).status_code == 409
    assert server.post("evals.batches.start", start(), key=key).status_code == 409
    assert server.post("runner.start", local(), key=server.new_org("idle")).status_code == 200
    assert server.post("evals.batches.cancel", {"id": ids[0]}, key=key).json()["status"] == "failed"
    assert server.post("evals.batches.cancel", {"id": ids[0]}, key=key).status_code == 409
    assert server.post("runner.start", local(), key=key).status_code == 200


def test_an_idempotency_key_gives_the_first_batch_again_and_refuses_another_request(server: Running) -> None:
    key = server.new_org("again")
    header = {"headers": {"idempotency-key": "k" * 32}}
    first = server.post("runner.start", local(), key=key, **header).json()
    for _ in range(4):
        assert server.post("runner.start", local(), key=key, **header).json() == first
    assert server.post("runner.start", local(trials=2), key=key, **header).status_code == 409
    assert server.post("evals.batches.list", key=key).json()["total"] == 1


def test_values_are_replaced_with_a_new_revision_and_listed_by_name(server: Running) -> None:
    key = server.new_org("env")
    one = [{"name": "B_URL", "value": "http://x", "secret": False}, {"name": "A_KEY", "value": "s" * 30}]
    first = server.post("environment.set", {"variables": one}, key=key).json()
    again = [{"name": "NEW", "value": "n"}, {"name": "A_KEY", "value": "t" * 30}]
    second = server.post("environment.set", {"variables": again}, key=key).json()
    assert [one["name"] for one in second] == ["A_KEY", "NEW"]
    assert (second[0]["id"], second[0]["revision"]) == (first[1]["id"], 2)
    listed = server.post("environment.list", key=key).json()["variables"]
    assert [(one["name"], one["preview"]) for one in listed] == [
        ("A_KEY", "••••tttt"), ("B_URL", "http://x"), ("NEW", "••••••••"),
    ]  # fmt: skip
    assert server.post("environment.remove", {"name": "NEW"}, key=key).status_code == 204
    assert server.post("environment.remove", {"name": "NEW"}, key=key).status_code == 404


def test_leases_give_keys_and_variables_to_an_open_local_batch_only(server: Running) -> None:
    key = server.new_org("lease")
    values = [{"name": "OPENAI_API_KEY", "value": "sk-1"}, {"name": "MINE", "value": "m"}]
    server.post("environment.set", {"variables": values}, key=key)
    batch = server.post("runner.start", local(), key=key).json()
    asked = {"id": batch["id"], "harness": "codex"}
    lease = server.post("runner.lease", asked, key=key).json()
    assert (lease["authMethodId"], lease["values"]) == ("api-key", {"apiKey": "sk-1"})
    assert server.post("runner.lease", {**asked, "harness": "claude"}, key=key).status_code == 404
    assert server.post("runner.lease", {**asked, "harness": "command"}, key=key).json()["values"] == {}
    names = {"id": batch["id"], "names": ["MINE"]}
    assert server.post("runner.leaseVariables", names, key=key).json()["values"] == {"MINE": "m"}
    missing = server.post("runner.leaseVariables", {**names, "names": ["MINE", "GONE"]}, key=key)
    assert (missing.status_code, "GONE" in missing.text, '"m"' in missing.text) == (400, True, False)
    server.post("runner.finish", {"id": batch["id"]}, key=key)
    assert server.post("runner.lease", asked, key=key).status_code == 409


def test_a_report_is_redacted_with_what_the_organization_stores(server: Running) -> None:
    key = server.new_org("redact")
    secret = "sk-very-secret-value-123456"
    server.post("environment.set", {"variables": [{"name": "A_KEY", "value": secret}]}, key=key)
    batch = server.post("runner.start", local(), key=key).json()
    event = {"_tag": "Command", "command": "env", "exitCode": 0, "output": f"A_KEY={secret}"}
    report = {
        "events": [event],
        "ordinal": 1,
        "runId": batch["runs"][0]["id"],
        "failure": f"died of {secret}",
    }
    assert server.post("runner.report", report, key=key).status_code == 204
    text = server.post("evals.batches.get", {"id": batch["id"]}, key=key).text
    assert secret not in text
    assert "died of" in text


def test_trials_that_were_never_reported_are_void_when_the_batch_is_finished(server: Running) -> None:
    key = server.new_org("unreported")
    batch = server.post("runner.start", local(trials=2), key=key).json()
    done = server.post("runner.finish", {"id": batch["id"]}, key=key).json()
    assert [trial["status"] for trial in done["runs"][0]["trials"]] == ["void", "void"]
    assert done["runs"][0]["trials"][0]["failure"] == "The trial was never reported"
    assert server.post("runner.finish", {"id": batch["id"]}, key=key).json()["status"] == "finished"
    assert server.post("runner.beat", {"id": batch["id"]}, key=key).status_code == 409


def test_a_machine_that_goes_quiet_fails_its_batch_after_ten_minutes(server: Running) -> None:
    import asyncio

    key = server.new_org("quiet")
    batch = server.post("runner.start", local(), key=key).json()

    async def sweep(minutes: float) -> int:
        database = Database(server.database_url)
        try:
            return await quiet.sweep(database, now_ms() + round(minutes * 60_000))
        finally:
            await database.aclose()

    asyncio.run(sweep(9))
    assert server.post("runner.beat", {"id": batch["id"]}, key=key).status_code == 204
    asyncio.run(sweep(11))
    beat = server.post("runner.beat", {"id": batch["id"]}, key=key)
    assert (beat.status_code, "quiet" in beat.json()["message"]) == (409, True)


def test_every_rule_of_the_contract_has_a_test_with_its_status() -> None:
    path = Path(__file__).parent.parent / "data" / "contract.yaml"
    given = yaml.safe_load(path.read_text("utf-8"))["extra_rules"]
    assert {rule["id"]: rule["status"] for rule in given} == {name: RULES[name][0] for name in RULES}
    shown = {rule for rule, _, _ in REFUSED}
    for name, (_, tests) in RULES.items():
        assert all(callable(globals().get(test)) for test in tests), name
        assert STARTS not in tests or name in shown, name


def documented(response: httpx.Response, name: str) -> dict[str, Any]:
    """A refusal whose body is one the operation documents for its status."""
    body = response.json()
    (kind,) = [one for one in ERRORS[ALL[name].errors][response.status_code] if one.__name__ == body["_tag"]]
    kind.model_validate(body, strict=True)
    assert set(body) == {"_tag", "message"} | ({"issues"} if kind is HttpApiDecodeError else set())
    assert body["message"]
    return body


def test_refusals_have_the_documented_bodies(server: Running) -> None:
    key = server.new_org("bodies")
    server.post("prompts.create", {"id": "p", "name": "n", "content": "c"}, key=key)
    asked: list[tuple[str, Any, int]] = [
        ("evals.batches.start", {}, 400),
        ("evals.batches.start", start(variants=[CODEX]), 400),
        ("environment.set", {"variables": [{"name": "SPHYNX_X", "value": "v"}]}, 400),
        ("environment.set", {"variables": []}, 400),
        ("environment.remove", {"name": "NONE"}, 404),
        ("evals.batches.get", {"id": "none"}, 404),
        ("evals.runs.get", {"id": "none"}, 404),
        ("evals.cases.get", {"id": "none"}, 404),
        ("evals.cases.run", {"id": "none"}, 404),
        ("evals.suites.get", {"id": "none"}, 404),
        ("prompts.get", {"id": "none"}, 404),
        ("prompts.create", {"id": "p", "name": "n", "content": "c"}, 409),
        ("prompts.promote", {"id": "p", "channel": "latest", "version": 1}, 409),
    ]
    for name, body, status in asked:
        response = server.post(name, body, key=key)
        assert response.status_code == status, (name, response.text)
        documented(response, name)
    for name in ALL:
        documented(server.post(name, {}, key="anp_wrong"), name)
        body = server.http.post(f"/v1/{name}", content=b"{", headers={"authorization": f"Bearer {key}"})
        assert documented(body, name)["issues"] == [
            {"_tag": "Type", "path": [], "message": "the body is not JSON"}
        ]


def test_what_is_just_within_the_limits_starts(server: Running) -> None:
    key = server.new_org("limits")
    files = {f"home/{number}": "" for number in range(256)}
    cases = [{"id": f"c{n}", "variables": {"task": "t"}, "verify": "true"} for n in range(10)]
    body = start(variants=[command(files=files)], cases=cases, trials=10)
    started = server.post("evals.batches.start", body, key=key)
    assert (started.status_code, len(started.json()["runs"])) == (200, 10), started.text


def test_a_local_batch_needs_neither_keys_nor_variables_here(server: Running) -> None:
    key = server.new_org("own-keys")
    body = local(variants=[CODEX, command(variables=["NOT_SET"])])
    assert server.post("runner.start", body, key=key).status_code == 200


def test_the_channel_latest_is_computed_and_cannot_be_promoted_to(server: Running) -> None:
    key = server.new_org("latest")
    server.post("prompts.create", {"id": "p", "name": "n", "content": "one"}, key=key)
    server.post("prompts.update", {"id": "p", "content": "two"}, key=key)
    response = server.post("prompts.promote", {"id": "p", "channel": "latest", "version": 1}, key=key)
    assert (response.status_code, response.json()["_tag"]) == (409, "Conflict")
    newest = server.post("prompts.get", {"id": "p", "channel": "latest"}, key=key).json()
    assert (newest["version"], newest["content"]) == (2, "two")


def test_a_prompts_id_is_taken_once_per_organization(server: Running) -> None:
    key, other = server.new_org("taken"), server.new_org("taken-b")
    body = {"id": "p", "name": "n", "content": "c"}
    assert server.post("prompts.create", body, key=key).status_code == 200
    again = server.post("prompts.create", body, key=key)
    assert (again.status_code, again.json()["_tag"]) == (409, "Conflict")
    assert server.post("prompts.create", body, key=other).status_code == 200


def test_bodies_are_limited_whether_or_not_they_say_their_length(tmp_path: Any) -> None:
    with running(tmp_path, max_body=20_000, max_report=10_000) as server:
        for name, limit in (("runner.report", 10_000), ("evals.batches.start", 20_000)):
            for extra, status in ((0, 400), (1, 413)):
                data = b"{" + b" " * (limit + extra - 2) + b"}"
                headers = {"authorization": f"Bearer {server.key}"}
                for content in (data, iter([data[:5_000], data[5_000:]])):
                    response = server.http.post(f"/v1/{name}", content=content, headers=headers)
                    assert response.status_code == status, (name, extra, response.text)
                    if status == 413:
                        assert response.json()["_tag"] == "PayloadTooLarge"
                        assert f"{limit:,}" in response.json()["message"]


def test_requests_are_limited_per_key(tmp_path: Any) -> None:
    with running(tmp_path, rate_limit=5) as server:
        other = server.new_org("acme")
        statuses = [server.post("auth.whoami").status_code for _ in range(7)]
        assert statuses == [200] * 5 + [429] * 2
        refused = server.post("evals.batches.list")
        assert (refused.status_code, refused.json()["_tag"]) == (429, "TooManyRequests")
        assert 0 < int(refused.headers["retry-after"]) <= 60
        assert server.post("auth.whoami", key=other).status_code == 200
        assert server.post("auth.whoami", key="anp_wrong").status_code == 401
