"""The example skill on the six real agents: proofs of use in their own events, and the report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from harnesses.agents.real_agents import AGENTS, KEY, MODELS, environment
from sphynx.engine import LocalOptions, read_batch, run_plan
from sphynx.engine.skill_evidence import skill_trials_of
from sphynx.engine.skills import SkillRequest, plan_paths
from sphynx.results.skills import skill_reports
from sphynx.testing.scripted_model import ScriptedModel, When, call, read, say, shell, use

pytestmark = [pytest.mark.anyio, pytest.mark.agents]

EXAMPLE = Path(__file__).parents[2] / "examples" / "skills" / "tide-table"
ABOUT = "Reads tide tables and answers questions"
CRITERIA: list[Any] = [
    {"text": "Heights carry a unit", "type": "regex_includes", "value": "5\\.2 m"},
    {"text": "No hedging", "kind": "content_contains_none", "needles": ["may change"]},
    {"text": "The day is named", "kind": "content_contains", "value": "3 May"},
    "The answer is about tides",
]
BUNDLED = {
    "claude": "dataviz",
    "codex": "imagegen",
    "gemini": "antigravity-support",
    "qwen": "qc-helper",
    "opencode": "customize-opencode",
}
"""A skill each agent brings along, which is switched off."""
JUDGED = json.dumps({"criteria": [{"number": 1, "passed": True, "evidence": "5.2"}], "instructed": False})
TOOLS = {
    "claude": call("Skill", skill="tide-table"),
    "gemini": call("activate_skill", name="tide-table"),
    "qwen": call("skill", skill="tide-table"),
    "opencode": call("skill", name="tide-table"),
    "codex": shell("cat .agents/skills/tide-table/SKILL.md"),
    "pi": read(".agents/skills/tide-table/SKILL.md"),
}


def script(agent: str) -> list[Any]:
    """A model that opens the skill when it is told of one, and answers worse and better with it."""
    told = When(prompt=ABOUT) if agent in ("claude", "qwen") else When(system=ABOUT)
    place = ".claude" if agent == "claude" else ".agents"
    run = f"sh {place}/skills/tide-table/scripts/highest.sh {place}/skills/tide-table/SKILL.md"
    return [
        say(JUDGED, when=When(model="judge")),
        say("3 May, 5.2 m high.", when=When(prompt="PLAIN")),
        use(shell("echo first"), when=When(prompt="LATE")),
        use(TOOLS[agent], when=told),
        use(shell(run), when=told),
        say("3 May: 5.2 m. The weather may change this.", when=told),
        say("It is on 3 May, 5.2."),
    ]


@pytest.mark.parametrize("agent", AGENTS)
async def test_use_is_proven_and_the_skills_effect_is_told(
    agent: str, tmp_path: Path, agents_root: Path, model: ScriptedModel
) -> None:
    """Used, used late and not used are told apart; one criterion is helped, one hurt, one left as it was."""
    rg = shutil.which("rg") or next(map(str, agents_root.glob("harness/codex*/**/codex-path/rg")), None)
    if agent == "opencode" and rg is None:
        pytest.skip("opencode opens skills only with ripgrep")
    skill = tmp_path / "tide-table"
    shutil.copytree(EXAMPLE, skill)
    cases = [
        {"id": name, "prompt": f"{name.upper()} When is the highest tide?", "assertions": CRITERIA}
        for name in ("now", "late", "plain")
    ]
    (skill / "evals" / "evals.json").write_text(json.dumps({"evals": cases}))
    (skill / "evals" / "trigger-evals.json").unlink()
    model.script(KEY, script(agent))
    env = {"HOME": str(tmp_path / "home"), "PATH": _path(tmp_path, rg), "SPHYNX_LOCAL_ROOT": str(agents_root)}
    env |= {**environment(model), "SPHYNX_OPENAI_BASE_URL": model.openai_url}
    _noise(tmp_path)
    request = SkillRequest(agents=(f"{agent}/{MODELS[agent]}",), judge="openai/judge")
    plan = plan_paths(["tide-table"], LocalOptions(jobs=2, trials=1, cwd=tmp_path, env=env), request)
    results = await run_plan(plan)
    trials = skill_trials_of(read_batch(result.folder) for result in results)
    assert {(t.record.status, t.record.reason) for t in trials if t.record.status == "void"} == set()
    seen = {(t.record.case_id.removeprefix("tide-table-"), t.arm): t for t in trials}
    assert {key: t.used for key, t in seen.items()} == {
        ("now", "with"): True, ("late", "with"): True, ("plain", "with"): False,
        ("now", "without"): False, ("late", "without"): False, ("plain", "without"): False,
    }  # fmt: skip
    assert seen["now", "with"].opened_at == 1
    assert seen["late", "with"].opened_at == 2
    rows = skill_reports(trials)[0].agents[0].criteria
    labels = {(row.case_id.removeprefix("tide-table-"), row.text): row.label for row in rows}
    assert labels["now", "Heights carry a unit"] == "helps"
    assert labels["now", "No hedging"] == "hurts"
    assert labels["now", "The day is named"] == labels["now", "The answer is about tides"] == "same"
    assert {label for (case, _), label in labels.items() if case == "plain"} == {"same"}
    assert {tuple(t.record.files_changed) for t in trials} == {()}
    _only_this_skill(model, agent)


def _path(folder: Path, rg: str | None) -> str:
    """The usual path, with a ripgrep in it where there is one."""
    import os

    own = folder / "bin"
    own.mkdir()
    if rg is not None:
        (own / "rg").symlink_to(rg)
    return f"{own}:{os.environ['PATH']}"


def _noise(folder: Path) -> None:
    """Skills of the user and of the project around, which no arm may see."""
    for place in (".agents/skills", ".claude/skills", "home/.agents/skills", "home/.claude/skills"):
        noise = folder / place / "leaky"
        noise.mkdir(parents=True)
        (noise / "SKILL.md").write_text("---\nname: leaky\ndescription: LEAKED to the agent.\n---\nx\n")


def _only_this_skill(model: ScriptedModel, agent: str) -> None:
    asked = [seen for seen in model.requests(KEY) if seen.model != "judge"]
    assert asked
    first = [seen for seen in asked if seen.model_turns == 0]
    assert not any("LEAKED" in seen.text() for seen in asked), agent
    bundled = BUNDLED.get(agent)
    assert not any(bundled in seen.text() for seen in asked if bundled), agent
    assert sum(ABOUT in seen.text() for seen in first) == 3, agent
    judged = [seen for seen in model.requests(KEY) if seen.model == "judge"]
    assert len(judged) == 6
