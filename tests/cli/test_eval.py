"""``sphynx eval --local`` from outside: what it prints, what it writes, what it ends with."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from command_line import SPHYNX, CommandLine


def test_a_run_that_passes_ends_with_0_and_leaves_its_batch(project: CommandLine) -> None:
    project.one(suite="trials=2,")
    done = project.sphynx("eval", "--local")
    assert done.code == 0, done.err
    assert done.errors == []
    grid = [line for line in done.out.splitlines() if line.startswith("    ✓ command/scripted@agent")]
    assert re.match(r"    ✓ command/scripted@agent   ✓✓   100%   2 of 2 scored   95% CI 34-100", grid[0])
    assert re.search(
        r"^  ✓ passed     writes-hello on command/scripted@agent #2   +[\d.]+m?s$", done.out, re.M
    )
    assert re.search(r"^  2 trials: 2 passed    [\d.]+m?s", done.out, re.M)
    assert f"  .sphynx/batches/{project.batch_id}   sphynx show {project.batch_id}\n" in done.out
    assert project.record()["status"] == "finished"


def test_a_failing_check_ends_with_2_and_says_what_it_found(project: CommandLine) -> None:
    project.suite(
        """
        def says_hello(ctx):
            return Verdict(False, 'hello.txt says "helo", expected "hello"')
        smoke = suite(id="smoke", prompt="x", variants=[variant(**AGENT)],
                      cases=[case(id="writes-hello", validate=says_hello)])
        """
    )
    done = project.sphynx("eval", "--local")
    assert done.code == 2
    told = r"  ✗ failed     writes-hello on command/scripted@agent   [\d.]+m?s\n {15}hello.txt says "
    assert re.search(told + '"helo", expected "hello"\n', done.out)
    assert done.errors == ["error: gate failed: 1 trial failed (--fail-on failures)"]
    assert "  ✗ failed · 0 of 1 checks passed" in done.err


def test_an_agent_that_would_not_start_says_so_beside_the_failed_check(project: CommandLine) -> None:
    project.agent("no-such-program --go")
    project.one()
    done = project.sphynx("eval", "--local")
    assert done.code == 2
    note = "note: the agent exited with status 127: bash: line 1: no-such-program: command not found"
    assert note in " ".join(done.out.split())
    assert "    note: the agent exited with status 127: " in done.err


def test_an_agent_that_sleeps_past_its_limit_timed_out_and_fails_the_gate(project: CommandLine) -> None:
    project.agent("exec sleep 60")
    project.one(more="timeout_ms=1000")
    done = project.sphynx("eval", "--local")
    assert done.code == 2
    assert re.search(r"  ○ timed out  writes-hello on .* 1\.\ds\n {15}limit: .*1s", done.out)
    assert done.errors == ["error: gate failed: 1 trial timed out, nothing was scored (--fail-on failures)"]


def test_a_prepare_that_exits_3_is_void_with_the_reason(project: CommandLine) -> None:
    project.suite(
        """
        async def seed(ctx):
            await ctx.exec("bash", ["-c", "echo seed: no such table >&2; exit 3"])
        smoke = suite(id="smoke", prompt="x", variants=[variant(**AGENT)],
                      cases=[case(id="writes-hello", prepare=seed, validate=command("true"))])
        """
    )
    done = project.sphynx("eval", "--local")
    assert done.code == 2
    assert re.search(r"  ○ void       writes-hello on .*\n {15}setup: .*3", done.out)
    assert "1 trial void, nothing was scored" in done.errors[-1]
    never = project.sphynx("eval", "--local", "--fail-on", "never")
    assert never.code == 0
    assert never.err.splitlines()[-1] == "nothing was scored: 1 void"


def test_nothing_found_is_an_error_never_a_pass(project: CommandLine) -> None:
    done = project.sphynx("eval", "--local")
    assert (done.code, done.out) == (1, "")
    assert done.errors[0].startswith("error: ")
    assert "_eval.py" in done.err


def test_nothing_matched_is_an_error_that_names_what_there_is(project: CommandLine) -> None:
    project.one()
    case = project.sphynx("eval", "--local", "--case", "other")
    assert (case.code, case.out) == (1, "")
    assert "writes-hello" in case.err
    variant = project.sphynx("eval", "--local", "--variant", "codex")
    assert (variant.code, variant.out) == (1, "")
    assert "command/scripted@agent" in variant.err


def test_a_missing_file_is_named_with_its_nearest_neighbour(project: CommandLine) -> None:
    project.one()
    done = project.sphynx("eval", "--local", "dem_eval.py")
    assert done.code == 1
    assert done.errors == ["error: no such file: dem_eval.py", "  hint: did you mean demo_eval.py?"]


def test_every_problem_of_every_file_is_told_and_nothing_starts(project: CommandLine) -> None:
    project.suite(
        """
        smoke = suite(id="smoke", prompt="x", variants=[variant(**AGENT)], cases=[
            case(id="writes-hello", timout_ms=3, validate=command("true")),
            case(id="Reads It", validate=command("true")),
        ])
        """
    )
    done = project.sphynx("eval", "--local")
    assert (done.code, done.out) == (1, "")
    assert 'error: demo_eval.py: suite "smoke", case "writes-hello": ' in done.err
    assert "timeout_ms" in done.err
    assert '"Reads It"' in done.err
    assert done.err.splitlines()[-1] == "error: 2 problems in 1 file, nothing was started"
    assert project.batches == []


def test_a_file_that_raises_shows_the_users_own_line_and_no_traceback(project: CommandLine) -> None:
    (project.root / "bad_eval.py").write_text("import sphynx\n\n1 / 0\n")
    done = project.sphynx("eval", "--local")
    assert done.code == 1
    assert "bad_eval.py" in done.err
    assert "ZeroDivisionError" in done.err
    assert "Traceback" not in done.err
    assert "Traceback" in project.sphynx("eval", "--local", "--debug").err


def test_without_local_and_without_a_key_it_says_what_there_is_to_do(project: CommandLine) -> None:
    done = project.sphynx("eval")
    assert (done.code, done.errors[0]) == (1, "error: SPHYNX_API_KEY is not set")
    assert "--local" in done.err


def test_options_that_do_not_go_together_are_refused_before_anything_runs(project: CommandLine) -> None:
    project.one()
    for args in (
        ["--no-wait"], ["--timeout", "0"], ["--retry-void"], ["--trials", "11"], ["--jobs", "0"],
        ["--resume", "x", "--case", "y"], ["--dry-run", "--self-test"],
        ["--dry-run", "--json"], ["--timeout", "nan"], ["--output", "no/such/folder/a.json"],
        ["--fail-on", "sometimes"], ["--no-such-option"], ["--jobs", "257"],
        ["--dry-run", "--output", "a.json"], ["--self-test", "--junit", "a.xml"],
        ["--output", "a", "--junit", "./a"], ["--baseline", "b.json"], ["--agent", "nop/none"],
        ["--limit", "1"], ["--markdown", "a.md"],
    ):  # fmt: skip
        done = project.sphynx("eval", "--local", *args)
        assert (done.code, done.out) == (1, ""), args
        assert done.errors[0].startswith("error: "), args
    assert project.batches == []


def test_json_leaves_nothing_but_json_on_stdout(project: CommandLine) -> None:
    project.one(check="exit 4", suite="trials=2,")
    done = project.sphynx("eval", "--local", "--json")
    assert done.code == 2
    batch = json.loads(done.out)
    assert batch["id"] == project.batch_id
    assert [trial["status"] for trial in batch["runs"][0]["trials"]] == ["failed", "failed"]
    assert done.err == "error: gate failed: 2 trials failed (--fail-on failures)\n"


def test_the_reports_hold_every_suite_with_what_the_gate_said(project: CommandLine) -> None:
    project.suite(
        """
        good = suite(id="good", prompt="x", variants=[variant(**AGENT)],
                     cases=[case(id="a", validate=command("true"))])
        bad = suite(id="bad", prompt="x", variants=[variant(**AGENT)],
                    cases=[case(id="b", validate=command("exit 1"))])
        """
    )
    done = project.sphynx("eval", "--local", "--output", "report.json", "--junit", "junit.xml")
    assert done.code == 2
    good, bad = json.loads((project.root / "report.json").read_text())
    assert set(good) == {"batchId", "file", "suite", "batch", "error", "problems"}
    assert (good["suite"], good["file"], good["problems"], good["error"]) == (
        "good",
        "demo_eval.py",
        [],
        None,
    )
    assert bad["problems"] == ["b on command/scripted@agent, trial 1: failed"]
    assert bad["batch"]["runs"][0]["trials"][0]["trajectory"]
    assert {entry["batchId"] for entry in (good, bad)} == {path.parent.name for path in project.batches}
    root = ElementTree.fromstring((project.root / "junit.xml").read_bytes())
    assert [(s.get("name"), s.get("tests"), s.get("failures")) for s in root] == [
        ("good", "1", "0"),
        ("bad", "1", "1"),
    ]
    assert "2 suites, 2 trials: 1 passed, 1 failed" in done.out


def test_a_report_is_there_even_when_the_run_is_refused_halfway(project: CommandLine) -> None:
    project.one(more="timeout_ms=60000")
    project.agent("exec sleep 30")
    done = project.sphynx("eval", "--local", "--timeout", "1", "--output", "report.json")
    assert done.code == 1
    assert done.errors == ["error: the run took longer than --timeout (1s)"]
    (entry,) = json.loads((project.root / "report.json").read_text())
    assert entry["error"] == "the run took longer than --timeout"


def test_dry_run_says_what_would_run_and_what_is_missing(project: CommandLine) -> None:
    project.agent("true", variables=["API_TOKEN"])
    project.one(suite="trials=3,")
    missing = project.sphynx("eval", "--local", "--dry-run")
    assert missing.code == 1
    assert missing.out.splitlines()[0] == "smoke (demo_eval.py)  1 case × 1 variant × 3 trials = 3 trials"
    assert re.search(r"^  needs   API_TOKEN   missing .*hint: export API_TOKEN=\.\.\.$", missing.out, re.M)
    assert missing.errors == ["error: 1 key is missing, nothing was started"]
    refused = project.sphynx("eval", "--local")
    assert (refused.code, refused.out) == (1, "")
    assert "API_TOKEN is not set" in refused.err
    there = project.sphynx("eval", "--local", "--dry-run", API_TOKEN="x" * 20)
    assert (there.code, there.err) == (0, "")
    assert "  needs   API_TOKEN   found in the shell" in there.out
    assert "x" * 20 not in there.out
    assert project.batches == []


def test_dry_run_says_which_agents_have_to_be_installed(project: CommandLine) -> None:
    project.suite(
        """
        smoke = suite(id="smoke", prompt="x", cases=[case(id="a", validate=command("true"))],
                      variants=[variant(harness="codex", model="gpt-5.6-sol")])
        """
    )
    done = project.sphynx("eval", "--local", "--dry-run")
    assert done.code == 1
    needs, harness = done.out.splitlines()[1:3]
    assert needs.startswith("  needs   OPENAI_API_KEY   missing   ")
    found = re.fullmatch(r"  harness (codex \S+) +will be installed into \S+/local/harness", harness)
    assert found
    (project.local / "harness" / found[1].replace(" ", "_40")).mkdir(parents=True)
    assert re.search(
        r"^  harness codex \S+ +installed$", project.sphynx("eval", "--local", "--dry-run").out, re.M
    )


def test_dry_run_lists_the_mocks_in_one_line(project: CommandLine) -> None:
    """Every kind by its name; without mocks there is no such line."""
    project.one()
    assert "  mocks " not in project.sphynx("eval", "--local", "--dry-run").out
    made = """
