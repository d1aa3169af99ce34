"""Claude Code's two modes, and what a profile brings for it."""

from __future__ import annotations

import json

import pytest

from eval_project import Project
from harnesses.agents.real_agents import KEY, variants
from sphynx.testing.scripted_model import ScriptedModel, say, shell, use

pytestmark = [pytest.mark.anyio, pytest.mark.agents]


async def test_bare_is_the_default_and_full_mode_an_option(project: Project, model: ScriptedModel) -> None:
    model.script(KEY, [say("ok")])
    for bare in (True, False):
        options = {} if bare else {"bare": False}
        project.suite(f"""
            one = suite(id="one", prompt="x", cases=[case(id="one", validate=command("true"))],
                        {variants("claude", **options)})
        """)
        assert (await project.trial()).status == "passed"
    first, second = model.requests(KEY)
    assert sorted(first.tool_names) == ["Bash", "Edit", "Read"]
    assert "Write" in second.tool_names and "WebSearch" not in second.tool_names


@pytest.mark.parametrize("bare", [True, False])
async def test_the_profiles_settings_and_servers_are_used(
    bare: bool, project: Project, model: ScriptedModel
) -> None:
    model.script(KEY, [use(shell("echo ship is $SHIP")), say("ok")])
    workspace = project.root / "mine" / "workspace"
    (workspace / ".claude").mkdir(parents=True)
    (workspace / ".claude" / "settings.json").write_text(json.dumps({"env": {"SHIP": "sloop"}}))
    broken = {"command": "no-such-program"}
    (workspace / ".mcp.json").write_text(json.dumps({"mcpServers": {"notes": broken}}))
    profile = {"name": "mine", "dir": "./mine"}
    project.suite(f"""
        async def used(ctx): return "ship is sloop" in str(await ctx.turns())
        one = suite(id="one", prompt="x", cases=[case(id="one", validate=used)],
                    {variants("claude", bare=bare, profile=profile)})
    """)
    trial = await project.trial()
    assert (trial.status, trial.reason) == ("passed", None)
