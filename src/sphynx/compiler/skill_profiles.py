"""A skill as a profile: its files where each agent looks for skills, and settings that leave no other skill.

Every arm of an agent gets the same settings; only the skill's own files differ. ``evals/``, the answer key,
never travels.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sphynx.compiler.profiles import Blob, Profile
from sphynx.compiler.project import absolute
from sphynx.errors import CompileError
from sphynx.suite.skills.folder import EVALS, MAIN, NOT_SHIPPED, front_matter

MAX_FILES = 1_000
MAX_BYTES = 50_000_000
GIT_LIMIT_S = 60

_OTHERS = ".agents/skills"
_CLAUDE = ".claude/skills"
# Without a repository of its own the workspace inherits the skills of the folders above it.
_OWN_REPOSITORY = "test -e .git || ! command -v git >/dev/null || git init -q ."

_SETTINGS: dict[str, tuple[str, Any]] = {
    "claude": (
        "home/.claude/settings.json",
        {"disableBundledSkills": True, "skillOverrides": {"plugin-authoring": "off", "doctor": "off"}},
    ),
    "codex": ("home/.codex/config.toml", "[skills.bundled]\nenabled = false\n"),
    "gemini": (
        "home/.gemini/settings.json",
        {"skills": {"disabled": ["skill-creator", "antigravity-support"]}},
    ),
    "qwen": ("home/.qwen/settings.json", {"skills": {"disabledLevels": ["bundled", "user", "extension"]}}),
}


def collect_skill(fields: Mapping[str, Any], *, base: Path, harness: str) -> Profile:
    """The profile of one arm: ``fields`` are the variant's ``profile``, ``base`` the eval file's folder.

    ``CompileError`` when the skill, or the older one, cannot be read or is too large.
    """
    folder = absolute(fields["dir"], base)
    arm = str(fields["skill"])
    if not folder.is_dir():
        raise CompileError(f"cannot read the skill {fields['dir']}", tag="ProfileUnreadable")
    skipped: list[str] = []
    if arm == "old":
        source = dict(_older(folder, str(fields.get("old") or ""), base))
        if MAIN not in source:
            raise CompileError(f"there is no {MAIN} in the old skill ({fields.get('old')})")
    else:
        source = dict(_on_disk(folder, skipped))
    blobs = {} if arm == "without" else _placed(source, folder.name, harness)
    if arm == "without":
        skipped = []
    files, env = _surroundings(harness, _name(source, folder.name))
    return Profile(
        name=str(fields["name"]),
        files=files,
        system_prompt=_told(source, folder.name, harness) if _is_forced(fields) else None,
        env=env,
        install=_OWN_REPOSITORY,
        skipped=tuple(skipped),
        blobs=blobs,
    )


def _is_forced(fields: Mapping[str, Any]) -> bool:
    return fields.get("use") == "forced" and fields["skill"] != "without"


def _told(source: Mapping[str, Blob], folder: str, harness: str) -> str:
    name = _name(source, folder)
    return f"Use the skill {name} for this task: read {_place(harness)}/{name}/{MAIN} first and follow it."


def _placed(source: Mapping[str, Blob], folder: str, harness: str) -> dict[str, Blob]:
    """The skill's files in the workspace, in a folder of the skill's own name, which all agents accept."""
    place = f"workspace/{_place(harness)}/{_name(source, folder)}"
    return {f"{place}/{path}": blob for path, blob in source.items()}


def _place(harness: str) -> str:
    return _CLAUDE if harness == "claude" else _OTHERS


def _name(source: Mapping[str, Blob], folder: str) -> str:
    main = source.get(MAIN)
    matter = front_matter(main.data.decode("utf-8", "replace")) if main else None
    name = (matter.values.get("name") if matter else "") or folder
    return folder if "/" in name or name.startswith(".") else name


def _surroundings(harness: str, skill: str) -> tuple[dict[str, str], dict[str, str] | None]:
    """Settings and environment that keep skills of the agent's own out, the same in every arm."""
    files: dict[str, str] = {}
    if harness in _SETTINGS:
        path, value = _SETTINGS[harness]
        files[path] = value if isinstance(value, str) else json.dumps(value, indent=2) + "\n"
    if harness != "opencode":
        return files, None
    permission = {"permission": {"skill": {"*": "deny", skill: "allow"}}}
    return files, {"OPENCODE_CONFIG_CONTENT": json.dumps(permission)}


def _on_disk(folder: Path, skipped: list[str]) -> Iterator[tuple[str, Blob]]:
    """Every file of the skill but its evals. What is left out is added to ``skipped``."""
    root = folder.resolve()
    total = count = 0
    for top, folders, names in os.walk(folder):
        here = Path(top)
        for name in sorted(folders):
            if (here == folder and name == EVALS) or name in NOT_SHIPPED or (here / name).is_symlink():
                if name != EVALS and name not in NOT_SHIPPED:
                    skipped.append(f"{(here / name).relative_to(folder).as_posix()}/ (a link to a folder)")
                folders.remove(name)
        for name in sorted(names):
            path = here / name
            shown = path.relative_to(folder).as_posix()
            if name in NOT_SHIPPED:
                continue
            if not path.is_file() or not path.resolve().is_relative_to(root):
                skipped.append(f"{shown} (a link out of the skill)")
                continue
            count += 1
            total += path.stat().st_size
            _check_size(count, total)
            yield shown, Blob(path.read_bytes(), bool(path.stat().st_mode & 0o111))


def _check_size(count: int, total: int) -> None:
    if count > MAX_FILES:
        raise CompileError(f"the skill has more than {MAX_FILES:,} files", tag="ProfileTooManyFiles")
    if total > MAX_BYTES:
        raise CompileError(f"the skill has more than {MAX_BYTES // 1_000_000} MB", tag="ProfileTooLarge")


def _older(folder: Path, old: str, base: Path) -> Iterator[tuple[str, Blob]]:
    """The skill as it was: a folder, else a git ref of the repository the skill is in."""
    if old.startswith((".", "/")):
        before = absolute(old, base)
        if not before.is_dir():
            raise CompileError(f"cannot read the old skill {old}", tag="ProfileUnreadable")
        yield from _on_disk(before, [])
        return
    yield from from_git(folder, old)


def from_git(folder: Path, ref: str) -> Iterator[tuple[str, Blob]]:
    """The files ``folder`` had at a git ref, without its evals. ``CompileError`` says what git says."""
    if ref.startswith("-"):
        raise CompileError(f"{ref} is no git ref")
    # Run in the folder, git archives that folder, with paths relative to it.
    argv = ["git", "-C", str(folder), "archive", "--format=tar", ref, "."]
    try:
        done = subprocess.run(argv, capture_output=True, timeout=GIT_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CompileError(f"git cannot read the old skill: {error}") from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["git failed"]
        raise CompileError(
            f"cannot read the skill at {ref}: {said[-1]}",
            hint="--old-ref takes a commit, tag or branch that has the skill",
        )
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        count = total = 0
        for member in archive:
            path = member.name.removeprefix("./")
            if not member.isfile() or path.partition("/")[0] == EVALS:
                continue
            count, total = count + 1, total + member.size
            _check_size(count, total)
            content = archive.extractfile(member)
            yield path, Blob(content.read() if content else b"", bool(member.mode & 0o111))
