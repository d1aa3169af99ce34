"""Skills run from end to end on a small agent: arms, what they can see, what the report says."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import mariner
import pytest

from sphynx.cli.render import skill as rendering
from sphynx.engine import BatchResult, LocalOptions, plan_resume, read_batch, run_local, run_plan
from sphynx.engine.skill_evidence import newest_skill_batches, skill_trials_of
from sphynx.engine.skills import SkillRequest, judge_calls, plan_paths
from sphynx.errors import UsageError
from sphynx.results.skill_gate import baseline_of, compare
from sphynx.results.skill_json import json_schema, to_json
from sphynx.results.skills import SkillReport, skill_reports
from sphynx.sandboxes import bubblewrap

EXAMPLE = Path(__file__).parents[2] / "examples" / "skills" / "tide-table"
MAIN = EXAMPLE / "evals" / "evals.json"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    mariner.install()
    shutil.copytree(EXAMPLE, tmp_path / "tide-table")
    return tmp_path


def options(home: Path, trials: int = 2) -> LocalOptions:
    env = {"SPHYNX_LOCAL_ROOT": str(home / "local"), "PATH": "/usr/bin:/bin"}
    return LocalOptions(jobs=2, trials=trials, cwd=home, env=env)


async def run(
    home: Path, request: SkillRequest, path: str = "tide-table/evals/evals.json", trials: int = 2
) -> tuple[list[BatchResult], list[SkillReport]]:
    results = await run_plan(plan_paths([path], options(home, trials), request))
    batches = [read_batch(result.folder) for result in results]
    return results, skill_reports(skill_trials_of(batches))


SEES = SkillRequest(agents=("mariner/sees",), judge="mariner/fair")


@pytest.mark.anyio
async def test_the_report_says_what_the_skill_helps_hurts_and_leaves(home: Path) -> None:
    """One criterion is helped, one hurt, the others are the same, and few cases are called few."""
    _, reports = await run(home, SEES)
    agent = reports[0].agents[0]
    labels = {row.text: row.label for row in agent.criteria}
    assert labels["Heights carry a unit"] == "helps"
    assert labels["No hedging"] == "hurts"
    assert labels["The highest day is named"] == "same"
    assert labels["The three tides are listed from the highest to the lowest"] == "same"
    assert len(labels) == 7
    counts = {row.text: {arm: (c.passed, c.scored) for arm, c in row.arms.items()} for row in agent.criteria}
    assert counts["Heights carry a unit"] == {"with": (2, 2), "without": (0, 2)}
    arms = {row.arm: row for row in agent.arms}
    assert (arms["with"].used.passed, arms["with"].used.scored) == (6, 6)
    assert arms["with"].tokens and arms["with"].tokens.median == 320
    assert agent.differences[0].few
    told = "\n".join(rendering.terminal(reports[0], rendering.Style()))
    assert "too few to mean much" in told
    assert "(derived)" in told


@pytest.mark.anyio
async def test_the_baseline_sees_neither_the_skill_nor_the_answers(home: Path) -> None:
    """Same settings and HOME in both arms; only the skill's files differ, with modes, without evals."""
    await run(home, SEES, trials=1)
    turns = [one for one in mariner.Mariner.seen if "prompt" in one]
    with_skill = [one for one in turns if any("SKILL.md" in path for path in one["files"])]
    without = [one for one in turns if one not in with_skill]
    assert len(with_skill) == len(without) == 3
    for one in turns:
        assert not any("evals" in path for path in one["files"] if path.startswith("."))
        assert not any("skill" in path.lower() for path in one["home"])
    for one in without:
        assert not any("tide-table" in path or "highest.sh" in path for path in one["files"])
        assert "unit" not in one["prompt"]
    skill_files = {path for one in with_skill for path in one["files"] if path.startswith(".agents")}
    lead = ".agents/skills/tide-table/"
    assert {f"{lead}SKILL.md", f"{lead}scripts/highest.sh", f"{lead}references/columns.md"} <= skill_files
    judged = [one["judge"] for one in mariner.Mariner.seen if "judge" in one]
    assert len(judged) == 6
    assert not any("with-skill" in text or "without-skill" in text for text in judged)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("judge", "why"),
    [
        ("omits", "left out criterion 1"),
        ("repeats", "decided criterion 1 twice"),
        ("invents", "criterion 99, which there is not"),
        ("chats", "did not answer with one JSON object"),
        ("told", "tells it what to decide"),
    ],
)
async def test_a_judge_that_does_not_decide_leaves_trials_unscored(home: Path, judge: str, why: str) -> None:
    """Void with the reason; what code decided is still counted."""
    request = replace(SEES, judge=f"mariner/{judge}", arms=("with",), limit=1)
    results, reports = await run(home, request, trials=1)
    trial = results[0].trials[0]
    assert trial.status == "void"
    assert why in (trial.reason or "")
    labels = {row.text: row.label for row in reports[0].agents[0].criteria}
    assert labels["The three tides are listed from the highest to the lowest"] == "unscored"
    assert labels["Heights carry a unit"] == "passes"


