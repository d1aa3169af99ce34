"""Agents that print far too much: the run keeps its memory and its wits."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from eval_project import Project

pytestmark = pytest.mark.load

HOST = """
import json, re
from sphynx.engine import LocalOptions, run_local_sync
(result,) = run_local_sync((), LocalOptions(jobs=1))
(trial,) = result.trials
print(json.dumps({
    # Not ru_maxrss: that begins with the size of the process that started this one.
    "megabytes": int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024,
    "status": trial.status, "commands": trial.commands, "notes": trial.notes,
    "logs": [log["value"]["text"] for check in trial.validations for log in check["logs"]],
}))
"""


def run(tmp_path: Path, agent: str) -> dict:
    project = Project(tmp_path)
    project.python_agent(agent)
    project.suite("""
        def look(ctx):
            turns = ctx.turns()
            print(json.dumps([len(turns[0]["events"]), turns[0].get("eventsDropped", 0), len(ctx.answer())]))
            return True
        import json
        demo = suite(id="demo", prompt="x", variants=[AGENT], cases=[case(id="one", validate=look)])
    """)
    done = subprocess.run(
        [sys.executable, "-c", HOST], cwd=project.root, env=project.env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_200_megabytes_of_chatter(tmp_path: Path) -> None:
    found = run(tmp_path, """
        import sys
        for _ in range(200): sys.stdout.write(("y" * 999 + "\\n") * 1000)
    """)  # fmt: skip
    assert found["status"] == "passed" and found["megabytes"] < 200


def test_one_line_of_50_megabytes_is_left_out_and_named(tmp_path: Path) -> None:
    found = run(tmp_path, """
        import json
        print(json.dumps({"_tag": "Message", "role": "assistant", "text": "z" * 50_000_000}))
        print(json.dumps({"_tag": "Message", "role": "assistant", "text": "small"}))
    """)  # fmt: skip
    assert found["status"] == "passed" and found["megabytes"] < 200
    assert "too long" in found["notes"][0]
    assert json.loads(found["logs"][0])[2] == len("small")


def test_a_million_events_are_counted_and_stored_and_checks_get_the_first_20000(tmp_path: Path) -> None:
    found = run(tmp_path, """
        import json
        for n in range(1_000_000):
            print(json.dumps({"_tag": "Command", "command": f"ls {n}", "exitCode": 0, "output": "words"}))
        print(json.dumps({"_tag": "Message", "role": "assistant", "text": "the end"}))
    """)  # fmt: skip
    assert found["status"] == "passed" and found["megabytes"] < 200
    assert found["commands"] >= 1_000_000
    kept, dropped, answer = json.loads(found["logs"][0])
    assert kept == 20_000 and dropped > 980_000 and answer == len("the end")


def test_a_log_of_the_recorder_of_any_size_is_read_in_part(tmp_path: Path) -> None:
    found = run(tmp_path, """
        import os
        with open(os.environ["SPHYNX_TRACE_LOG"], "a") as log:
            for n in range(400_000):
                log.write('{"at":"2026-11-30T22:38:12Z","cwd":"/w","argv":"ls %d","source":"trap"}\\n' % n)
    """)  # fmt: skip
    assert found["status"] == "passed" and found["megabytes"] < 200
    assert found["commands"] > 10_000
