"""The six real agents, installed from npm once per test session, driven by the scripted model."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from eval_project import Project
from sphynx.contracts import HarnessSetup, SandboxSpec
from sphynx.registry import load_harness
from sphynx.sandboxes.local.backend import LocalBackend
from sphynx.sandboxes.local_root import LocalRoot
from sphynx.testing.scripted_model import ScriptedModel, Tokens, edit, read, say, shell, use, write

KEY = "sk-agent-0123456789abcdef"
MODELS = {
    "codex": "gpt-5.5",
    "claude": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-flash",
    "qwen": "qwen3-coder-plus",
    "opencode": "anthropic/claude-sonnet-4-5",
    "pi": "anthropic/claude-sonnet-4-5",
}
AGENTS = tuple(MODELS)
KEY_NAMES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "DASHSCOPE_API_KEY")
TOKENS = Tokens(input=600, cache_read=400, output=50, reasoning=10)
WORK = [
    use(shell("echo bad; exit 3"), text="I will run it.", tokens=TOKENS, reasoning="let me think"),
    use(write("made.txt", "one\ntwo\n"), tokens=TOKENS),
    use(edit("made.txt", "two", "three"), tokens=TOKENS),
    use(shell("echo shell > shell.txt"), read("made.txt"), tokens=TOKENS),
    say("All done.", tokens=TOKENS),
]
"""A command that exits 3, a file by the agent's own tool, an edit, a file by the shell, an answer."""


def environment(model: ScriptedModel, *, key: str = KEY) -> dict[str, str]:
    """Variables that point every agent at the scripted model."""
    return {
        **dict.fromkeys(KEY_NAMES, key),
        "SPHYNX_CODEX_BASE_URL": model.openai_url,
        "SPHYNX_CLAUDE_BASE_URL": model.url,
        "SPHYNX_GEMINI_BASE_URL": model.url,
        "SPHYNX_QWEN_BASE_URL": model.openai_url,
        "SPHYNX_OPENCODE_BASE_URL": model.url + "/v1",
        "SPHYNX_PI_BASE_URL": model.url,
    }


def variants(*agents: str, **more: Any) -> str:
    """The ``variants=[...]`` of an eval file for these agents."""
    extra = "".join(f", {name}={value!r}" for name, value in more.items())
    made = [f'variant(harness="{agent}", model="{MODELS[agent]}"{extra})' for agent in agents or AGENTS]
    return f"variants=[{', '.join(made)}]"


def project_for(project: Project, root: Path, model: ScriptedModel) -> Project:
    """Let a project's runs use the shared installs and the scripted model."""
    project.local = root
    project.env |= {"SPHYNX_LOCAL_ROOT": str(root), **environment(model)}
    return project


@asynccontextmanager
async def prepared(
    agent: str, root: Path, model: ScriptedModel, *, hide_installs: bool = False, **setup: Any
) -> AsyncIterator[tuple[Any, Any]]:
    """An agent installed and set up in a local sandbox, without an engine around it."""
    factory = load_harness(agent)
    variant = SimpleNamespace(harness=agent, model=MODELS[agent], options={})
    keys = factory.keys(variant, environment(model))
    backend = LocalBackend(LocalRoot(root), env=dict(os.environ))
    try:
        box: Any = await backend.open(SandboxSpec(trial_id=f"test-{agent}"))
        if hide_installs:
            box = Remote(box)
        given = {"system_prompt": None, "run": None, "env": {}, "timeout_ms": 60_000, "keys": keys, **setup}
        harness = factory()
        await harness.prepare(box, HarnessSetup(model=MODELS[agent], **given))
        yield harness, box
    finally:
        await backend.aclose()


class Remote:
    """A sandbox that shares no installs with other trials, as one on another machine."""

    def __init__(self, box: Any) -> None:
        self._box = box

    def __getattr__(self, name: str) -> Any:
        if name == "install_once":
            raise AttributeError(name)
        return getattr(self._box, name)
