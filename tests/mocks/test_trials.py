"""Mocks in whole trials: examples, state, logs an agent cannot touch, what voids a trial."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from eval_project import Project, Recorder
from sphynx.engine import plan_local, read_batch, read_events, self_test
from sphynx.engine.regrade import plan_regrade, run_regrade
from sphynx.journal.events import Message, ToolCall

pytestmark = pytest.mark.anyio

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MOCKS = """
import msgspec
from sphynx.mocks.api import api, endpoint
from sphynx.mocks.cli import cli, command
from sphynx.mocks.mcp import server, tool

class Note(msgspec.Struct):
    text: str

class Posted(msgspec.Struct):
    body: Note

def leave():
    import os
    os._exit(3)

def keep(note, ctx):
    ctx.state["notes"].append(note.text)
    return ctx.state["notes"]

notes_cli = cli(path="notes", commands=[
    command(path=["add"], input_schema=Note, options={"text": {}}, handler=keep)])
notes_mcp = server(name="notes", tools=[tool(name="add", input_schema=Note, handler=keep)])
notes_api = api(name="notes", endpoints=[
    endpoint(method="GET", path="/notes", responses={200: {}},
             handler=lambda r, ctx: {"status": 200, "body": {"notes": ctx.state["notes"]}}),
    endpoint(method="POST", path="/notes", input_schema=Posted, responses={201: {}},
             handler=lambda r, ctx: {"status": 201, "body": {"notes": keep(r.body, ctx)}}),
    endpoint(method="GET", path="/broken", responses={200: {}}, handler=lambda: 1 / 0)])
"""
AGENT = """
import json, os, re, subprocess, sys, urllib.request
prompt = os.environ["SPHYNX_PROMPT"]
def say(text):
    print(json.dumps({"_tag": "Message", "role": "assistant", "text": text}), flush=True)
def ask(path, body=None):
    url = re.search(r"^notes: (\\S+)$", prompt, re.M)[1]
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url + path, data)) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def notes(project: Project, agent: str, check: str, **fields: str) -> None:
    """A project with the notes mocks; ``check`` is the body of an async check."""
    project.python_agent(AGENT + agent)
    fields = {"mocks": "cli=[notes_cli], mcp=[notes_mcp], api=[notes_api]", "case": "", **fields}
    project.suite(f"""{MOCKS}
async def check(ctx):
    {check}

made = suite(id="made", prompt="Keep notes.", {fields["mocks"]},
             cases=[case(id="one", validate=[check], fixtures={{"notes": ["first"]}}, {fields["case"]})],
             variants=[variant(**AGENT)])
""")


def example(project: Project, name: str) -> dict[str, Any]:
    shutil.copytree(EXAMPLES, project.root, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".sphynx"))
    return {"paths": [f"{name}_eval.py"], "variants": ["command/scripted"]}


@pytest.mark.parametrize("name", ["users_interface", "catalog_api"])
async def test_the_examples_pass(project: Project, name: str) -> None:
    trial = await project.trial(**example(project, name))
    assert (trial.status, trial.reason) == ("passed", None)


async def test_a_broken_handler_of_a_tool_or_program_is_the_agents_to_deal_with(project: Project) -> None:
    """The trial goes on and the checks fail it."""
    wanted = example(project, "users_interface")
    users = project.root / "fixtures/users.py"
    users.write_text(users.read_text().replace("    return user", "    return {'id': 1}"))
    trial = await project.trial(**wanted)
    assert trial.status == "failed"
    assert trial.cause == "agent"
    calls = trial.validations[0]["calls"]
    assert [call["method"] for call in calls] == ["cli.calls", "mcp.calls"]
    assert "users users_get: output id: input should be a valid string" in calls[1]["output"]["text"]


async def test_a_broken_handler_of_an_api_voids_the_trial_with_its_text(project: Project) -> None:
    wanted = example(project, "catalog_api")
    catalog = project.root / "interfaces/catalog.py"
    catalog.write_text(catalog.read_text().replace('"status": 200', '"status": 201'))
    trial = await project.trial(**wanted)
    assert (trial.status, trial.cause, trial.stage) == ("void", "setup", "mocks")
    assert trial.reason == "catalog GET /items/:id: the handler answered 201, declared are 200, 404"


