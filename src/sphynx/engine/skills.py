"""Plan the evals of skills: each is copied as it is now, beside an eval file with agents and arms."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sphynx.compiler import compile_files
from sphynx.compiler.compiled import CompiledSuite
from sphynx.compiler.discovery import below
from sphynx.compiler.project import absolute, project_root
from sphynx.compiler.skill_profiles import from_git
from sphynx.engine.options import LocalOptions, LocalPlan
from sphynx.engine.plan import local_root, plan_suites
from sphynx.engine.splitting import remarks_on
from sphynx.errors import UsageError
from sphynx.suite import harness_names
from sphynx.suite.skills.folder import (
    NOT_SHIPPED,
    Skill,
    bases,
    evals_files,
    home_of,
    is_skill,
    read_skill,
    skills_below,
)
from sphynx.suite.skills.reading import read_evals
from sphynx.suite.skills.suites import DEFAULT_TRIALS, SkillSuite

DEFAULT_AGENT = "codex/gpt-5.6-sol"
BEFORE = "before"
_SEED = 20


@dataclass(frozen=True, slots=True)
class SkillRequest:
    """What is asked of the skills of a run. ``judge=None``: the first agent judges."""

    agents: tuple[str, ...] = ()
    arms: tuple[str, ...] = ("with", "without")
    old_ref: str | None = None
    use: str = "available"
    judge: str | None = None
    limit: int | None = None
    """Only the first cases of each evals file."""
    sample: int | None = None
    """Only so many cases of each evals file, always the same ones."""
    skip_invalid: bool = False


def is_skill_path(path: Path) -> bool:
    """Whether a path means skills: a skill's folder, a folder of skills without eval files, an evals file."""
    if path.is_file():
        return path.suffix == ".json"
    if not path.is_dir():
        return False
    return is_skill(path) or (next(below(path), None) is None and bool(skills_below(path)))


def plan_paths(
    paths: Sequence[str | os.PathLike[str]], options: LocalOptions, request: SkillRequest
) -> LocalPlan:
    """``plan_local`` for paths some of which may be skills."""
    whole = [absolute(path, options.cwd) for path in paths]
    if not any(is_skill_path(path) for path in whole):
        compiled = compile_files(paths, cwd=options.cwd, staging=local_root(options).staging)
        return _as_one_run(plan_suites(compiled, _with_cases(compiled, options, request)))
    shown: dict[Path, str] = {}
    files: list[Path] = []
    notes: list[str] = []
    for path, given in zip(whole, paths, strict=True):
        if not is_skill_path(path):
            files.append(path)
            continue
        for skill, evals in _named(path):
            made = _stage(skill, evals, options.cwd, request)
            shown[made] = os.fspath(given).rstrip("/") if len(whole) == 1 or path.is_file() else skill.name
            files.append(made)
            notes += remarks_on(skill)
    compiled = compile_files(files, cwd=options.cwd, staging=local_root(options).staging)
    compiled = [replace(suite, file=shown.get(suite.path, suite.file)) for suite in compiled]
    plan = plan_suites(compiled, _with_cases(compiled, options, request))
    plan.notes[:0] = list(dict.fromkeys([*notes, *_missing_programs(plan)]))
    return _as_one_run(plan)


def _as_one_run(plan: LocalPlan) -> LocalPlan:
    """What runs together is reported and accepted together."""
    for suite in plan.suites:
        if suite.x.get("skill"):
            suite.x = {**suite.x, "skillRun": plan.suites[0].batch_id}
    return plan


def _named(path: Path) -> list[tuple[Skill, list[Path]]]:
    if path.is_file():
        return [(read_skill(home_of(path)), [path])]
    found: list[tuple[Skill, list[Path]]] = []
    for root in skills_below(path):
        evals = evals_files(root)
        if not evals:
            raise UsageError(
                f"{root.name} has no evals",
                hint="write evals/evals.json; sphynx skill lint says what is missing",
            )
        found.append((read_skill(root), evals))
    return found


