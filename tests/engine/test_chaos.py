"""Fifty nasty trials at once, ended from outside: nothing survives, nothing is lost, resuming completes."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eval_project import Project
from sphynx.engine import plan_resume, read_batch, run_plan

pytestmark = [pytest.mark.chaos, pytest.mark.anyio]

ISOLATE = [False, pytest.param(True, marks=pytest.mark.isolate)]
EXITS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}


def survivors(marker: str) -> list[str]:
    """Command lines of processes that carry the marker, which nothing but an agent's children does."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if f"sleep {marker}" in line and "bash -c" not in line:
            found.append(line)
    return found


def nasty(project: Project, marker: str) -> None:
    """The first ten trials end at once; the others leave daemons of several kinds and stay.

    Unless the variable ``TIDE_GATE`` says that it is open: an isolated trial sees no file from outside.
    """
    run = f"""
        case $SPHYNX_PROMPT in 0) exit 0;; esac
        [ "$TIDE_GATE" = open ] && exit 0
        (setsid sleep {marker} &) ; (env -i setsid bash -c "trap '' TERM INT HUP; sleep {marker}; :" &)
        nohup sleep {marker} & disown
        sleep {marker}
    """
    project.agent(run, variables=["TIDE_GATE"])
    project.env["TIDE_GATE"] = "shut"
    project.suite("""
        demo = suite(id="demo", prompt="{{n}}", trials=10, variants=[AGENT], cases=[
            case(id=f"case-{n}", variables={"n": str(n)}, validate=command("true")) for n in range(6)
        ])
    """)


@pytest.mark.parametrize("isolate", ISOLATE)
@pytest.mark.parametrize("number", list(EXITS))
async def test_nothing_survives_and_resume_completes(
    tmp_path: Path, number: signal.Signals, isolate: bool
) -> None:
    project = Project(tmp_path)
    marker = f"9{secrets.randbelow(10**6):06d}"
    nasty(project, marker)
    command = [str(Path(sys.executable).with_name("sphynx")), "eval", "--local", "-j", "50"]
    process = subprocess.Popen(
        [*command, *(["--isolate"] if isolate else [])],
        cwd=project.root,
        env=project.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 90
    while len(survivors(marker)) < 100 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.1)
    assert len(survivors(marker)) >= 100
    begun = time.monotonic()
    os.kill(process.pid, number)
    assert process.wait(timeout=30) == EXITS[number]
    assert number is signal.SIGKILL or time.monotonic() - begun < 8
    deadline = time.monotonic() + 10
    while survivors(marker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert survivors(marker) == []

    (folder,) = (project.root / ".sphynx" / "batches").iterdir()
    before = read_batch(folder)
    assert {record.status for record in before.recorded} <= {"passed"}
    evidence = {path: path.read_bytes() for path in (folder / "trials").rglob("*") if path.is_file()}
    project.env["TIDE_GATE"] = "open"
    plan = plan_resume(folder.name, project.options(jobs=20))
    assert plan.suites[0].remaining == 60 - len(before.recorded)
    (result,) = await run_plan(plan)
    assert [trial.status for trial in result.trials] == ["passed"] * 60
    assert {trial.isolation for trial in result.trials} == {"bubblewrap" if isolate else "none"}
    after = read_batch(folder).recorded
    assert len({(r.case_id, r.variant, r.ordinal) for r in after}) == len(after) == 60
    assert evidence == {path: path.read_bytes() for path in evidence}, "what was there stays as it was"
    assert list((project.local / "trials").iterdir()) == []
