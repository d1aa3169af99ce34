"""``skill_suite()``: what it makes of a skill, and what is wrong with its arguments."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sphynx import skill_suite
from sphynx.compiler.skill_profiles import collect_skill
from sphynx.errors import CompileError
from sphynx.suite.placeholders import render
from sphynx.suite.skills.suites import check_names

BASE = {"id": 1, "prompt": "Read harbor.csv.", "assertions": ["x is named"]}


def skill(root: Path, *cases: dict[str, Any], name: str = "tide-table") -> Path:
    folder = root / name
    (folder / "evals" / "files").mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: x\n---\nBody.\n")
    (folder / "evals" / "evals.json").write_text(json.dumps(cases or [BASE]))
    return folder


def made(folder: Path, **more: Any) -> Any:
    return skill_suite(str(folder), **more)


def test_every_agent_runs_every_arm_and_claude_in_full_mode(tmp_path: Path) -> None:
    """Labels tell agent and arm; Claude's bare mode has no skills."""
    suite = made(skill(tmp_path), agents=["codex/m", "claude/n"], arms=["with", "without"])
    assert [variant.label for variant in suite.variants] == [
        "codex/m@with-skill", "codex/m@without-skill", "claude/n@with-skill", "claude/n@without-skill",
    ]  # fmt: skip
    assert [variant.options for variant in suite.variants] == [{}, {}, {"bare": False}, {"bare": False}]
    assert suite.problems() == []
    assert suite.trials == 3


@settings(max_examples=100, deadline=None)
@given(
    prompt=st.one_of(
        st.text(min_size=1, max_size=30), st.sampled_from(["{{task}}", "潮" * 5_000, "🌊" * 4_000])
    )
)
def test_a_prompt_reaches_the_agent_as_it_is_written(prompt: str) -> None:
    """Never a template, however long and in whatever script."""
    if not prompt.strip() or "\0" in prompt:
        return
    with tempfile.TemporaryDirectory() as folder:
        suite = made(skill(Path(folder), {**BASE, "prompt": prompt}, {**BASE, "id": 2}))
    assert suite.problems() == []
    for case, wanted in zip(suite.cases, (prompt, BASE["prompt"]), strict=True):
        assert render(suite.prompt, case.variables)[0] == wanted


def test_files_are_placed_as_written_or_by_the_short_form_the_prompt_names(tmp_path: Path) -> None:
    """Texts become the source, binaries and scripts are copied before the agent starts."""
    folder = skill(
        tmp_path,
        {**BASE, "files": ["evals/files/harbor.csv", {"path": "notes.md", "content": "neap"}]},
        {**BASE, "id": 2, "prompt": "Go.", "files": ["evals/files/harbor.csv", "evals/files/logo.png"]},
    )
    (folder / "evals" / "files" / "harbor.csv").write_text("a,b\n")
    (folder / "evals" / "files" / "logo.png").write_bytes(b"\x89PNG\0")
    first, second = made(folder).cases
    assert first.source.files == {"harbor.csv": "a,b\n", "notes.md": "neap"}
    assert second.source.files == {"evals/files/harbor.csv": "a,b\n"}
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    second.prepare(SimpleNamespace(workspace=str(workspace)))
    assert (workspace / "evals" / "files" / "logo.png").read_bytes() == b"\x89PNG\0"


def test_a_conversation_is_replayed_and_a_time_limit_kept(tmp_path: Path) -> None:
    """The person's first words are the prompt, the others a script."""
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "?"}, "Tides, please"]
    suite = made(
        skill(tmp_path, {"turns": turns, "expected_output": "x", "timeout_seconds": 240, "tags": ["a"]})
    )
    case = suite.cases[0]
    assert (render(suite.prompt, case.variables)[0], case.user.replies) == ("Hi", ["Tides, please"])
    assert (case.timeout_ms, case.tags) == (240_000, ["a"])


def test_one_judge_gets_all_sentences_of_a_case_and_the_reference(tmp_path: Path) -> None:
    """Numbered criteria, must-nots said as such; the mechanical ones are checks beside it."""
    item = {
        **BASE, "expected_output": "rows", "must_not_have": ["A chart"],
        "expectations": [{"text": "unit", "kind": "contains", "value": "m"}],
    }  # fmt: skip
    case = made(skill(tmp_path, item), judge="openai/m").cases[0]
    (judge,) = case.judges
    assert judge.criteria == ["x is named", "This must NOT be so: A chart"]
    assert (judge.provider, judge.model, judge.expected) == ("openai", "m", "rows")
    assert [check.name for check in case.checks] == ["unit"]


