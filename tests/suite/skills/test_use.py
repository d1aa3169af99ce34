"""Proofs that a skill was used, in the shape each agent leaves them in its journal."""

from __future__ import annotations

from typing import Any

import pytest

from sphynx.suite.skills.use import marks_of, skill_use

SKILL = "---\nname: tide-helper\n---\n# Tides\n\nAlways give heights with their unit, in metres.\n"
MARKS = marks_of(SKILL)


def command(text: str, code: int | None = 0, output: str = "") -> dict[str, Any]:
    return {"_tag": "command", "command": text, "exitCode": code, "output": output}


def tool(name: str, given: str, status: str = "completed", **more: Any) -> dict[str, Any]:
    return {"_tag": "toolCall", "name": name, "status": status, "input": given, **more}


@pytest.mark.parametrize(
    "event",
    [
        tool("Skill", '{"skill": "tide-helper"}'),
        tool("Skill", '{"skill": "/tide-helper", "args": "12"}'),
        tool("Skill", '{"skill": "plugin:tide-helper"}'),
        tool("activate_skill", '{"name": "tide-helper"}'),
        tool("skill", '{"name": "tide-helper"}'),
        tool("Read", '{"file_path": "/w/.claude/skills/tide-helper/SKILL.md"}'),
        tool("read_file", '{"file_path": "x.md"}', output=f"a\n{MARKS[0]}"),
        command("cat /w/.agents/skills/tide-helper/SKILL.md"),
        command("/bin/bash -lc 'cd .agents/skills && sed -n 1,20p tide-helper/SKILL.md'"),
        command("cat SKILL.md", output=SKILL),
        {"_tag": "message", "role": "user", "text": '<skill name="tide-helper" location="/x/SKILL.md">'},
    ],
    ids=lambda event: str(event.get("name") or event.get("command") or "message"),
)
def test_each_way_of_opening_a_skill_is_seen(event: dict[str, Any]) -> None:
    """Also after other work, and then it is late."""
    assert skill_use([event], "tide-helper", marks=MARKS).opened == 0
    late = skill_use([command("ls"), event], "tide-helper", marks=MARKS)
    assert (late.opened, late.late) == (1, True)


@pytest.mark.parametrize(
    "event",
    [
        tool("Skill", '{"skill": "other"}'),
        tool("Skill", "not json"),
        command("ls .agents/skills/tide-helper/SKILL.md"),
        command("/bin/bash -lc 'find . -name SKILL.md | grep tide-helper/SKILL.md'"),
        command("echo done", output="skills: tide-helper"),
        tool("Grep", '{"path": ".agents/skills/tide-helper/SKILL.md"}'),
        {"_tag": "message", "role": "assistant", "text": "I could use tide-helper."},
        {"_tag": "fileChange", "paths": ["a"]},
    ],
    ids=lambda event: str(event.get("name") or event.get("command") or event["_tag"]),
)
def test_naming_listing_or_another_skill_proves_nothing(event: dict[str, Any]) -> None:
    """No opening, no attempt."""
    use = skill_use([event], "tide-helper", marks=MARKS)
    assert (use.opened, use.attempts) == (None, 0)


@pytest.mark.parametrize(
    "event",
    [
        tool("skill", '{"name": "tide-helper"}', "error"),
        tool("Read", '{"file_path": "/w/tide-helper/SKILL.md"}', "error"),
        command("cat .agents/skills/tide-helper/SKILL.md", 1),
        command("cat .agents/skills/tide-helper/SKILL.md", None),
    ],
    ids=lambda event: str(event.get("name") or event.get("command")),
)
def test_what_failed_is_an_attempt(event: dict[str, Any]) -> None:
    """A denied call or a missing file is not use."""
    use = skill_use([event], "tide-helper", marks=MARKS)
    assert (use.opened, use.attempts) == (None, 1)


def test_resources_and_scripts_are_told_apart_from_opening() -> None:
    """Three facts, each with its first place."""
    events = [
        command("cat .agents/skills/tide-helper/SKILL.md"),
        tool("Read", '{"file_path": ".agents/skills/tide-helper/references/tables.md"}'),
        command(".agents/skills/tide-helper/scripts/tide.sh 12"),
    ]
    use = skill_use(events, "tide-helper")
    assert (use.opened, use.resource, use.script, use.actions) == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("harness", "prompt", "opened"),
    [
        ("claude", "/tide-helper 12", True),
        ("claude", "please /tide-helper", False),
        ("claude", "/tide-helper-two", False),
        ("qwen", "/tide-helper", True),
        ("codex", "use $tide-helper now", True),
        ("codex", "/tide-helper", False),
        ("pi", "/skill:tide-helper", True),
        ("gemini", "/tide-helper", False),
        ("opencode", "/tide-helper", False),
    ],
)
def test_a_prompt_that_calls_the_skill_counts_where_no_event_says_so(
    harness: str, prompt: str, opened: bool
) -> None:
    """Agents that put the skill's text in without an event."""
    assert skill_use([], "tide-helper", harness=harness, prompt=prompt).used is opened
