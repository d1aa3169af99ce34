"""``skill_suite()``: the evals of a skill as a suite, each agent with and without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sphynx.errors import Problem
from sphynx.suite.caller import caller
from sphynx.suite.cases import Case
from sphynx.suite.checks import MOST_CHECKS, named
from sphynx.suite.context import Verdict
from sphynx.suite.fields import Fault, units
from sphynx.suite.people import ScriptedUser
from sphynx.suite.skills.case_files import prepare_with, texts_and_copies
from sphynx.suite.skills.folder import (
    EVALS,
    MAIN,
    MAIN_EVALS,
    Skill,
    placed_files,
    read_skill,
    suite_name,
)
from sphynx.suite.skills.mechanical import check_of, events_of
from sphynx.suite.skills.model import Criterion, EvalCase, EvalFile
from sphynx.suite.skills.reading import read_evals
from sphynx.suite.skills.use import marks_of, skill_use
from sphynx.suite.suites import Suite
from sphynx.suite.variants import Variant

ARMS = ("with", "without", "old")
USES = ("available", "forced")
DEFAULT_ARMS = ("with", "without")
DEFAULT_TRIALS = 3
TRIGGER = "the skill is picked up"
NO_TRIGGER = "the skill is left alone"
NOTHING = "nothing to check"
JUDGE = "criteria"
JUDGE_LIMIT_MS = 300_000
SKILL_FOLDERS = (".agents/skills", ".claude/skills")
"""Where agents find a skill in a workspace: Claude in the second, all others in the first."""
LONGEST_VALUE = 2_000
_OTHER_CHECKS = 3
"""Room for the trigger check, the judge, and one check of all criteria that have none of their own."""
_EXPECTED_LIMIT = 32_000


class SkillSuite(Suite):
    """The evals of a skill. ``evals`` is what was read, ``skill`` its folder, ``arms`` what is compared.

    It may hold more cases and trials than a batch: a run splits it.
    """

    __slots__ = ("arms", "evals", "evals_path", "judge", "refused", "skill")

    def __init__(
        self,
        given: Mapping[str, object],
        file: str,
        line: int,
        *,
        skill: Skill,
        evals: EvalFile,
        evals_path: Path,
        arms: Sequence[str],
        judge: str | None,
        refused: Sequence[Fault] = (),
    ) -> None:
        super().__init__(given, file, line)
        self.skill = skill
        self.evals = evals
        self.evals_path = evals_path
        self.arms = tuple(arms)
        self.judge = judge
        self.refused = list(refused)

    def problems(self) -> list[Problem]:
        """What is wrong: the arguments, the evals file, and what any suite is checked for but its size."""
        found = [self._problem(fault) for fault in self.refused]
        where = f"{self.evals_path.name}"
        found += [
            Problem(error.message, where=f"{where}:{error.place.line}:{error.place.column}", file=self.file)
            for error in self.evals.errors
            if not self.cases
        ]
        if found:
            return found
        for start in range(0, len(self.cases), 100):
            part = {**self.given, "cases": self.cases[start : start + 100]}
            checked = Suite(part, self.file, self.line)
            found += [problem for problem in checked.problems() if "a batch holds" not in problem.message]
        return found


def skill_suite(
    folder: str,
    *,
    agents: Sequence[str] = ("codex/gpt-5.6-sol",),
    arms: Sequence[str] = DEFAULT_ARMS,
    old: str | None = None,
    use: str = "available",
    judge: str | None = None,
    trials: int = DEFAULT_TRIALS,
    evals: str | None = None,
    skip_invalid: bool = False,
) -> SkillSuite:
    """A suite of a skill's evals: every agent (``harness/model``) runs each arm.

    ``folder`` holds SKILL.md and ``evals/``, from the eval file's folder; ``evals`` names another evals file
    of it. Arms are ``with``, ``without`` and ``old``, the skill at ``old``: a git ref, or a folder such as
    ``./before``. ``use="forced"`` tells the agent to use the skill, ``available`` leaves it the choice.
    ``judge`` (``harness/model``, ``openai/model``) decides the criteria in prose; without it they are
    unscored. Never raises for a field or a file: see ``Suite.problems()``.
    """
    file, line = caller()
    base = Path(file).parent if file and not file.startswith("<") else Path()
    root = base / folder
    skill = read_skill(root)
    path = root / evals if evals else root / EVALS / MAIN_EVALS
    faults = list(_faults(root, path, agents, arms, old, use, judge))
    read = _read(skill, path, skip_invalid)
    made = _Cases(skill, judge)
    fields = {
        "id": read.suite,
        "name": f"{skill.name}: {path.stem}" if path.name != MAIN_EVALS else skill.name,
        "prompt": made.prompt(read.cases),
        "cases": [Case(made.fields(case, read.cases), file, line) for case in read.cases],
        "variants": [
            Variant(_variant(folder, agent, arm, old, use), file, line)
            for agent in agents
            for arm in _arms_of(arms, read)
        ],
        "trials": trials,
        "include": _include(folder, root, path, base, read),
    }
    return SkillSuite(
        fields, file, line,
        skill=skill, evals=read, evals_path=path, arms=arms, judge=judge, refused=faults,
    )  # fmt: skip


def _read(skill: Skill, path: Path, skip_invalid: bool) -> EvalFile:
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return EvalFile(skill.id, "", (), ())
    name = suite_name(skill, path)
    return read_evals(text, fallback=name, skill_name=name if skill.matter else "", skip_invalid=skip_invalid)


def _arms_of(arms: Sequence[str], read: EvalFile) -> list[str]:
    """A set of nothing but trigger queries says nothing without the skill."""
    only_triggers = bool(read.cases) and all(case.trigger and not case.criteria for case in read.cases)
    kept = [arm for arm in arms if arm != "without"]
    return kept if only_triggers and kept else list(arms)


def _faults(
    root: Path, path: Path, agents: Sequence[str], arms: Sequence[str], old: str | None, use: str,
    judge: str | None,
) -> Iterator[Fault]:  # fmt: skip
    if not root.is_dir():
        yield Fault(f"no such folder: {root}", at="folder")
    elif not path.is_file():
        yield Fault(f"{path} is not there", at="evals", hint="a skill's evals are in evals/evals.json")
    if judge is not None and "/" not in judge.strip("/"):
        yield Fault(f'"{judge}" must be harness/model or openai/model', at="judge")
    if not agents:
        yield Fault("names no agent", at="agents", hint="codex/gpt-5.6-sol")
    for agent in agents:
        if "/" not in agent.strip("/"):
            yield Fault(f'"{agent}" must be harness/model', at="agents", hint="codex/gpt-5.6-sol")
    yield from _arm_faults(arms, old, use)


def _arm_faults(arms: Sequence[str], old: str | None, use: str) -> Iterator[Fault]:
    for arm in arms:
        if arm not in ARMS:
            yield Fault(f'"{arm}" is not one of {", ".join(ARMS)}', at="arms")
    if "old" in arms and not old:
        yield Fault("is missing: the arm old needs a git ref or a folder", at="old")
    if use not in USES:
        yield Fault(f'"{use}" is not one of {", ".join(USES)}', at="use")


def _variant(folder: str, agent: str, arm: str, old: str | None, use: str) -> dict[str, Any]:
    harness, _, model = agent.partition("/")
    profile: dict[str, Any] = {"name": f"{arm}-skill", "dir": folder, "skill": arm, "use": use}
    if arm == "old":
        profile["old"] = old
    return {
        "harness": harness,
        "model": model,
        "profile": profile,
        # Its bare mode has no skills.
        **({"bare": False} if harness == "claude" else {}),
    }


def _include(folder: str, root: Path, path: Path, base: Path, read: EvalFile) -> list[str]:
    """What the checks and the cases need beside the eval file."""
    found = [
        root / MAIN,
        path,
        *(placed.source for case in read.cases for placed in placed_files(root, case)[0]),
    ]
    top = base.resolve()
    out: list[str] = []
    for item in found:
        if item.is_file():
            out.append(_relative(item.resolve(), top))
    return list(dict.fromkeys(out))


def _relative(path: Path, base: Path) -> str:
    steps = 0
    while not path.is_relative_to(base) and base.parent != base:
        base, steps = base.parent, steps + 1
    inner = path.relative_to(base).as_posix() if path.is_relative_to(base) else path.as_posix()
    # Names are patterns there: signs of patterns in a name stand for themselves in brackets.
    return "../" * steps + "".join(f"[{sign}]" if sign in "*?[" else sign for sign in inner)


class _Cases:
    """Makes the fields of cases."""

    def __init__(self, skill: Skill, judge: str | None) -> None:
        self.skill = skill
        self.judge = judge
        self.marks = marks_of(skill.text)

    def prompt(self, cases: Sequence[EvalCase]) -> str:
        """A suite's prompt that holds nothing but the case's own, in as many pieces as the longest needs."""
        return "".join(f"{{{{{name}}}}}" for name in _names(cases))

    def fields(self, case: EvalCase, cases: Sequence[EvalCase]) -> dict[str, object]:
        """What ``case()`` would be given."""
        found, missing = placed_files(self.skill.root, case)
        texts, copied = texts_and_copies(case, found)
        pieces = _pieces(case.prompt)
        names = _names(cases)
        fields: dict[str, object] = {
            "id": case.id,
            "name": case.name or case.id,
            "variables": {name: pieces[n] if n < len(pieces) else "" for n, name in enumerate(names)},
            "tags": list(case.tags),
            "validate": self._validate(case),
        }
        if texts:
            fields["source"] = {"kind": "files", "files": texts}
        if missing or copied:
            fields["prepare"] = prepare_with(missing, copied)
        if case.timeout_ms:
            fields["timeout_ms"] = case.timeout_ms
        if case.replies:
            fields["user"] = ScriptedUser(list(case.replies[:24]))
        return fields

    def _validate(self, case: EvalCase) -> list[object]:
        checks: list[object] = []
        if case.trigger is not None:
            wanted = case.trigger.wanted
            if wanted and case.trigger.skills:
                wanted = self.skill.name in case.trigger.skills or self.skill.id in case.trigger.skills
            checks.append(named(TRIGGER if wanted else NO_TRIGGER, self._trigger_check(wanted)))
        checks += [named(check_name(one), check_of(one)) for one in checks_of_case(case)]
        if case.judged:
            checks.append(self._judged(case))
        if not checks:
            checks.append(named(NOTHING, _nothing))
        return checks

    def _judged(self, case: EvalCase) -> object:
        if self.judge is None:
            return named(JUDGE, _no_judge)
        evaluator, _, model = self.judge.partition("/")
        who = {"provider": "openai"} if evaluator == "openai" else {"harness": evaluator}
        expected = case.expected[:_EXPECTED_LIMIT] if case.expected else None
        return CriteriaJudge(
            {
                "name": JUDGE,
                **who,
                "model": model,
                "prompt": "Decide each numbered criterion on its own.",
                "choices": {"all met": 1, "not all met": 0},
                "criteria": [_judged_text(one) for one in case.judged],
                "timeout_ms": JUDGE_LIMIT_MS,
                **({"expected": expected} if expected else {}),
            }
        )

    def _trigger_check(self, wanted: bool) -> Any:
        name, marks, folder = self.skill.name, self.marks, self.skill.root.name

        def check(ctx: Any) -> Verdict:
            there = any(ctx.exists(f"{place}/{at}") for place in SKILL_FOLDERS for at in (name, folder))
            if not there:
                return Verdict(True, "the skill is not in this arm")
            turns = ctx.turns()
            use = skill_use(
                events_of(turns), name, marks=marks, prompt=str(turns[0]["userText"]) if turns else ""
            )
            told = (
                f"opened at action {use.opened + 1} of {use.actions}"
                if use.opened is not None
                else "not opened"
            )
            return Verdict(use.used == wanted, told)

        return check


class CriteriaJudge:
    """A judge that decides each of a case's criteria, in one answer."""

    __slots__ = ("given",)
    sphynx_kind = "judge"

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = given


