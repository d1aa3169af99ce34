"""Accepted results of a skill, and whether what held then still holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import comb
from typing import Any, NamedTuple

from sphynx.errors import UsageError
from sphynx.results.skills import AgentReport, Count, SkillReport

FORMAT = 1
NOISE = 0.05


class Lost(NamedTuple):
    """A criterion that held in the baseline and does not any more."""

    agent: str
    case_id: str
    text: str
    before: Count
    now: Count

    @property
    def told(self) -> str:
        """One line for people."""
        return (
            f"{self.agent}: {self.case_id}: {self.text}: {self.before.passed}/{self.before.scored} before, "
            f"{self.now.passed}/{self.now.scored} now"
        )


class Comparison(NamedTuple):
    """A run beside its baseline."""

    lost: list[Lost]
    missing: list[str]
    """Criteria that held and were not asked about now, one line each."""
    notes: list[str]
    """What could not be compared."""


def baseline_of(reports: Iterable[SkillReport]) -> dict[str, Any]:
    """What ``skill accept`` writes: every criterion of the arm ``with``, by skill and agent."""
    skills: dict[str, Any] = {}
    for report in reports:
        agents = {
            agent.agent: {
                row.case_id: {
                    other.text: [other.arms["with"].passed, other.arms["with"].scored]
                    for other in agent.criteria
                    if other.case_id == row.case_id and "with" in other.arms
                }
                for row in agent.criteria
                if "with" in row.arms
            }
            for agent in report.agents
        }
        skills[report.skill] = {
            "judge": report.judge,
            "version": report.versions.get("with"),
            "batches": list(report.batches),
            "agents": agents,
        }
    return {"format": FORMAT, "skills": skills}


def compare(baseline: Mapping[str, Any], reports: Iterable[SkillReport]) -> Comparison:
    """Criteria that no longer hold, those that are gone, and what could not be compared.

    Rows of other models are never compared: ``UsageError`` when nothing is left to compare.
    """
    if baseline.get("format") != FORMAT:
        raise UsageError("the baseline has a format this version does not know", hint="sphynx skill accept")
    lost: list[Lost] = []
    missing: list[str] = []
    notes: list[str] = []
    compared = 0
    for report in reports:
        stored = (baseline.get("skills") or {}).get(report.skill)
        if stored is None:
            notes.append(f"{report.skill} is not in the baseline")
            continue
        same_judge = stored.get("judge") == report.judge
        if not same_judge and any(row.by != "code" for agent in report.agents for row in agent.criteria):
            notes.append(f"{report.skill}: another judge decided the baseline: its criteria are not compared")
        for agent in report.agents:
            before = (stored.get("agents") or {}).get(agent.agent)
            if before is None:
                notes.append(f"{report.skill}: {agent.agent} is not in the baseline")
                continue
            pairs = list(_pairs(agent, before, same_judge))
            compared += len(pairs)
            lost += [one for one in pairs if no_longer_holds(one.before, one.now)]
            missing += _missing(agent, before)
    if not compared:
        why = notes[0] if notes else "they have no criterion in common"
        raise UsageError(f"nothing can be compared with the baseline: {why}")
    return Comparison(lost, missing, notes)


def _missing(agent: AgentReport, before: Mapping[str, Any]) -> list[str]:
    """Each criterion that held in the baseline and that this run did not ask about."""
    asked = {(row.case_id, row.text) for row in agent.criteria if "with" in row.arms}
    return [
        f"{agent.agent}: {case_id}: {text}"
        for case_id, criteria in before.items()
        for text, (passed, scored) in criteria.items()
        if scored and passed == scored and (case_id, text) not in asked
    ]


def _pairs(agent: AgentReport, before: Mapping[str, Any], same_judge: bool) -> Iterator[Lost]:
    """Each criterion that both know, then and now."""
    for row in agent.criteria:
        then, now = before.get(row.case_id, {}).get(row.text), row.arms.get("with")
        if then is not None and now is not None and (same_judge or row.by == "code"):
            yield Lost(agent.agent, row.case_id, row.text, Count(int(then[0]), int(then[1])), now)


def no_longer_holds(before: Count, now: Count) -> bool:
    """Whether a criterion that always held lost more than noise would take.

    It did when it never passes now, or when so few passes are less likely than 1 in 20 were nothing changed
    (Fisher's exact test, one side). One that was not scored now does not hold either.
    """
    if not before.scored or before.passed < before.scored:
        return False
    if now.passed == 0:
        return True
    return probability(before, now) <= NOISE


def probability(before: Count, now: Count) -> float:
    """How likely at most ``now.passed`` passes are among the new trials, all passes drawn at random."""
    total, passes = before.scored + now.scored, before.passed + now.passed
    ways = sum(
        comb(passes, hits) * comb(total - passes, now.scored - hits)
        for hits in range(now.passed + 1)
        if now.scored - hits <= total - passes
    )
    return ways / comb(total, now.scored)
