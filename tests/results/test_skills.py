"""What a skill's trials say: labels, differences, the gate, the exported files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sphynx.errors import UsageError
from sphynx.importers import gradings
from sphynx.results.skill_export import exported
from sphynx.results.skill_gate import baseline_of, compare, no_longer_holds, probability
from sphynx.results.skills import Count, SkillTrial, case_shares, difference, label, skill_reports
from sphynx.schema.records import CostLine, TrialRecord, UsageRecord

ARMS = {
    f"codex/m@{arm}-skill": {"arm": arm, "agent": "codex/m", "use": "available", "version": arm * 3}
    for arm in ("with", "without", "old")
}


def about(cases: int = 8, *, judge: str = "codex/j") -> dict[str, Any]:
    made = {
        f"c-{n}": {
            "evalId": str(n), "number": n, "name": f"Case {n}", "prompt": "p", "trigger": None,
            "criteria": [
                {"text": "code", "name": "code", "by": "code", "derived": False},
                {"text": "must not: prose", "name": "prose", "by": "judge", "derived": False},
            ],
        }
        for n in range(1, cases + 1)
    }  # fmt: skip
    return {"name": "tide", "folder": "/s", "judge": judge, "arms": ARMS, "cases": made, "notes": ["a note"]}


def trial(
    case: int, arm: str, code: bool | None, prose: bool | None, *, ordinal: int = 1, **more: Any
) -> SkillTrial:
    statuses = {True: "passed", False: "failed", None: "error"}
    judged = (
        None
        if prose is None
        else [{"number": 1, "text": "This must NOT be so: prose", "passed": prose, "evidence": "line 3"}]
    )
    record = TrialRecord(
        id=f"b/c-{case}/{arm}/{ordinal}", batch_id="b", suite_id="tide", case_id=f"c-{case}",
        variant=f"codex/m@{arm}-skill", ordinal=ordinal, status="passed" if code and prose else "failed",
        isolation="none", harness="codex", harness_version="1", model="m", started_at="2030-01-01T00:00:00Z",
        duration_ms=1_000, model_ms=2_000 if arm == "with" else 1_000,
        usage=UsageRecord(input_tokens=100, output_tokens=20, total_tokens=120),
        costs=[CostLine(component="model", classification="estimate", usd=0.5, source="t"),
               CostLine(component="judge", classification="estimate", usd=0.1, source="t")],
        validations=[
            {"kind": "code", "name": "code", "status": statuses[code], "message": "row 1"},
            {"kind": "judge", "name": "criteria", "status": "passed", "judgment": {"criteria": judged}},
        ],
    )  # fmt: skip
    return SkillTrial(record, about(), used=arm != "without", opened_at=1, actions=3, **more)


@pytest.mark.parametrize(
    ("own", "base", "expected"),
    [
        ((3, 3), (0, 3), "helps"),
        ((3, 3), (1, 3), "helps"),
        ((2, 3), (0, 3), "helps"),
        ((0, 3), (3, 3), "hurts"),
        ((1, 3), (3, 3), "hurts"),
        ((3, 3), (3, 3), "same"),
        ((0, 3), (0, 3), "never passes"),
        ((3, 3), (2, 3), "unstable"),
        ((2, 3), (1, 3), "unstable"),
        ((2, 3), (2, 3), "unstable"),
        ((0, 0), (3, 3), "unscored"),
    ],
)
def test_a_criterion_gets_one_label(own: tuple[int, int], base: tuple[int, int], expected: str) -> None:
    """Beside both counts."""
    assert label({"with": Count(*own), "without": Count(*base)}) == expected
    assert label({"with": Count(*own), "old": Count(*base)}) == expected


def test_one_arm_alone_is_labelled_by_itself() -> None:
    """Nothing is said of a difference nobody measured."""
    assert [label({"with": Count(n, 3)}) for n in (3, 0, 1)] == ["passes", "never passes", "unstable"]


def test_the_difference_is_the_arm_minus_the_baseline_whatever_they_are_called() -> None:
    """Also against the old skill, whose name sorts before ``with``."""
    own = [trial(n, "with", True, True) for n in range(1, 7)]
    old = [trial(n, "old", n % 2 == 0, False) for n in range(1, 7)]
    found = difference("with", "old", own, old)
    assert found is not None
    assert found.points == pytest.approx(75)
    assert found.low <= found.points <= found.high
    assert not found.few
    assert not found.wide
    back = difference("old", "with", old, own)
    assert back is not None
    assert back.points == pytest.approx(-75)


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=8))
def test_the_interval_holds_the_difference_and_never_leaves_its_range(
    cases: list[tuple[bool, bool, bool]],
) -> None:
    """Whole cases are drawn, so trials of one case count as one."""
    own = [trial(n, "with", one, two) for n, (one, two, _) in enumerate(cases, 1)]
    base = [trial(n, "without", three, three) for n, (_, _, three) in enumerate(cases, 1)]
    found = difference("with", "without", own, base)
    assert found is not None
    assert -100 <= found.low <= found.points + 1e-9
    assert found.points - 1e-9 <= found.high <= 100
    assert found == difference("with", "without", own, base)
    assert found.few is (len(cases) < 5)


def test_unscored_criteria_do_not_count_and_void_trials_are_told() -> None:
    """A share is of what was decided; nothing decided is no share."""
    trials = [trial(1, "with", True, None), trial(2, "with", None, None), trial(1, "without", False, True)]
    assert case_shares(trials) == {"c-1": 0.75}
    report = skill_reports(trials)[0]
    assert report.notes == ("a note",)
    row = next(row for row in report.agents[0].criteria if (row.case_id, row.text) == ("c-2", "code"))
    assert row.arms["with"] == Count(0, 0, 1)


def test_money_time_and_tokens_are_told_by_arm_and_the_judge_apart() -> None:
    """Medians with their range; totals of money."""
    report = skill_reports([trial(1, "with", True, True), trial(1, "without", True, True)])[0]
    arms = {row.arm: row for row in report.agents[0].arms}
    assert (arms["with"].usd, arms["with"].judge_usd) == (0.5, 0.1)
    assert arms["with"].seconds and arms["with"].seconds.median == 2
    assert arms["without"].tokens and arms["without"].tokens.median == 120


@pytest.mark.parametrize(
    ("before", "now", "lost"),
    [
        ((3, 3), (3, 3), False),
        ((3, 3), (2, 3), False),
        ((3, 3), (1, 3), False),
        ((3, 3), (0, 3), True),
        ((1, 1), (0, 1), True),
        ((10, 10), (7, 10), False),
        ((10, 10), (6, 10), True),
        ((3, 3), (0, 0), True),
        ((2, 3), (0, 3), False),
        ((0, 0), (0, 3), False),
    ],
)
def test_what_held_is_lost_only_beyond_noise(
    before: tuple[int, int], now: tuple[int, int], lost: bool
) -> None:
    """Fisher's exact test, or nothing passes any more."""
    assert no_longer_holds(Count(*before), Count(*now)) is lost