def checks_of_case(case: EvalCase) -> list[Criterion]:
    """The mechanical criteria as checks: what does not fit beside the others is one check together."""
    room = MOST_CHECKS - _OTHER_CHECKS
    ordered = _must_nots_first(case)
    own, rest = ordered[:room], ordered[room:]
    if len(rest) > 1:
        text = "; ".join(one.key for one in rest)
        return [*own, Criterion(text, tuple(part for one in rest for part in one.parts))]
    return [*own, *rest]


def check_names(case: EvalCase) -> dict[str, str]:
    """The name of the check that decides each mechanical criterion, by the criterion's own text."""
    checks = checks_of_case(case)
    last = len(checks) - 1
    return {one.key: check_name(checks[min(n, last)]) for n, one in enumerate(_must_nots_first(case))}


def _must_nots_first(case: EvalCase) -> list[Criterion]:
    """Those that are turned around cannot share a check."""
    if len(case.checked) <= MOST_CHECKS - _OTHER_CHECKS:
        return case.checked
    return sorted(case.checked, key=lambda one: not one.absent)


def check_name(criterion: Criterion) -> str:
    """A criterion as a check's name: it fits, and is what reports show."""
    key = criterion.key
    return key if units(key) <= 200 else key[:190].rstrip() + "..."


def _judged_text(criterion: Criterion) -> str:
    return f"This must NOT be so: {criterion.text}" if criterion.absent else criterion.text


def _names(cases: Sequence[EvalCase]) -> list[str]:
    most = max((len(_pieces(case.prompt)) for case in cases), default=1)
    return [f"task{n or ''}" for n in range(most)]


def _pieces(text: str) -> list[str]:
    """A text in pieces that each fit a variable."""
    size = LONGEST_VALUE if units(text) == len(text) else LONGEST_VALUE // 2
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]


def _nothing(ctx: Any) -> bool:
    raise LookupError("the case has no criteria: add assertions to it")


def _no_judge(ctx: Any) -> bool:
    raise LookupError("its criteria need a judge: name one with --judge harness/model")
