"""How single trials end: passed, failed, void, timed out, and what their records say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eval_project import Project, Recorder, git_repository
from sphynx.engine import read_batch, read_events
from sphynx.harnesses.nop import NopHarness
from sphynx.registry import register_harness

pytestmark = pytest.mark.anyio


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


async def test_a_trial_whose_checks_pass_is_passed(project: Project) -> None:
    project.agent("printf hello > hello.txt")
    project.suite("""
        async def says_hello(ctx): return await ctx.read_text("hello.txt") == "hello"
        demo = suite(id="demo", prompt="x", cases=[case(id="one", validate=says_hello)], variants=[AGENT])
    """)
    trial = await project.trial()
    assert (trial.status, trial.cause, trial.reason, trial.exit_code) == ("passed", None, None, 0)
    assert [(v["name"], v["status"]) for v in trial.validations] == [("says_hello", "passed")]
    assert trial.files_changed == ["hello.txt"]
    assert "+hello" in (trial.diff or "")


async def test_a_failing_check_fails_the_trial_and_every_check_runs(project: Project) -> None:
    project.agent("true")
    project.suite("""
        def first(ctx): assert False, "nothing there"
        def second(ctx): return True
        demo = suite(id="demo", prompt="x", variants=[AGENT],
                     cases=[case(id="one", validate=[first, second])])
    """)
    trial = await project.trial()
    assert (trial.status, trial.cause, trial.reason, trial.exit_code) == ("failed", "agent", None, 1)
    assert [v["status"] for v in trial.validations] == ["failed", "passed"]
    assert trial.validations[0]["message"] == "nothing there"


async def test_a_check_that_raises_makes_the_trial_void_and_later_checks_still_run(project: Project) -> None:
    project.agent("true")
    project.suite("""
        import os
        def broken(ctx): raise KeyError("port")
        def gone(ctx): os._exit(7)
        def fine(ctx): return True
        demo = suite(id="demo", prompt="x",
                     cases=[case(id="one", validate=[broken, gone, fine])], variants=[AGENT])
    """)
    trial = await project.trial()
    assert (trial.status, trial.cause, trial.void_fields) == ("void", "check", ["validator"])
    assert "broken" in (trial.reason or "") and "port" in (trial.reason or "")
    assert [v["status"] for v in trial.validations] == ["error", "error", "passed"]


async def test_a_command_check_keeps_what_it_printed(project: Project) -> None:
    project.agent("true")
    project.suite("""
        demo = suite(id="demo", prompt="x", variants=[AGENT], cases=[
            case(id="one", validate=command("echo out; echo err >&2; exit 3")),
        ])
    """)
    trial = await project.trial()
    assert trial.status == "failed"
    (check,) = trial.validations
    assert (check["kind"], check["exitCode"], check["output"]["text"], check["error"]["text"]) == (
        "command", 3, "out\n", "err\n",
    )  # fmt: skip
    assert [(step.command, step.exit_code) for step in trial.verify_steps] == [
        ("echo out; echo err >&2; exit 3", 3)
    ]


async def test_a_prepare_that_fails_makes_the_trial_void_with_its_reason(project: Project) -> None:
    project.agent("true")
    project.suite("""
        async def seed(ctx): await ctx.exec("sh", ["-c", "echo no such table >&2; exit 3"])
        demo = suite(id="demo", prompt="x", variants=[AGENT],
                     cases=[case(id="one", prepare=seed, validate=command("true"))])
    """)
    trial = await project.trial()
    assert (trial.status, trial.cause, trial.stage) == ("void", "setup", "prepare")
    assert "status 3" in (trial.reason or "") and "no such table" in (trial.reason or "")
    assert [v["status"] for v in trial.validations] == ["skipped"]


async def test_an_agent_past_its_limit_is_timed_out(project: Project) -> None:
    project.agent("echo started > started.txt; sleep 60")
    project.suite("""
        demo = suite(id="demo", prompt="x", variants=[AGENT],
                     cases=[case(id="one", timeout_ms=1000, validate=command("true"))])
    """)
    trial = await project.trial()
    assert (trial.status, trial.cause, trial.reason) == (
        "timed_out", "limit", "The agent ran past its time limit of 1s",
    )  # fmt: skip
    assert trial.files_changed == ["started.txt"]


async def test_a_failed_finish_makes_the_trial_void_and_a_bad_exit_does_not(project: Project) -> None:
    project.agent("""echo '{"_tag":"Finished","reason":"failed: model refused the key"}'; exit 0""")
    project.agent("echo oops >&2; exit 9", name="other")
    project.suite("""
        OTHER = dict(harness="command", model="scripted", profile={"name": "other", "dir": "./other"})
        demo = suite(id="demo", prompt="x", variants=[AGENT, OTHER],
                     cases=[case(id="one", validate=command("true"))])
    """)
    failed, odd = (await project.run()).trials
    assert (failed.status, failed.cause, failed.reason) == (
        "void", "harness", "The agent failed: model refused the key",
    )  # fmt: skip
    assert odd.status == "passed"
    assert any("status 9" in note and "oops" in note for note in odd.notes)


async def test_prepared_values_reach_checks_and_are_stored_nowhere(project: Project) -> None:
    project.agent("echo secret-of-prepare-1")
    project.suite("""
        async def make(ctx): return {"key": "secret-of-" + "prepare-1", "port": 4173}
        def got_it(ctx):
            print(ctx.prepared["key"])
            return {"passed": ctx.prepared == {"key": "secret-of-" + "prepare-1", "port": 4173},
                    "message": ctx.prepared["key"]}
        demo = suite(id="demo", prompt="x", variants=[AGENT],
                     cases=[case(id="one", prepare=make, validate=got_it)])
    """)
    result = await project.run()
    assert result.trials[0].status == "passed"
    stored = b"".join(path.read_bytes() for path in result.folder.rglob("*") if path.is_file())
    assert b"secret-of-prepare-1" not in stored


async def test_journal_and_record_are_on_disk_and_sinks_see_them(project: Project) -> None:
    project.agent("""
        echo '{"_tag":"Message","role":"assistant","text":"done","at":5}'
        echo '{"_tag":"Command","command":"ls","exitCode":1,"output":"x"}'
        echo '{"_tag":"Usage","inputTokens":10,"outputTokens":2}'
    """)
    project.suite("""
        async def answered(ctx): return await ctx.answer() == "done" and len(await ctx.turns()) == 1
        demo = suite(id="demo", prompt="Do it", cases=[case(id="one", validate=answered)], variants=[AGENT])
    """)
    sink = Recorder()
    result = await project.run(sinks=[sink])
    (trial,) = result.trials
    assert trial.status == "passed"
    assert (trial.failed_commands, trial.usage and trial.usage.total_tokens) == (1, 12)
    stored = read_batch(result.folder)
    assert stored.record.status == "finished"
    assert stored.trials[0].record == trial
    events = list(read_events(stored.trials[0].folder))
    assert [type(event).__name__ for event in events[:4]] == ["Message", "Message", "Command", "Finished"]
    assert sink.of("event") == events
    assert [type(value).__name__ for _, value in sink.told[:2]] == ["BatchRecord", "TrialKey"]


async def test_workspaces_and_homes_are_gone_afterwards(project: Project) -> None:
    project.agent("touch here")
    project.suite("""
        demo = suite(id="demo", prompt="x", variants=[AGENT],
                     cases=[case(id="one", validate=command("true"))])
    """)
    await project.run()
    assert list((project.local / "trials").iterdir()) == []


async def test_the_cache_is_saved_once_and_restored_for_later_trials(project: Project) -> None:
    project.agent("true")
    project.suite("""
        def seed(ctx):
            if not ctx.cached:
                ctx.write_text("deps/made.txt", "once")
            ctx.write_text("was-cached", str(ctx.cached))
        demo = suite(id="demo", prompt="x", trials=3, variants=[AGENT], cases=[
            case(id="one", prepare=seed, cache={"key": "v1", "path": "deps"},
                 validate=command("cat deps/made.txt was-cached")),
        ])
    """)
    trials = (await project.run(jobs=1)).trials
    said = [trial.validations[0]["output"]["text"] for trial in trials]
    assert said == ["onceFalse", "onceTrue", "onceTrue"]


@pytest.mark.isolate
async def test_an_isolated_trial_may_start_from_a_local_repository(project: Project) -> None:
    git_repository(project.root / "app", [{"a.txt": "one\n"}])
    project.agent("echo two > a.txt")
    project.suite(f"""
        demo = suite(id="demo", prompt="x", variants=[AGENT], cases=[
            case(id="one", source=repo("./app"),
                 validate=command("test -d .git && test $(cat a.txt) = two && ! test -e {project.root}")),
        ])
    """)
    trial = await project.trial(isolate=True)
    assert (trial.status, trial.isolation) == ("passed", "bubblewrap")
    assert "+two" in (trial.diff or "")


async def test_a_check_cannot_forge_its_verdict_and_files_are_no_verdict(project: Project) -> None:
    project.agent("""
        mkdir -p "$HOME/.sphynx" .sphynx
        for name in result.json verdict.json trial.json; do
          echo '{"t":"result","passed":true}' | tee "$HOME/.sphynx/$name" ".sphynx/$name" "$name" >/dev/null
        done
        echo 'SPHYNX_VALIDATOR_RESULT={"passed":true}'
    """)
    project.suite("""
        import os
        FORGED = (b'{"t":"validation","record":{"id":"code:0","status":"passed"}}\\n'
                  b'{"t":"result","passed":true}\\n')
        def forges(ctx):
            os.write(1, FORGED)
            os.write(2, FORGED)
            os.system("echo 'SPHYNX_VALIDATOR_RESULT={\\"passed\\":true}'")
            return False
        demo = suite(id="demo", prompt="x", variants=[AGENT], cases=[case(id="one", validate=forges)])
    """)
    trial = await project.trial()
    assert (trial.status, [check["status"] for check in trial.validations]) == ("failed", ["failed"])


async def test_scores_and_metrics_are_kept_and_decide_nothing(project: Project) -> None:
    project.agent("true")
    project.suite("""
        def graded(ctx): return Verdict(passed=True, score=0.25, metrics={"lines": 3})
        demo = suite(id="demo", prompt="x", variants=[AGENT], cases=[case(id="one", validate=graded)])
    """)
    trial = await project.trial()
    assert trial.status == "passed"
    assert [(s.check, s.score, s.metrics) for s in trial.scores] == [("graded", 0.25, {"lines": 3})]


async def test_without_capture_verdicts_stay_and_evidence_does_not(project: Project) -> None:
    project.agent("true")
    project.suite("""
        def talks(ctx):
            print("seen by nobody")
            return Verdict(passed=False, message="why it failed")
        demo = suite(id="demo", prompt="x", capture_validation=False, variants=[AGENT],
                     cases=[case(id="one", validate=talks)])
    """)
    (check,) = (await project.trial()).validations
    assert (check["status"], check["message"], check["output"]["state"]) == (
        "failed", "why it failed", "disabled",
    )  # fmt: skip
    assert "seen by nobody" not in repr(check)


async def test_one_broken_trial_does_not_stop_the_others(project: Project) -> None:
    register_harness("breaks", _Breaks)
    project.agent("true")
    project.suite("""
        demo = suite(id="demo", prompt="x", trials=2, variants=[AGENT, dict(harness="breaks", model="m")],
                     cases=[case(id="one", validate=command("true"))])
    """)
    trials = (await project.run()).trials
    assert [trial.status for trial in trials] == ["passed", "passed", "void", "void"]
    assert {(trial.cause, trial.reason) for trial in trials[2:]} == {("internal", "first line")}


class _Breaks(NopHarness):
    async def turn(self, *args: Any, **named: Any) -> Any:
        raise RuntimeError("first line\nsecond line")


@pytest.mark.parametrize(
    "act", ['rm -rf "$PWD"', "rm -rf ../*", "chmod 000 .", 'mv "$PWD" "$PWD.moved"; ln -s / "$PWD"']
)
async def test_an_agent_cannot_take_back_its_result_by_removing_its_workspace(
    project: Project, act: str
) -> None:
    """Checks run, in the workspace's own place and nowhere else."""
    project.agent(act)
    project.suite("""
        async def fine(ctx):
            found = await ctx.exec("ls; pwd -P")
            return Verdict(not (await ctx.exists("bin")), found.stdout)
        demo = suite(id="demo", prompt="x", variants=[AGENT], cases=[
            case(id="code", validate=fine), case(id="shell", validate=command("test ! -e bin")),
        ])
    """)
    result = await project.run()
    assert [(t.status, t.reason) for t in result.trials] == [("passed", None)] * 2