def test_more_criteria_than_checks_fit_share_the_last_one(tmp_path: Path) -> None:
    """None is dropped, and each still knows the check that decides it."""
    checks = [{"text": f"c{n}", "kind": "contains", "value": f"v{n}"} for n in range(30)]
    suite = made(
        skill(tmp_path, {**BASE, "should_trigger": True, "assertions": [*checks, "prose"]}), judge="openai/m"
    )
    assert suite.problems() == []
    names = check_names(suite.evals.cases[0])
    assert len(names) == 30
    assert set(names.values()) == {check.name for check in suite.cases[0].checks[1:]}
    assert names["c29"].startswith("c17; c18")


def test_a_trigger_set_leaves_out_the_arm_without_the_skill(tmp_path: Path) -> None:
    """There it could not be picked up."""
    suite = made(skill(tmp_path, {"query": "tides?", "should_trigger": True}))
    assert [variant.label for variant in suite.variants] == ["codex/gpt-5.6-sol@with-skill"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"agents": []}, "names no agent"),
        ({"agents": ["codex"]}, "harness/model"),
        ({"agents": ["codecs/m"]}, "not known"),
        ({"arms": ["both"]}, '"both" is not one of'),
        ({"arms": ["with", "old"]}, "the arm old needs"),
        ({"use": "always"}, '"always" is not one of'),
        ({"judge": "codex"}, "must be harness/model or openai/model"),
        ({"evals": "none.json"}, "is not there"),
        ({"trials": 99}, "trials"),
    ],
)
def test_wrong_arguments_are_told_as_problems(tmp_path: Path, arguments: dict[str, Any], word: str) -> None:
    """Like those of any suite, never as an exception."""
    told = " ".join(problem.text() for problem in made(skill(tmp_path), **arguments).problems())
    assert word in told


def test_a_wrong_evals_file_is_a_problem_with_line_and_column(tmp_path: Path) -> None:
    """The file's own place, not the call's."""
    (problem,) = made(skill(tmp_path, {**BASE, "prompt": ""})).problems()
    assert problem.where.startswith("evals.json:1:")
    assert "prompt is empty" in problem.message
    kept = made(skill(tmp_path, BASE, {**BASE, "id": 2, "prompt": ""}), skip_invalid=True)
    assert [case.id for case in kept.cases] == ["tide-table-1"]


def test_a_skill_travels_whole_but_for_its_evals_and_what_is_left_out_is_named(tmp_path: Path) -> None:
    """Binaries and modes are kept; links out of the skill are not followed."""
    folder = skill(tmp_path)
    (folder / "logo.png").write_bytes(b"\x89PNG\0")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "leak").symlink_to("/etc/hostname")
    (folder / "etc").symlink_to("/etc")
    fields = {"name": "with-skill", "dir": "tide-table", "skill": "with"}
    profile = collect_skill(fields, base=tmp_path, harness="codex")
    lead = "workspace/.agents/skills/tide-table/"
    assert set(profile.blobs) == {f"{lead}SKILL.md", f"{lead}logo.png", f"{lead}run.sh"}
    assert profile.blobs[f"{lead}run.sh"].executable
    assert not profile.blobs[f"{lead}logo.png"].executable
    assert sorted(text.split(" ")[0] for text in profile.skipped) == ["etc/", "leak"]
    without = collect_skill({**fields, "skill": "without"}, base=tmp_path, harness="codex")
    assert without.blobs == {}
    assert (without.files, without.env, without.install) == (profile.files, profile.env, profile.install)
    assert without.version != profile.version
    claude = collect_skill(fields, base=tmp_path, harness="claude")
    assert all(path.startswith("workspace/.claude/skills/") for path in claude.blobs)
    with pytest.raises(CompileError, match="cannot read the old skill"):
        collect_skill({**fields, "skill": "old", "old": "./gone"}, base=tmp_path, harness="codex")
