"""The action's own steps, run by bash as a runner does: summary, outputs, check run, exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from client.stand_in import StandIn, stand_in
from client.test_client import BATCH, RUN
from server.whole import project

ROOT = Path(__file__).resolve().parent.parent.parent
WHOAMI = {
    "credential": {"kind": "apiKey", "name": None, "start": None},
    "organization": {"id": "o", "name": "Org", "slug": "org"}, "permissions": [],
}  # fmt: skip


def batch(status: str) -> dict[str, Any]:
    trial = {
        "artifacts": [], "commands": 0, "costs": None, "exitCode": 0, "failedCommands": 0, "failure": None,
        "filesChanged": [], "id": "t", "modelMs": 0, "ordinal": 1, "sandboxId": None, "sandboxMs": 0,
        "status": status, "timed": False, "trajectory": [], "usage": None, "validations": [],
        "verifySteps": [], "voidFields": [],
    }  # fmt: skip
    passed = int(status == "passed")
    spread = {**RUN["distribution"], "scored": 1, "passed": passed, "passRate": passed}
    one = {**RUN, "status": "finished", "trials": [trial], "distribution": spread,
           "case": {"id": "c", "name": "a|<b>"}}  # fmt: skip
    return {**BATCH, "status": "finished", "runs": [one]}


def run_action(told: StandIn, home: Path, **inputs: str) -> tuple[int, str, dict[str, str], str]:
    """Every ``run:`` step in order; exit code, stderr, outputs and the job summary."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    given = {name: one["default"] for name, one in action["inputs"].items()} | inputs
    (home / "event.json").write_text('{"pull_request": {"head": {"sha": "abc123"}}}')
    env = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(home),
        "SPHYNX_LOCAL_ROOT": str(home / "local"), "GITHUB_STEP_SUMMARY": str(home / "summary.md"),
        "GITHUB_OUTPUT": str(home / "output"), "GITHUB_ACTIONS": "true", "GITHUB_API_URL": told.url,
        "GITHUB_REPOSITORY": "acme/api", "GITHUB_RUN_ID": "7", "GITHUB_SHA": "merge",
        "GITHUB_EVENT_PATH": str(home / "event.json"), "RUNNER_TEMP": str(home),
    }  # fmt: skip
    code, err = 0, ""
    for step in action["runs"]["steps"]:
        own = {name: given[text[len("${{ inputs.") : -3]] for name, text in step["env"].items()}
        done = subprocess.run(
            ["bash", "-e", "-c", step["run"]], cwd=home, env={**env, **own}, capture_output=True, text=True
        )
        code, err = done.returncode, err + done.stderr
    outputs = dict(line.split("=", 1) for line in (home / "output").read_text().splitlines())
    summary = home / "summary.md"
    return code, err, outputs, summary.read_text() if summary.exists() else ""


@pytest.mark.parametrize(("status", "code"), [("passed", 0), ("failed", 2)])
def test_the_action_gates_and_tells(tmp_path: Path, status: str, code: int) -> None:
    home = project(tmp_path, "true")
    checks: list[Any] = []

    def answer(path: str, body: Any) -> tuple[int, Any]:
        if "check-runs" in path:
            checks.append(body)
            return 201, {}
        answers = {
            "auth.whoami": WHOAMI, "runner.start": {"id": "b", "runs": [
                {"caseId": "c", "id": "r", "variantId": "v"}]},
            "evals.batches.get": batch(status),
        }  # fmt: skip
        return 200, answers[path]

    with stand_in() as told:
        told.answer = answer
        inputs = {"api-key": "k", "base-url": told.url, "github-token": "t", "file": "smoke_eval.py",
                  "variant": "mine,\n command/m@mine "}  # fmt: skip
        got, err, outputs, summary = run_action(told, home, **inputs)
        started = next(body for path, _, body in told.asked if path.endswith("runner.start"))
    assert got == code, err
    assert outputs["batch-ids"] == "b"
    assert outputs["conclusion"] == ("success" if code == 0 else "failure")
    assert Path(outputs["report"]).is_file()
    assert started["trigger"]["url"] == "https://github.com/acme/api/actions/runs/7/attempts/1"
    assert summary.index("Started [smoke]") < summary.index("## Evals: the gate")
    assert "a\\|&lt;b&gt;" in summary
    assert (checks[0]["head_sha"], checks[0]["name"]) == ("abc123", "sphynx")
    assert checks[0]["conclusion"] == outputs["conclusion"]
    assert checks[0]["details_url"].endswith("/evals/b")


