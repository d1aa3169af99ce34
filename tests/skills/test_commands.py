"""``sphynx eval`` on skills and ``sphynx skill accept``, as commands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SPHYNX = str(Path(sys.executable).parent / "sphynx")
EXAMPLE = Path(__file__).parents[2] / "examples" / "skills" / "tide-table"
CASE = {"id": 1, "prompt": "Say flood", "assertions": [{"text": "ebb", "kind": "contains", "value": "ebb"}]}
NOTHING = {**CASE, "assertions": [{"text": "no ebb", "kind": "not_contains", "value": "ebb"}]}


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    root = tmp_path / "tide-table"
    shutil.copytree(EXAMPLE, root)
    (root / "evals" / "trigger-evals.json").unlink()
    (root / "evals" / "evals.json").write_text(json.dumps([NOTHING]))
    return root


def sphynx(folder: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    given = {**os.environ, "SPHYNX_LOCAL_ROOT": str(folder / "local"), "NO_COLOR": "1", **env}
    given.pop("SPHYNX_API_KEY", None)
    return subprocess.run(
        [SPHYNX, *args],
        cwd=folder,
        env=given,
        capture_output=True,
        text=True,
        timeout=100,
        stdin=subprocess.DEVNULL,
    )


RUN = ("eval", "--local", "./tide-table", "--agent", "nop/none", "--trials", "1")


def test_a_run_is_reported_everywhere_it_was_asked_for(tmp_path: Path, skill: Path) -> None:
    """Terminal, Markdown, job summary, JSON, exported benchmark; and what it takes is told first."""
    done = sphynx(
        tmp_path, *RUN, "--markdown", "r.md", "--skill-report", "r.json", "--export-benchmark", "b",
        GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "2 trials, no judge calls" in done.stderr
    assert "skill tide-table" in done.stdout
    assert "no ebb" in done.stdout
    assert (tmp_path / "r.md").read_text().strip() in (tmp_path / "summary.md").read_text()
    assert json.loads((tmp_path / "r.json").read_text())["skills"][0]["skill"] == "tide-table"
    assert json.loads((tmp_path / "b" / "benchmark.json").read_text())["runs"]
    grades = json.loads(sphynx(tmp_path, "skill", "grades", "--json", "b").stdout)
    assert [(one["arm"], one["passRate"]) for one in grades["arms"]] == [
        ("with_skill", 1),
        ("without_skill", 1),
    ]
    assert grades["differences"] == []


def test_copies_of_skills_go_with_their_batches(tmp_path: Path, skill: Path) -> None:
    """A copy is as old as the newest batch that ran it; nothing else is removed."""
    assert sphynx(tmp_path, *RUN).returncode == 0
    (copy,) = (tmp_path / ".sphynx" / "skills").iterdir()
    os.utime(copy, (0, 0))
    listed = sphynx(tmp_path, "clean").stdout
    assert "copies of skills" in listed and copy.name in listed
    kept = sphynx(tmp_path, "clean", "--batches", "--older-than", "1", "--yes")
    assert kept.returncode == 0 and copy.is_dir(), "the batch is of today"
    done = sphynx(tmp_path, "clean", "--batches", "--yes")
    assert "removed 2 folders" in done.stderr
    assert not copy.exists() and (skill / "SKILL.md").is_file()


def test_what_was_accepted_gates_with_exit_code_2(tmp_path: Path, skill: Path) -> None:
    """Accept, still holds, no longer holds; a batch is a baseline too."""
    assert sphynx(tmp_path, *RUN).returncode == 0
    accepted = sphynx(tmp_path, "skill", "accept", "--out", "base.json")
    assert "wrote base.json: 1 criterion" in accepted.stderr
    held = sphynx(tmp_path, *RUN, "--baseline", "base.json")
    assert (held.returncode, "still holds" in held.stderr) == (0, True)
    batch = sorted(path.name for path in (tmp_path / ".sphynx" / "batches").iterdir())[0]
    (skill / "evals" / "evals.json").write_text(json.dumps([{**NOTHING, "assertions": [
        {"text": "no ebb", "kind": "contains", "value": "ebb"}]}]))  # fmt: skip
    lost = sphynx(tmp_path, *RUN, "--baseline", batch)
    assert lost.returncode == 2
    assert "no longer holds: nop/none: tide-table-1: no ebb: 1/1 before, 0/1 now" in lost.stderr
    assert sphynx(tmp_path, *RUN, "--baseline", "nowhere").returncode == 1


def test_more_than_100_trials_are_not_started_unasked(tmp_path: Path, skill: Path) -> None:
    """Where nobody can answer, --yes has to be given; the command says how to take fewer."""
    cases = [{**NOTHING, "id": n} for n in range(60)]
    (skill / "evals" / "evals.json").write_text(json.dumps(cases))
    done = sphynx(tmp_path, *RUN)
    assert done.returncode == 1
    assert "120 trials are more than 100, nothing was started" in done.stderr
    assert "2 batches" in done.stderr
    assert not (tmp_path / ".sphynx" / "batches").exists()
    few = sphynx(tmp_path, *RUN, "--limit", "1", "--arms", "with")
    assert "1 trial, no judge calls" in few.stderr


def test_a_case_nobody_decided_is_an_error(tmp_path: Path, skill: Path) -> None:
    """A run that says nothing about the skill does not look green."""
    (skill / "evals" / "evals.json").write_text(json.dumps([{"id": 1, "prompt": "Say flood"}]))
    done = sphynx(tmp_path, *RUN)
    assert done.returncode == 1
    assert "nothing was decided about tide-table" in done.stderr


def test_an_evals_file_and_a_folder_of_skills_are_paths_too(tmp_path: Path, skill: Path) -> None:
    """One suite per evals file; a bad file is named with case, line and column."""
    shutil.copytree(skill, tmp_path / "skills" / "one")
    shutil.copytree(skill, tmp_path / "skills" / "two")
    main = tmp_path / "skills" / "two" / "SKILL.md"
    main.write_text(main.read_text().replace("name: tide-table", "name: two"))
    planned = sphynx(tmp_path, "eval", "--local", "--dry-run", "skills", "--agent", "nop/none")
    assert planned.stdout.count("2 variants") == 2, planned.stderr
    assert "differs from the folder" in planned.stderr
    (skill / "evals" / "evals.json").write_text('[\n {"id": 1, "prompt": ""}]')
    bad = sphynx(tmp_path, "eval", "--local", "tide-table/evals/evals.json", "--agent", "nop/none")
    assert bad.returncode == 1
    assert "evals.json:2:22" in bad.stderr
    assert "case 1: prompt is empty" in bad.stderr


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (("--arms", "with,both"), "--arms takes"),
        (("--arms", "with,old"), "--old-ref"),
        (("--old-ref", "main"), "the arm old"),
        (("--agent", "codex"), "HARNESS/MODEL"),
        (("--judge", "codex"), "HARNESS/MODEL"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    tmp_path: Path, skill: Path, args: tuple[str, ...], word: str
) -> None:
    """In one line, before anything is read."""
    done = sphynx(tmp_path, "eval", "--local", "./tide-table", *args)
    assert done.returncode == 1
    assert word in done.stderr


def test_options_for_skills_are_for_this_machine_and_told_before_a_run(tmp_path: Path, skill: Path) -> None:
    """Without --local they are refused; a dry run says trials and judge calls."""
    refused = sphynx(tmp_path, "eval", "./tide-table", "--agent", "nop/none")
    assert "--agent needs --local" in refused.stderr
    assert "the skill tide-table needs --local" in sphynx(tmp_path, "eval", "./tide-table").stderr
    (skill / "evals" / "evals.json").write_text(json.dumps([{**CASE, "assertions": ["It is calm"]}]))
    planned = sphynx(tmp_path, *RUN, "--judge", "codex/m", "--dry-run")
    assert "2 trials, up to 2 judge calls" in planned.stdout
    assert sphynx(tmp_path, "eval", "--local", "--resume", "x", "--agent", "a/b").returncode == 1


def test_a_skill_suite_of_a_file_decides_for_itself(tmp_path: Path, skill: Path) -> None:
    """--agent would change nothing there, which is told at once; --limit takes fewer of its cases too."""
    cases = [{**NOTHING, "id": n} for n in range(3)]
    (skill / "evals" / "evals.json").write_text(json.dumps(cases))
    (tmp_path / "tide_eval.py").write_text(
        "from sphynx import skill_suite\n"
        'tide = skill_suite("tide-table", agents=["nop/none"], arms=["with"], trials=1)\n'
    )
    told = sphynx(tmp_path, "eval", "--local", "tide_eval.py", "--agent", "nop/other")
    assert told.returncode == 1
    assert (
        "--agent is for skills named by their folder; the skill_suite() in tide_eval.py decides"
        in told.stderr
    )
    assert "set agents= in tide_eval.py" in told.stderr
    planned = sphynx(tmp_path, "eval", "--local", "tide_eval.py", "--limit", "2", "--dry-run")
    assert "2 trials" in planned.stdout, planned.stderr


def test_what_is_no_baseline_is_told_before_the_trials(tmp_path: Path, skill: Path) -> None:
    done = sphynx(tmp_path, *RUN, "--baseline", "nowhere")
    assert done.returncode == 1
    assert not (tmp_path / ".sphynx" / "batches").exists()
