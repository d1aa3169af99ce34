"""A trial whose worker is lost while its checks run goes on with them elsewhere, in the same sandbox."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from server.stored import everything_stored
from server.test_docker import NETWORK, SECRET
from server.whole import Whole, until, whole
from server.witness import Witness
from sphynx.compiler import compile_eval

if TYPE_CHECKING:
    from dockerd import Daemon

pytestmark = pytest.mark.docker

EVAL = '''
import asyncio
from pathlib import Path
from sphynx import case, suite, variant

async def ran_once(ctx):
    """The agent worked in here once, and what it left lives on."""
    Path("checking.txt").write_text("yes")
    await asyncio.sleep(SECONDS)
    beat = await ctx.read_text("beat.txt")
    await asyncio.sleep(1)
    assert await ctx.read_text("beat.txt") != beat, "its daemon has ended"
    assert "I am done" in await ctx.transcript()
    assert (await ctx.turns())[0]["commandCount"] > 0
    return (await ctx.read_text("runs.txt")) == "ran\\n"

async def prepared(ctx):
    return {"token": "handed-from-prepare-0123"}

going = suite(
    id="going", prompt="Write it.",
    cases=[case(id="one", PREPARE validate=[ran_once])],
    variants=[variant(harness="command", model="m", profile={"name": "mine", "dir": "./mine"})],
)
'''
RUN = """echo ran >> runs.txt
(while sleep 0.2; do date +%s%N > beat.txt; done) > /dev/null 2>&1 &
sleep 1
echo '{"_tag":"Command","command":"date","exitCode":0,"output":"today"}'
echo '{"_tag":"Message","role":"assistant","text":"I am done"}'
echo '{"_tag":"Usage","inputTokens":100,"outputTokens":20}'
"""


def project(folder: Path, *, seconds: float = 4, prepare: bool = False, run: str = RUN) -> Path:
    (folder / "mine" / "workspace").mkdir(parents=True)
    (folder / "pyproject.toml").touch()
    text = EVAL.replace("SECONDS", str(seconds)).replace("PREPARE", "prepare=prepared," if prepare else "")
    (folder / "going_eval.py").write_text(text)
    (folder / "mine" / "profile.json").write_text('{"run": "sh run.sh", "variables": ["MY_TOKEN"]}')
    (folder / "mine" / "workspace" / "run.sh").write_text(run)
    return folder


def start(server: Whole, home: Path) -> str:
    assert server.cli("env", "set", "MY_TOKEN", cwd=home, stdin=f"{SECRET}\n").returncode == 0
    with server.client() as client:
        return client.evals.batches.start(compile_eval(home / "going_eval.py")[0]).id


def checking(daemon: Daemon) -> str:
    """The one container, once its trial's checks run."""

    def there() -> bool:
        return [daemon.docker("exec", one, "cat", "/trial/work/checking.txt", check=False).returncode
                for one in daemon.containers()] == [0]  # fmt: skip

    until(there, 60)
    (container,) = daemon.containers()
    return container


def ended(server: Whole, batch_id: str) -> dict[str, Any]:
    with server.client() as client:
        batch = client.evals.batches.wait(batch_id, timeout_ms=90_000).wire()
    ((trial,),) = (run["trials"] for run in batch["runs"])
    assert trial["status"] == "passed", (trial, server.log.read_text()[-3000:])
    return trial


def steady(trial: dict[str, Any]) -> dict[str, Any]:
    """What is the same of every trial of the project, interrupted or not."""
    varying = ("id", "sandboxId", "modelMs", "sandboxMs", "trajectory", "validations", "x-sphynx")
    told = [{key: value for key, value in one.items() if not key.endswith("Millis")}
            for one in trial["trajectory"]]  # fmt: skip
    verdicts = [(one["id"], one["status"], one["message"]) for one in trial["validations"]]
    kept = {key: value for key, value in trial.items() if key not in varying}
    kept["artifacts"] = [one["path"] for one in trial["artifacts"]]
    return {**kept, "told": told, "verdicts": verdicts}


