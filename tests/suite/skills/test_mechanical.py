"""Criteria decided by code: every kind, where it looks, and what it says when it does not hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sphynx.guest.values import readable
from sphynx.suite.skills.criteria import read_criteria
from sphynx.suite.skills.json_places import Document
from sphynx.suite.skills.mechanical import check_of
from sphynx.suite.skills.report import Findings

EVENTS: list[dict[str, Any]] = [
    {"_tag": "message", "role": "user", "text": "secret words of the prompt"},
    {"_tag": "command", "command": "cat harbor.csv", "exitCode": 0, "output": "3 May,5.2"},
    {"_tag": "toolCall", "name": "WebFetch", "status": "completed", "input": "{}", "output": "page"},
    {"_tag": "fileChange", "paths": ["out/tides.csv", "gone.txt"]},
    {"_tag": "message", "role": "assistant", "text": "Ebb, then flood at 5.2 m."},
]


class Ctx:
    """What a check is given, over a folder and fixed events."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = str(workspace)

    def answer(self) -> str:
        return "Ebb, then flood at 5.2 m."

    def turns(self) -> list[Any]:
        return readable([{"events": EVENTS, "userText": "x"}])

    def exec(self, command: str) -> Any:
        import subprocess

        done = subprocess.run(command, shell=True, cwd=self.workspace, capture_output=True, text=True)
        return readable(
            {"exitCode": done.returncode, "stdout": done.stdout, "stderr": done.stderr, "timedOut": False}
        )


@pytest.fixture
def ctx(tmp_path: Path) -> Ctx:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "tides.csv").write_text("height,day\nparse_tides parse_tides\n")
    (tmp_path / "logo.png").write_bytes(b"\0PNG height")
    (tmp_path / "leak").symlink_to("/etc/hostname")
    return Ctx(tmp_path)


def decide(ctx: Any, item: Any, key: str = "assertions") -> tuple[bool, str]:
    say = Findings(Document({}, {}, ""))
    criteria = read_criteria({key: [item]}, (), "case 1", say)
    assert criteria and criteria[0].parts, (item, say.found)
    verdict: Any = check_of(criteria[0])(ctx)
    return verdict.passed, verdict.message


@pytest.mark.parametrize(
    ("item", "passes"),
    [
        ({"kind": "content_contains_any", "needles": ["FLOOD", "x"]}, True),
        ({"kind": "content_contains_any", "needles": ["x", "y"]}, False),
        ({"kind": "content-contains-all", "needles": ["ebb", "flood"]}, True),
        ({"kind": "content_contains_all", "needles": ["ebb", "neap"]}, False),
        ({"kind": "content_contains_none", "needles": ["neap"]}, True),
        ({"type": "content_not_contains", "value": "ebb"}, False),
        ({"type": "regex_includes", "value": r"\d\.\d m"}, True),
        ({"type": "regex_includes", "value": "ebb"}, False),
        ({"type": "regex_excludes", "value": "(?i)guaranteed"}, True),
        ({"type": "content_contains", "pattern": "neap|flood"}, True),
        ({"type": "matches_all", "values": ["Ebb", "neap"]}, False),
        ({"type": "ordered_content", "values": ["ebb", "flood"]}, True),
        ({"type": "ordered_content", "values": ["flood", "ebb"]}, False),
        ({"type": "code_contains", "check": "parse_tides"}, True),
        ({"type": "code_count", "check": "parse_tides", "min_count": 2}, True),
        ({"type": "code_count", "check": "parse_tides", "min_count": 3}, False),
        ({"type": "code_count", "check": "parse_tides", "max_count": 1}, False),
        ({"type": "file_exists", "path": "out/tides.csv"}, True),
        ({"type": "file_exists", "value": "out/*.csv"}, True),
        ({"type": "files_exist", "paths": ["out/tides.csv", "none.txt"]}, False),
        ({"type": "file_not_exists", "path": "none.txt"}, True),
        ({"type": "file_exists", "path": "leak"}, False),
        ({"type": "file_exists", "path": "../"}, False),
        ({"type": "file_contains", "path": "out/tides.csv", "contains": "height"}, True),
        ({"type": "file_contains", "path": "none.txt", "contains": "height"}, False),
        ({"type": "file_contains", "path": "logo.png", "contains": "height"}, False),
        ({"type": "file_contains", "path": "leak", "contains": "a"}, False),
        ({"type": "file_not_contains", "path": "out/tides.csv", "value": "height"}, False),
        ({"type": "behavior_contains", "value": "harbor.csv"}, True),
        ({"type": "behavior_contains", "value": "secret words"}, False),
        ({"type": "tool_use", "value": "Bash"}, True),
        ({"type": "tool_use", "value": "Read"}, True),
        ({"type": "tool_use", "value": "web_fetch"}, True),
        ({"type": "tool_use", "value": "WebSearch"}, False),
        ({"type": "tool_not_used", "value": "WebSearch"}, True),
        ({"type": "command_ran", "value": "cat harbor"}, True),
        ({"type": "command_not_ran", "value": "rm -rf"}, True),
        ({"check": "it runs", "cmd": "cat out/tides.csv", "expect_substring": "height"}, True),
        ({"check": "it runs", "cmd": "exit 3", "expect_exit": 3}, True),
        ({"check": "it runs", "cmd": "false"}, False),
        ({"text": "t", "check": {"contains_all": ["ebb"], "not_contains": ["flood"]}}, False),
        ({"text": "t", "check": {"file_contains": ["out/tides.csv", "height"]}}, True),
        ({"text": "t", "contains": ["ebb"]}, True),
    ],
    ids=str,
)
def test_each_kind_is_decided_as_written(ctx: Ctx, item: dict[str, Any], passes: bool) -> None:
    """A criterion that does not hold says why."""
    passed, why = decide(ctx, item)
    assert passed is passes, why
    assert bool(why) is not passes


def test_a_criterion_of_a_must_not_list_is_turned_around(ctx: Ctx) -> None:
    """The same check, and it must not hold."""
    item = {"kind": "content_contains_any", "needles": ["ebb"]}
    assert decide(ctx, item, "must_not_have") == (False, "it holds, and must not")
