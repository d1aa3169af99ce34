"""Runs that end early: stopped, killed, resumed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eval_project import Project, Recorder
from sphynx.contracts import TrialKey
from sphynx.engine import Stop, plan_resume, read_batch, run_plan
from sphynx.errors import UsageError
from sphynx.schema.records import TrialRecord

pytestmark = pytest.mark.anyio

SLOW = """
    demo = suite(id="demo", prompt="{{n}}", trials=2, variants=[AGENT], cases=[
        case(id=f"case-{n}", variables={"n": str(n)}, validate=command("true")) for n in range(3)
    ])
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def survivors(local: Path) -> list[int]:
    """Processes of trials below this local root, by the HOME they were given."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"HOME={local}".encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


async def test_a_stop_cancels_what_runs_and_marks_the_rest(project: Project) -> None:
    project.agent('[ "$SPHYNX_PROMPT" = 0 ] || sleep 60')
    project.suite(SLOW)
    stop, sink = Stop(), Recorder()

    async def later() -> None:
        while not sink.of("trial_ended"):
            await asyncio.sleep(0.02)
        stop.stop("Ctrl-C")

    task = asyncio.create_task(later())
    begun = time.monotonic()
    result = await project.run(sinks=[sink], stop=stop)
    await task
    assert time.monotonic() - begun < 6
    statuses = [trial.status for trial in result.trials]
    assert statuses.count("passed") >= 1 and statuses.count("cancelled") >= 4 and len(statuses) == 6
    assert (result.record.status, result.record.failure) == ("cancelled", "Ctrl-C")
    assert len(sink.of("trial_ended")) == 6
    stored = read_batch(result.folder)
    assert {record.status for record in stored.recorded} == {"passed"}
    assert list((project.local / "trials").iterdir()) == []


async def test_the_first_trials_of_every_case_come_first(project: Project) -> None:
    project.agent("true")
    project.suite(SLOW)
    sink = Recorder()
    await project.run(sinks=[sink], jobs=1)
    assert [(key.ordinal, key.case_id) for key in sink.of("trial_started")] == [
        (ordinal, f"case-{n}") for ordinal in (1, 2) for n in range(3)
    ]


async def test_no_more_trials_run_at_once_than_asked(project: Project) -> None:
    project.agent("sleep 0.1")
    project.suite(SLOW)
    running, most = 0, 0

    class Counter(Recorder):
        def trial_started(self, key: TrialKey) -> None:
            nonlocal running, most
            running += 1
            most = max(most, running)

        def trial_ended(self, key: TrialKey, record: TrialRecord) -> None:
            nonlocal running
            running -= 1

    await project.run(sinks=[Counter()], jobs=3)
    assert (running, most) == (0, 3)


def test_a_full_disk_voids_the_trial_whose_events_are_lost(project: Project) -> None:
    project.python_agent("""
        import json
        for n in range(3000):
            print(json.dumps({"_tag": "Message", "role": "assistant", "text": "x" * 500}))
    """)
    project.suite("""
        demo = suite(id="demo", prompt="x", variants=[AGENT],
                     cases=[case(id="one", validate=command("true"))])
    """)
    program = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
from sphynx.engine import *
(result,) = run_local_sync((), LocalOptions(jobs=1))
trial = result.trials[0]
print(trial.status, trial.cause, trial.void_fields, trial.reason)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=project.root, env=project.env, capture_output=True, text=True
    )
    assert done.stdout == "void internal ['journal'] An event could not be stored: File too large\n"


async def test_a_timeout_of_the_run_stops_it(project: Project) -> None:
    project.agent("sleep 60")
    project.suite(SLOW)
    result = await project.run(timeout_s=0.5)
    assert {trial.status for trial in result.trials} == {"cancelled"}
    assert result.record.failure == "the run took longer than --timeout"


async def test_after_kill_9_resume_runs_only_what_is_missing(project: Project) -> None:
    gate = project.root / "gate"
    project.agent(
        f'[ "$SPHYNX_PROMPT" = 0 ] || [ -e {gate} ] || sleep 60; echo "$SPHYNX_PROMPT" >> {gate}.log'
    )
    project.suite(SLOW)
    program = "import sys; from sphynx.engine import *; run_local_sync((), LocalOptions(jobs=2))"
    process = subprocess.Popen([sys.executable, "-c", program], cwd=project.root, env=project.env)
    batches = project.root / ".sphynx" / "batches"
    deadline = time.monotonic() + 20
    while len(list(batches.glob("*/trials/case-0*/trial.json"))) < 1 and time.monotonic() < deadline:
        await asyncio.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 5
    while survivors(project.local) and time.monotonic() < deadline:
        await asyncio.sleep(0.05)
    assert survivors(project.local) == []
    (folder,) = batches.iterdir()
    before = {path: path.read_bytes() for path in folder.glob("trials/*/trial.json")}
    assert before and json.loads((folder / "batch.json").read_text())["status"] == "running"

    gate.touch()
    plan = plan_resume(folder.name, project.options())
    assert plan.suites[0].remaining == 6 - len(before)
    (result,) = await run_plan(plan)
    assert [trial.status for trial in result.trials] == ["passed"] * 6
    assert {path: path.read_bytes() for path in before} == before
    stored = read_batch(folder)
    assert stored.record.status == "finished" and len(stored.recorded) == 6
    assert len({(r.case_id, r.ordinal) for r in stored.recorded}) == 6

    plan = plan_resume(folder.name, project.options())
    assert plan.suites[0].remaining == 0
    (again,) = await run_plan(plan)
    assert len(again.trials) == 6


async def test_void_trials_run_again_only_when_asked_and_their_evidence_stays(project: Project) -> None:
    marker = project.root / "marker"
    project.agent("echo attempt")
    project.suite(f"""
        import os
        def seed(ctx):
            if not os.path.exists({str(marker)!r}): raise SystemExit(3)
        demo = suite(id="demo", prompt="x", variants=[AGENT],
                     cases=[case(id="one", prepare=seed, validate=command("true"))])
    """)
    result = await project.run()
    assert result.trials[0].status == "void"
    marker.touch()
    assert plan_resume(result.record.id, project.options()).suites[0].remaining == 0
    plan = plan_resume(result.record.id, project.options(retry_void=True))
    (again,) = await run_plan(plan)
    assert [trial.status for trial in again.trials] == ["passed"]
    kept = sorted(path.parent.name for path in result.folder.glob("trials/*/trial.json"))
    assert kept == ["one--1-1", "one--1-1.2"]
    assert [record.status for record in read_batch(result.folder).recorded] == ["passed"]


async def test_a_changed_case_or_profile_refuses_to_resume(project: Project) -> None:
    project.agent("true")
    project.suite(SLOW)
    result = await project.run()
    project.suite(SLOW.replace('command("true")', 'command("false")'))
    with pytest.raises(UsageError, match='case "case-0" has changed'):
        plan_resume(result.record.id, project.options())
    project.suite(SLOW)
    project.agent("echo other")
    with pytest.raises(UsageError, match="the profile has changed"):
        plan_resume(result.record.id, project.options())


async def test_an_unknown_batch_names_the_newest(project: Project) -> None:
    project.agent("true")
    project.suite(SLOW)
    result = await project.run()
    with pytest.raises(UsageError) as caught:
        plan_resume("20200101-000000-aaaa", project.options())
    assert result.record.id in (caught.value.hint or "")
