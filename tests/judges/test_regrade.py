"""``sphynx regrade``: new verdicts beside old ones, no agent run again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eval_project import Project
from puppet import Puppet
from sphynx.engine.regrade import RegradedTrial, plan_regrade, run_regrade
from sphynx.errors import UsageError
from sphynx.testing.scripted_model import ScriptedModel, say

pytestmark = pytest.mark.anyio
AGENT = """
    import json
    from pathlib import Path
    Path("out.md").write_text("hello")
    Path("..", "ran").open("a").write("x")
    print(json.dumps({"_tag": "Started", "sessionId": "s", "model": "m"}))
    print(json.dumps({"_tag": "Message", "role": "assistant", "text": "It is four."}))
"""
SUITE = """
    from sphynx import judge
    async def check(ctx):
        print(await ctx.answer(), (await ctx.turns())[0].agent_text)
        return (await ctx.read_text("out.md")) == {wanted!r}
    ask = judge(name="tone", provider="openai", model="gpt-5.4-mini", prompt={prompt!r},
                files=["out.md"], choices={{"good": 1, "bad": 0}})
    demo = suite(id="demo", prompt="2 + 2?", variants=[AGENT], cases=[case(id="one", validate={validate})])
"""


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as running:
        yield running


@pytest.fixture
def project(tmp_path: Path, model: ScriptedModel) -> Project:
    made = Project(tmp_path)
    made.env |= {
        "OPENAI_API_KEY": "sk-regrade-0123456789abcd",
        "SPHYNX_OPENAI_BASE_URL": f"{model.url}/re/v1",
    }
    made.python_agent(AGENT)
    return made


def choose(model: ScriptedModel, choice: str) -> None:
    model.script("/re", [say(json.dumps({"choice": choice, "reason": "so"}))])


def write(project: Project, wanted: str = "hello", prompt: str = "p", validate: str = "[check, ask]") -> None:
    project.suite(SUITE.format(wanted=wanted, prompt=prompt, validate=validate))


async def regraded(project: Project, batch: str, **more: Any) -> RegradedTrial:
    (trial,) = await run_regrade(plan_regrade(batch, project.options(), **more))
    return trial


async def test_changed_checks_and_judges_on_a_kept_workspace(project: Project, model: ScriptedModel) -> None:
    """The old record stays as it was; each new verdict is a file of its own."""
    choose(model, "good")
    write(project, wanted="bye")
    result = await project.run(keep_workspace=True)
    assert result.trials[0].status == "failed"
    (stored,) = result.folder.glob("trials/*/trial.json")
    before = stored.read_bytes()
    write(project, prompt="another")
    trial = await regraded(project, result.record.id)
    assert trial.new and (trial.old.status, trial.new.status, trial.changed) == ("failed", "passed", True)
    check, judge = trial.new.validations
    assert "It is four. It is four." in check["logs"][0]["value"]["text"]
    assert judge["judgment"]["choice"] == "good" and "another" in judge["input"]["text"]
    assert json.loads(json.loads(judge["input"]["text"])["input"])["files"][0]["text"] == "hello"
    assert trial.new.costs[0].component == "judge" and trial.new.notes == []
    choose(model, "bad")
    again = await regraded(project, result.record.id, judges_only=True)
    assert again.new and (again.new.status, again.new.cause) == ("failed", "agent")
    assert [check["status"] for check in again.new.validations] == ["failed", "failed"]
    assert [path.name for path in sorted(stored.parent.glob("regrade-*.json"))] == [
        "regrade-1.json",
        "regrade-2.json",
    ]
    kept = json.loads((stored.parent / "regrade-1.json").read_text())
    assert (kept["previousStatus"], kept["status"], kept["judgesOnly"]) == ("failed", "passed", False)
    assert kept["definitionHash"]["recorded"] != kept["definitionHash"]["now"]
    assert stored.read_bytes() == before


async def test_without_a_kept_workspace_it_says_so(project: Project, model: ScriptedModel) -> None:
    """Code checks keep their verdict; a judge that needs a file is not asked; one that does not is."""
    choose(model, "good")
    write(project)
    result = await project.run()
    assert result.trials[0].status == "passed"
    write(project, wanted="other")
    trial = await regraded(project, result.record.id)
    assert trial.new and trial.new.status == "void" and trial.new.cause == "judge"
    assert (
        trial.new.reason and "out.md cannot be read, the trial's workspace was not kept" in trial.new.reason
    )
    assert trial.new.notes[0].startswith("code checks were not run again")
    assert trial.new.validations[0]["status"] == "passed"
    write(project, validate="check")
    trial = await regraded(project, result.record.id)
    assert trial.new and (trial.new.status, len(trial.new.validations)) == ("passed", 1)


async def test_judges_that_are_agents(project: Project) -> None:
    """A judge that looks around sees the kept workspace."""
    Puppet.seen.clear()
    write(project, validate="check")
    result = await project.run(keep_workspace=True)
    looks = (
        'judge(name="l", harness="puppet", model="looks", prompt="p", choices={"good": 1}, workspace=True)'
    )
    write(project, validate=f"[check, {looks}]")
    project.env["PUPPET_KEY"] = "pk-0123456789abcdefghij"
    trial = await regraded(project, result.record.id)
    assert trial.new and trial.new.status == "passed"
    assert trial.new.validations[1]["judgment"]["reason"] == ". .. workspace "


async def test_trials_whose_agent_did_not_finish_are_left_out(project: Project) -> None:
    """There is nothing to grade; a case that is gone is left out too, and an unknown batch is named."""
    project.python_agent("""print('{"_tag":"Finished","reason":"failed: it broke"}')""")
    write(project, validate="check")
    result = await project.run()
    assert (await regraded(project, result.record.id)).left_out.startswith("its agent did not finish")
    with pytest.raises(UsageError, match='no batch "nothing"'):
        plan_regrade("nothing", project.options())
    with pytest.raises(UsageError, match='no case "two"'):
        plan_regrade(result.record.id, project.options(cases=("two",)))


async def test_the_command_prints_old_and_new(
    project: Project,
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit 0 when all passed, 2 when one did not, 1 when there was nothing to grade."""
    import anyio.to_thread

    choose(model, "bad")
    write(project)
    result = await project.run(keep_workspace=True)
    monkeypatch.chdir(project.root)
    for name, value in project.env.items():
        monkeypatch.setenv(name, value)
    choose(model, "good")
    code = await anyio.to_thread.run_sync(_command, ["regrade", result.record.id])
    out = capsys.readouterr().out
    assert code == 0 and "one on command/scripted@agent, trial 1: failed -> passed" in out
    assert "1 trial graded again, 1 changed" in out and "regrade-1.json" in out
    choose(model, "bad")
    code = await anyio.to_thread.run_sync(_command, ["regrade", result.record.id, "--judges-only", "--json"])
    (value,) = json.loads(capsys.readouterr().out)
    assert code == 2 and (value["previousStatus"], value["status"], value["changed"]) == (
        "failed",
        "failed",
        False,
    )


def _command(arguments: list[str]) -> int:
    """The command line without its signal handlers, which only a main thread may set."""
    from sphynx.cli.main import _guarded

    return _guarded(arguments)
