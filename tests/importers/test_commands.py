"""``sphynx eval import`` and ``sphynx skill lint`` as commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SPHYNX = str(Path(sys.executable).parent / "sphynx")
EVALS = {
    "skill_name": "tide table",
    "evals": [{"id": 1, "prompt": "List it", "assertions": [
        {"text": "unit", "kind": "content_contains_any", "needles": ["m"]}, "Reads calmly"]}],
}  # fmt: skip


def sphynx(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "SPHYNX_LOCAL_ROOT": str(folder / "local"), "NO_COLOR": "1"}
    return subprocess.run([SPHYNX, *args], cwd=folder, env=env, capture_output=True, text=True, timeout=60)


def test_an_imported_suite_loads_and_its_summary_goes_to_stderr(tmp_path: Path) -> None:
    """With ``--out`` a file that ``sphynx eval`` takes, without it the suite alone on standard output."""
    (tmp_path / "evals.json").write_text(json.dumps(EVALS))
    done = sphynx(tmp_path, "eval", "import", "--format", "evals-json", "evals.json", "--out", "tide_eval.py")
    assert (done.returncode, done.stdout) == (0, "")
    assert "converted 1 assertion" in done.stderr
    assert "1 assertion could not be converted and needs a person" in done.stderr
    env_free = sphynx(tmp_path, "eval", "--local", "--dry-run", "tide_eval.py", "--case", "case-1")
    assert "tide-table" in env_free.stdout
    shown = sphynx(tmp_path, "eval", "import", "--format", "evals-json", "evals.json")
    assert shown.stdout == (tmp_path / "tide_eval.py").read_text()


def test_prose_for_a_judge_makes_a_suite_with_arms(tmp_path: Path) -> None:
    """``--prose judge`` takes any shape, and what it makes is planned with both arms."""
    skill = tmp_path / "tide-table"
    (skill / "evals").mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: tide-table\ndescription: Tides.\n---\nRead it.\n")
    (skill / "evals" / "evals.json").write_text(json.dumps([{"prompt": "List", "expectations": ["Calm"]}]))
    done = sphynx(
        tmp_path, "eval", "import", "--format", "evals-json", "tide-table/evals/evals.json",
        "--prose", "judge", "--judge", "codex/gpt-5.6-sol", "--out", "tide_eval.py",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "1 criterion for the judge" in done.stderr
    planned = sphynx(tmp_path, "eval", "--local", "--dry-run", "tide_eval.py")
    assert "1 case × 2 variants × 3 trials = 6 trials" in planned.stdout, planned.stderr


def test_lint_prints_places_and_fails_on_errors(tmp_path: Path) -> None:
    """One remark per line, ``file:line:column``; errors make it exit 1, --json gives the same as data."""
    (tmp_path / "evals.json").write_text('{"evals": [\n {"id": 1, "prompt": ""}]}')
    done = sphynx(tmp_path, "skill", "lint", "evals.json")
    assert done.returncode == 1
    assert "evals.json:2:22: error: case 1: prompt is empty" in done.stdout
    rows = json.loads(sphynx(tmp_path, "skill", "lint", "--json", "evals.json").stdout)
    assert {"level", "file", "line", "column", "message"} == set(rows[0])


def test_a_folder_called_import_can_still_be_named(tmp_path: Path) -> None:
    """``eval ./import`` is a path, ``eval import`` the command."""
    (tmp_path / "import").mkdir()
    assert "no eval files" in sphynx(tmp_path, "eval", "--local", "./import").stderr
