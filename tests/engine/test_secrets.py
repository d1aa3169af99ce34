"""What an agent must not be able to leave behind: the values of secrets, in whatever form it prints them."""

from __future__ import annotations

import base64
import json
import stat
import urllib.parse
from pathlib import Path

import pytest

from eval_project import Project, Recorder
from sphynx.errors import UsageError

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


async def test_names_and_numbers_a_check_chooses_are_redacted(project: Project) -> None:
    """A check may put what it read anywhere: into its name, its metrics, the prompt."""
    project.agent("true", variables=["APP_SECRET"])
    project.suite(f"""
        S = {SECRET!r}
        def measured(ctx): return Verdict(False, "is " + S, score=0.5, metrics={{S: 1, "fine": 2}})
        demo = suite(id="demo", name="suite " + S, prompt="use {{{{key}}}} " + S, variants=[AGENT], cases=[
            case(id="one", name="case " + S, variables={{"key": S}}, validate=named("check " + S, measured)),
            case(id="two", variables={{"key": "k"}}, validate=command("false " + S.replace("'", "")))])
    """)
    sink = Recorder()
    result = await project.run(sinks=[sink], env={"APP_SECRET": SECRET})
    assert [trial.status for trial in result.trials] == ["failed", "failed"]
    assert result.trials[0].scores[0].metrics == {"[redacted]": 1, "fine": 2}
    stored = b"".join(path.read_bytes() for path in result.folder.rglob("*") if path.is_file()).decode()
    told = repr(sink.told) + repr(result.record) + repr(result.trials)
    for form in _forms():
        assert form not in stored
        assert form not in told


@pytest.mark.parametrize("where", ["case", "model"])
async def test_a_secret_as_a_name_results_are_found_by_is_refused(project: Project, where: str) -> None:
    project.agent("true", variables=["APP_TOKEN"])
    case_id, model = ("tok-0815-4711", "m") if where == "case" else ("one", "m-tok-0815-4711")
    project.suite(f"""
        agent = variant(harness="command", model={model!r}, profile={{"name": "agent", "dir": "./agent"}})
        demo = suite(id="demo", prompt="x", variants=[agent],
                     cases=[case(id={case_id!r}, validate=command("true"))])
    """)
    with pytest.raises(UsageError, match="holds the value of APP_TOKEN") as caught:
        await project.run(env={"APP_TOKEN": "tok-0815-4711"})
    assert "0815" not in str(caught.value)


async def test_what_is_kept_beside_a_record_is_for_its_user_alone(project: Project) -> None:
    project.agent("echo x > a.txt; ln -s /etc out; ln -s ../.. up; ln -s a.txt same; chmod 755 .")
    project.suite("""
        demo = suite(id="demo", prompt="x", variants=[AGENT],
                     cases=[case(id="one", validate=command("true"))])
    """)
    result = await project.run(keep_workspace=True)
    (folder,) = (result.folder / "trials").iterdir()
    assert stat.S_IMODE((folder / "workspace").stat().st_mode) == 0o700
    assert sorted(path.name for path in (folder / "workspace").iterdir()) == ["a.txt", "same"]
    assert "2 links of the workspace were not kept: they lead out of it" in result.trials[0].notes
    kept = [path for path in folder.iterdir() if path.is_file()]
    assert {"changes.diff", "artifact-1.txt"} <= {path.name for path in kept}
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}
