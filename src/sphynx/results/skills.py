"""Does a skill help? Trials of every arm, criterion by criterion, with what can and cannot be said of it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any, Literal

from sphynx.schema.records import TrialRecord
from sphynx.suite.skills.suites import NO_TRIGGER, TRIGGER

Label = Literal["helps", "hurts", "same", "never passes", "unstable", "unscored", "passes", "fails"]

RESAMPLES = 2_000
FEW_CASES = 5
_SEED = 20


@dataclass(frozen=True, slots=True)
class SkillTrial:
    """One trial with what its journal says of the skill. ``about`` is its batch's ``skill`` entry."""

    record: TrialRecord
    about: Mapping[str, Any]
    used: bool = False
    opened_at: int | None = None
    """The agent's action that opened the skill, from 1; ``None`` when none did."""
    actions: int = 0
    attempts: int = 0

    @property
    def arm(self) -> str:
        """``with``, ``without`` or ``old``."""
        return str(self.about["arms"][self.record.variant]["arm"])

    @property
    def agent(self) -> str:
        """``harness/model``."""
        return str(self.about["arms"][self.record.variant]["agent"])

    @property
    def case(self) -> Mapping[str, Any]:
        """What its case asks."""
        return self.about["cases"].get(self.record.case_id) or {"criteria": [], "trigger": None}

    @property
    def outcomes(self) -> dict[str, bool | None]:
        """Each criterion of the case: met, not met, or ``None`` when nobody decided."""
        by_name = {str(one["name"]): one for one in self.record.validations if one.get("kind") != "judge"}
        judged = {str(c["number"]): c for one in self.record.validations for c in _decided(one)}
        found: dict[str, bool | None] = {}
        number = 0
        for criterion in self.case["criteria"]:
            if criterion["by"] == "code":
                found[criterion["text"]] = _passed(by_name.get(criterion["name"]))
                continue
            number += 1
            decided = judged.get(str(number))
            found[criterion["text"]] = None if decided is None else bool(decided["passed"])
        return found

    @property
    def share(self) -> float | None:
        """The share of criteria that are met, of those that were decided; ``None`` when none was."""
        decided = [one for one in self.outcomes.values() if one is not None]
        return fmean(decided) if decided else None

    @property
    def trigger(self) -> bool | None:
        """Whether the trigger check passed; ``None`` when there is none or nobody could tell."""
        found = next((o for o in self.record.validations if o.get("name") in (TRIGGER, NO_TRIGGER)), None)
        return _passed(found) if self.case["trigger"] is not None and self.arm != "without" else None


@dataclass(frozen=True, slots=True)
class Count:
    """``passed`` of ``scored`` trials, and how many could not be scored."""

    passed: int = 0
    scored: int = 0
    unscored: int = 0

    @property
    def rate(self) -> float | None:
        """Passed of scored."""
        return self.passed / self.scored if self.scored else None


@dataclass(frozen=True, slots=True)
class CriterionRow:
    """One criterion of a case for one agent, by arm."""

    case_id: str
    text: str
    by: str
    derived: bool
    arms: Mapping[str, Count]
    label: Label


@dataclass(frozen=True, slots=True)
class Spread:
    """Median and range of a measure."""

    median: float
    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class ArmRow:
    """One arm of one agent over all cases."""

    arm: str
    rate: float | None
    """Mean share of met criteria: over the trials of a case, then over the cases."""
    trials: Count
    void: int
    timed_out: int
    seconds: Spread | None
    tokens: Spread | None
    usd: float | None
    judge_usd: float | None
    used: Count
    """Trials in which the skill was picked up."""
    late: int
    """Of those, trials in which the agent did something else before."""
    tried: int
    """Trials in which opening the skill only failed: a denied call, a missing program."""


@dataclass(frozen=True, slots=True)
class Difference:
    """``arm`` minus ``baseline`` in points, with a 95% interval from resampling cases."""

    arm: str
    baseline: str
    points: float
    low: float
    high: float
    cases: int

    @property
    def few(self) -> bool:
        """Too few cases for the interval to mean much."""
        return self.cases < FEW_CASES

    @property
    def wide(self) -> bool:
        """Nothing can be said about the direction."""
        return self.low <= 0 <= self.high


@dataclass(frozen=True, slots=True)
class QueryRow:
    """A trigger query: whether the skill is wanted, and in how many trials the agent agreed."""

    case_id: str
    prompt: str
    wanted: bool
    right: Count