def _stage(skill: Skill, evals: Sequence[Path], cwd: Path, request: SkillRequest) -> Path:
    """Copy the skill and write its eval file below ``.sphynx/skills``; one that is there already is used."""
    home = project_root(cwd / "any.py", cwd) / ".sphynx"
    home.mkdir(parents=True, exist_ok=True)
    ignore = home / ".gitignore"
    if not ignore.exists():
        ignore.write_text("# Results of sphynx eval --local\n*\n")
    text = _eval_file(skill, evals, request)
    before = dict(from_git(skill.root, request.old_ref)) if request.old_ref else {}
    digest = hashlib.sha256(text.encode())
    for path in _files(skill.root):
        digest.update(f"\0{path.relative_to(skill.root)}\0{path.stat().st_mode & 0o111}\0".encode())
        digest.update(path.read_bytes())
    for name, blob in before.items():
        digest.update(f"\0{name}\0".encode() + blob.data)
    folder = home / "skills" / f"{skill.id}-{digest.hexdigest()[:12]}"
    made = folder / f"{skill.id.replace('-', '_')}_eval.py"
    if made.is_file():
        return made
    part = folder.with_name(f"{folder.name}.{os.getpid()}")
    shutil.rmtree(part, ignore_errors=True)
    names = shutil.ignore_patterns(*NOT_SHIPPED)
    shutil.copytree(skill.root, part / skill.root.name, symlinks=True, ignore=names)
    for name, blob in before.items():
        target = part / BEFORE / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(blob.data)
        target.chmod(0o755 if blob.executable else 0o644)
    _copy_outer(skill, evals, part)
    (part / made.name).write_text(text, "utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
    return made


def _copy_outer(skill: Skill, evals: Sequence[Path], part: Path) -> None:
    """Files that cases name from above the skill, such as the root of its repository."""
    above = [base for base in bases(skill.root) if base not in (skill.root, skill.root / "evals")]
    for path in evals:
        for case in read_evals(path.read_text("utf-8", "replace"), skip_invalid=True).cases:
            for wanted in case.files:
                if (skill.root / wanted.path).exists() or (skill.root / "evals" / wanted.path).exists():
                    continue
                source = next((base / wanted.path for base in above if (base / wanted.path).exists()), None)
                target = part / wanted.path
                if source is None or target.exists():
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                if source.is_dir():
                    shutil.copytree(source, target, symlinks=True)
                else:
                    shutil.copy(source, target)


def _files(root: Path) -> list[Path]:
    found: list[Path] = []
    for top, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in NOT_SHIPPED)
        found += [Path(top, name) for name in sorted(names) if name not in NOT_SHIPPED]
    return [path for path in found if path.is_file()]


def _eval_file(skill: Skill, evals: Sequence[Path], request: SkillRequest) -> str:
    agents = list(request.agents or (DEFAULT_AGENT,))
    arms = [arm for arm in request.arms if skill.text or arm == "without"] or ["without"]
    fields: dict[str, object] = {
        "agents": agents,
        "arms": arms,
        "use": request.use,
        "judge": request.judge or next((one for one in agents if _can_judge(one)), DEFAULT_AGENT),
        "trials": DEFAULT_TRIALS,
        **({"old": f"./{BEFORE}"} if request.old_ref else {}),
        **({"skip_invalid": True} if request.skip_invalid else {}),
    }
    from sphynx.importers.template import python_name

    about = '"""Evals of a skill, as they were when their run was planned."""'
    lines = [about, "", "from sphynx import skill_suite", ""]
    for path in evals:
        given = {"evals": path.resolve().relative_to(skill.root.resolve()).as_posix(), **fields}
        told = ", ".join(f"{key}={value!r}" for key, value in given.items())
        lines.append(f"{python_name(path.stem)} = skill_suite({skill.root.name!r}, {told})")
    return "\n".join([*lines, ""])


def _missing_programs(plan: LocalPlan) -> list[str]:
    """What an agent needs to open a skill and this machine lacks."""
    harnesses = {item.variant.harness for suite in plan.suites for item in suite.variants}
    if "opencode" not in harnesses or shutil.which("rg", path=plan.options.env.get("PATH")):
        return []
    return ["opencode opens skills only where ripgrep is installed: there is no rg on PATH"]


def _can_judge(agent: str) -> bool:
    harness = agent.partition("/")[0]
    return harness != "command" and harness not in harness_names.LOCAL


def _with_cases(
    compiled: Sequence[CompiledSuite], options: LocalOptions, request: SkillRequest
) -> LocalOptions:
    """Only some cases of each evals file, when that was asked for."""
    if request.limit is None and request.sample is None:
        return options
    kept: list[str] = []
    for suite in compiled:
        ids = [case.case.id for case in suite.cases if not options.cases or case.case.id in options.cases]
        if isinstance(suite.suite, SkillSuite):
            if request.sample is not None and len(ids) > request.sample:
                chosen = set(random.Random(_SEED).sample(ids, request.sample))  # noqa: S311
                ids = [name for name in ids if name in chosen]
            if request.limit is not None:
                ids = ids[: request.limit]
        kept += ids
    return replace(options, cases=tuple(kept))


def judge_calls(plan: LocalPlan) -> int:
    """How often a judge will be asked at most: once per trial of a case that has criteria in prose."""
    return sum(
        len(suite.variants) * suite.trials * sum(len(case.case.judges) for case in suite.cases)
        for suite in plan.suites
    )


def skill_trials(plan: LocalPlan) -> int:
    """Trials of skills in a plan."""
    return sum(suite.total for suite in plan.suites if isinstance(suite.compiled.suite, SkillSuite))


def decided_by_files(plan: LocalPlan) -> list[str]:
    """Eval files of a plan that hold a ``skill_suite()``: they say themselves how their skill is run."""
    found = [
        suite.compiled.file
        for suite in plan.suites
        if isinstance(suite.compiled.suite, SkillSuite)
        and suite.compiled.path.parts[-4:-2] != (".sphynx", "skills")
    ]
    return list(dict.fromkeys(found))
