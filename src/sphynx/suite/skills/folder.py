"""A skill's folder: its front matter, its evals files, the files its cases need."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from sphynx.suite.skills.model import EvalCase, slug

MAIN = "SKILL.md"
EVALS = "evals"
MAIN_EVALS = "evals.json"
TRIGGER_FILES = (
    "trigger-evals.json", "trigger-eval.json", "trigger-queries.json", "trigger_eval.json",
    "eval_queries.json", "trigger_evals.json", "trigger_queries.json",
)  # fmt: skip
MARKERS = (".git", "pyproject.toml")
NOT_SHIPPED = frozenset({".git", "__pycache__", "node_modules", ".DS_Store", ".sphynx"})


class Matter(NamedTuple):
    """The front matter of a SKILL.md: its plain values, the line of each, where the body begins."""

    values: dict[str, str]
    lines: dict[str, int]
    body_line: int


class Skill(NamedTuple):
    """A skill's folder as it is on disk. ``name`` is the front matter's, else the folder's."""

    root: Path
    name: str
    text: str
    """SKILL.md; empty when there is none."""
    matter: Matter | None
    evals: tuple[Path, ...]

    @property
    def id(self) -> str:
        """The name as a handle."""
        return slug(self.name, slug(self.root.name, "skill"))


class Placed(NamedTuple):
    """A file a case needs: where it goes in the workspace, and where it lies."""

    target: str
    source: Path


def front_matter(text: str) -> Matter | None:
    """The block between ``---`` lines at the top; ``None`` without one. Only plain values are read."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != "---":
        return None
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        return None
    values: dict[str, str] = {}
    places: dict[str, int] = {}
    key = ""
    for number, line in enumerate(lines[1:end], 2):
        found = re.match(r"([A-Za-z_][\w-]*):(?:\s+(.*))?$", line)
        if found:
            key = found[1]
            values[key] = _plain(found[2] or "")
            places[key] = number
        elif key and line.startswith((" ", "\t")) and line.strip():
            values[key] = f"{values[key]} {line.strip()}".strip()
    return Matter(values, places, end + 1)


def _plain(text: str) -> str:
    text = text.strip()
    if text in (">", "|", ">-", "|-", ">+", "|+"):
        return ""
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def read_skill(folder: Path) -> Skill:
    """Look at a skill's folder. A folder without SKILL.md is read too: its name is the folder's."""
    main = folder / MAIN
    text = main.read_text("utf-8", "replace") if main.is_file() else ""
    matter = front_matter(text)
    name = (matter.values.get("name") if matter else "") or folder.name
    return Skill(folder, name, text, matter, tuple(evals_files(folder)))


def evals_files(folder: Path) -> list[Path]:
    """The evals files of a skill: ``evals/evals.json`` first, then trigger sets."""
    below = folder / EVALS
    return [path for name in (MAIN_EVALS, *TRIGGER_FILES) if (path := below / name).is_file()]


def is_skill(folder: Path) -> bool:
    """Whether a folder is a skill or has evals of one."""
    return (folder / MAIN).is_file() or bool(evals_files(folder))


def skills_below(folder: Path) -> list[Path]:
    """Skills with evals in a folder of skills, sorted; the folder itself when it is one."""
    if is_skill(folder):
        return [folder]
    found: list[Path] = []
    for top, folders, _ in os.walk(folder):
        folders[:] = sorted(n for n in folders if n not in NOT_SHIPPED and n not in (".venv", "venv"))
        here = Path(top)
        if here != folder and evals_files(here):
            found.append(here)
            folders[:] = []
    return found


def home_of(evals: Path) -> Path:
    """The skill an evals file belongs to: the folder around ``evals``, else the file's own."""
    return evals.parent.parent if evals.parent.name == EVALS else evals.parent


def suite_name(skill: Skill, evals: Path) -> str:
    """The name a file's suite is made of: a trigger set is one of its own."""
    return skill.name if evals.name == MAIN_EVALS else f"{skill.name} {evals.stem}"


def bases(skill: Path) -> list[Path]:
    """Where a case's files are looked for: the skill, its evals, the folders above it in its project."""
    found = [skill, skill / EVALS]
    above = list(skill.resolve().parents)
    for count, folder in enumerate(above):
        if any((folder / marker).exists() for marker in MARKERS) or (folder.parent / "bundle.json").is_file():
            return found + above[: count + 1]
    return found


def placed_files(skill: Path, case: EvalCase) -> tuple[list[Placed], list[str]]:
    """The files a case needs that lie on disk, and the paths that are nowhere. Folders are taken whole."""
    found: list[Placed] = []
    missing: list[str] = []
    where = bases(skill)
    for wanted in case.files:
        if wanted.content is not None:
            continue
        source = next((path for base in where if (path := base / wanted.path).exists()), None)
        target = target_of(wanted.path, case.prompt)
        if source is None:
            missing.append(wanted.path)
        elif source.is_dir():
            found += [Placed(f"{target}/{name}", source / name) for name in files_below(source)]
        else:
            found.append(Placed(target, source))
    return found, missing


def target_of(path: str, prompt: str) -> str:
    """The path in the workspace: as written, or the short form when only that is in the prompt."""
    for lead in ("evals/files/", "files/"):
        short = path.removeprefix(lead)
        if short != path and short in prompt and path not in prompt:
            return short
    return path


def files_below(folder: Path) -> list[str]:
    """Every file below a folder, relative, sorted. Links are followed only inside it."""
    found: list[str] = []
    root = folder.resolve()
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in NOT_SHIPPED)
        for name in sorted(names):
            path = Path(top, name)
            if name not in NOT_SHIPPED and path.is_file() and path.resolve().is_relative_to(root):
                found.append(path.relative_to(folder).as_posix())
    return found