@pytest.mark.anyio
async def test_trigger_queries_are_graded_and_use_is_told_early_and_late(home: Path) -> None:
    """A wanted query is right when the skill was used, an unwanted one when it was left alone."""
    path = "tide-table/evals/trigger-evals.json"
    agents = ("mariner/sees", "mariner/late", "mariner/blind")
    results, reports = await run(home, replace(SEES, agents=agents), path, trials=1)
    assert {trial.variant.partition("@")[2] for result in results for trial in result.trials} == {
        "with-skill"
    }
    by_agent = {one.agent: one for one in reports[0].agents}
    right = {name: [q.right.passed for q in one.queries] for name, one in by_agent.items()}
    assert right == {"mariner/sees": [1, 0], "mariner/late": [1, 0], "mariner/blind": [0, 1]}
    opened = {t.agent: t.opened_at for t in skill_trials_of(read_batch(r.folder) for r in results)}
    assert opened == {"mariner/sees": 1, "mariner/late": 2, "mariner/blind": None}


@pytest.mark.anyio
async def test_an_older_skill_is_an_arm_and_forced_use_is_told(home: Path) -> None:
    """``old`` is the skill at a git ref; with ``forced`` the agent is told where the skill is."""
    git = ["git", "-C", str(home), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for args in (["init", "-q"], ["add", "tide-table"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *args], check=True)
    main = home / "tide-table" / "SKILL.md"
    main.write_text(main.read_text() + "\nNew advice of the second version, long enough to know.\n")
    request = replace(SEES, arms=("with", "old"), old_ref="HEAD", use="forced", limit=1)
    results, reports = await run(home, request, trials=1)
    versions = reports[0].versions
    assert versions["with"] != versions["old"]
    assert reports[0].agents[0].differences[0].baseline == "old"
    told = [one["system"] for one in mariner.Mariner.seen if "system" in one]
    assert all("Use the skill tide-table" in text for text in told)
    assert {trial.status for result in results for trial in result.trials} <= {"passed", "failed"}
    with pytest.raises(Exception, match="cannot read the skill at nowhere"):
        plan_paths(["tide-table"], options(home), replace(request, old_ref="nowhere"))


@pytest.mark.anyio
async def test_what_was_accepted_gates_the_next_run(home: Path) -> None:
    """A criterion that held and never passes now is lost; other models are never compared."""
    _, good = await run(home, SEES)
    baseline = json.loads(json.dumps(baseline_of(good)))
    assert compare(baseline, good) == ([], [], [])
    (home / "tide-table" / "SKILL.md").unlink()
    (home / "tide-table" / "SKILL.md").write_text("---\nname: tide-table\ndescription: x\n---\nnothing\n")
    _, other = await run(home, replace(SEES, agents=("mariner/blind",)))
    with pytest.raises(UsageError, match="mariner/blind is not in the baseline"):
        compare(baseline, other)
    renamed = [replace(other[0], agents=(replace(other[0].agents[0], agent="mariner/sees"),))]
    lost, _, _ = compare(baseline, renamed)
    assert [one.text for one in lost] == ["Heights carry a unit"]
    assert newest_skill_batches(home)[0].record.x["skill"]["judge"] == "mariner/fair"


@pytest.mark.anyio
async def test_the_json_report_fits_its_schema_and_markdown_is_safe(home: Path) -> None:
    """Every key of the report is one of the schema's, nothing required is missing."""
    _, reports = await run(home, replace(SEES, limit=1), trials=1)
    value: Any = to_json(reports)
    schema = json_schema()
    check(value, schema, schema["$defs"])
    text = rendering.markdown(reports)
    assert "| tide-table-1 | Heights carry a unit | 1/1 | 0/1 | helps |" in text


def check(value: Any, schema: dict[str, Any], named: dict[str, Any]) -> None:
    """Enough of JSON Schema for the report."""
    if "$ref" in schema:
        schema = named[schema["$ref"].rpartition("/")[2]]
    if schema.get("type") == "object" and "properties" in schema:
        assert set(value) == set(schema["properties"]) >= set(schema.get("required", ()))
        for key, item in value.items():
            check(item, schema["properties"][key], named)
    elif schema.get("type") == "array" and "items" in schema:
        for item in value:
            check(item, schema["items"], named)


def test_large_skills_are_split_into_batches_and_told_before_they_start(home: Path) -> None:
    """No batch holds more than 100 trials, no case is lost, and the judge calls are counted."""
    cases = [{"id": n, "prompt": f"p {n}", "assertions": ["x is named"]} for n in range(130)]
    (home / "tide-table" / "evals" / "evals.json").write_text(json.dumps(cases))
    plan = plan_paths(["tide-table/evals/evals.json"], options(home, 3), SEES)
    assert plan.total == 130 * 2 * 3
    assert all(suite.total <= 100 for suite in plan.suites)
    assert len({case.case.id for suite in plan.suites for case in suite.cases}) == 130
    assert judge_calls(plan) == plan.total
    some = plan_paths(["tide-table/evals/evals.json"], options(home, 3), replace(SEES, sample=5))
    again = plan_paths(["tide-table/evals/evals.json"], options(home, 3), replace(SEES, sample=5))
    assert some.total == 5 * 2 * 3
    assert [c.case.id for c in some.suites[0].cases] == [c.case.id for c in again.suites[0].cases]


@pytest.mark.anyio
async def test_a_missing_file_blocks_its_case_and_a_case_without_criteria_is_unscored(home: Path) -> None:
    """Neither is ever a fail, and the reason names what is missing."""
    cases = [
        {"id": 1, "prompt": "p", "files": ["gone.csv"], "assertions": ["x is named"]},
        {"id": 2, "prompt": "p"},
    ]
    (home / "tide-table" / "evals" / "evals.json").write_text(json.dumps(cases))
    results, _ = await run(home, replace(SEES, arms=("with",)), trials=1)
    blocked, empty = results[0].trials
    assert (blocked.status, blocked.stage) == ("void", "prepare")
    assert "gone.csv" in (blocked.reason or "")
    assert empty.status == "void"
    assert "no criteria" in (empty.reason or "")


@pytest.mark.anyio
@pytest.mark.isolate
async def test_an_isolated_agent_finds_no_answers_anywhere_and_the_skill_only_in_its_arm(home: Path) -> None:
    """The whole file system it can read is searched for a criterion, and for the skill's own text."""
    ready, why = bubblewrap.available()
    if not ready:
        pytest.skip(why)
    key, text = "sextant-of-the-answer-key", "sextant-of-the-skill-itself"
    main = home / "tide-table" / "SKILL.md"
    main.write_text(f"{main.read_text()}\n{text}\n")
    cases = [{"id": 1, "prompt": "p", "assertions": [{"text": key, "kind": "contains", "value": "looked"}]}]
    (home / "tide-table" / "evals" / "evals.json").write_text(json.dumps(cases))
    agents = (f"mariner/searches-{key}", f"mariner/searches-{text}")
    chosen = replace(options(home, 1), isolate=True)
    plan = plan_paths(["tide-table/evals/evals.json"], chosen, replace(SEES, agents=agents))
    results = await run_plan(plan)
    assert {trial.status for trial in results[0].trials} == {"passed"}
    assert {trial.isolation for trial in results[0].trials} == {"bubblewrap"}
    found = sorted(len(one["found"]) for one in mariner.Mariner.seen if "found" in one)
    places = [path for one in mariner.Mariner.seen for path in one.get("found", ())]
    assert found == [0, 0, 0, 1]
    assert places[0].endswith(".agents/skills/tide-table/SKILL.md")


@pytest.mark.anyio
async def test_the_library_runs_a_skill_as_the_command_does(home: Path) -> None:
    """``run_local`` takes a skill's folder or evals file, with the agents and arms of its ``skills``."""
    request = replace(SEES, limit=1)
    results = await run_local("tide-table/evals/evals.json", options(home, trials=1), skills=request)
    labels = sorted(trial.variant for result in results for trial in result.trials)
    assert len({trial.case_id for result in results for trial in result.trials}) == 1
    assert [label.rpartition("@")[2] for label in labels] == ["with-skill", "without-skill"], labels


@pytest.mark.anyio
async def test_a_run_of_a_skill_goes_on_where_it_was_cut_off(home: Path) -> None:
    """From the copy its batch keeps, though the skill itself has changed; the report counts all trials."""
    results, before = await run(home, SEES)
    (batch,) = results
    lost = sorted(batch.folder.glob("trials/*/trial.json"))[::2]
    kept = {
        path: path.read_bytes() for path in batch.folder.rglob("*") if path.is_file() and path not in lost
    }
    for path in lost:
        path.unlink()
    (home / "tide-table" / "SKILL.md").write_text("---\nname: tide-table\ndescription: other\n---\n")
    plan = plan_resume(batch.record.id, options(home))
    assert sum(suite.remaining for suite in plan.suites) == len(lost) > 0
    (again,) = await run_plan(plan)
    assert len(again.trials) == len(batch.trials)
    assert len({(t.case_id, t.variant, t.ordinal) for t in again.trials}) == len(batch.trials)
    held = {path: path.read_bytes() for path in kept if path.name != "batch.json"}
    assert held == {path: data for path, data in kept.items() if path.name != "batch.json"}
    (after,) = skill_reports(skill_trials_of([read_batch(again.folder)]))
    assert [row.text for row in after.agents[0].criteria] == [r.text for r in before[0].agents[0].criteria]
