"""``show``, ``clean`` and ``doctor``."""

from __future__ import annotations

import json
import os
import re
import time

from command_line import CommandLine


def failed_run(project: CommandLine) -> str:
    project.agent("printf helo > hello.txt; cat hello.txt; echo done")
    project.suite(
        """
        def exact_text(ctx):
            print("looking at hello.txt")
            text = 'hello.txt says "helo", expected "hello"'
            return Verdict(False, text, score=0.8, metrics={"letters": 4})
        def is_there(ctx):
            return True
        smoke = suite(id="smoke", prompt="Write hello", variants=[variant(**AGENT)], trials=2,
                      cases=[case(id="writes-hello", validate=[exact_text, is_there])])
        """
    )
    assert project.sphynx("eval", "--local").code == 2
    return project.batch_id


def test_show_prints_a_trial_again_with_transcript_verdict_and_diff(project: CommandLine) -> None:
    batch = failed_run(project)
    done = project.sphynx("show", batch, "--case", "writes-hello", "--trial", "2")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    head = r"writes-hello on command/scripted@agent, trial 2: failed in [\d.]+m?s, "
    assert re.fullmatch(head + "isolation none, harness command.*", lines[0])
    text = done.out
    assert "  ❯ User\n    Write hello\n  ◆ Agent\n" in text
    assert "  ✗ failed · 1 of 2 checks passed\n    ✗ exact_text · " in text
    assert '      hello.txt says "helo", expected "hello"\n' in text
    assert "    ✓ is_there · " in text
    assert "  exact_text printed\n    stdout │ looking at hello.txt\n" in text
    assert re.search(r"  changed   hello\.txt  \+1 -0\n {12}@@ -0,0 \+1(,1)? @@\n {12}\+helo\n", text)
    assert "  measured  exact_text: score 0.8, letters 4\n" in text


def test_show_prints_the_grid_of_a_batch_and_of_the_newest_one(project: CommandLine) -> None:
    batch = failed_run(project)
    named, newest, begun = (project.sphynx("show", *args) for args in ([batch], [], [batch[:15]]))
    assert named.out == newest.out == begun.out
    assert "    ✗ command/scripted@agent   ✗✗   0%   2 of 2 scored   95% CI 0-66" in named.out
    assert "      exact_text: score     mean 0.8 ± 0   from 0.8 to 0.8   2 trials\n" in named.out
    assert "      exact_text: letters   mean 4 ± 0     from 4 to 4       2 trials\n" in named.out


def test_show_without_a_batch_looks_past_self_tests(project: CommandLine) -> None:
    project.one(more='solution="printf hello > hello.txt"')
    assert project.sphynx("eval", "--local").code == 0
    assert project.sphynx("eval", "--local", "--self-test").code == 0
    assert "command/scripted@agent" in project.sphynx("show").out


def test_show_as_json_is_the_wire_batch(project: CommandLine) -> None:
    batch = failed_run(project)
    shown = json.loads(project.sphynx("show", batch, "--json").out)
    assert (shown["id"], len(shown["runs"][0]["trials"])) == (batch, 2)
    one = json.loads(project.sphynx("show", batch, "--trial", "1", "--json").out)
    assert [trial["ordinal"] for trial in one["runs"][0]["trials"]] == [1]


def test_show_names_what_there_is_when_nothing_matches(project: CommandLine) -> None:
    batch = failed_run(project)
    case = project.sphynx("show", batch, "--case", "writes-helo")
    assert (case.code, case.errors[1]) == (1, '  hint: did you mean "writes-hello"?')
    assert project.sphynx("show", batch, "--trial", "9").code == 1
    assert project.sphynx("show", "nothing-like-it").code == 1


def test_show_takes_a_variant_as_eval_does(project: CommandLine) -> None:
    batch = failed_run(project)
    for name in ("command/scripted@agent", "command/scripted", "agent"):
        done = project.sphynx("show", batch, "--variant", name, "--trial", "1")
        assert done.out.startswith("writes-hello on command/scripted@agent, trial 1: "), done.err
    wrong = project.sphynx("show", batch, "--variant", "codex")
    assert wrong.errors[1] == "  hint: there are: command/scripted@agent"


