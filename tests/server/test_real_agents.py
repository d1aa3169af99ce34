"""Real agents on a whole server: one under test and one that judges, each with its own key of the store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harnesses.agents.real_agents import MODELS, environment
from server.stored import everything_stored
from server.whole import whole
from sphynx.testing.scripted_model import ScriptedModel, say, use, write

pytestmark = pytest.mark.agents

KEYS = {"OPENAI_API_KEY": "sk-org-openai-0123456789", "ANTHROPIC_API_KEY": "sk-org-anthropic-0123456789"}
EVAL = f"""
from sphynx import case, judge, suite, variant

async def made(ctx):
    return "hello" in await ctx.read_text("made.txt")

agents = suite(
    id="agents", prompt="Write made.txt.",
    cases=[case(id="one", validate=[made, judge(
        name="tone", harness="claude", model="{MODELS["claude"]}", prompt="Is it polite?",
        choices={{"good": 1, "bad": 0}}, files=["made.txt"],
    )])],
    variants=[variant(harness="codex", model="{MODELS["codex"]}")],
)
"""


def test_an_agent_and_a_judge_run_with_the_keys_of_the_organization(
    tmp_path: Path, agents_root: Path, model: ScriptedModel
) -> None:
    home, data = tmp_path / "project", tmp_path / "data"
    home.mkdir()
    (home / "pyproject.toml").touch()
    (home / "agents_eval.py").write_text(EVAL)
    data.mkdir()
    agents_root.mkdir(parents=True, exist_ok=True)
    (data / "local").symlink_to(agents_root)
    model.script(KEYS["OPENAI_API_KEY"], [use(write("made.txt", "hello\n")), say("It is made.")])
    model.script(KEYS["ANTHROPIC_API_KEY"], [say(json.dumps({"choice": "good", "reason": "It greets."}))])
    settings = {name: value for name, value in environment(model).items() if name.startswith("SPHYNX_")}
    with whole(data, "--no-isolate", environ=settings) as server:
        for name, key in KEYS.items():
            assert server.cli("env", "set", name, cwd=home, stdin=f"{key}\n").returncode == 0
        done = server.cli("eval", "--json", cwd=home)
        assert done.returncode == 0, done.stdout + done.stderr + server.log.read_text()
    ((trial,),) = (run["trials"] for run in json.loads(done.stdout)["runs"])
    assert [one["status"] for one in trial["validations"]] == ["passed", "passed"]
    assert trial["usage"]["totalTokens"] > 0
    assert not [
        text for text in everything_stored(data / "sphynx.db") for key in KEYS.values() if key in text
    ]
    assert not [key for key in KEYS.values() if key in server.log.read_text()]
