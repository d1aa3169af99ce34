"""Which trials wait for which: limits of a harness, and batches that go first."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.whole import project, whole
from sphynx.compiler import compile_eval
from sphynx.errors import UsageError
from sphynx.server.execution.limits import Limit, limits_from


def test_limits_are_read_by_harness() -> None:
    told = limits_from({"SPHYNX_LIMITS": "codex=4, claude=2 claude=30/60"})
    assert told == {"codex": Limit(at_once=4), "claude": Limit(2, 30, 60)}
    assert limits_from({}) == {}


@pytest.mark.parametrize("text", ["codex", "codex=0", "codex=1/0", "=3", "codex=many", "codex=1/2/3"])
def test_a_limit_that_cannot_be_read_is_an_error_that_shows_it(text: str) -> None:
    with pytest.raises(UsageError, match=text):
        limits_from({"SPHYNX_LIMITS": text})


# Each agent tells when it began and ended.
TELLS = (
    "echo + $(date +%s.%N) NAME >> LOG\nsleep SECONDS\necho - $(date +%s.%N) >> LOG\necho hello > hello.txt\n"
)


def telling(folder: Path, log: Path, name: str, seconds: float, trials: int) -> Path:
    run = TELLS.replace("LOG", str(log)).replace("NAME", name).replace("SECONDS", str(seconds))
    return project(folder, run, trials=trials)


def most_at_once(log: Path) -> int:
    running = most = 0
    for line in log.read_text().splitlines():
        running += 1 if line.startswith("+") else -1
        most = max(most, running)
    return most


@pytest.mark.server
def test_a_harness_runs_as_often_at_a_time_as_its_limit_says_and_a_batch_of_low_number_goes_first(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    log.touch()
    late = telling(tmp_path / "late", log, "late", 0.3, 4)
    first = telling(tmp_path / "first", log, "first", 0.3, 2)
    limits = {"SPHYNX_LIMITS": "command=1"}
    with whole(tmp_path / "data", "--no-isolate", environ=limits) as server, server.client() as client:
        batches = [client.evals.batches.start(compile_eval(late / "smoke_eval.py")[0])]
        # Whatever was taken before it came may end before it.
        batches.append(client.evals.batches.start(compile_eval(first / "smoke_eval.py")[0], priority=1))
        for batch in batches:
            done = client.evals.batches.wait(batch.id, poll_interval_ms=200, timeout_ms=60_000)
            assert done.status == "finished"
    assert most_at_once(log) == 1
    order = [line.split()[2] for line in log.read_text().splitlines() if line.startswith("+")]
    assert (len(order), order.count("first")) == (12, 4)
    assert order[-4:] == ["late"] * 4
    assert order.index("first") <= 3


@pytest.mark.server
def test_no_more_trials_of_a_harness_start_in_a_while_than_its_limit_says(tmp_path: Path) -> None:
    log = tmp_path / "log"
    home = telling(tmp_path / "project", log, "any", 0.1, 3)
    with whole(tmp_path / "data", "--no-isolate", environ={"SPHYNX_LIMITS": "command=2/3"}) as server:
        done = server.cli("eval", cwd=home)
        assert done.returncode == 0, done.stdout + done.stderr + server.log.read_text()
    began = [float(line.split()[1]) for line in log.read_text().splitlines() if line.startswith("+")]
    assert len(began) == 6
    assert all(began[n + 2] - began[n] > 2 for n in range(4)), began
