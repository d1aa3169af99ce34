"""``profile.json``: what of a profile is not a file."""

from __future__ import annotations

import difflib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sphynx.errors import CompileError
from sphynx.settings.names import profile_problem

FILE = "profile.json"
KEYS = ("systemPrompt", "env", "variables", "install", "run")
NAME = re.compile(r"[A-Z_][A-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest with file names already replaced by the files' text; ``env`` is ``None`` when absent."""

    system_prompt: str | None = None
    env: dict[str, str] | None = None
    variables: tuple[str, ...] = ()
    install: str | None = None
    run: str | None = None


def read_manifest(folder: Path, name: str) -> Manifest:
    """The manifest of the profile in ``folder``, empty when there is none.

    ``CompileError`` names the profile and what is wrong.
    """
    path = folder / FILE
    if not path.exists():
        return Manifest()
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise _invalid(name, folder, f"it cannot be read: {error}") from error
    return parse_manifest(data, folder, name)


def parse_manifest(data: Any, folder: Path, name: str) -> Manifest:
    """Check the decoded manifest and put in the text of the files it names."""
    if not isinstance(data, dict):
        raise _invalid(name, folder, "it must be an object")
    for key in data:
        if key not in KEYS and key != "$schema":
            close = difflib.get_close_matches(key, KEYS, 1)
            raise _invalid(
                name, folder, f'unknown key "{key}"', f'did you mean "{close[0]}"?' if close else None
            )
    texts: dict[str, str | None] = {}
    for key in ("systemPrompt", "install", "run"):
        value = data.get(key)
        if value is not None and not isinstance(value, str):
            raise _invalid(name, folder, f"{key} must be text")
        texts[key] = None if value is None else _text(value, key, folder, name)
    env = _env(data.get("env"), folder, name)
    variables = _variables(data.get("variables"), folder, name)
    both = sorted(set(env or {}) & set(variables))
    if both:
        raise _invalid(name, folder, f"{', '.join(both)} stands in both env and variables")
    return Manifest(texts["systemPrompt"], env, variables, texts["install"], texts["run"])


def _text(value: str, key: str, folder: Path, name: str) -> str:
    """The text of the file that ``value`` names inside ``folder``, else ``value`` itself."""
    try:
        path = folder / value
        if not path.is_file():
            return value
    except (OSError, ValueError):
        return value
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise CompileError(
            f'profile "{name}": {key} names {value}, which is outside {folder}',
            tag="ProfileManifestOutside",
            hint="move the file into the profile",
        )
    return path.read_bytes().decode("utf-8", "replace")


def _env(value: Any, folder: Path, name: str) -> dict[str, str] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise _invalid(name, folder, "env must be an object of names and texts")
    for key, text in value.items():
        if not NAME.fullmatch(key):
            raise _invalid(name, folder, f'env "{key}" must be capitals, digits and underscores')
        if not isinstance(text, str):
            raise _invalid(name, folder, f'env "{key}" must be text')
    return value


def _variables(value: Any, folder: Path, name: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise _invalid(name, folder, "variables must be a list of names")
    for item in value:
        if not isinstance(item, str):
            raise _invalid(name, folder, f"variables: {item!r} is not a name")
        why = profile_problem(item)
        if why:
            raise _invalid(name, folder, f'variables: "{item}" {why}')
    return tuple(value)


def _invalid(name: str, folder: Path, why: str, hint: str | None = None) -> CompileError:
    path, cwd = folder / FILE, Path.cwd()
    shown = path.relative_to(cwd) if path.is_relative_to(cwd) else path
    return CompileError(f'profile "{name}": {shown}: {why}', tag="ProfileManifestInvalid", hint=hint)
