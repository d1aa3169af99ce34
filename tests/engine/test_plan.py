"""What a plan chooses, limits and asks for, before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval_project import Project
from sphynx.engine import plan_local, run_local_sync, run_plan, self_test
from sphynx.errors import CompileError, UsageError


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    project.agent("true")
    return project


TWO = """
    one = suite(id="first", prompt="x", trials=2, cases=[
        case(id="a", validate=command("true")), case(id="b", validate=command("true"))],
        variants=[AGENT, {**AGENT, "sandbox": "modal"}, dict(harness="nop", model="none")])
    two = suite(id="second", prompt="x", variants=[AGENT], cases=[case(id="c", validate=command("true"))])
"""


def test_everything_is_planned_and_sandboxes_do_not_multiply(project: Project) -> None:
    project.suite(TWO)
    plan = plan_local([], project.options())
    labels = [[variant.label for variant in suite.variants] for suite in plan.suites]
    assert labels == [["command/scripted@agent", "nop/none"], ["command/scripted@agent"]]
    assert (plan.total, [suite.trials for suite in plan.suites]) == (9, [2, 1])
    assert any("runs once" in note for note in plan.notes)


def test_a_case_is_taken_from_the_suites_that_have_it(project: Project) -> None:
    project.suite(TWO)
    plan = plan_local([], project.options(cases=("c",), trials=3))
    assert [suite.compiled.suite.id for suite in plan.suites] == ["second"]
    assert plan.total == 3


def test_an_unknown_case_or_variant_lists_what_there_is(project: Project) -> None:
    project.suite(TWO)
    with pytest.raises(UsageError) as caught:
        plan_local([], project.options(cases=("zzz",)))
    assert "a, b, c" in (caught.value.hint or "")
    with pytest.raises(UsageError) as caught:
        plan_local([], project.options(cases=("a",), variants=("zzz",)))
    assert "there are: " in (caught.value.hint or "") and "nop/none" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "options", [{"jobs": 0}, {"jobs": 257}, {"trials": 0}, {"trials": 11}, {"timeout_s": 0}]
)
def test_numbers_out_of_range_are_refused(project: Project, options: dict[str, int]) -> None:
    project.suite(TWO)
    with pytest.raises(UsageError):
        plan_local([], project.options(**options))


def test_a_case_that_no_file_has_is_refused_also_beside_one_that_is_there(project: Project) -> None:
    """A misspelled name must not quietly run less than was asked for."""
    project.suite("""
        demo = suite(id="demo", prompt="x", variants=[AGENT], cases=[
            case(id="adds", validate=command("true")), case(id="removes", validate=command("true"))])
    """)
    with pytest.raises(UsageError, match='no case "remove" in') as caught:
        plan_local([], project.options(cases=("adds", "remove")))
    assert caught.value.hint == 'did you mean "removes"?'
    with pytest.raises(UsageError) as caught:
        plan_local([], project.options(cases=("x", "y")))
    assert caught.value.hint == "there are: adds, removes"


def test_more_than_100_trials_in_a_batch_are_refused(project: Project) -> None:
    project.suite("""
        demo = suite(id="demo", prompt="x", variants=[AGENT],
                     cases=[case(id=f"c{n}", validate=command("true")) for n in range(11)])
    """)
    with pytest.raises(UsageError, match="110 trials"):
        plan_local([], project.options(trials=10))


@pytest.mark.anyio
async def test_a_missing_variable_is_a_need_and_refuses_the_run(project: Project) -> None:
    project.agent("true", variables=["APP_TOKEN", "THERE"])
    project.suite(TWO)
    plan = plan_local([], project.options(env={"THERE": ""}))
    assert {need.name: need.found for need in plan.needs} == {"APP_TOKEN": False, "THERE": True}
    with pytest.raises(UsageError, match="APP_TOKEN"):
        await run_plan(plan)
    assert not (project.root / ".sphynx").exists()


def test_a_harness_that_cannot_run_here_is_named(project: Project) -> None:
    project.suite("""
        from sphynx.suite import harness_names
        harness_names.announce("elsewhere")
        demo = suite(id="demo", prompt="x", variants=[variant(harness="elsewhere", model="m")],
                     cases=[case(id="one", validate=command("true"))])
    """)
    with pytest.raises(UsageError, match="elsewhere"):
        plan_local([], project.options())


@pytest.mark.anyio
async def test_an_eval_file_that_cannot_be_imported_in_a_trial_is_told_once(project: Project) -> None:
    project.suite("""
        import os
        KEY = os.environ["ONLY_IN_MY_SHELL"]
        def check(ctx): return True
        demo = suite(id="demo", prompt="x", trials=3, variants=[AGENT],
                     cases=[case(id="one", validate=check)])
    """)
    import os

    os.environ["ONLY_IN_MY_SHELL"] = "1"
    try:
        plan = plan_local([], project.options())
    finally:
        del os.environ["ONLY_IN_MY_SHELL"]
    with pytest.raises(CompileError, match="ONLY_IN_MY_SHELL"):
        await run_plan(plan)


@pytest.mark.anyio
async def test_self_test_tells_good_cases_from_bad_ones(project: Project) -> None:
    project.suite("""
        def solve(ctx): open("done.txt", "w").write("x")
        demo = suite(id="demo", prompt="x", trials=3, variants=[AGENT], cases=[
            case(id="good", solution="touch done.txt", validate=command("test -e done.txt")),
            case(id="function", solution=solve, validate=command("test -e done.txt")),
            case(id="bad-check", solution="true", validate=command("true")),
            case(id="bad-solution", solution="exit 4", validate=command("test -e done.txt")),
            case(id="unsolved", validate=command("test -e done.txt")),
        ])
    """)
    rows = await self_test(plan_local([], project.options()))
    assert [(row.case_id, row.untouched_ok, row.reference_ok) for row in rows] == [
        ("good", True, True),
        ("function", True, True),
        ("bad-check", False, True),
        ("bad-solution", True, False),
        ("unsolved", True, True),
    ]
    assert rows[3].reference and rows[3].reference.reason == "The reference solution exited with status 4"


def test_suites_and_paths_run_from_code(project: Project) -> None:
    path = project.suite(TWO)
    results = run_local_sync(path, project.options())
    assert [len(result.trials) for result in results] == [8, 1]
    namespace: dict[str, object] = {"__file__": str(path), "__name__": "demo"}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    (result,) = run_local_sync(namespace["two"], project.options())
    assert (result.record.suite_id, [trial.status for trial in result.trials]) == ("second", ["passed"])


def test_a_suite_that_is_not_at_the_top_of_its_file_is_refused(project: Project) -> None:
    path = project.suite(
        TWO + "    def hidden(): return suite(id='hidden', prompt='x', cases=[], variants=[])"
    )
    namespace: dict[str, object] = {"__file__": str(path), "__name__": "demo"}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    with pytest.raises(UsageError, match='suite "hidden" is not at the top level'):
        run_local_sync(namespace["hidden"](), project.options())