from sphynx.mocks.cli import cli, command as program
from sphynx.mocks.mcp import server, tool
MCP = server(name="users", version="1.0.0", tools=[tool(name="get", description="d", handler=lambda: 1)])
CLI = cli(path="pricing", commands=[program(path=["push"], handler=lambda: 1)])
"""
    project.one(suite="cli=[CLI], mcp=[MCP],")
    file = project.root / "demo_eval.py"
    file.write_text(made + file.read_text())
    done = project.sphynx("eval", "--local", "--dry-run")
    assert done.code == 0, done.err
    assert "  mocks   mcp users, cli pricing" in done.out.splitlines()


def test_dry_run_tells_what_the_last_batch_took(project: CommandLine) -> None:
    project.one()
    project.sphynx("eval", "--local")
    done = project.sphynx("eval", "--local", "--dry-run")
    assert re.search(r"^  history last batch took [\d.]+m?s for 1 trial$", done.out, re.M)


def test_self_test_names_the_cases_that_cannot_tell_good_from_bad(project: CommandLine) -> None:
    project.suite(
        """
        smoke = suite(id="smoke", prompt="x", variants=[variant(**AGENT)], cases=[
            case(id="good", validate=command("test -f hello.txt"), solution="touch hello.txt"),
            case(id="always", validate=command("true"), solution="true"),
            case(id="wrong-answer", validate=command("test -f hello.txt"), solution="touch other.txt"),
            case(id="no-solution", validate=command("test -f hello.txt")),
        ])
        """
    )
    done = project.sphynx("eval", "--local", "--self-test")
    assert done.code == 2
    *table, untouched, reference = done.out.splitlines()
    for line in (untouched, reference):
        kept = re.fullmatch(r"  (\.sphynx/batches/(\S+))   sphynx show \2", line)
        assert kept is not None and (project.root / kept[1]).is_dir()
    assert table == [
        "  case           untouched workspace   reference solution",
        "  good           ✗ fails  (good)       ✓ passes (good)",
        "  always         ✓ passes (bad)        ✓ passes (good)",
        "  wrong-answer   ✗ fails  (good)       ✗ fails  (bad)",
        "  no-solution    ✗ fails  (good)       · no solution",
    ]
    assert done.errors == [
        "error: always passes before the agent does anything",
        "error: wrong-answer fails with its own reference solution",
    ]
    assert done.err.splitlines()[-1] == "1 of 4 cases has no solution and was only half tested"
    assert project.sphynx("eval", "--local", "--self-test", "--case", "good").code == 0
    nothing = project.sphynx("eval", "--local", "--self-test", "--case", "no-solution")
    assert nothing.code == 1
    assert nothing.errors[0] == "error: no case has a solution, so nothing says that a right answer passes"


def test_trials_of_one_log_never_mix_without_a_terminal(project: CommandLine) -> None:
    said = '{"_tag":"Message","role":"assistant","text":"part %s","usage":null}'
    project.agent(f"for n in 1 2 3; do printf '{said}\\n' $n; sleep 0.1; done")
    project.one(suite="trials=4,")
    done = project.sphynx("eval", "--local", "--jobs", "4")
    assert done.code == 2
    assert done.err.count("    part 1\n    part 2\n    part 3\n") == 4


def test_what_prepare_prints_is_shown_in_whole_lines(project: CommandLine) -> None:
    project.suite(
        """
        def seed(ctx):
            import sys, time
            for part in ("see", "ding\\nthree ", "rows\\n"):
                sys.stdout.write(part); sys.stdout.flush(); time.sleep(0.05)
        smoke = suite(id="smoke", prompt="x", variants=[variant(**AGENT)],
                      cases=[case(id="a", prepare=seed, validate=command("true"))])
        """
    )
    done = project.sphynx("eval", "--local")
    assert "  prepare │ seeding\n  prepare │ three rows\n" in done.err


def test_resume_runs_only_what_is_missing_and_gates_again(project: CommandLine) -> None:
    project.one(suite="trials=2,")
    project.sphynx("eval", "--local")
    (lost,) = (project.root / ".sphynx/batches").glob("*/trials/*-2/trial.json")
    lost.unlink()
    done = project.sphynx("eval", "--local", "--resume", project.batch_id)
    assert done.code == 0, done.err
    assert "2 trials: 2 passed" in done.out
    again = project.sphynx("eval", "--local", "--resume", project.batch_id)
    assert again.code == 0, again.err
    assert "2 trials: 2 passed" in again.out
    unknown = project.sphynx("eval", "--local", "--resume", "20000101-000000-none")
    assert unknown.code == 1


def test_a_machine_without_bash_is_no_verdict_on_the_agent(project: CommandLine) -> None:
    project.one()
    done = project.sphynx("eval", "--local", PATH=str(Path(sys.executable).parent))
    assert done.code == 2
    assert 'setup: The agent could not start: there is no "bash" on PATH' in done.out


def test_what_the_machine_refuses_is_one_line(project: CommandLine, tmp_path: Path) -> None:
    """A local root that cannot be, a full disk and a folder that is gone are no bugs of ours."""
    project.one()
    done = project.sphynx("eval", "--local", SPHYNX_LOCAL_ROOT="/dev/null")
    assert (done.code, done.errors[0]) == (
        1,
        "error: cannot write in /dev/null, which SPHYNX_LOCAL_ROOT=/dev/null leads to: Not a directory",
    )
    command = f'mkdir gone; cd gone; rmdir ../gone; exec "{SPHYNX}" eval --local'
    gone = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, env=project.environment(), capture_output=True, text=True
    )
    assert (gone.returncode, gone.stderr) == (1, "error: the current folder is not there any more\n")


def test_a_home_that_cannot_be_used_is_named_with_what_to_do(project: CommandLine) -> None:
    """Where installs and caches go by default; a relative one would litter the project."""
    project.one()
    unset = {"SPHYNX_LOCAL_ROOT": ""}
    gone = project.sphynx("eval", "--local", HOME="/proc/nope", **unset)
    assert (gone.code, len(gone.errors)) == (1, 2)
    assert gone.errors[0].startswith("error: cannot write in /proc/nope/.sphynx/local, which HOME=/proc/nope")
    assert "SPHYNX_LOCAL_ROOT" in gone.errors[1]
    relative = project.sphynx("eval", "--local", HOME="here", **unset)
    assert relative.errors[0] == "error: HOME is here, which is no whole path"
    assert not (project.root / "here").exists()


def test_closed_streams_do_not_disturb_a_run(project: CommandLine) -> None:
    """As some daemons start their children: no stdin, stdout or stderr at all."""
    project.one()
    done = subprocess.run(
        ["bash", "-c", f'"{SPHYNX}" eval --local <&- >&- 2>&-'], cwd=project.root, env=project.environment()
    )
    assert done.returncode == 0
    assert project.record()["status"] == "finished"


def test_a_thread_an_eval_file_started_does_not_keep_the_command(project: CommandLine) -> None:
    project.suite(
        """
        import threading, time
        threading.Thread(target=time.sleep, args=(50,)).start()
        smoke = suite(id="smoke", prompt="x", variants=[variant(**AGENT)],
                      cases=[case(id="one", validate=command("true"))])
        """
    )
    assert project.sphynx("eval", "--local", limit=30).code == 0


def test_the_timeout_covers_the_import_of_an_eval_file(project: CommandLine) -> None:
    """A file that hangs at its import is named, also when it swallows every exception."""
    (project.root / "slow_eval.py").write_text(
        "import time\ntry:\n    time.sleep(60)\nexcept Exception:\n    time.sleep(60)\n"
    )
    done = project.sphynx("eval", "--local", "slow_eval.py", "--timeout", "0.4", limit=20)
    assert (done.code, done.out) == (1, "")
    assert done.errors[0] == (
        "error: importing slow_eval.py took longer than --timeout 0.4 s, nothing was started"
    )


def test_nothing_of_a_file_or_a_command_line_drives_the_terminal(project: CommandLine) -> None:
    """Escape sequences in names and arguments are taken out, words without end are cut."""
    project.suite(
        """
        smoke = suite(id="smoke", name="sm\\x1b[2Joke", prompt="x",
            variants=[{**AGENT, "model": "no\\x1b]0;title\\x07ne"}],
            cases=[case(id="a", name="na\\x1b[2Jme", validate=command("true"))])
        """
    )
    done = project.sphynx("eval", "--local")
    told = [done, project.sphynx("show"), project.sphynx("eval", "--local", "--dry-run")]
    told += [
        project.sphynx("eval", "--local", arg, "a\x1b[2Jb") for arg in ("--case", "--variant", "--resume")
    ]
    told += [project.sphynx("eval", "--local", "--no\x1b[2J"), project.sphynx("wh\x1b[2J")]
    assert done.code == 0 and "smoke (demo_eval.py)" in done.out
    assert not any("\x1b" in one.out + one.err for one in told)
    long = project.sphynx("eval", "--local", "--case", "x" * 10_000)
    assert "xxx… (10,002 characters)" in long.errors[0] and len(long.err) < 400
    unknown = project.sphynx("eval", "--local", "--variant", "zz")
    assert unknown.errors[0] == 'error: no variant "zz" in demo_eval.py'
    assert unknown.errors[1].startswith("  hint: there are: command/none@agent")