def test_the_probability_is_fishers() -> None:
    """One by hand: 3 of 3 before, 0 of 3 now is 1 in 20."""
    assert probability(Count(3, 3), Count(0, 3)) == pytest.approx(1 / 20)


def test_the_gate_names_what_was_lost_and_refuses_other_models() -> None:
    """Rows of different models or judges are never compared."""
    good = skill_reports([trial(1, "with", True, True)])
    baseline = baseline_of(good)
    lost, missing, notes = compare(baseline, skill_reports([trial(1, "with", False, True)]))
    assert [(one.case_id, one.text) for one in lost] == [("c-1", "code")]
    assert (missing, notes) == ([], [])
    renamed = json.loads(json.dumps(baseline).replace('"code"', '"older"'))
    assert compare(renamed, good).missing == ["codex/m: c-1: older"]
    with pytest.raises(UsageError, match="codex/m is not in the baseline"):
        compare({**baseline, "skills": {"tide": {**baseline["skills"]["tide"], "agents": {}}}}, good)
    other = {**baseline["skills"]["tide"], "judge": "someone/else"}
    lost, _, notes = compare(
        {**baseline, "skills": {"tide": other}}, skill_reports([trial(1, "with", True, False)])
    )
    assert lost == []
    assert "another judge" in notes[0]
    with pytest.raises(UsageError, match="format"):
        compare({}, good)


def test_exported_files_have_the_names_viewers_read_and_our_numbers() -> None:
    """``eval-N-slug/<arm>/run-K/grading.json``; the delta is skill minus baseline, for ``old`` too."""
    trials = [
        trial(1, "with", True, True),
        trial(1, "old", False, True),
        trial(1, "old", True, None, ordinal=2),
    ]
    files = exported(skill_reports(trials)[0], trials, timestamp="2030-01-01T00:00:00Z")
    grading = files["eval-1-case-1/with_skill/run-1/grading.json"]
    assert grading["expectations"] == [
        {"text": "code", "passed": True, "evidence": "row 1"},
        {"text": "must not: prose", "passed": True, "evidence": "line 3"},
    ]
    assert grading["summary"] == {"passed": 2, "failed": 0, "total": 2, "pass_rate": 1.0}
    unscored = files["eval-1-case-1/old_skill/run-2/grading.json"]["expectations"][1]
    assert (unscored["passed"], "not scored" in unscored["evidence"]) == (False, True)
    benchmark = files["benchmark.json"]
    assert benchmark["run_summary"]["delta"]["pass_rate"] == "+0.25"
    assert set(benchmark["run_summary"]) == {"with_skill", "old_skill", "delta"}
    assert {"eval_id", "eval_name", "configuration", "run_number", "result", "expectations", "notes"} == set(
        benchmark["runs"][0]
    )
    assert files["eval-1-case-1/eval_metadata.json"]["assertions"] == ["code", "must not: prose"]
    assert files["eval-1-case-1/with_skill/run-1/timing.json"]["total_tokens"] == 120


def test_what_is_exported_is_read_back_with_the_same_numbers(tmp_path: Path) -> None:
    """Rates per run and per arm, also where a criterion was not decided."""
    trials = [
        trial(1, "with", True, False),
        trial(2, "with", True, True),
        trial(1, "old", False, True),
        trial(1, "old", True, None, ordinal=2),
    ]
    files = exported(skill_reports(trials)[0], trials, timestamp="2030-01-01T00:00:00Z")
    for name, value in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(json.dumps(value))
    found = gradings.read(tmp_path)
    assert found.differences == ()
    told = {(run["configuration"], run["eval_name"], run["run_number"]): run["result"]
            for run in files["benchmark.json"]["runs"]}  # fmt: skip
    read = {(one.arm, f"Case {one.case.split('-')[1]}", one.run): one for one in found.gradings}
    assert {key: (one.passed, one.total, one.pass_rate) for key, one in read.items()} == {
        key: (one["passed"], one["total"], one["pass_rate"]) for key, one in told.items()
    }
    summary = files["benchmark.json"]["run_summary"]
    for arm in ("with_skill", "old_skill"):
        assert gradings.pass_rate(found.gradings, arm) == summary[arm]["pass_rate"]["mean"]
