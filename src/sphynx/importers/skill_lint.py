"""Say what is wrong with a skill and its evals, without running anything."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from sphynx.errors import UsageError
from sphynx.suite.skills.folder import (
    EVALS,
    MAIN,
    NOT_SHIPPED,
    Matter,
    Skill,
    home_of,
    placed_files,
    read_skill,
    skills_below,
    suite_name,
)
from sphynx.suite.skills.model import EvalFile
from sphynx.suite.skills.reading import read_evals

LONGEST_DESCRIPTION = 1_024
LARGEST_MAIN = 40_000
MOST_LINES = 2_000
LONGEST_FILE = 96_000
MOST_FILES = 256
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


class Remark(NamedTuple):
    """One thing to say, at a place in a file. Errors keep the skill or its evals from being used."""

    level: Literal["error", "warning", "note"]
    file: Path
    line: int
    column: int
    message: str


def lint(paths: Sequence[Path]) -> tuple[list[Remark], int]:
    """Remarks about skills, folders of skills and evals files, and how many files were looked at.

    ``UsageError`` when a path is neither.
    """
    remarks: list[Remark] = []
    files = 0
    for path in paths:
        if not path.exists():
            raise UsageError(f"no such file: {path}")
        if path.is_file() and path.suffix == ".json":
            skill = read_skill(home_of(path))
            remarks += lint_evals(skill, path)
            files += 1
            continue
        folder = path.parent if path.is_file() else path
        found = _skills(folder)
        if not found:
            raise UsageError(f"{path} is no skill and holds none", hint=f"a skill is a folder with a {MAIN}")
        for root in found:
            skill = read_skill(root)
            remarks += lint_skill(skill)
            files += 1 + len(skill.evals)
    return remarks, files


def _skills(folder: Path) -> list[Path]:
    if (folder / MAIN).is_file():
        return [folder]
    found = set(skills_below(folder))
    for top, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in NOT_SHIPPED]
        if MAIN in names:
            found.add(Path(top))
            folders[:] = []
    return sorted(found)


def lint_skill(skill: Skill) -> list[Remark]:
    """Everything about one skill: SKILL.md, its other files, its evals."""
    main = skill.root / MAIN
    remarks = [*_main(skill, main), *_folder(skill, main)]
    if not skill.evals:
        remarks.append(Remark("warning", main, 1, 1, "there are no evals: evals/evals.json is missing"))
    for path in skill.evals:
        remarks += lint_evals(skill, path)
    return remarks


def lint_evals(skill: Skill, path: Path) -> list[Remark]:
    """One evals file: what keeps it from being used, and what makes its results mean less."""
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        return [Remark("error", path, 1, 1, f"is not UTF-8: {error.reason} at byte {error.start}")]
    name = suite_name(skill, path)
    read = read_evals(text, fallback=name, skill_name=name if skill.matter else "")
    remarks = [
        Remark(found.level, path, found.place.line, found.place.column, found.message)
        for found in read.findings
    ]
    lenient = read_evals(text, fallback=name, skill_name=name if skill.matter else "", skip_invalid=True)
    remarks += _missing_files(skill, path, lenient, text)
    if read.skill_name and skill.matter and read.skill_name != skill.name:
        told = (
            f'skill_name is "{read.skill_name}", the skill is called "{skill.name}": the skill\'s own counts'
        )
        remarks.append(Remark("note", path, 1, 1, told))
    return sorted(remarks, key=lambda remark: (remark.line, remark.column))


def _missing_files(skill: Skill, path: Path, read: EvalFile, text: str) -> Iterator[Remark]:
    from sphynx.suite.skills.json_places import parse

    if not read.cases:
        return
    document = parse(text)
    for case in read.cases:
        missing = placed_files(skill.root, case)[1]
        for wanted in case.files:
            if wanted.path in missing:
                place = document.place((*case.path, "files", wanted.index))
                told = f"{case.id}: {wanted.path} is not there: the case cannot run"
                yield Remark("warning", path, place.line, place.column, told)


def _main(skill: Skill, main: Path) -> Iterator[Remark]:
    if not main.is_file():
        other = next((one.name for one in skill.root.iterdir() if one.name.lower() == "skill.md"), "")
        told = f"{other} must be called {MAIN}" if other else f"there is no {MAIN}"
        yield Remark("error", skill.root / (other or MAIN), 1, 1, told)
        return
    if skill.text.startswith("\ufeff"):
        yield Remark("warning", main, 1, 1, "begins with a byte order mark: Codex and Gemini do not see it")
    matter = skill.matter
    if matter is None:
        yield Remark("error", main, 1, 1, "has no front matter: only Claude would see the skill")
        return
    yield from _name_remarks(skill, matter, main)
    yield from _description(matter, main)
    yield from _yaml(skill.text, matter, main)
    for key, told in (
        ("disable-model-invocation", "hides the skill from Claude, Qwen and Pi: it is never picked up there"),
        ("allowed-tools", "is a note for Claude only, and only adds permissions"),
    ):
        if matter.values.get(key) and matter.values[key].lower() != "false":
            yield Remark("note", main, matter.lines[key], 1, f"{key} {told}")
    size, lines = len(skill.text.encode()), skill.text.count("\n") + 1
    if size > LARGEST_MAIN or lines > MOST_LINES:
        told = f"has {size:,} bytes and {lines:,} lines: agents cut it above {LARGEST_MAIN:,} bytes"
        yield Remark("warning", main, 1, 1, told)


def _name_remarks(skill: Skill, matter: Matter, main: Path) -> Iterator[Remark]:
    name = matter.values.get("name", "")
    folder = skill.root.resolve().name
    if not name:
        yield Remark("error", main, 1, 1, "has no name: Gemini, Qwen and OpenCode do not see the skill")
        return
    line = matter.lines["name"]
    if not _NAME.fullmatch(name):
        yield Remark(
            "warning", main, line, 1, f'the name "{name}" must be lower case letters, digits and hyphens'
        )
    if name != folder:
        yield Remark("warning", main, line, 1, f'the name "{name}" differs from the folder "{folder}"')


def _description(matter: Matter, main: Path) -> Iterator[Remark]:
    text = matter.values.get("description", "")
    line = matter.lines.get("description", 1)
    if not text:
        yield Remark("error", main, line, 1, "has no description: most agents do not see the skill")
    elif len(text) > LONGEST_DESCRIPTION:
        told = f"the description has {len(text):,} characters: Codex cuts it at 1,024, Claude at 1,536"
        yield Remark("warning", main, line, 1, told)


def _yaml(text: str, matter: Matter, main: Path) -> Iterator[Remark]:
    import yaml

    block = "\n".join(text.removeprefix("\ufeff").splitlines()[1 : matter.body_line - 1])
    try:
        yaml.safe_load(block)
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line, column = (mark.line + 2, mark.column + 1) if mark is not None else (1, 1)
        told = f"the front matter is not YAML ({getattr(error, 'problem', None) or 'cannot be read'})"
        yield Remark("warning", main, line, column, f"{told}: Pi drops the skill; put the value in quotes")


def _folder(skill: Skill, main: Path) -> Iterator[Remark]:
    root = skill.root.resolve()
    if root.name.startswith("."):
        yield Remark("warning", main, 1, 1, "is in a hidden folder: most agents do not look there")
    count = 0
    for top, folders, names in os.walk(skill.root):
        here = Path(top)
        if here == skill.root and EVALS in folders:
            folders.remove(EVALS)
        folders[:] = sorted(name for name in folders if name not in NOT_SHIPPED)
        for name in sorted(names):
            count += 1
            yield from _file(here / name, root)
    if count > MOST_FILES:
        told = f"has {count} files: a run on a server takes at most {MOST_FILES}"
        yield Remark("note", main, 1, 1, told)


def _file(path: Path, root: Path) -> Iterator[Remark]:
    if path.name in NOT_SHIPPED:
        return
    if not path.is_file() or not path.resolve().is_relative_to(root):
        yield Remark("warning", path, 1, 1, "is a link out of the skill: it is left out of a run")
        return
    size = path.stat().st_size
    with path.open("rb") as source:
        start = source.read(8_192)
    if start.startswith(b"#!") and not path.stat().st_mode & 0o111:
        yield Remark("warning", path, 1, 1, "is a script that cannot be run: chmod +x")
    if b"\0" in start:
        yield Remark("note", path, 1, 1, "is binary: a run here carries it, a run on a server does not")
    elif size > LONGEST_FILE:
        yield Remark(
            "note", path, 1, 1, f"has {size:,} bytes: a run on a server takes at most {LONGEST_FILE:,}"
        )
