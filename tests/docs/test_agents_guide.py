"""The table of agents says what the adapters do."""

from __future__ import annotations

from pathlib import Path

import pytest

from sphynx.registry import HARNESSES, load_harness

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "guides" / "agents.md"
AGENTS = [name for name in HARNESSES if hasattr(load_harness(name), "recipe")]


@pytest.mark.parametrize("name", AGENTS)
def test_versions_keys_and_base_urls_in_the_guide_are_the_real_ones(name: str) -> None:
    agent = load_harness(name)
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith(f"| `{name}` | ")]
    cells = [cell.strip() for cell in rows[0].strip("|").split("|")]
    assert cells[1] == agent.version
    assert cells[2] == ", ".join(f"`{key}`" for key in agent.key_names) or not agent.key_names
    assert cells[3] == (", ".join(f"`{key}`" for key in agent.setting_names) or "none")
    assert len(rows) == 2, "what it takes, and what it reports"


def test_the_guide_names_every_agent_and_no_other() -> None:
    rows = [line.split("`")[1] for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert set(rows) == set(AGENTS)