def test_show_survives_a_reader_that_goes_away(project: CommandLine) -> None:
    import subprocess

    from command_line import SPHYNX

    batch = failed_run(project)
    done = subprocess.run(
        ["bash", "-c", f"{SPHYNX} show {batch} | true; echo ${{PIPESTATUS[0]}}"],
        cwd=project.root, env=project.environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_clean_lists_and_removes_nothing_unless_asked(project: CommandLine) -> None:
    batch = failed_run(project)
    done = project.sphynx("clean")
    assert done.code == 0
    assert re.search(r"^recorded batches   \d.* in \.sphynx/batches$", done.out, re.M)
    assert batch in done.out
    assert "nothing was removed" in done.err
    without_yes = project.sphynx("clean", "--batches")
    assert "nothing was removed   add --yes to remove it" in without_yes.err
    assert project.sphynx("clean", "--yes").code == 1
    assert project.batch_id == batch


def test_clean_removes_what_it_was_asked_to_and_only_that(project: CommandLine) -> None:
    failed_run(project)
    cache = project.local / "cache" / "seeds"
    cache.mkdir(parents=True)
    recent = project.sphynx("clean", "--batches", "--older-than", "3", "--yes")
    assert (recent.code, recent.out) == (0, "nothing to remove\n")
    assert len(project.batches) == 1
    done = project.sphynx("clean", "--batches", "--yes")
    assert (done.code, project.batches) == (0, [])
    assert done.err.startswith("removed 1 folder, ")
    assert cache.is_dir()
    old = time.time() - 10 * 86_400
    os.utime(cache, (old, old))
    assert project.sphynx("clean", "--caches", "--older-than", "3", "--yes").code == 0
    assert not cache.exists()
    assert (project.local / "packages").is_dir()


def test_clean_leaves_a_batch_that_may_be_running(project: CommandLine) -> None:
    failed_run(project)
    path = project.batches[0]
    path.write_text(path.read_text().replace('"status":"finished"', '"status":"running"'))
    done = project.sphynx("clean", "--batches", "--yes")
    assert "may be running, stays" in done.out
    assert len(project.batches) == 1


def test_doctor_says_what_the_machine_can_do(project: CommandLine) -> None:
    done = project.sphynx("doctor", OPENAI_API_KEY="sk-" + "a1" * 20)
    assert done.code == 0
    assert re.search(r"^  ✓ python +3\.\d+\.\d+$", done.out, re.M)
    assert re.search(r"^  ✓ keys +OPENAI_API_KEY$", done.out, re.M)
    assert "a1a1" not in done.out
    assert str(project.local) in done.out
    found = json.loads(project.sphynx("doctor", "--json").out)
    assert [item["name"] for item in found] == [
        "python", "bash", "git", "node", "bubblewrap", "docker", "keys", "disk",
        "claude", "codex", "cursor", "fx", "gemini", "opencode", "pi", "qwen",
    ]  # fmt: skip
    assert {item["state"] for item in found} <= {"ok", "off", "missing"}


def test_doctor_says_that_bash_is_missing_and_fails(project: CommandLine) -> None:
    done = project.sphynx("doctor", PATH=str(project.root))
    assert done.code == 1
    assert re.search(r"^  ✗ bash +not found", done.out, re.M)


def test_usage_warnings_are_told_per_trial_with_their_numbers(project: CommandLine) -> None:
    project.agent("""echo '{"_tag":"Usage","inputTokens":60000,"outputTokens":5}'""")
    project.one(check="true")
    done = project.sphynx("eval", "--local")
    name = r"    writes-hello on command/scripted@agent #1 "
    assert re.search(name + r"re-read a large context on every turn: 60,000 fresh input tokens", done.out)
    assert re.search(name + r"got nothing from the cache: 60,000 input tokens, 0 cached", done.out)
    shown = project.sphynx("show", project.batch_id, "--case", "writes-hello").out
    assert re.search(r"^  warning   got nothing from the cache: 60,000 input tokens", shown, re.M)


def test_a_run_and_show_say_the_same_time_and_show_says_how_to_see_a_trial(project: CommandLine) -> None:
    project.one()
    run = project.sphynx("eval", "--local")
    shown = project.sphynx("show")
    totals = [line for line in run.out.splitlines() if line.startswith("  1 trial: 1 passed")]
    assert totals and totals[0] in shown.out.splitlines()
    hint = f"  sphynx show {project.batch_id} --case writes-hello   transcript, checks and diff"
    assert shown.out.splitlines()[-1] == hint
    wrong = project.sphynx("show", project.batch_id, "writes-hello")
    assert wrong.errors[1] == "  hint: sphynx show BATCH --case writes-hello"