async def test_a_timid_agent_that_ends_at_once_does_not_hide_a_broken_api(project: Project) -> None:
    """Also when the agent itself fails after it, the mock's text is the reason."""
    notes(
        project,
        'ask("/broken"); print(json.dumps({"_tag": "Finished", "reason": "failed: no"}))',
        "return True",
    )
    trial = await project.trial()
    assert (trial.status, trial.stage, trial.reason) == (
        "void", "mocks", "notes GET /broken: division by zero"
    )  # fmt: skip


async def test_an_api_broken_by_a_check_voids_the_trial_too(project: Project) -> None:
    body = 'import urllib.request\n    try: urllib.request.urlopen(await ctx.api.url("notes") + "/broken")\n'
    notes(project, "", body + "    except Exception: pass\n    return True")
    trial = await project.trial()
    assert (trial.status, trial.stage) == ("void", "mocks")


async def test_all_interfaces_share_a_state_that_the_case_begins(project: Project) -> None:
    """A program, a tool and an API add to one list; every trial begins anew; logs come in order."""
    agent = """
subprocess.run(["notes", "add", "--text", "by cli"], check=True, stdout=subprocess.DEVNULL)
entry = json.load(open(os.environ["SPHYNX_MCP_CONFIG"]))["mcpServers"]["notes"]
call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "add", "arguments": {"text": "by mcp"}}}
subprocess.run([entry["command"], *entry["args"]], input=json.dumps(call) + "\\n", text=True, check=True,
               stdout=subprocess.DEVNULL)
say(json.dumps(ask("/notes", {"text": "by api"})))
"""
    check = """import json
    assert json.loads(await ctx.answer())["notes"] == ["first", "by cli", "by mcp", "by api"]
    (one,), (two,) = await ctx.cli.calls(), await ctx.mcp.calls("notes")
    (three,) = await ctx.api.calls("notes")
    assert (one.cli, one.command, one.input) == ("notes", "add", {"text": "by cli"})
    assert (two.server, two.kind, two.name) == ("notes", "tool", "add")
    assert two.output == ["first", "by cli", "by mcp"]
    assert (three.method, three.path, three.status, three.matched) == ("POST", "/notes", 201, True)
    assert json.loads(three.input.text)["body"] == {"text": "by api"} and not three.output.truncated
    assert await ctx.cli.calls("other") == []
    return True"""
    notes(project, agent, check)
    result = await project.run(trials=2)
    assert [(t.status, [v["message"] for v in t.validations]) for t in result.trials] == [
        ("passed", [""])
    ] * 2


async def test_prepare_and_solutions_reach_the_api(project: Project) -> None:
    """And without MCP mocks a command agent gets no configuration for them."""
    notes(
        project,
        'assert "SPHYNX_MCP_CONFIG" not in os.environ; say(json.dumps(ask("/notes")))',
        'return "prepared" in await ctx.answer() or bool(await ctx.exists("solved"))',
        mocks="cli=[notes_cli], api=[notes_api]",
        case='prepare=prepare, solution="notes add --text solved > solved"',
    )
    file = project.root / "demo_eval.py"
    prepare = """
def prepare(ctx):
    import json, urllib.request
    body = json.dumps({"text": "prepared"}).encode()
    urllib.request.urlopen(urllib.request.Request(ctx.api.url("notes") + "/notes", body)).read()
"""
    file.write_text(file.read_text().replace("\nmade = suite", prepare + "\nmade = suite"))
    assert (await project.trial()).status == "passed"
    (row,) = await self_test(plan_local([], project.options()), [])
    assert row.reference is not None and row.reference.status == "passed"


