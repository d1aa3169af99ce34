"""Whole servers: started by the command line, used by it, killed and started again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from server.stored import everything_stored
from server.whole import SPHYNX, clean_env, project, until, whole
from sphynx.compiler import compile_eval
from sphynx.testing.scripted_model import ScriptedModel, When, say

pytestmark = pytest.mark.server

EXAMPLES = Path(__file__).parents[2] / "examples"
WRITES = "echo hello > hello.txt\n"
SECRET = "sk-do-not-show-3f9a8b7c6d5e4f"


def test_from_the_first_start_to_a_gate(tmp_path: Path) -> None:
    """serve, whoami, env, eval, batches, cases, runs, case run, admin: one organization from nothing."""
    run = f'{WRITES}echo "token $MY_TOKEN" >&2\necho "$MY_TOKEN" > seen.txt\n'
    home = project(tmp_path / "project", run, variables='["MY_TOKEN"]')
    with whole(tmp_path / "data") as server:
        done = server.cli("whoami", cwd=home)
        assert (done.returncode, done.stdout.splitlines()[0].split()) == (0, ["organization", "Default"])
        refused = server.cli("eval", cwd=home)
        assert refused.returncode == 1
        assert "MY_TOKEN" in refused.stderr
        assert server.cli("env", "set", "MY_TOKEN", cwd=home, stdin=f"{SECRET}\n").returncode == 0
        listed = server.cli("env", "list", cwd=home).stdout
        assert listed.split("\t")[:3] == ["MY_TOKEN", f"••••{SECRET[-4:]}", "your code"]
        done = server.cli("eval", "--output", "report.json", cwd=home)
        assert done.returncode == 0, done.stderr + done.stdout + server.log.read_text()
        assert "organization Default" in done.stderr
        assert "2 trials: 2 passed" in done.stdout
        report = json.loads((home / "report.json").read_text())
        batch_id = report[0]["batchId"]
        got = json.loads(server.cli("batches", "get", batch_id, "--json", cwd=home).stdout)
        assert [trial["status"] for one in got["runs"] for trial in one["trials"]] == ["passed"] * 2
        assert got["trigger"]["source"] == "cli"
        assert batch_id in server.cli("batches", "list", cwd=home).stdout
        assert "writes-hello" in server.cli("cases", "list", cwd=home).stdout
        assert "first version" in server.cli("cases", "get", "writes-hello", cwd=home).stdout
        run_id = got["runs"][0]["id"]
        assert "says_hello" in server.cli("runs", "get", run_id, cwd=home).stdout
        again = server.cli("case", "run", "has-file", "--trials", "2", cwd=home)
        assert (again.returncode, "2 passed" in again.stdout) == (0, True), again.stderr
        assert run_id not in server.cli("runs", "list", "has-file", cwd=home).stdout
        (home / "mine" / "workspace" / "run.sh").write_text("echo bye > hello.txt\n")
        failed = server.cli("eval", "--case", "writes-hello", "smoke_eval.py", cwd=home)
        assert failed.returncode == 2, failed.stderr
        assert "gate failed: 1 trial failed" in failed.stderr
        assert server.cli("env", "remove", "MY_TOKEN", cwd=home).returncode == 0
        assert server.cli("env", "remove", "MY_TOKEN", cwd=home).returncode == 1
        made = server.cli("admin", "create-key", "--data", str(server.data), cwd=home)
        key = made.stdout.strip()
        assert key.startswith("anp_"), made.stderr
        copy = tmp_path / "copy.db"
        assert server.cli("admin", "backup", str(copy), "--data", str(server.data), cwd=home).returncode == 0
    for database in (tmp_path / "data" / "sphynx.db", copy):
        for text in everything_stored(database):
            assert SECRET not in text
            assert key not in text
    assert SECRET not in server.log.read_text()
    assert server.process.returncode == 0


PERSON = [
    say("It is $20, with 500 messages.", when=When(last="cost a month")),
    say("Yes, go ahead.", when=When(last="push it live")),
    say("<<DONE>>", when=When(last="is live")),
]


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_the_examples_with_the_scripted_model(
    tmp_path: Path, store: str, request: pytest.FixtureRequest
) -> None:
    """serve, admin create-key, env set, eval, whoami, batches get, case run, env remove: with one key."""
    url = request.getfixturevalue("new_database") if store == "postgres" else ""
    home, data = tmp_path / "project", tmp_path / "data"
    shutil.copytree(EXAMPLES, home, ignore=shutil.ignore_patterns(".sphynx"))
    (home / "pyproject.toml").touch()
    with ExitStack() as opened:
        model = opened.enter_context(ScriptedModel())
        model.script("/", PERSON, order="arrival")
        asked = {"SPHYNX_OPENAI_BASE_URL": f"{model.url}/v1"}
        server = opened.enter_context(whole(data, database_url=url, environ=asked))
        where = ("--database-url", url) if url else ()

        def sphynx(*args: str, stdin: str = "") -> str:
            done = server.cli(*args, cwd=home, stdin=stdin)
            assert done.returncode == 0, done.stdout + done.stderr + server.log.read_text()
            return done.stdout

        server.key = sphynx("admin", "create-key", "--name", "mine", "--data", str(data), *where).strip()
        sphynx("env", "set", "OPENAI_API_KEY", stdin=f"{SECRET}\n")
        sphynx("eval", "--variant", "command/scripted", "--output", "report.json")
        assert "Default" in sphynx("whoami").splitlines()[0]
        report = json.loads((home / "report.json").read_text())
        assert [one["suite"] for one in report] == [
            "catalog-api",
            "hello",
            "pricing",
            "users-interface",
        ]
        for one in report:
            batch = json.loads(sphynx("batches", "get", one["batchId"], "--json"))
            assert batch["status"] == "finished"
            assert {trial["status"] for run in batch["runs"] for trial in run["trials"]} == {"passed"}
        assert "2 passed" in sphynx("case", "run", "writes-hello", "--trials", "2")
        sphynx("env", "remove", "OPENAI_API_KEY")
        assert "OPENAI_API_KEY" not in sphynx("env", "list")
    assert server.process.returncode == 0
    assert SECRET not in server.log.read_text()


@pytest.mark.parametrize("victim", ["worker", "server"])
def test_kill_9_in_the_middle_loses_nothing_and_scores_nothing_twice(tmp_path: Path, victim: str) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    # The first agents wait to be killed; those that come later go on.
    run = f"touch {marks}/$$\nif [ ! -e {marks}/go ]; then sleep 300; fi\n{WRITES}"
    home = project(tmp_path / "project", run, trials=4)
    request = compile_eval(home / "smoke_eval.py")[0]
    with whole(tmp_path / "data", "--no-isolate") as server:
        with server.client() as client:
            started = client.evals.batches.start(request)
        until(lambda: len(list(marks.iterdir())) >= 2)
        agents = [int(path.name) for path in marks.iterdir()]
        os.kill(server.worker_pid() if victim == "worker" else server.process.pid, signal.SIGKILL)
        (marks / "go").touch()
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in agents))
        if victim == "worker":
            _check_all_passed(server, started.id)
    if victim == "server":
        with whole(tmp_path / "data", "--no-isolate", key=server.key) as again:
            _check_all_passed(again, started.id)


def test_what_the_engine_lost_is_begun_again_and_what_kills_workers_is_given_up(tmp_path: Path) -> None:
    """Workflows that broke off do not keep their batch open; a trial that lost ten workers is void."""
    run = f"if [ ! -e {tmp_path}/go ]; then sleep 300; fi\n{WRITES}"
    home = project(tmp_path / "project", run, trials=2)
    data = tmp_path / "data"
    with whole(data, "--no-isolate", "--jobs", "4") as server:
        with server.client() as client:
            started = client.evals.batches.start(compile_eval(home / "smoke_eval.py")[0])
        database = data / "sphynx.db"
        until(lambda: len(_rows(database, "select id from trials where status = 'running'")) == 4)
        server.process.kill()
    (tmp_path / "go").touch()
    ids = [name for (name,) in _rows(database, "select id from trials order by id")]
    with closing(sqlite3.connect(database, timeout=30)) as connection, connection:
        broken = (
            f"update workflow_status set status = 'ERROR' where workflow_uuid in ('{started.id}', '{ids[0]}')"
        )
        connection.execute(broken)
        connection.execute(f"update trials set attempt = 10 where id = '{ids[1]}'")
    with whole(data, "--no-isolate", key=server.key) as again, again.client() as client:
        batch = client.evals.batches.wait(started.id, poll_interval_ms=200, timeout_ms=60_000)
    trials = {trial.id: trial for run in batch.runs for trial in run.trials}
    assert [trials[name].status for name in ids] == ["passed", "void", "passed", "passed"]
    assert trials[ids[1]].failure == "Its workers were lost 10 times"
    assert batch.status == "finished"
    assert "a batch is begun again" in server.log.read_text()


def _rows(database: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(database, timeout=30)) as connection:
        return connection.execute(query).fetchall()


def _check_all_passed(server: Any, batch_id: str) -> None:
    with server.client() as client:
        batch = client.evals.batches.wait(batch_id, poll_interval_ms=200, timeout_ms=60_000)
    trials = [trial for run in batch.runs for trial in run.trials]
    assert [trial.status for trial in trials] == ["passed"] * 8, server.log.read_text()
    assert batch.status == "finished"
    attempts = [trial.wire().get("x-sphynx", {}).get("attempt", 1) for trial in trials]
    assert max(attempts) == 2
    assert attempts.count(2) <= 3
    assert not list((server.data / "work").glob("*"))


def test_two_workers_on_postgres_share_a_batch_and_one_goes_on_when_the_other_is_killed(
    tmp_path: Path, new_database: str
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    run = f"touch {marks}/$$\nwhile [ ! -e {marks}/go ]; do sleep 0.2; done\n{WRITES}"
    home = project(tmp_path / "project", run, trials=10)
    with whole(tmp_path / "data", "--no-isolate", "--no-worker", database_url=new_database) as server:
        first, second = (server.more_workers(tmp_path / "data") for _ in range(2))
        try:
            with server.client() as client:
                started = client.evals.batches.start(compile_eval(home / "smoke_eval.py")[0])
            until(lambda: len(list(marks.iterdir())) >= 4, 40)
            first.kill()
            (marks / "go").touch()
            with server.client() as client:
                batch = client.evals.batches.wait(started.id, poll_interval_ms=300, timeout_ms=90_000)
            trials = [trial for run in batch.runs for trial in run.trials]
            ended = [trial.status for trial in trials]
            assert ended.count("passed") == 20, server.log.read_text()
            assert max(trial.wire().get("x-sphynx", {}).get("attempt", 1) for trial in trials) == 2
        finally:
            for worker in (first, second):
                worker.terminate()
                worker.wait(20)


def test_a_cancelled_batch_ends_its_agents_within_seconds(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    home = project(tmp_path / "project", f"touch {marks}/$$\nsleep 300\n")
    with whole(tmp_path / "data", "--no-isolate") as server, server.client() as client:
        started = client.evals.batches.start(compile_eval(home / "smoke_eval.py")[0])
        until(lambda: len(list(marks.iterdir())) == 2)
        batch = client.evals.batches.cancel(started.id)
        assert (batch.status, batch.failure) == ("failed", "The batch was cancelled")
        agents = [int(path.name) for path in marks.iterdir()]
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in agents), 3)
        assert {trial.status for run in batch.runs for trial in run.trials} == {"void"}


def test_a_stopped_server_hands_its_trials_to_the_next(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    run = f"touch {marks}/$$\nif [ ! -e {marks}/go ]; then sleep 300; fi\n{WRITES}"
    home = project(tmp_path / "project", run)
    with whole(tmp_path / "data", "--no-isolate") as server, server.client() as client:
        started = client.evals.batches.start(compile_eval(home / "smoke_eval.py")[0])
        until(lambda: len(list(marks.iterdir())) == 2)
    assert server.process.returncode == 0
    (marks / "go").touch()
    with whole(tmp_path / "data", "--no-isolate", key=server.key) as again, again.client() as client:
        batch = client.evals.batches.wait(started.id, poll_interval_ms=200, timeout_ms=60_000)
        assert [t.status for run in batch.runs for t in run.trials] == ["passed", "passed"]


PREPARED = """
from sphynx import case, files, suite, variant

