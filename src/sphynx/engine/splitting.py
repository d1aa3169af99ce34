"""Suites of skills that are larger than a batch become several batches, and say what their cases ask."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sphynx.compiler.compiled import CompiledSuite
from sphynx.engine.batch_folder import new_batch_id
from sphynx.engine.options import MAX_TRIALS_PER_BATCH, PlannedSuite
from sphynx.importers.skill_lint import lint_skill
from sphynx.suite.skills.folder import MAIN, Skill
from sphynx.suite.skills.model import EvalCase
from sphynx.suite.skills.suites import SkillSuite, check_names


def batches_of(planned: PlannedSuite) -> list[PlannedSuite]:
    """The suite as it is, or one of a skill in parts that each fit a batch."""
    if not isinstance(planned.compiled.suite, SkillSuite):
        return [planned]
    parts = list(_parts(planned))
    about = about_skill(planned.compiled)
    for number, part in enumerate(parts, 1):
        ids = {case.case.id for case in part.cases}
        cases = {key: value for key, value in about["cases"].items() if key in ids}
        part.x = {**planned.x, "skill": {**about, "cases": cases, "part": [number, len(parts)]}}
    return parts


def _parts(planned: PlannedSuite) -> Iterator[PlannedSuite]:
    if planned.total <= MAX_TRIALS_PER_BATCH:
        yield planned
        return
    wide = max(1, min(len(planned.variants), MAX_TRIALS_PER_BATCH // planned.trials))
    tall = max(1, MAX_TRIALS_PER_BATCH // (wide * planned.trials))
    for left in range(0, len(planned.variants), wide):
        for top in range(0, len(planned.cases), tall):
            yield replace(
                planned,
                cases=planned.cases[top : top + tall],
                variants=planned.variants[left : left + wide],
                batch_id=new_batch_id(),
            )


def about_skill(compiled: CompiledSuite) -> dict[str, Any]:
    """What a report needs to know of the suite beside the trials, for ``batch.json``."""
    suite = compiled.suite
    assert isinstance(suite, SkillSuite)
    arms: dict[str, dict[str, Any]] = {}
    for variant in compiled.variants:
        profile = variant.variant.profile or {"name": "", "dir": ""}
        arms[variant.label] = {
            "arm": profile.get("skill") or "with",
            "agent": f"{variant.variant.harness}/{variant.variant.model}",
            "use": profile.get("use") or "available",
            "old": profile.get("old"),
            "version": variant.profile.version if variant.profile else None,
        }
    return {
        "name": suite.skill.name,
        "folder": str(suite.skill.root),
        "main": bool(suite.skill.text),
        "evals": suite.evals_path.name,
        "judge": suite.judge,
        "arms": arms,
        "cases": {case.id: _case(case) for case in suite.evals.cases},
        "notes": [
            *remarks_on(suite.skill),
            *(found.message for found in suite.evals.findings if found.level != "error"),
        ],
        "refused": [found.message for found in suite.evals.errors],
    }


def remarks_on(skill: Skill) -> list[str]:
    """What makes agents drop or cut the skill."""
    if not skill.text:
        return []
    found = [one for one in lint_skill(skill) if one.level != "note" and one.file.name == MAIN]
    return [f"{skill.name}: {MAIN}:{one.line}: {one.message}" for one in found]


def _case(case: EvalCase) -> dict[str, Any]:
    names = check_names(case)
    return {
        "evalId": case.eval_id,
        "number": case.number,
        "name": case.name,
        "prompt": case.prompt,
        "slash": case.prompt.startswith("/"),
        "trigger": None if case.trigger is None else case.trigger.wanted,
        "criteria": [
            {
                "text": one.key,
                "name": names.get(one.key, one.key),
                "by": "code" if one.parts else "judge",
                "derived": one.derived,
            }
            for one in case.criteria
        ],
    }
