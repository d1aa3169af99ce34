"""Ctrl-C, SIGTERM and time limits: what is said, what is kept, what the command ends with."""

from __future__ import annotations

import signal
import time

import pytest
from command_line import CommandLine, wait_for


def sleepers(project: CommandLine) -> None:
    project.agent("touch $MARK/$$; exec sleep 60", env={"MARK": str(project.root)})
    project.suite(
        """
        smoke = suite(id="smoke", prompt="x", variants=[variant(**AGENT)], trials=3,
                      cases=[case(id="sleeps", validate=command("true"))])
        """
    )


def running(project: CommandLine, count: int) -> None:
    deadline = time.monotonic() + 20
    while sum(path.name.isdigit() for path in project.root.iterdir()) < count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_stops_at_once_and_says_how_to_go_on(
    project: CommandLine, number: int, code: int
) -> None:
    sleepers(project)
    process = project.start("eval", "--local", "--jobs", "2")
    running(project, 2)
    began = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert process.returncode == code
    assert time.monotonic() - began < 5
    assert "stopping: 2 trials running, closing their sandboxes (Ctrl-C again to leave at once)\n" in err
    assert f"  resume with: sphynx eval --local --resume {project.batch_id}\n" in err
    assert "  3 trials: 3 cancelled" in out
    assert project.record()["status"] == "cancelled"
    assert not list((project.root / ".sphynx").rglob("trial.json"))


def test_the_second_signal_leaves_immediately(project: CommandLine) -> None:
    sleepers(project)
    process = project.start("eval", "--local", "--jobs", "1")
    running(project, 1)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("stopping:"):
            break
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    process.wait(10)
    assert process.returncode == 130
    assert time.monotonic() - began < 1.5
    process.communicate()


def test_a_signal_before_anything_runs_ends_quietly(project: CommandLine) -> None:
    (project.root / "slow_eval.py").write_text("import time\nopen('here', 'w')\ntime.sleep(30)\n")
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        (project.root / "here").unlink(missing_ok=True)
        process = project.start("eval", "--local")
        wait_for(project.root / "here")
        process.send_signal(number)
        _, err = process.communicate(timeout=10)
        assert (process.returncode, "Traceback" in err) == (code, False)


def test_a_resumed_batch_counts_no_trial_twice(project: CommandLine) -> None:
    project.agent("if [ -e $MARK/go ]; then printf hello > hello.txt; else touch $MARK/1; sleep 60; fi",
                  env={"MARK": str(project.root)})  # fmt: skip
    project.one(suite="trials=2,")
    process = project.start("eval", "--local", "--jobs", "1")
    running(project, 1)
    second = project.sphynx("eval", "--local", "--resume", project.batch_id)
    assert second.code == 1
    assert f"is being run by process {process.pid} since" in second.errors[0]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    (project.root / "go").touch()
    done = project.sphynx("eval", "--local", "--resume", project.batch_id)
    assert done.code == 0, done.err
    assert "2 trials: 2 passed" in done.out
    broken, whole = sorted((project.root / ".sphynx").rglob("trial.json"))
    broken.write_text("")
    assert "the trial counts as one without a record" in project.sphynx("show").err
    again = project.sphynx("eval", "--local", "--resume", project.batch_id)
    assert (again.code, "2 trials: 2 passed" in again.out) == (0, True)
    assert broken.read_text() == "" and whole.is_file()
    assert len(list((project.root / ".sphynx").rglob("trial.json"))) == 3
