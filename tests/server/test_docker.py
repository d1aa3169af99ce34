"""A whole server runs batches in containers, leaves none behind, and says what it cannot do."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dockerd import import_busybox
from server.test_whole_server import PERSON
from server.whole import Whole, project, until, whole

if TYPE_CHECKING:
    from dockerd import Daemon
    from sphynx.testing.scripted_model import ScriptedModel

pytestmark = pytest.mark.docker

EXAMPLES = Path(__file__).parents[2] / "examples"
NETWORK = ("--network", "none")
SECRET = "sk-do-not-show-3f9a8b7c6d5e4f"


def trials_of(server: Whole, home: Path, batch_id: str) -> list[dict[str, Any]]:
    got = json.loads(server.cli("batches", "get", batch_id, "--json", cwd=home).stdout)
    return [trial for run in got["runs"] for trial in run["trials"]]


def test_the_examples_run_in_containers(docker_daemon: Daemon, tmp_path: Path, model: ScriptedModel) -> None:
    """Cases, profiles, prepare, checks, mocks and a person of the examples, on the sandbox nobody named."""
    home = tmp_path / "project"
    shutil.copytree(EXAMPLES, home, ignore=shutil.ignore_patterns(".sphynx"))
    (home / "pyproject.toml").touch()
    model.script("/", PERSON, order="arrival")
    environ = {**docker_daemon.env, "SPHYNX_OPENAI_BASE_URL": f"{model.url}/v1"}
    # The machine's own network: mocks of the examples need packages, which are installed in the container.
    with whole(tmp_path / "data", "--network", "network:host", environ=environ) as server:
        assert server.cli("env", "set", "OPENAI_API_KEY", cwd=home, stdin=f"{SECRET}\n").returncode == 0
        done = server.cli("eval", "--variant", "command/scripted", "--output", "report.json", cwd=home)
        assert done.returncode == 0, done.stderr + done.stdout + server.log.read_text()
        for one in json.loads((home / "report.json").read_text()):
            trials = trials_of(server, home, one["batchId"])
            assert {trial["status"] for trial in trials} == {"passed"}
            assert all(len(trial["sandboxId"]) == 64 for trial in trials), "a container's id"
        assert docker_daemon.containers() == []
    assert server.process.returncode == 0


def test_a_batch_in_containers_keeps_its_secrets(docker_daemon: Daemon, tmp_path: Path) -> None:
    """Variables reach the agent, and neither an argument, the container's description nor the store."""
    run = 'test "$MY_TOKEN" && echo "$MY_TOKEN" > token.txt && sleep 3 && echo hello > hello.txt\n'
    home = project(tmp_path / "project", run, variables='["MY_TOKEN"]')
    with whole(tmp_path / "data", *NETWORK, environ=docker_daemon.env) as server:
        assert server.cli("env", "set", "MY_TOKEN", cwd=home, stdin=f"{SECRET}\n").returncode == 0
        started = server.cli("eval", "--no-wait", "--case", "writes-hello", "smoke_eval.py", cwd=home)
        assert started.returncode == 0, started.stderr
        until(docker_daemon.containers)
        said = docker_daemon.docker("inspect", *docker_daemon.containers()).stdout.decode()
        assert SECRET not in said
        processes = docker_daemon.docker(
            "top", docker_daemon.containers()[0], "-eo", "pid,args"
        ).stdout.decode()
        assert SECRET not in processes
        until(lambda: not docker_daemon.containers(), 40)
        batch_id = json.loads(server.cli("batches", "list", "--json", cwd=home).stdout)[0]["id"]
        until(lambda: [trial["status"] for trial in trials_of(server, home, batch_id)] == ["passed"])
        assert SECRET not in json.dumps(trials_of(server, home, batch_id))
    assert SECRET not in server.log.read_text()


def test_a_killed_worker_leaves_no_container(docker_daemon: Daemon, tmp_path: Path) -> None:
    """A trial whose worker was killed begins anew and passes; the janitor removes its first container."""
    home = project(tmp_path / "project", "sleep 4; echo hello > hello.txt\n", cases=2)
    with whole(tmp_path / "data", *NETWORK, environ=docker_daemon.env) as server:
        started = server.cli("eval", "--no-wait", "--json", cwd=home)
        assert started.returncode == 0, started.stderr
        until(lambda: len(docker_daemon.containers()) == 2)
        first = set(docker_daemon.containers())
        os.kill(server.worker_pid(), signal.SIGKILL)
        batch_id = json.loads(server.cli("batches", "list", "--json", cwd=home).stdout)[0]["id"]
        until(lambda: all(trial["status"] == "passed" for trial in trials_of(server, home, batch_id)), 60)
        until(lambda: not docker_daemon.containers(), 60)
        assert first
        attempts = {trial["x-sphynx"]["attempt"] for trial in trials_of(server, home, batch_id)}
        assert attempts == {2}


def test_cancelling_removes_containers(docker_daemon: Daemon, tmp_path: Path) -> None:
    """A cancelled batch has no container a few seconds later, and a stopped server none at all."""
    home = project(tmp_path / "project", "sleep 300\n", cases=2)
    with whole(tmp_path / "data", *NETWORK, environ=docker_daemon.env) as server:
        server.cli("eval", "--no-wait", cwd=home)
        until(lambda: len(docker_daemon.containers()) == 2)
        batch_id = json.loads(server.cli("batches", "list", "--json", cwd=home).stdout)[0]["id"]
        assert server.cli("batches", "cancel", batch_id, cwd=home).returncode == 0
        until(lambda: not docker_daemon.containers(), 15)
        server.cli("eval", "--no-wait", cwd=home)
        until(lambda: len(docker_daemon.containers()) == 2)
    until(lambda: not docker_daemon.containers(), 15)


def test_the_variants_own_image(docker_daemon: Daemon, tmp_path: Path) -> None:
    """``image`` of a variant is what its trials run in; one without Python makes them void and says so."""
    import_busybox(docker_daemon, "no-python")
    home = project(tmp_path / "project", "echo hello > hello.txt\n")
    text = (home / "smoke_eval.py").read_text()
    named = text.replace('model="m",', 'model="m", sandbox="docker", image="no-python",')
    (home / "smoke_eval.py").write_text(named)
    with whole(tmp_path / "data", *NETWORK, environ=docker_daemon.env) as server:
        done = server.cli("eval", "--json", cwd=home)
        assert done.returncode == 2, done.stderr
        assert "The image no-python has no python3" in done.stdout + done.stderr
        assert docker_daemon.containers() == []


def test_without_a_daemon_the_sandbox_is_refused(tmp_path: Path) -> None:
    """``docker`` is refused before anything starts, with what there is; the default is then local."""
    home = project(tmp_path / "project", "echo hello > hello.txt\n")
    plain = (home / "smoke_eval.py").read_text()
    (home / "smoke_eval.py").write_text(plain.replace('model="m",', 'model="m", sandbox="docker",'))
    with whole(tmp_path / "data") as server:
        done = server.cli("eval", cwd=home)
        assert done.returncode == 1
        assert "does not have the sandbox docker; it has local" in done.stderr
        (home / "smoke_eval.py").write_text(plain)
        assert server.cli("eval", cwd=home).returncode == 0
    with whole(tmp_path / "data", "--default-sandbox", "docker", key=server.key) as server:
        done = server.cli("eval", cwd=home)
        assert done.returncode == 1
        assert "does not have the sandbox docker; it has local" in done.stderr
    with sqlite3.connect(tmp_path / "data" / "sphynx.db") as database:
        assert database.execute("select count(*) from batches").fetchone() == (1,)
