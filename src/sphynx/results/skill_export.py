"""Results in the folders and files that viewers of skill evals open, with numbers counted anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean, stdev
from typing import Any

from sphynx.results.skills import SkillReport, SkillTrial
from sphynx.suite.skills.model import slug

_CONFIGURATIONS = {"with": "with_skill", "without": "without_skill", "old": "old_skill"}

NOT_SCORED = "not scored: "
"""How the evidence of a criterion begins that nobody decided."""


def exported(report: SkillReport, all_trials: Sequence[SkillTrial], *, timestamp: str) -> dict[str, Any]:
    """File contents by path: a ``grading.json`` and ``timing.json`` per run, ``eval_metadata.json`` per case,
    one ``benchmark.json``. Runs of several agents lie in a folder per agent."""
    out: dict[str, Any] = {}
    several = len(report.agents) > 1
    for agent in report.agents:
        lead = f"{slug(agent.agent)}/" if several else ""
        trials = [
            trial
            for trial in all_trials
            if trial.agent == agent.agent and trial.about["name"] == report.skill and trial.case["criteria"]
        ]
        runs: list[dict[str, Any]] = []
        for trial in trials:
            folder = f"{lead}{_case_folder(trial)}"
            run = f"{folder}/{_CONFIGURATIONS[trial.arm]}/run-{trial.record.ordinal}"
            grading = _grading(trial)
            out[f"{run}/grading.json"] = grading
            out[f"{run}/timing.json"] = _timing(trial)
            out[f"{folder}/eval_metadata.json"] = {
                "eval_id": _number(trial),
                "eval_name": trial.case.get("name", ""),
                "prompt": trial.case.get("prompt", ""),
                "assertions": [one["text"] for one in trial.case["criteria"]],
            }
            runs.append(_run(trial, grading))
        out[f"{lead}benchmark.json"] = _benchmark(report, agent.agent, trials, runs, timestamp)
    return out


def _case_folder(trial: SkillTrial) -> str:
    name = slug(str(trial.case.get("name") or ""), "case")[:40].rstrip("-")
    return f"eval-{trial.case.get('number', 0)}-{name}"


def _number(trial: SkillTrial) -> int | str:
    given = str(trial.case.get("evalId", ""))
    return int(given) if given.lstrip("-").isdigit() else given


def _grading(trial: SkillTrial) -> dict[str, Any]:
    evidence = _evidence(trial)
    items = [
        {"text": text, "passed": bool(met), "evidence": evidence.get(text) or _unscored(trial, met)}
        for text, met in trial.outcomes.items()
    ]
    return {
        "expectations": items,
        "summary": _summary(trial),
        "execution_metrics": {
            "total_tool_calls": trial.actions,
            "errors_encountered": trial.record.failed_commands,
        },
        "timing": _timing(trial),
    }


def _summary(trial: SkillTrial) -> dict[str, Any]:
    met = [one for one in trial.outcomes.values() if one is not None]
    passed = sum(met)
    return {
        "passed": passed,
        "failed": len(met) - passed,
        "total": len(met),
        "pass_rate": passed / len(met) if met else 0.0,
    }


def _unscored(trial: SkillTrial, met: bool | None) -> str:
    return f"{NOT_SCORED}{trial.record.reason or trial.record.status}" if met is None else ""


def _evidence(trial: SkillTrial) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in trial.record.validations:
        for decided in (one.get("judgment") or {}).get("criteria") or ():
            found[str(decided["text"]).removeprefix("This must NOT be so: ")] = str(decided["evidence"])
        found[str(one.get("name"))] = str(one.get("message") or "checked by code")
    texts = {one["text"]: found.get(one["name"], "") for one in trial.case["criteria"]}
    return {text: told or found.get(text.removeprefix("must not: "), "") for text, told in texts.items()}


def _timing(trial: SkillTrial) -> dict[str, Any]:
    usage = trial.record.usage
    return {
        "total_tokens": usage.total_tokens if usage else None,
        "duration_ms": trial.record.model_ms,
        "total_duration_seconds": trial.record.model_ms / 1000,
    }


def _run(trial: SkillTrial, grading: dict[str, Any]) -> dict[str, Any]:
    usage = trial.record.usage
    return {
        "eval_id": _number(trial),
        "eval_name": trial.case.get("name", ""),
        "configuration": _CONFIGURATIONS[trial.arm],
        "run_number": trial.record.ordinal,
        "result": {
            **grading["summary"],
            "time_seconds": trial.record.model_ms / 1000,
            "tokens": usage.total_tokens if usage else 0,
            "tool_calls": trial.actions,
            "errors": trial.record.failed_commands,
        },
        "expectations": grading["expectations"],
        "notes": list(trial.record.notes),
    }


def _benchmark(
    report: SkillReport, agent: str, trials: Sequence[SkillTrial], runs: list[dict[str, Any]], timestamp: str
) -> dict[str, Any]:
    scored = [run for run in runs if run["result"]["total"]]
    arms = [_CONFIGURATIONS[arm] for arm in report.arms]
    summary: dict[str, Any] = {}
    for name in arms:
        found = [run["result"] for run in scored if run["configuration"] == name]
        if found:
            keys = ("pass_rate", "time_seconds", "tokens")
            summary[name] = {key: _statistics(one[key] for one in found) for key in keys}
    base = next((name for name in ("without_skill", "old_skill") if name in summary), None)
    if base and "with_skill" in summary:
        # Always the skill minus the baseline, whatever the arms are called.
        gaps = {k: summary["with_skill"][k]["mean"] - summary[base][k]["mean"] for k in summary[base]}
        summary["delta"] = {
            "pass_rate": f"{gaps['pass_rate']:+.2f}",
            "time_seconds": f"{gaps['time_seconds']:+.1f}",
            "tokens": f"{gaps['tokens']:+.0f}",
        }
    return {
        "metadata": {
            "skill_name": report.skill,
            "skill_path": str(trials[0].about.get("folder", "")) if trials else "",
            "executor_model": agent,
            "analyzer_model": report.judge,
            "timestamp": timestamp,
            "evals_run": list(dict.fromkeys(run["eval_id"] for run in runs)),
            "runs_per_configuration": max((run["run_number"] for run in runs), default=0),
        },
        "runs": runs,
        "run_summary": summary,
        "notes": _notes(report, agent),
    }


def _notes(report: SkillReport, agent: str) -> list[str]:
    rows = next(one for one in report.agents if one.agent == agent).criteria
    return [f"{row.case_id}: {row.text}: {row.label}" for row in rows if row.label != "same"]


def _statistics(values: Iterable[float]) -> dict[str, float]:
    found = [float(value) for value in values]
    return {
        "mean": fmean(found),
        "stddev": stdev(found) if len(found) > 1 else 0.0,
        "min": min(found),
        "max": max(found),
    }