async def test_http_calls_are_in_the_journal_without_secrets(project: Project) -> None:
    """In their place among the agent's messages, cut after redaction; the prompt says where the API is."""
    secret = "sk-proj-" + "a1B2" * 10
    agent = f"""
say("before"); import time; time.sleep(0.3)
ask("/notes", {{"text": "{secret} " + "x" * 40_000, "password": "hunter2"}})
ask("/nowhere")
time.sleep(0.3)  # two channels lead to the host
say("after")
"""
    check = """
    calls = await ctx.api.calls()
    return len(calls[0].input.text) > 40_000 and "hunter2" not in calls[0].input.text"""
    notes(project, agent, check)
    result = await project.run()
    assert [trial.status for trial in result.trials] == ["passed"]
    (stored,) = read_batch(result.folder).trials
    events = list(read_events(stored.folder))
    shown = [
        e.text if isinstance(e, Message) else e.name for e in events if isinstance(e, Message | ToolCall)
    ]
    assert shown[0].startswith("Keep notes.\n\nLocal mock APIs")
    assert "notes: http://127.0.0.1:" in shown[0] and "\nPOST /notes\n" in shown[0]
    assert shown[1:] == ["before", "notes POST /notes", "notes GET /nowhere", "after"]
    posted, nowhere = [event for event in events if isinstance(event, ToolCall)]
    assert (posted.call_id, posted.status, nowhere.status) == ("api:notes:0", "completed", "error")
    assert len(posted.input or "") == 16_000
    journal = (stored.folder / "journal.jsonl").read_text()
    assert secret not in journal and "hunter2" not in journal


TAMPERING = {
    "takes the door away": 'os.remove(os.environ["HOME"] + "/.sphynx/mocks/door")',
    "answers the host itself": """
mark = os.environ["HOME"] + "/.sphynx/mocks/mark"
os.remove(mark)
open(mark, "w").write("#!/bin/sh\\nexit 0\\n")
os.chmod(mark, 0o700)
""",
}


@pytest.mark.parametrize("how", ["takes the door away", "answers the host itself"])
async def test_mocks_that_were_tampered_with_void_the_trial(project: Project, how: str) -> None:
    """The host asks for a mark through the door and must hear it over its own channel."""
    notes(project, TAMPERING[how], "return True")
    trial = await project.trial()
    assert (trial.status, trial.stage) == ("void", "mocks")
    assert str(trial.reason).startswith("The mocks no longer answer")


async def test_mocks_that_ended_void_the_trial(project: Project) -> None:
    """The agent is told that nobody answers."""
    notes(
        project,
        'say(subprocess.run(["end", "now"], capture_output=True, text=True).stderr)',
        "return True",
        mocks="cli=[cli(path='end', commands=[command(path=['now'], handler=leave)])]",
    )
    trial = await project.trial()
    assert (trial.status, trial.stage) == ("void", "mocks")
    assert "no longer answer (they ended with exit code 3)" in str(trial.reason)


async def test_no_file_of_the_agents_holds_the_log(project: Project) -> None:
    """An agent that empties all it can write to, and forges logs, changes nothing of what checks read."""
    agent = """
subprocess.run(["notes", "add", "--text", "a"], check=True, stdout=subprocess.DEVNULL)
for folder in (".sphynx", os.environ["HOME"] + "/.sphynx"):
    os.makedirs(folder, exist_ok=True)
    for kind in ("cli", "mcp", "api"):
        open(f"{folder}/{kind}-calls.jsonl", "w").write('{"cli": "notes", "command": "forged"}\\n')
"""
    check = """
    (call,) = await ctx.cli.calls()
    return call.input == {"text": "a"} and await ctx.mcp.calls() == []"""
    notes(project, agent, check)
    assert (await project.trial()).status == "passed"


async def test_more_requests_than_a_trial_may_make_void_it(project: Project) -> None:
    notes(project, 'say(str([ask("/notes") for _ in range(257)][-1]))', "return True")
    trial = await project.trial()
    assert (trial.status, trial.stage) == ("void", "mocks")
    assert trial.reason == "the mocks of a trial answer 256 requests, this was one more"


