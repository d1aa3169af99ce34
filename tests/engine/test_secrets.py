"""What an agent must not be able to leave behind: the values of secrets, in whatever form it prints them."""

from __future__ import annotations

import base64
import json
import urllib.parse
from pathlib import Path

import pytest

from eval_project import Project, Recorder

pytestmark = pytest.mark.anyio

SECRET = 'pl"ain pass+word-0815'


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def _forms() -> list[str]:
    encoded = [base64.b64encode(b"x" * pad + SECRET.encode()).decode() for pad in range(3)]
    inside = [text[4:-4] for text in encoded]
    return [SECRET, json.dumps(SECRET)[1:-1], urllib.parse.quote(SECRET, safe=""), "word-0815", *inside]


async def test_ten_disguises_are_redacted_everywhere(project: Project) -> None:
    project.python_agent("""
        import base64, json, os, sys, time, urllib.parse
        s = os.environ["APP_SECRET"]
        def say(text): print(json.dumps({"_tag": "Message", "role": "assistant", "text": text}), flush=True)
        def ran(text): print(json.dumps({"_tag": "Command", "command": text, "exitCode": 1, "output": text}))
        say(s); say(f'"{s}"'); say(json.dumps({"key": s}))
        say("https://u:" + urllib.parse.quote(s, safe="") + "@h/")
        ran(base64.b64encode(b"key=" + s.encode()).decode())
        ran(urllib.parse.quote(s, safe=""))
        line = json.dumps({"_tag": "Message", "role": "assistant", "text": "split " + s})
        sys.stdout.write(line[:60]); sys.stdout.flush(); time.sleep(0.05); print(line[60:])
        open(s + ".txt", "w").write("named")
        open("held.txt", "w").write("value: " + s)
        print(json.dumps({"_tag": "FileChange", "paths": [os.getcwd() + "/" + s]}))
        say("".join("\\x1b[1m" + c + "\\x1b[0m" for c in s))
        print("on stderr " + s, file=sys.stderr)
        print(json.dumps({"_tag": "Finished", "reason": "failed: cannot use " + s}))
        sys.exit(3)
    """, variables=["APP_SECRET"])  # fmt: skip
    project.suite("""
        demo = suite(id="demo", prompt="x", variants=[AGENT],
                     cases=[case(id="one", validate=command("true"))])
    """)
    sink = Recorder()
    result = await project.run(sinks=[sink], env={"APP_SECRET": SECRET})
    (trial,) = result.trials
    assert (trial.status, trial.reason) == ("void", "The agent failed: cannot use [redacted]")
    stored = b"".join(path.read_bytes() for path in result.folder.rglob("*") if path.is_file()).decode()
    names = " ".join(path.name for path in result.folder.rglob("*"))
    told = repr(sink.told)
    for form in _forms():
        assert form not in stored
        assert form not in names
        assert form not in told
    assert "held.txt" in trial.files_changed


async def test_setup_output_and_reasons_are_redacted(project: Project) -> None:
    project.agent("true", variables=["APP_SECRET"], install='echo "installing with $APP_SECRET"')
    project.suite("""
        import os
        async def seed(ctx):
            print("preparing with", os.environ["APP_SECRET"])
            raise RuntimeError("cannot reach it with " + os.environ["APP_SECRET"])
        demo = suite(id="demo", prompt="x", variants=[AGENT],
                     cases=[case(id="one", prepare=seed, validate=command("true"))])
    """)
    sink = Recorder()
    result = await project.run(sinks=[sink], env={"APP_SECRET": SECRET})
    assert result.trials[0].stage == "prepare"
    assert "installing with [redacted]" in sink.shown("install")
    assert "preparing with [redacted]" in sink.shown("prepare")
    assert "word-0815" not in repr(sink.told) + repr(result)


async def test_named_variables_reach_agent_install_prepare_and_checks_and_nothing_else(
    project: Project,
) -> None:
    project.agent(
        'test "$APP_SECRET" = "$WANTED" || exit 1; echo ok > agent.txt',
        variables=["APP_SECRET", "WANTED"],
        install='test "$APP_SECRET" = "$WANTED"',
        env={"PLAIN": "from-profile"},
    )
    project.suite("""
        import os
        def seed(ctx):
            assert os.environ["APP_SECRET"] == os.environ["WANTED"] and os.environ["PLAIN"] == "from-profile"
        def check(ctx):
            return (os.environ["APP_SECRET"] == os.environ["WANTED"] and "HOST_ONLY" not in os.environ
                    and ctx.exists("agent.txt") and os.environ["API_BASE"] == "http://localhost:1234")
        demo = suite(id="demo", prompt="x", variants=[AGENT],
                     cases=[case(id="one", prepare=seed, validate=check)])
    """)
    (project.root / ".env").write_text("API_BASE=http://localhost:1234\nDATABASE_URL=postgres://a:b@c/d\n")
    env = {"APP_SECRET": "value-of-it", "WANTED": "value-of-it", "HOST_ONLY": "1"}
    trial = await project.trial(env=env)
    assert trial.status == "passed", trial
