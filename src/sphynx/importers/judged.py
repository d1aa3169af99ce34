"""``--prose judge``: any shape of evals file, as a suite that runs and asks a judge about prose."""

from __future__ import annotations

import os
from pathlib import Path

from sphynx.errors import UsageError
from sphynx.importers.template import MODEL, skill_file
from sphynx.suite.skills.folder import home_of, read_skill, suite_name
from sphynx.suite.skills.model import EvalFile
from sphynx.suite.skills.reading import read_evals


def judged(path: Path, out: Path | None, *, judge: str, skip_invalid: bool) -> tuple[str, list[str]]:
    """The text of the eval file and what to say about it. ``UsageError`` names everything that is wrong."""
    if not path.is_file():
        raise UsageError(f"{path}: is no file", hint="name the JSON file")
    skill = read_skill(home_of(path))
    name = suite_name(skill, path)
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None
    read = read_evals(text, fallback=name, skill_name=name if skill.matter else "", skip_invalid=skip_invalid)
    if not read.cases:
        wrong = "; ".join(f"{e.message} (line {e.place.line})" for e in read.errors)
        hint = None if skip_invalid else "--skip-invalid imports the other cases"
        raise UsageError(f"{path}: {wrong}", hint=hint)
    start = out.absolute().parent if out else Path.cwd()
    folder = Path(os.path.relpath(skill.root.absolute(), start)).as_posix()
    made = skill_file(
        folder if folder.startswith(".") else f"./{folder}",
        path.resolve().relative_to(skill.root.resolve()).as_posix(),
        name=read.suite,
        agent=f"codex/{MODEL}",
        judge=judge,
        arms=("with", "without") if skill.matter else ("without",),
        skip_invalid=skip_invalid,
    )
    return made, told(read)


def told(read: EvalFile) -> list[str]:
    """What was read, what a judge decides, and every remark."""
    cases = "1 case" if len(read.cases) == 1 else f"{len(read.cases)} cases"
    checks = "1 check" if read.converted == 1 else f"{read.converted} checks"
    criteria = "1 criterion" if read.judged == 1 else f"{read.judged} criteria"
    lines = [f"read {cases}: {checks} by code, {criteria} for the judge"]
    derived = sum(one.derived for case in read.cases for one in case.criteria)
    if derived:
        lines.append(f"{derived} of them made of the expected output, because the case has nothing else")
    lines += [f"{found.level}: {found.message}" for found in read.findings]
    return lines