@dataclass(frozen=True, slots=True)
class AgentReport:
    """Everything about one agent."""

    agent: str
    versions: tuple[str, ...]
    arms: tuple[ArmRow, ...]
    differences: tuple[Difference, ...]
    criteria: tuple[CriterionRow, ...]
    queries: tuple[QueryRow, ...]
    used_but_failed: tuple[str, ...]
    unused_but_passed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SkillReport:
    """The whole answer for one skill."""

    skill: str
    judge: str | None
    arms: tuple[str, ...]
    versions: Mapping[str, str | None]
    """The profile version of each arm."""
    batches: tuple[str, ...]
    agents: tuple[AgentReport, ...]
    notes: tuple[str, ...] = ()


def skill_reports(trials: Iterable[SkillTrial]) -> list[SkillReport]:
    """One report per skill, in the order of the trials."""
    by_skill: dict[str, list[SkillTrial]] = {}
    for trial in trials:
        by_skill.setdefault(str(trial.about["name"]), []).append(trial)
    return [_skill(name, found) for name, found in by_skill.items()]


def _skill(name: str, trials: list[SkillTrial]) -> SkillReport:
    abouts = list({trial.record.batch_id: trial.about for trial in trials}.values())
    arms = [arm for arm in ("with", "without", "old") if any(trial.arm == arm for trial in trials)]
    versions = {
        one["arm"]: one["version"] for about in abouts for one in about["arms"].values() if one["arm"] in arms
    }
    agents = list(dict.fromkeys(trial.agent for trial in trials))
    notes = [note for about in abouts for note in (*about.get("refused", ()), *about.get("notes", ()))]
    return SkillReport(
        skill=name,
        judge=next((about["judge"] for about in abouts), None),
        arms=tuple(arms),
        versions=versions,
        batches=tuple(dict.fromkeys(trial.record.batch_id for trial in trials)),
        agents=tuple(_agent(agent, arms, [t for t in trials if t.agent == agent]) for agent in agents),
        notes=tuple(dict.fromkeys(notes)),
    )


def _agent(agent: str, arms: Sequence[str], trials: list[SkillTrial]) -> AgentReport:
    # Queries that only ask whether the skill is picked up have a table of their own.
    tasks = [trial for trial in trials if trial.case["criteria"]] or trials
    by_arm = {arm: [trial for trial in tasks if trial.arm == arm] for arm in arms}
    by_arm = {arm: found for arm, found in by_arm.items() if found}
    pairs = [("with", base) for base in ("without", "old") if "with" in by_arm and base in by_arm]
    with_skill = [trial for trial in tasks if trial.arm != "without" and trial.case["trigger"] is None]
    scored = [trial for trial in with_skill if trial.record.status in ("passed", "failed")]
    return AgentReport(
        agent=agent,
        versions=tuple(dict.fromkeys(t.record.harness_version for t in trials if t.record.harness_version)),
        arms=tuple(_arm(arm, found) for arm, found in by_arm.items()),
        differences=tuple(
            found for arm, base in pairs if (found := difference(arm, base, by_arm[arm], by_arm[base]))
        ),
        criteria=tuple(_criteria(by_arm)),
        queries=tuple(_queries(trials)),
        used_but_failed=tuple(_id(t) for t in scored if t.used and t.record.status == "failed"),
        unused_but_passed=tuple(_id(t) for t in scored if not t.used and t.record.status == "passed"),
    )


def _id(trial: SkillTrial) -> str:
    return f"{trial.record.case_id} {trial.arm} #{trial.record.ordinal}"


def _arm(arm: str, trials: list[SkillTrial]) -> ArmRow:
    records = [trial.record for trial in trials]
    shares = case_shares(trials)
    passed = sum(record.status == "passed" for record in records)
    scored = sum(record.status in ("passed", "failed") for record in records)
    ran = [trial for trial in trials if trial.record.status in ("passed", "failed", "void")]
    seconds = [record.model_ms / 1000 for record in records if record.model_ms]
    tokens = [float(record.usage.total_tokens) for record in records if record.usage]
    return ArmRow(
        arm=arm,
        rate=fmean(shares.values()) if shares else None,
        trials=Count(passed, scored, len(records) - scored),
        void=sum(record.status == "void" for record in records),
        timed_out=sum(record.status == "timed_out" for record in records),
        seconds=_spread(seconds),
        tokens=_spread(tokens),
        usd=_money(records, "model"),
        judge_usd=_money(records, "judge"),
        used=Count(sum(trial.used for trial in ran), len(ran)),
        late=sum((trial.opened_at or 0) > 1 for trial in ran),
        tried=sum(trial.attempts > 0 and not trial.used for trial in ran),
    )


