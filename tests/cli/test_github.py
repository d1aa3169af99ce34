"""The action's own steps, run by bash as a runner does: summary, outputs, check run, exit code."""

from __future__ import annotations

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


def test_without_a_server_the_action_runs_here(tmp_path: Path) -> None:
    home = project(tmp_path, "echo hello > hello.txt")
    with stand_in() as told:
        code, err, outputs, _ = run_action(told, home, local="true")
        assert told.asked == []
    assert (code, outputs["conclusion"]) == (0, "success"), err
