"""Judges and people of isolated trials."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval_project import Project
from puppet import Puppet
from sphynx.sandboxes import bubblewrap

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.isolate,
    pytest.mark.skipif(not bubblewrap.available()[0], reason="bubblewrap cannot be used here"),
]


async def test_agents_beside_an_isolated_trial_are_isolated_too(tmp_path: Path) -> None:
    """A fresh sandbox, a look around in the agent's own, and a person: each works behind its walls."""
    Puppet.seen.clear()
    project = Project(tmp_path)
    project.env["PUPPET_KEY"] = "pk-0123456789abcdefghij"
    project.agent("""
        echo hello > out.md
        echo '{"_tag":"Started","sessionId":"s-1","model":"m"}'
        echo '{"_tag":"Message","role":"assistant","text":"done"}'
    """)
    project.suite("""
        from sphynx import human, judge
        def ask(name, model, **more):
            return judge(name=name, harness="puppet", model=model, prompt="p", choices={"good": 1}, **more)
        demo = suite(id="demo", prompt="x", variants=[AGENT], cases=[case(
            id="one", max_turns=2, user=human(goal="g", prompt="b", harness="puppet", model="yes"),
            validate=[ask("fresh", "good", files=["out.md"]), ask("around", "looks", workspace=True)])])
    """)
    trial = await project.trial(isolate=True)
    assert (trial.status, trial.turns, trial.isolation) == ("passed", 2, "bubblewrap")
    assert trial.validations[1]["judgment"]["reason"] == ". .. workspace "
    assert len({seen["id"] for seen in Puppet.seen}) == 3
    assert not any(str(tmp_path) in seen["home"] for seen in Puppet.seen)