def posting(told: StandIn) -> list[Any]:
    """What the stand-in's check runs are given; it answers nothing else."""
    checks: list[Any] = []

    def answer(path: str, body: Any) -> tuple[int, Any]:
        assert path.endswith("/repos/acme/api/check-runs"), path
        checks.append(body)
        return 201, {}

    told.answer = answer
    return checks


@pytest.mark.parametrize(("agent", "code"), [("echo hello > hello.txt", 0), ("echo helo > hello.txt", 2)])
def test_without_a_server_the_action_runs_here_and_tells(tmp_path: Path, agent: str, code: int) -> None:
    """A local run needs no key; its grid and failing checks stand in the summary and in the check run."""
    home = project(tmp_path, agent)
    with stand_in() as told:
        checks = posting(told)
        got, err, outputs, summary = run_action(told, home, local="true", **{"github-token": "t"})
        assert {path for path, _, _ in told.asked} == {"/repos/acme/api/check-runs"}
    assert (got, outputs["conclusion"]) == (code, "success" if code == 0 else "failure"), err
    assert "| writes-hello | command/m@mine | " + ("✓ | 100% |" if code == 0 else "✗ | 0% |") in summary
    assert ("  - ✗ says_hello" in summary) is (code == 2)
    (check,) = checks
    assert (check["head_sha"], check["conclusion"]) == ("abc123", outputs["conclusion"])
    assert check["output"]["summary"] in summary
    (batch_id,) = outputs["batch-ids"].split(",")
    record = json.loads((home / ".sphynx" / "batches" / batch_id / "batch.json").read_text())
    assert record["trigger"]["url"] == "https://github.com/acme/api/actions/runs/7/attempts/1"


def test_the_action_runs_a_skill_s_folder(tmp_path: Path) -> None:
    """The skill's report stands in the job summary once, and in the check run."""
    skill = tmp_path / "tides"
    (skill / "evals").mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    (skill / "SKILL.md").write_text("---\nname: tides\ndescription: Reads tide tables.\n---\nRead it.\n")
    cases = {"skill_name": "tides", "evals": [{"id": 1, "prompt": "When is high tide?", "assertions": [
        {"text": "no ebb", "kind": "content_contains_none", "needles": ["ebb"]}]}]}  # fmt: skip
    (skill / "evals" / "evals.json").write_text(json.dumps(cases))
    with stand_in() as told:
        checks = posting(told)
        inputs = {"local": "true", "file": "./tides", "github-token": "t", "agent": "nop/none"}
        code, err, outputs, summary = run_action(told, tmp_path, **inputs)
    assert (code, outputs["conclusion"]) == (0, "success"), err
    assert summary.count("no ebb") == 1
    assert "no ebb" in checks[0]["output"]["summary"]


def test_a_check_run_that_cannot_be_posted_is_a_note(tmp_path: Path) -> None:
    home = project(tmp_path, "echo hello > hello.txt")
    with stand_in() as told:
        code, err, _, _ = run_action(told, home, local="true", **{"github-token": "t"})
    assert code == 0
    assert "the check run was not posted: GitHub answered 404" in err


def test_a_run_that_cannot_start_fails_the_job_with_empty_outputs(tmp_path: Path) -> None:
    home = project(tmp_path, "true")
    with stand_in() as told:
        code, err, outputs, _ = run_action(told, home, local="true", file="nothing_eval.py")
    assert (code, outputs["conclusion"], outputs["batch-ids"]) == (1, "failure", ""), err


def test_the_example_workflow_uses_what_the_action_has() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    workflow = yaml.safe_load((ROOT / "examples" / "workflows" / "evals.yml").read_text())
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    used = [step for step in steps if "sphynx@" in step.get("uses", "")]
    assert len(used) == 2
    for step in used:
        assert set(step["with"]) <= set(action["inputs"])
