"""Harness profiles: collect a profile folder into what a trial is given, and name its version."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sphynx.compiler.ignore import Rule, is_ignored, parse
from sphynx.compiler.manifest import FILE, Manifest, read_manifest
from sphynx.compiler.project import absolute
from sphynx.compiler.stray_files import stray_files
from sphynx.errors import CompileError
from sphynx.schema.utf16 import length, order

SHIPPED = ("home", "workspace")
NEVER = frozenset({"node_modules", ".git", ".eve"})
MAX_FILES = 256
MAX_FILE_CHARS = 96_000
MAX_TOTAL_CHARS = 2_000_000
MAX_PATH_CHARS = 512

_PATH = re.compile(r"(home|workspace)(?:/(?!\.\.?(?:/|\Z))[^/\0]+)+")


@dataclass(frozen=True, slots=True)
class Blob:
    """A file as it is: any bytes, and whether it can be run."""

    data: bytes
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Profile:
    """A collected profile. ``files`` maps ``home/...`` and ``workspace/...`` paths to text.

    ``env`` is ``None`` when the manifest has none; ``variables`` are names only. ``skipped`` lists binary
    files that were left out.
    """

    name: str
    files: Mapping[str, str]
    system_prompt: str | None = None
    env: Mapping[str, str] | None = None
    variables: tuple[str, ...] = ()
    install: str | None = None
    run: str | None = None
    skipped: tuple[str, ...] = ()
    stray: tuple[str, ...] = ()
    """What lies beside ``profile.json`` and is not shipped."""
    blobs: Mapping[str, Blob] = field(default_factory=dict[str, Blob])
    """Files that are no texts or have to keep their modes: those of a skill. Only a run here carries them."""

    @property
    def version(self) -> str:
        """32 hex characters over everything but the name; the same on every machine."""
        return profile_version(self)


def collect(folder: str | Path, *, name: str, base: Path, harness: str) -> Profile:
    """Read the profile in ``folder`` (relative to ``base``, the eval file's folder) for one harness.

    ``CompileError`` with a ``tag`` when the folder cannot be read, a limit is passed, the manifest is wrong,
    or its ``run`` does not fit the harness.
    """
    path = absolute(folder, base)
    if not path.is_dir():
        raise CompileError(
            f'profile "{name}": cannot read the folder {folder}',
            tag="ProfileUnreadable",
            hint=f"it is looked for beside the eval file, at {path}",
        )
    manifest = read_manifest(path, name)
    try:
        files, skipped = _read_files(path, name)
    except OSError as error:
        raise CompileError(
            f'profile "{name}": cannot read {error.filename}: {error.strerror}', tag="ProfileUnreadable"
        ) from error
    profile = Profile(
        name=name,
        files=files,
        system_prompt=manifest.system_prompt,
        env=manifest.env,
        variables=manifest.variables,
        install=manifest.install,
        run=manifest.run,
        skipped=tuple(skipped),
        stray=tuple(_stray(path, manifest)),
    )
    check_harness(name, manifest, harness)
    return profile


def check_harness(name: str, manifest: Manifest, harness: str) -> None:
    """The ``command`` harness needs ``run``; any other must not have it."""
    if harness == "command" and not manifest.run:
        raise CompileError(
            f'profile "{name}": harness command needs "run" in profile.json',
            tag="CommandProfileNeedsRun",
            hint='{"run": "python run.py"}',
        )
    if harness != "command" and manifest.run is not None:
        raise CompileError(
            f'profile "{name}": "run" only works with harness command, not {harness}',
            tag="ProfileStepNotSupported",
            hint='use "install" for a step that prepares the sandbox',
        )


def valid_path(path: str) -> bool:
    """Whether a profile may ship a file at ``path``: below home/ or workspace/, without dot segments."""
    return length(path) <= MAX_PATH_CHARS and _PATH.fullmatch(path) is not None


def profile_version(profile: Profile) -> str:
    """SHA-256 over the profile's content as compact JSON, first 32 hex characters."""
    value: dict[str, object] = {
        "env": None if profile.env is None else _pairs(profile.env),
        "files": _pairs(profile.files),
        "install": profile.install,
        "run": profile.run,
        "systemPrompt": profile.system_prompt,
    }
    if profile.variables:
        value["variables"] = sorted(profile.variables, key=order)
    if profile.blobs:
        value["blobs"] = [
            [path, hashlib.sha256(blob.data).hexdigest(), blob.executable]
            for path, blob in sorted(profile.blobs.items(), key=lambda item: order(item[0]))
        ]
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _pairs(values: Mapping[str, str]) -> list[list[str]]:
    return [[key, values[key]] for key in sorted(values, key=order)]


def _read_files(folder: Path, name: str) -> tuple[dict[str, str], list[str]]:
    paths = sorted(_shipped(folder), key=order)
    if len(paths) > MAX_FILES:
        raise CompileError(
            f'profile "{name}": {len(paths)} files, at most {MAX_FILES}; most are in {_biggest(paths)}',
            tag="ProfileTooManyFiles",
            hint="leave out what the agent does not need with a .gitignore in the profile",
        )
    files: dict[str, str] = {}
    skipped: list[str] = []
    total = 0
    for path in paths:
        content = (folder / path).read_bytes()
        if b"\0" in content:
            skipped.append(path)
            continue
        text = content.decode("utf-8", "replace")
        chars = length(text)
        _check_file(name, path, chars)
        files[path] = text
        total += chars
    if total > MAX_TOTAL_CHARS:
        raise CompileError(
            f'profile "{name}": {total} characters in all, at most {MAX_TOTAL_CHARS}', tag="ProfileTooLarge"
        )
    return files, skipped


def _check_file(name: str, path: str, chars: int) -> None:
    if chars > MAX_FILE_CHARS:
        raise CompileError(
            f'profile "{name}": {path} has {chars} characters, at most {MAX_FILE_CHARS}',
            tag="ProfileFileTooLarge",
        )
    if not valid_path(path):
        raise CompileError(
            f'profile "{name}": {path!r} cannot be shipped',
            tag="ProfilePathInvalid",
            hint=f"at most {MAX_PATH_CHARS} characters, under home/ or workspace/",
        )


def _biggest(paths: list[str]) -> str:
    folders: Counter[str] = Counter()
    for path in paths:
        parts = path.split("/")
        folders["/".join(parts[:2]) if len(parts) > 2 else parts[0]] += 1
    ranked = sorted(folders.items(), key=lambda item: (-item[1], order(item[0])))
    return ", ".join(f"{folder} ({count})" for folder, count in ranked[:3])


def _shipped(folder: Path) -> list[str]:
    found: list[str] = []
    levels = [("", rules)] if (rules := _rules(folder)) else []
    for top in SHIPPED:
        path = folder / top
        if path.is_dir() and not path.is_symlink() and not is_ignored(top, True, levels):
            _walk(path, top, levels, found)
    return found


def _stray(folder: Path, manifest: Manifest) -> list[str]:
    if not (folder / FILE).is_file():
        return []
    known = {FILE, *SHIPPED, *NEVER, *(os.path.normpath(name).split("/")[0] for name in manifest.read)}
    rules = _rules(folder)
    return stray_files(folder, known, [("", rules)] if rules else [])


def _walk(folder: Path, shown: str, levels: list[tuple[str, list[Rule]]], found: list[str]) -> None:
    rules = _rules(folder)
    here = [*levels, (shown, rules)] if rules else levels
    with os.scandir(folder) as entries:
        listed = list(entries)
    for entry in listed:
        path = f"{shown}/{entry.name}"
        is_folder = entry.is_dir(follow_symlinks=False)
        if entry.name in NEVER or is_ignored(path, is_folder, here):
            continue
        if is_folder:
            _walk(Path(entry.path), path, here, found)
        elif entry.is_file(follow_symlinks=False):
            found.append(path)


def _rules(folder: Path) -> list[Rule]:
    path = folder / ".gitignore"
    if path.is_symlink() or not path.is_file():
        return []
    return parse(path.read_bytes().decode("utf-8", "replace"))