async def ready(ctx):
    await ctx.exec("sh", ["-c", "echo made > made.txt"])
    return {"word": "made"}

async def sees_all(ctx):
    made = (await ctx.read_text("made.txt")).strip()
    return made == ctx.prepared["word"] and "given" in await ctx.read_text("given.txt")

prepared = suite(
    id="prepared", prompt="go", source=files({"given.txt": "given"}),
    cases=[case(id="ready", prepare=ready, validate=[sees_all], cache={"key": "1", "path": "kept"})],
    variants=[variant(harness="command", model="m", profile={"name": "mine", "dir": "./mine"})],
)
"""


def test_prepare_sources_and_caches_work_as_in_a_local_run(tmp_path: Path) -> None:
    home = project(tmp_path / "project", "true\n")
    (home / "smoke_eval.py").write_text(PREPARED)
    with whole(tmp_path / "data") as server:
        done = server.cli("eval", "smoke_eval.py", cwd=home)
        assert done.returncode == 0, done.stdout + done.stderr + server.log.read_text()


def test_two_servers_on_one_folder_are_refused(tmp_path: Path) -> None:
    with whole(tmp_path / "data", "--no-isolate") as server:
        done = server.cli("serve", "--data", str(server.data), "--port", "0", cwd=tmp_path)
        assert done.returncode == 1
        assert "another server" in done.stderr


def test_a_taken_port_is_one_line_and_costs_no_key(tmp_path: Path) -> None:
    """Nothing is made before the server listens: the next start still shows the first key."""
    data = tmp_path / "data"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [SPHYNX, "serve", "--data", str(data), "--port", port, "--allow-local-sandbox"]
        env = clean_env(tmp_path)
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == f"error: cannot listen on 127.0.0.1:{port}: Address already in use"
    assert "Traceback" not in done.stderr and done.stdout == ""
    with whole(data) as server:
        assert server.key
        assert server.cli("whoami", cwd=tmp_path).returncode == 0