async def test_mocks_that_cannot_start_void_the_trial_before_the_agent(project: Project) -> None:
    notes(project, "", "return True")
    folder = project.root / "agent/home/.local/bin"
    folder.mkdir(parents=True)
    (folder / "notes").write_text("#!/bin/sh\n")
    recorder = Recorder()
    trial = await project.trial(sinks=[recorder])
    assert (trial.status, trial.cause, trial.stage, trial.turns) == ("void", "setup", "mocks", 0)
    assert "already brings ~/.local/bin/notes" in str(trial.reason)


async def test_problems_of_mocks_stop_the_command_before_anything_starts(project: Project) -> None:
    from sphynx.errors import DefinitionError

    notes(project, "", "return True", mocks='cli=[cli(path="a b", commands=[])]')
    with pytest.raises(DefinitionError) as caught:
        await project.trial()
    assert [problem.where for problem in caught.value.problems] == ['suite "made", cli("a b")'] * 2


async def test_mocks_belong_to_what_is_measured(project: Project) -> None:
    """A case checked by a command alone gets another definition when a mock or its fixtures change."""

    def hashes() -> str:
        (planned,) = plan_local([], project.options()).suites
        return planned.compiled.cases[0].definition_hash

    notes(project, "", "return True")
    file = project.root / "demo_eval.py"
    text = file.read_text().replace("validate=[check]", 'validate={"command": "true"}')
    found = set()
    for changed in (text, text.replace('"first"', '"other"'), text.replace('path="/broken"', 'path="/b"')):
        file.write_text(changed)
        found.add(hashes())
    assert len(found) == 3


@pytest.mark.isolate
async def test_in_an_isolated_trial_the_agent_cannot_read_the_checks_meanwhile(project: Project) -> None:
    """The mocks answer from memory; the bundle they came from is gone before the agent begins."""
    agent = """
subprocess.run(["notes", "add", "--text", "a"], check=True, stdout=subprocess.DEVNULL)
say(json.dumps([os.listdir("/run/sphynx/bundle"), ask("/notes")]))
"""
    check = """import json
    return json.loads(await ctx.answer()) == [[], {"notes": ["first", "a"]}]"""
    notes(project, agent, check)
    trial = await project.trial(isolate=True)
    assert (trial.status, json.dumps(trial.validations)[:400]) and trial.status == "passed"


async def test_checks_run_again_on_the_calls_that_were_kept(project: Project) -> None:
    """``regrade`` gives a changed check what the agent called, redacted, and no calls of earlier checks."""
    secret = "sk-proj-" + "a1B2" * 10
    agent = f"""
say("hi")
subprocess.run(["notes", "add", "--text", "by cli {secret}"], check=True, stdout=subprocess.DEVNULL)
ask("/notes", {{"text": "by api"}})
"""
    body = 'import urllib.request\n    urllib.request.urlopen(await ctx.api.url("notes") + "/notes")\n    '
    notes(project, agent, body + 'return len(await ctx.cli.calls("notes")) == 2')
    result = await project.run(keep_workspace=True)
    assert result.trials[0].status == "failed"
    (kept,) = result.folder.glob("trials/*/calls.json")
    assert "by cli" in kept.read_text() and secret not in kept.read_text()
    check = """
    (one,), (two,) = await ctx.cli.calls("notes"), await ctx.api.calls("notes")
    assert (two.method, two.path) == ("POST", "/notes")
    return one.input.text.startswith("by cli") and (await ctx.summary()).total_turns == 1"""
    notes(project, agent, check)
    (again,) = await run_regrade(plan_regrade(result.record.id, project.options()))
    assert again.new and (again.new.status, again.changed) == ("passed", True), again.new
    assert again.new.notes == [
        "the HTTP mocks do not run again: ctx.api.url() is an error, ctx.api.calls() is what was recorded"
    ]
    kept.unlink()
    (again,) = await run_regrade(plan_regrade(result.record.id, project.options()))
    assert again.new and (again.new.status, again.changed) == ("failed", False)
    assert again.new.notes == ["code checks were not run again: the calls of the suite's mocks were not kept"]