def checkpoints(server: Whole) -> int:
    with sqlite3.connect(server.data / "sphynx.db") as database:
        return database.execute("select count(*) from checkpoints").fetchone()[0]


def test_a_trial_goes_on_with_its_checks(docker_daemon: Daemon, tmp_path: Path) -> None:
    """The worker is killed while the check runs: the agent is not asked again, and the result is the same as
    without that. With the container killed too, or a value of prepare, the trial begins anew and says why.
    """
    home = project(tmp_path / "project")
    with whole(tmp_path / "data", *NETWORK, environ=docker_daemon.env) as server:
        witness = Witness(f"sqlite:///{server.data}/sphynx.db")
        batch_id = start(server, home)
        container = checking(docker_daemon)
        assert checkpoints(server) == 1
        stored = everything_stored(server.data / "sphynx.db")
        assert any("I am done" in text for text in stored)
        assert not [text for text in stored if SECRET in text]
        os.kill(server.worker_pid(), signal.SIGKILL)
        trial = ended(server, batch_id)
        assert trial["sandboxId"] == container
        assert (trial["x-sphynx"]["attempt"], trial["x-sphynx"]["resumedFrom"]) == (2, "checks")
        assert "went on with the checks, in the same sandbox" in trial["x-sphynx"]["note"]
        assert trial["sandboxMs"] > 5_000 and 1_000 <= trial["modelMs"] < 30_000
        until(lambda: not docker_daemon.containers())
        assert checkpoints(server) == 0
        witness.check(1)

        whole_one = ended(server, start(server, home))
        assert "attempt" not in whole_one.get("x-sphynx", {})
        assert steady(trial) == steady(whole_one)

        batch_id = start(server, home)
        container = checking(docker_daemon)
        os.kill(server.worker_pid(), signal.SIGKILL)
        docker_daemon.docker("kill", container)
        anew = ended(server, batch_id)
        assert anew["sandboxId"] != container
        assert anew["x-sphynx"]["note"].endswith("so it began anew: its sandbox is gone")
        assert "resumedFrom" not in anew["x-sphynx"]
        until(lambda: not docker_daemon.containers(), 40)

        home = project(tmp_path / "prepared", prepare=True)
        batch_id = start(server, home)
        container = checking(docker_daemon)
        os.kill(server.worker_pid(), signal.SIGKILL)
        anew = ended(server, batch_id)
        assert anew["sandboxId"] != container
        assert anew["x-sphynx"]["note"].endswith("anew: what its prepare gave is stored nowhere")
        until(lambda: not docker_daemon.containers(), 40)
        assert checkpoints(server) == 0
        witness.check(4)


def test_a_worker_that_comes_back_leaves_the_sandbox_alone(
    docker_daemon: Daemon, tmp_path: Path, new_database: str
) -> None:
    """On Postgres a worker stands still past its time while its check runs. Another one ends that check, goes
    on in the container, and keeps it when the first comes back; the result is the second one's.
    """
    home = project(tmp_path / "project", seconds=12)
    environ = docker_daemon.env
    with whole(
        tmp_path / "data", "--no-worker", *NETWORK, environ=environ, database_url=new_database
    ) as server:
        witness = Witness(new_database)
        workers = [server.more_workers(server.data, 1, *NETWORK, environ=environ) for _ in range(2)]
        try:
            batch_id = start(server, home)
            container = checking(docker_daemon)
            (begun,) = witness.seen()
            stopped = next(one for one in workers if f"-{one.pid}-" in begun.worker)
            stopped.send_signal(signal.SIGSTOP)
            until(lambda: len(witness.seen()) == 2, 40)
            time.sleep(3)
            stopped.send_signal(signal.SIGCONT)
            trial = ended(server, batch_id)
            assert trial["sandboxId"] == container
            assert (trial["x-sphynx"]["attempt"], trial["x-sphynx"]["resumedFrom"]) == (2, "checks")
            until(lambda: not docker_daemon.containers())
            witness.check(1)
            assert stopped.poll() is None
            assert witness.rows("select * from checkpoints") == []
        finally:
            for one in workers:
                one.send_signal(signal.SIGCONT)
                one.terminate()
            for one in workers:
                one.wait(20)
