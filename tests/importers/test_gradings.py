"""``sphynx skill grades`` and its reader: every layout, every list name, rates counted anew."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sphynx.errors import UsageError
from sphynx.importers import gradings

SPHYNX = str(Path(sys.executable).parent / "sphynx")


def items(**passed: bool | None) -> list[dict[str, Any]]:
    return [{"text": text, "passed": met, "evidence": "seen"} for text, met in passed.items()]


def write(file: Path, value: Any) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(value if isinstance(value, str) else json.dumps(value))
    return file


def sphynx(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SPHYNX, "skill", "grades", *args], cwd=folder, capture_output=True, text=True)


def test_both_layouts_and_all_list_names_make_one_table(tmp_path: Path) -> None:
    """k of n per criterion and arm; what agents wrote into outputs is no grade."""
    one = tmp_path / "iteration-1"
    write(
        one / "eval-10" / "with_skill" / "run-1" / "grading.json",
        {"expectations": items(unit=True, day=True)},
    )
    write(
        one / "eval-10" / "with_skill" / "run-2" / "grading.json",
        {"expectations": items(unit=True, day=False)},
    )
    write(one / "eval-10" / "without_skill" / "runs" / "run-1" / "grading.json",
          {"assertion_results": items(unit=False, day=None)})  # fmt: skip
    write(one / "second" / "with_skill" / "grading.json", {"assertions": items(calm=True)})
    write(one / "second" / "with_skill" / "outputs" / "grading.json", "not a grade")
    done = sphynx(tmp_path, "iteration-1")
    assert done.returncode == 0, done.stderr
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["with", "without", "criterion"],
        ["eval-10"],
        ["2/2", "0/1", "unit"],
        ["1/2", "-", "day"],
        ["second"],
        ["1/1", "-", "calm"],
        ["83%", "0%", "pass", "rate,", "mean", "of", "runs"],
    ]
    assert done.stderr == "4 runs: 0 differences from what the files say\n"


def test_a_summary_that_is_wrong_is_told_and_not_believed(tmp_path: Path) -> None:
    """Of a grading file and of a benchmark file; rounding is no difference."""
    write(tmp_path / "w" / "a" / "with_skill" / "grading.json",
          {"expectations": items(x=True, y=True, z=False),
           "summary": {"total": 3, "passed": 3, "pass_rate": 0.67}})  # fmt: skip
    write(tmp_path / "w" / "a" / "old_skill" / "grading.json", {"expectations": items(x=False)})
    summary = {"with_skill": {"pass_rate": {"mean": 1}}, "delta": {"pass_rate": "-0.67"}}
    write(tmp_path / "w" / "benchmark.json", {"run_summary": summary})
    done = sphynx(tmp_path, "--json", "w")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [(one["field"], one["message"]) for one in told["differences"]] == [
        ("summary.passed", "says 3, counted 2"),
        ("run_summary.with_skill.pass_rate.mean", "says 1, counted 0.67"),
        ("run_summary.delta.pass_rate", "says -0.67, counted 0.67"),
    ]
    assert [(one["arm"], one["passRate"]) for one in told["arms"]] == [
        ("with_skill", 2 / 3),
        ("old_skill", 0.0),
    ]
    assert "w/a/with_skill/grading.json: summary.passed: says 3, counted 2" in done.stderr


def test_one_file_without_an_arm(tmp_path: Path) -> None:
    """A lone file is read too; its arm is not guessed."""
    file = write(tmp_path / "mine" / "grading.json", {"expectations": items(x=True)})
    found = gradings.read(file).gradings[0]
    assert (found.case, found.arm, found.run, found.pass_rate) == ("mine", None, None, 1.0)
    assert sphynx(tmp_path, "mine/grading.json").stdout.splitlines()[0] == "passed  criterion"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("{", "not valid JSON"),
        ([], "has to be a JSON object"),
        ({"summary": {}}, "expectations: is missing"),
        ({"assertions": {}}, "assertions: has to be a list"),
        ({"expectations": ["x"]}, "expectations[0]: has to be an object"),
        ({"expectations": [{"passed": True}]}, "expectations[0].text: has to be a text"),
        (
            {"expectations": [*items(x=True), {"text": "y", "passed": "yes"}]},
            "expectations[1].passed: has to be true",
        ),
        ({"expectations": [{"text": "y"}]}, "expectations[0].passed: has to be true"),
    ],
)
def test_what_cannot_be_read_is_named_by_file_and_field(tmp_path: Path, value: Any, said: str) -> None:
    write(tmp_path / "w" / "grading.json", value)
    done = sphynx(tmp_path, "w")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"w/grading.json: {said}" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_without_grades_is_an_error(tmp_path: Path) -> None:
    assert "there is no grading.json in it" in sphynx(tmp_path, ".").stderr
    assert "no such file" in sphynx(tmp_path, "nowhere").stderr


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["expectations", "text", "passed", "summary", "total"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(_JSON)
def test_any_json_is_read_or_refused_in_words(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    file = write(tmp_path_factory.getbasetemp() / "any" / "grading.json", value)
    try:
        found = gradings.read(file)
    except UsageError:
        return
    assert all(0 <= one.passed <= one.total <= len(one.criteria) for one in found.gradings)
