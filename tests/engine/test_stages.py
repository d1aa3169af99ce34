"""Setup and scoring stages: their order, their limits, and the reasons they give."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from eval_project import Project, Recorder
from sphynx.contracts import TurnResult
from sphynx.engine import turns
from sphynx.harnesses.nop import NopHarness
from sphynx.registry import register_harness

pytestmark = pytest.mark.anyio

PLAIN = """
    demo = suite(id="demo", prompt="x", variants=[AGENT], cases=[case(id="one", validate=command("true"))])
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


async def test_source_profile_install_prepare_and_agent_come_in_this_order(project: Project) -> None:
    project.agent(
        "cat a.txt order.txt > seen.txt; echo agent >> order.txt",
        files={"workspace/a.txt": "from the profile", "home/.tool/config": "kept"},
        install='cat a.txt "$HOME/.tool/config" > at-install.txt; echo install > order.txt',
    )
    project.suite("""
        def prepared(ctx): ctx.write_text("order.txt", ctx.read_text("order.txt") + "prepare\\n")
        def check(ctx):
            assert ctx.read_text("at-install.txt") == "from the profilekept"
            assert ctx.read_text("b.txt") == "from the source"
            return ctx.read_text("order.txt").split() == ["install", "prepare", "agent"]
        demo = suite(id="demo", prompt="x", variants=[AGENT], cases=[case(
            id="one", source=files({"a.txt": "source", "b.txt": "from the source"}),
            prepare=prepared, validate=check)])
    """)
    trial = await project.trial()
    assert trial.status == "passed", trial
    assert "b.txt" not in trial.files_changed and trial.files_changed == ["order.txt", "seen.txt"]


async def test_an_install_that_fails_is_void_with_its_last_words(project: Project) -> None:
    project.agent("true", install="echo working; echo no such package >&2; exit 4")
    project.suite(PLAIN)
    sink = Recorder()
    trial = await project.trial(sinks=[sink])
    assert (trial.status, trial.cause, trial.stage) == ("void", "setup", "install")
    assert trial.reason == "The profile's install exited with status 4: no such package"
    assert "working" in sink.shown("install")
    assert (trial.turns, trial.costs[0].usd, trial.costs_incomplete) == (0, 0.0, False)


async def test_a_prepare_that_leaves_without_returning_is_void(project: Project) -> None:
    project.agent("true")
    project.suite("""
        import os
        def leaves(ctx):
            print("almost there", flush=True)
            os._exit(5)
        demo = suite(id="demo", prompt="x", variants=[AGENT],
                     cases=[case(id="one", prepare=leaves, validate=command("true"))])
    """)
    trial = await project.trial()
    assert (trial.status, trial.stage) == ("void", "prepare")
    assert trial.reason == "The prepare step ended with exit code 5 before it returned: almost there"


async def test_an_endless_check_ends_at_its_limit_and_the_next_one_runs(project: Project) -> None:
    project.agent("true")
    project.suite("""
        def loops(ctx):
            while True: pass
        def stubborn(ctx):
            while True:
                try:
                    while True: pass
                except BaseException: pass
        def fine(ctx): return True
        demo = suite(id="demo", prompt="x", variants=[AGENT], cases=[case(id="one", validate=[
            named("loops", loops, timeout_ms=1000), named("stubborn", stubborn, timeout_ms=1000), fine])])
    """)
    begun = time.monotonic()
    trial = await project.trial()
    assert time.monotonic() - begun < 20
    assert [check["status"] for check in trial.validations] == ["error", "error", "passed"]
    assert (trial.status, trial.cause) == ("void", "check")
    assert "time limit" in (trial.reason or "")


async def test_a_command_check_past_its_limit_decides_nothing(project: Project) -> None:
    project.agent("true")
    project.suite(PLAIN.replace('command("true")', 'command("echo begun; sleep 60", timeout_ms=1000)'))
    trial = await project.trial()
    assert (trial.status, trial.void_fields) == ("void", ["validator"])
    assert trial.reason == "The check ran past its time limit of 1s"
    assert trial.validations[0]["output"]["text"] == "begun\n"


async def test_a_check_program_that_is_killed_says_by_which_signal(project: Project) -> None:
    project.agent("true")
    project.suite("""
        import os, signal
        def dies(ctx): os.kill(os.getpid(), signal.SIGKILL)
        demo = suite(id="demo", prompt="x", variants=[AGENT], cases=[case(id="one", validate=dies)])
    """)
    trial = await project.trial()
    assert trial.reason == 'check "dies" did not finish: signal 9 ended its program'


class _Thinker(NopHarness):
    async def turn(self, *args: Any, **named: Any) -> TurnResult:
        return TurnResult("finished", thinking=2, unread=("odd line with value-of-it-1",), note="one note")


async def test_reasoning_is_counted_and_lines_nobody_understood_are_kept(project: Project) -> None:
    register_harness("thinker", _Thinker)
    project.agent("true", variables=["APP_SECRET"])
    manifest = project.root / "agent" / "profile.json"
    manifest.write_text('{"variables": ["APP_SECRET"]}')
    project.suite(PLAIN.replace("AGENT", 'dict(AGENT, harness="thinker")'))
    result = await project.run(env={"APP_SECRET": "value-of-it-1"})
    (trial,) = result.trials
    assert trial.thinking == 2
    assert "one note" in trial.notes
    (kept,) = result.folder.glob("trials/*/unread.txt")
    assert kept.read_text() == "odd line with [redacted]\n"


class _Deaf(NopHarness):
    async def turn(self, *args: Any, **named: Any) -> TurnResult:
        await anyio.sleep_forever()
        raise AssertionError


@pytest.mark.load
async def test_a_harness_that_ignores_its_limit_is_cancelled(project: Project) -> None:
    register_harness("deaf", _Deaf)
    project.suite("""
        demo = suite(id="demo", prompt="x", variants=[dict(harness="deaf", model="m")],
                     cases=[case(id="one", timeout_ms=1000, validate=command("true"))])
    """)
    begun = time.monotonic()
    trial = await project.trial()
    assert trial.status == "timed_out"
    assert time.monotonic() - begun < turns.GRACE_S + 5