def case_shares(trials: Iterable[SkillTrial]) -> dict[str, float]:
    """The mean share of met criteria per case, of the cases in which anything was decided."""
    found: dict[str, list[float]] = {}
    for trial in trials:
        if trial.share is not None:
            found.setdefault(trial.record.case_id, []).append(trial.share)
    return {case: fmean(shares) for case, shares in found.items()}


def difference(
    arm: str, base: str, first: Iterable[SkillTrial], second: Iterable[SkillTrial]
) -> Difference | None:
    """``arm`` minus ``base`` over the cases both have; ``None`` when there is none.

    Trials of one case are not independent, so whole cases are drawn again and again.
    """
    with_skill, without = case_shares(first), case_shares(second)
    gaps = [with_skill[case] - without[case] for case in with_skill if case in without]
    if not gaps:
        return None
    rng = random.Random(_SEED)  # noqa: S311 - the same trials give the same interval
    means = sorted(fmean(rng.choices(gaps, k=len(gaps))) for _ in range(RESAMPLES))
    low, high = means[int(RESAMPLES * 0.025)], means[int(RESAMPLES * 0.975) - 1]
    return Difference(arm, base, 100 * fmean(gaps), 100 * low, 100 * high, len(gaps))


def _criteria(by_arm: Mapping[str, list[SkillTrial]]) -> Iterator[CriterionRow]:
    rows: dict[tuple[str, str], dict[str, list[bool | None]]] = {}
    about: dict[tuple[str, str], Mapping[str, Any]] = {}
    for arm, trials in by_arm.items():
        for trial in trials:
            for criterion in trial.case["criteria"]:
                key = (trial.record.case_id, str(criterion["text"]))
                about[key] = criterion
                rows.setdefault(key, {}).setdefault(arm, []).append(trial.outcomes[criterion["text"]])
    for (case_id, text), arms in rows.items():
        counts = {arm: count(found) for arm, found in arms.items()}
        one = about[case_id, text]
        yield CriterionRow(case_id, text, one["by"], bool(one["derived"]), counts, label(counts))


def count(outcomes: Sequence[bool | None]) -> Count:
    """Outcomes counted."""
    scored = [one for one in outcomes if one is not None]
    return Count(sum(scored), len(scored), len(outcomes) - len(scored))


def label(arms: Mapping[str, Count]) -> Label:
    """What a criterion says about the skill.

    ``same``: it always passes, with and without, so it says nothing. ``unstable``: neither arm is steady
    enough, or they differ by less than half of the trials.
    """
    base = next((arms[arm] for arm in ("without", "old") if arm in arms), None)
    own = arms.get("with")
    if own is None or base is None:
        return _alone(own or base)
    first, second = own.rate, base.rate
    if first is None or second is None:
        return "unscored"
    if first == second == 0:
        return "never passes"
    if first == second == 1:
        return "same"
    if first - second >= 0.5 and (first == 1 or second == 0):
        return "helps"
    if second - first >= 0.5 and (second == 1 or first == 0):
        return "hurts"
    return "unstable"


def _alone(only: Count | None) -> Label:
    rate = only.rate if only else None
    if rate is None:
        return "unscored"
    return "passes" if rate == 1 else "never passes" if rate == 0 else "unstable"


def _queries(trials: list[SkillTrial]) -> Iterator[QueryRow]:
    found: dict[str, list[SkillTrial]] = {}
    for trial in trials:
        if trial.case["trigger"] is not None and trial.arm == "with":
            found.setdefault(trial.record.case_id, []).append(trial)
    for case_id, ones in found.items():
        case = ones[0].case
        right = count([one.trigger for one in ones])
        yield QueryRow(case_id, str(case["prompt"]), bool(case["trigger"]), right)


def _spread(values: Sequence[float]) -> Spread | None:
    return Spread(median(values), min(values), max(values), len(values)) if values else None


def _money(records: Iterable[TrialRecord], component: str) -> float | None:
    """Dollars of all trials together; ``None`` when a line is not known, or there is none."""
    lines = [line.usd for record in records for line in record.costs if line.component == component]
    if not lines:
        return None
    known = [usd for usd in lines if usd is not None]
    return sum(known) if len(known) == len(lines) else None


def _passed(record: Mapping[str, Any] | None) -> bool | None:
    status = None if record is None else record.get("status")
    return True if status == "passed" else False if status == "failed" else None


def _decided(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    judgment = record.get("judgment") or {}
    return list(judgment.get("criteria") or ())
