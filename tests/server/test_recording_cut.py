"""Local runs that are recorded over a network that fails them: what they send, and what they say about it."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from server.proxy import Proxied, Proxy, proxy
from server.running import Running, running
from server.whole import SPHYNX, clean_env, project, until
from server.witness import Witness

pytestmark = pytest.mark.chaos

CUT_S = 90.0
RUN = "sleep 0.4\necho hello > hello.txt\necho done\n"


@contextmanager
def local_run(home: Path, through: Proxy, key: str, *args: str) -> Iterator[subprocess.Popen[str]]:
    """``sphynx eval --local`` in a process of its own, ended with the block."""
    env = {**clean_env(home), "SPHYNX_API_KEY": key, "SPHYNX_BASE_URL": through.url}
    command = [SPHYNX, "eval", "--local", "--jobs", "2", *args]
    with (home / "err.txt").open("w") as err:
        process = subprocess.Popen(command, cwd=home, env=env, stdout=err, stderr=err, text=True)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()


def said(home: Path) -> str:
    """What a run wrote, without the marks of a terminal."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", (home / "err.txt").read_text())


def too_large_twice(request: Proxied) -> int | None:
    """413 while the report of a second trial has anything in it that can be left out."""
    if request.name != "runner.report" or "outcome" not in request.body:
        return None
    first = request.body["ordinal"] == 2 and request.body["outcome"]["validations"]
    if not first or not (request.body["events"] or _evidence(request)):
        return None
    return 413


def _evidence(request: Proxied) -> bool:
    return any(one["output"]["text"] for one in request.body["outcome"]["validations"])


def gateway_fails(request: Proxied) -> int | None:
    """The server has done it, but its answer is lost: the start, one report and the finish."""
    if request.number == 1 and request.name in ("runner.start", "runner.finish"):
        return -502
    return -502 if request.name == "runner.report" and request.number == 2 else None


def test_runs_recorded_at_once_outlast_ninety_seconds_without_network(tmp_path: Path) -> None:
    """One network drops connections, one says nothing, and one never comes back."""
    with (
        running(tmp_path / "data") as server,
        proxy(server.url, "dropped") as first,
        proxy(server.url, "silent") as second,
        proxy(server.url, "dropped") as third,
        never_mended(tmp_path / "third", third, server.new_org("third")) as check_third,
    ):
        witness = Witness(server.database_url)
        keys = [server.new_org("first"), server.new_org("second")]
        homes = [project(tmp_path / name, RUN, trials=8) for name in ("first", "second")]
        first.rule = gateway_fails
        second.rule = too_large_twice
        with local_run(homes[0], first, keys[0]) as one, local_run(homes[1], second, keys[1]) as other:
            for told in (first, second):
                until(lambda p=told: len(p.named("runner.report")) >= 5, 40)
            at = time.monotonic()
            first.cut()
            second.cut()
            time.sleep(CUT_S)
            first.mend()
            second.mend()
            codes = [process.wait(120) for process in (one, other)]
            after = time.monotonic() - at - CUT_S
        assert codes == [0, 0], said(homes[0]) + said(homes[1])
        assert after < 45, "what was kept back is sent soon after the network is back"
        for key in keys:
            listed = server.post("evals.batches.list", key=key).json()["batches"]
            assert [(one["status"], one["passed"], one["scored"]) for one in listed] == [("finished", 16, 16)]
        ends = [one.trial for one in witness.seen() if one.what == "ended"]
        assert len(ends) == len(set(ends)) >= 32
        check_third()
        for home in homes:
            assert "trying again for two minutes" in said(home)
            assert "was not recorded" not in said(home)
        _check_keys(first)
        _check_ladder(server, second, keys[1], homes[1])


@contextmanager
def never_mended(folder: Path, told: Proxy, key: str) -> Iterator[Callable[[], None]]:
    """A run whose server is gone for good: a lost report is named, later ones are tried once each."""
    home = project(folder, RUN, trials=5)
    with local_run(home, told, key) as process:
        until(lambda: len(told.named("runner.report")) >= 2, 40)
        told.cut()
        at = time.monotonic()

        def check() -> None:
            assert process.wait(90) == 0, said(home)
            assert time.monotonic() - at < 170
            text = said(home)
            assert text.count("was not recorded and shows as void") >= 5
            assert "will be marked failed 10 minutes after this machine goes quiet" in text
            assert "10 passed" in text

        yield check


def _check_keys(told: Proxy) -> None:
    """A start that is sent again says so, with the same body."""
    starts = told.named("runner.start")
    assert [one.status for one in starts] == [502, 200]
    assert starts[0].body == starts[1].body
    assert [one.status for one in told.named("runner.finish")] == [502, 200]
    assert told.named("runner.beat")


def _check_ladder(server: Running, told: Proxy, key: str, home: Path) -> None:
    """Without its events, then without its evidence; the trial counts all the same, and a note says so."""
    sent = [one for one in told.named("runner.report") if one.body["ordinal"] == 2]
    kinds = []
    for run_id in {one.body["runId"] for one in sent}:
        tries = [(len(one.body["events"]) > 0, _evidence(one)) for one in sent if one.body["runId"] == run_id]
        kinds.append(tries)
        trial = server.post("evals.runs.get", {"id": run_id}, key=key).json()["trials"][1]
        assert (trial["status"], trial["trajectory"]) == ("passed", [])
    # The check of the other case is a command, and leaves no evidence.
    assert sorted(kinds, key=len) == [
        [(True, False), (False, False)],
        [(True, True), (False, True), (False, False)],
    ]
    assert "trial 2 was too large for the server, it was recorded without its events and evidence" in said(
        home
    )


def test_a_batch_closed_by_the_server_ends_the_run_at_the_next_report(tmp_path: Path) -> None:
    """409: its words are shown, nothing more is reported, and the batch is not finished by this run."""
    with running(tmp_path / "data") as server, proxy(server.url) as told:
        key = server.new_org("closed")
        home = project(tmp_path / "home", RUN, trials=10)
        with local_run(home, told, key) as process:
            until(lambda: len(told.named("runner.report")) >= 3, 40)
            batch = server.post("evals.batches.list", key=key).json()["batches"][0]
            assert server.post("evals.batches.cancel", {"id": batch["id"]}, key=key).status_code == 200
            at = time.monotonic()
            assert process.wait(20) == 1
            assert time.monotonic() - at < 10
        assert "The batch was cancelled" in said(home)
        assert [one.status for one in told.named("runner.report")].count(409) == 1
        assert told.named("runner.report")[-1].status == 409
        assert not told.named("runner.finish")
