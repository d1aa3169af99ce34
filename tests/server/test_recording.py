"""``sphynx eval --local`` with a key: the run happens here, the server has it all."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from client.stand_in import stand_in
from client.test_client import BATCH
from client.test_client import RUN as RUN_SHAPE
from server.running import Running, running
from server.whole import SPHYNX, clean_env, project

RUN = 'echo hello > hello.txt\necho "$MINE" > got.txt\n'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("recording")) as told:
        yield told


def local_eval(home: Path, url: str, key: str, *args: str) -> subprocess.CompletedProcess[str]:
    env = {**clean_env(home), "SPHYNX_API_KEY": key, "SPHYNX_BASE_URL": url}
    return subprocess.run(
        [SPHYNX, "eval", "--local", *args], cwd=home, env=env, capture_output=True, text=True, timeout=60
    )


def test_a_local_run_is_recorded_with_its_trials_and_leased_variables(
    server: Running, tmp_path: Path
) -> None:
    key = server.new_org("recorded")
    values = {"variables": [{"name": "MINE", "value": "leased-secret-value-1"}]}
    server.post("environment.set", values, key=key)
    home = project(tmp_path, RUN + "env | grep -q MINE=leased && echo ok\n", variables='["MINE"]')
    done = local_eval(home, server.url, key)
    assert done.returncode == 0, done.stderr
    assert "recorded for Org recorded" in done.stderr
    batch = server.post("evals.batches.list", key=key).json()["batches"][0]
    assert f"/evals/{batch['id']}" in done.stderr
    assert (batch["status"], batch["passed"], batch["scored"]) == ("finished", 2, 2)
    shown = server.post("evals.batches.get", {"id": batch["id"]}, key=key)
    assert "leased-secret" not in shown.text
    runs = shown.json()["runs"]
    assert shown.json()["local"] is True
    assert [run["variant"]["sandbox"] for run in runs] == ["local", "local"]
    trial = runs[0]["trials"][0]
    assert trial["validations"][0]["name"] == "says_hello"
    assert trial["trajectory"]
    assert trial["filesChanged"] or trial["commands"] >= 0


def test_a_variable_the_server_does_not_have_ends_the_run_with_the_batch_closed(
    server: Running, tmp_path: Path
) -> None:
    key = server.new_org("missing")
    home = project(tmp_path, RUN, variables='["NOT_THERE"]')
    done = local_eval(home, server.url, key)
    assert done.returncode == 1
    assert "NOT_THERE" in done.stderr
    assert server.post("evals.batches.list", key=key).json()["batches"][0]["status"] == "finished"


def test_a_server_that_closes_the_batch_ends_the_run_with_its_words(tmp_path: Path) -> None:
    home = project(tmp_path, RUN)
    with stand_in() as told:
        told.root = (200, {"extensions": ["x-sphynx"]})
        told.answer = lambda path, body: recorded(path, body, beat=(409, {"message": "it was cancelled"}))
        done = local_eval(home, told.url, "k")
    assert done.returncode == 1
    assert "it was cancelled" in done.stderr
    assert "/v1/runner.finish" not in told.paths()


def test_a_report_that_is_too_large_is_sent_without_its_events_then_without_evidence(tmp_path: Path) -> None:
    home = project(tmp_path, RUN)
    sizes: list[tuple[int, bool]] = []

    def report(body: Any) -> tuple[int, Any]:
        evidence = any(one["output"]["text"] for one in body["outcome"]["validations"])
        sizes.append((len(body["events"]), evidence))
        return (413, {"message": "too large"}) if len(sizes) < 3 else (204, None)

    with stand_in() as told:
        told.root = (200, {"extensions": ["x-sphynx"]})
        told.answer = lambda path, body: recorded(path, body, report=report)
        done = local_eval(home, told.url, "k", "--case", "writes-hello")
    assert done.returncode == 0, done.stderr
    assert sizes[0][0] > 0
    assert [events for events, _ in sizes[1:]] == [0, 0]
    assert not sizes[2][1]
    assert "without its events and evidence" in done.stderr


def test_a_broken_trial_goes_as_a_void_one_to_a_server_that_knows_no_broken_ones(tmp_path: Path) -> None:
    home = project(tmp_path, """echo '{"_tag":"Finished","reason":"failed: no model"}'\n""")
    sent: list[Any] = []

    def report(body: Any) -> tuple[int, Any]:
        sent.append(body)
        return (400, {"_tag": "DecodeError", "message": "outcome"}) if "failure" in body else (204, None)

    with stand_in() as told:
        told.root = (200, {"extensions": ["x-sphynx"]})
        told.answer = lambda path, body: recorded(path, body, report=report)
        done = local_eval(home, told.url, "k", "--case", "has-file")
    assert len(sent) == 2, done.stderr
    assert "no model" in sent[0]["failure"]
    assert sent[1]["outcome"] == {
        "artifacts": [], "commandCount": 0, "exitCode": -1, "modelMs": 0, "sandboxMs": 0, "status": "void",
        "validations": [], "verifySteps": [], "voidFields": [],
    }  # fmt: skip
    assert "was not recorded" not in done.stderr


def test_a_report_is_sent_again_when_the_gateway_fails(tmp_path: Path) -> None:
    home = project(tmp_path, RUN)
    seen: list[Any] = []

    def report(body: Any) -> tuple[int, Any] | None:
        seen.append(body["runId"])
        return None if len(seen) == 1 else (502, {}) if len(seen) == 2 else (204, None)

    with stand_in() as told:
        told.root = (200, {"extensions": ["x-sphynx"]})
        told.answer = lambda path, body: recorded(path, body, report=report)
        done = local_eval(home, told.url, "k", "--case", "has-file")
    assert (done.returncode, len(seen)) == (0, 3), done.stderr
    assert "trying again" in done.stderr


def recorded(path: str, body: Any, **more: Any) -> Any:
    """A server that records: the least a run needs. Its batch has both cases of the project."""
    own = more.get(path.removeprefix("runner."))
    if own is not None:
        return own(body) if callable(own) else own
    runs = [
        {
            **RUN_SHAPE, "id": f"run-{name}", "case": {"id": name, "name": name},
            "variant": {**RUN_SHAPE["variant"], "harness": "command", "model": "m", "profile": "mine"},
        }
        for name in ("writes-hello", "has-file")
    ]  # fmt: skip
    answers: dict[str, Any] = {
        "runner.start": (200, {"id": "b", "runs": []}),
        "evals.batches.get": (200, {**BATCH, "runs": runs}),
        "runner.finish": (200, {**BATCH, "runs": runs}),
        "runner.lease": (404, {"_tag": "NotFound", "message": "nothing"}),
        "auth.whoami": (
            200,
            {
                "credential": {"kind": "apiKey", "name": None, "start": None},
                "organization": {"id": "o", "name": "Org", "slug": "org"},
                "permissions": [],
            },
        ),
    }
    return answers.get(path, (204, None))
