"""Real agents really call the mocks: over MCP by their own configuration, and as a program on their PATH."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from eval_project import Project
from harnesses.agents.real_agents import AGENTS, MODELS
from sphynx.engine import BatchResult
from sphynx.testing.scripted_model import ScriptedModel, ToolCall, call, say, shell, use

pytestmark = [pytest.mark.anyio, pytest.mark.agents]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
WANTED = {"id": "user_fixture"}
BASE_URLS = {
    "codex": "SPHYNX_CODEX_BASE_URL", "claude": "SPHYNX_CLAUDE_BASE_URL", "gemini": "SPHYNX_GEMINI_BASE_URL",
    "qwen": "SPHYNX_QWEN_BASE_URL", "opencode": "SPHYNX_OPENCODE_BASE_URL", "pi": "SPHYNX_PI_BASE_URL",
}  # fmt: skip
TOOL_NAMES = {
    "claude": "mcp__users__users_get", "gemini": "mcp_users_users_get", "qwen": "mcp__users__users_get",
    "opencode": "users_users_get", "pi": "mcp__users__users_get",
}  # fmt: skip


@pytest.fixture
def project(agents_project: Project, model: ScriptedModel) -> Project:
    """The examples, run against the scripted model; every agent has a script of its own."""
    project = agents_project
    shutil.copytree(EXAMPLES, project.root, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".sphynx"))
    for agent, name in BASE_URLS.items():
        project.env[name] = project.env[name].replace(model.url, f"{model.url}/{agent}")
    return project


def tool_call(agent: str) -> ToolCall:
    """The call of the mock's tool as the agent names it."""
    if agent == "codex":
        return call("users_get", namespace="mcp__users", **WANTED)
    return call(TOOL_NAMES[agent], **WANTED)


def with_variants(project: Project, file: str) -> None:
    """Let an example run on all six agents."""
    path = project.root / file
    made = ", ".join(f'variant(harness="{agent}", model="{MODELS[agent]}")' for agent in AGENTS)
    head, _, rest = path.read_text().partition("    variants=[")
    path.write_text(f"{head}    variants=[{made}],\n    trials=1,\n)\n" + rest.partition("trials=1,\n)\n")[2])


def statuses(result: BatchResult) -> dict[str, tuple[str, str | None]]:
    return {trial.harness: (trial.status, trial.reason) for trial in result.trials}


async def test_every_agent_calls_the_mcp_tool_and_the_program(project: Project, model: ScriptedModel) -> None:
    """The users example, one trial on each of the six; the calls are told apart by a third check."""
    for agent in AGENTS:
        model.script(
            f"/{agent}",
            [use(tool_call(agent)), use(shell("users get --id user_fixture")), say("Her name is Ada.")],
        )
    with_variants(project, "users_interface_eval.py")
    path = project.root / "users_interface_eval.py"
    both = """
async def both(ctx: Context) -> Verdict:
    mcp, cli = await ctx.mcp.calls("users"), await ctx.cli.calls("users")
    seen = [[call.get("output") for call in calls] for calls in (mcp, cli)]
    return Verdict(seen == [[{"id": "user_fixture", "name": "Ada"}]] * 2, str(seen))


users_interface ="""
    text = path.read_text().replace("\nusers_interface =", both, 1)
    path.write_text(text.replace("names_the_user])]", "names_the_user, both])]"))
    result = await project.run(paths=["users_interface_eval.py"])
    said = {
        t.harness: [v["message"] for v in t.validations if v["status"] != "passed"] for t in result.trials
    }
    assert statuses(result) == dict.fromkeys(AGENTS, ("passed", None)), said


ASK = 'curl -sS "$(sed -n \'s/^catalog: //p\' "$TMPDIR/prompt-1.txt")/items/fixture"'


@pytest.mark.parametrize("agent", ["codex", "claude"])
async def test_agents_find_the_api_behind_their_prompt(
    project: Project, model: ScriptedModel, agent: str
) -> None:
    """The catalog example passes; with a broken handler the trial is void with the mock's text."""
    model.script(f"/{agent}", [use(shell(ASK)), say("Its name is Test item.")])
    wanted = {"paths": ["catalog_api_eval.py"], "variants": [f"{agent}/{MODELS[agent]}"]}
    result = await project.run(**wanted)
    assert statuses(result) == {agent: ("passed", None)}
    catalog = project.root / "interfaces/catalog.py"
    catalog.write_text(catalog.read_text().replace('"body": item}', '"body": {"id": 1}}'))
    (trial,) = (await project.run(**wanted)).trials
    assert (trial.status, trial.cause, trial.stage) == ("void", "setup", "mocks")
    assert "catalog GET /items/:id: the body of 200 does not fit its schema: id: " in str(trial.reason)


@pytest.mark.parametrize("agent", ["codex", "claude"])
async def test_agents_are_told_what_a_tool_and_a_program_say(
    project: Project, model: ScriptedModel, agent: str
) -> None:
    """A handler that raises reaches the agent as text; the trial goes on and its checks fail it."""
    model.script(
        f"/{agent}", [use(tool_call(agent)), use(shell("users get --id user_fixture")), say("I could not.")]
    )
    users = project.root / "fixtures/users.py"
    users.write_text(
        users.read_text().replace("    if wanted", '    raise RuntimeError("no luck")\n    if wanted')
    )
    result = await project.run(paths=["users_interface_eval.py"], variants=[f"{agent}/{MODELS[agent]}"])
    assert statuses(result)[agent][0] == "failed"
    assert str(model.requests()[-1]).count("no luck") >= 2
