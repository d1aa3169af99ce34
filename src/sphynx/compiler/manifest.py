"""``profile.json``: what of a profile is not a file."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sphynx.errors import CompileError
from sphynx.settings.names import profile_problem

FILE = "profile.json"
TEXTS = ("systemPrompt", "install", "run")
KEYS = (*TEXTS, "env", "variables")
NAME = re.compile(r"[A-Z_][A-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest with file names already replaced by the files' text; ``env`` is ``None`` when absent."""

    system_prompt: str | None = None
    env: dict[str, str] | None = None
    variables: tuple[str, ...] = ()
    install: str | None = None
    run: str | None = None
    read: tuple[str, ...] = ()
    """The files named in it, as they are named."""


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
        raise _invalid(name, folder, [f"it cannot be read: {error}"]) from error
    return parse_manifest(data, folder, name)


def parse_manifest(data: Any, folder: Path, name: str) -> Manifest:
    """Check the decoded manifest and put in the text of the files it names.

    Everything wrong is in the one ``CompileError``: joined in its message, one by one in its ``issues``.
    """
    if not isinstance(data, dict):
        raise _invalid(name, folder, ["it must be an object"])
    wrong = [*_unknown(data), *_not_texts(data), *_wrong_env(data.get("env"))]
    wrong += [*_wrong_variables(data.get("variables")), *_in_both(data.get("env"), data.get("variables"))]
    if wrong:
        raise _invalid(name, folder, wrong)
    texts = {key: None if data.get(key) is None else _text(data[key], key, folder, name) for key in TEXTS}
    named = tuple(data[key] for key in TEXTS if texts[key] is not None and texts[key] != data[key])
    return Manifest(
        texts["systemPrompt"],
        data.get("env"),
        tuple(data.get("variables") or ()),
        texts["install"],
        texts["run"],
        named,
    )


def _unknown(data: dict[str, Any]) -> Iterator[str]:
    for key in data:
        if key not in KEYS and key != "$schema":
            close = difflib.get_close_matches(key, KEYS, 1)
            yield f'unknown key "{key}"' + (f', did you mean "{close[0]}"?' if close else "")


def _not_texts(data: dict[str, Any]) -> Iterator[str]:
    for key in TEXTS:
        if data.get(key) is not None and not isinstance(data[key], str):
            yield f"{key} must be text"


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


def _wrong_env(value: Any) -> Iterator[str]:
    if value is None:
        return
    if not isinstance(value, dict):
        yield "env must be an object of names and texts"
        return
    for key, text in value.items():
        if not NAME.fullmatch(key):
            yield f'env "{key}" must be capitals, digits and underscores'
        if not isinstance(text, str):
            yield f'env "{key}" must be text'


def _wrong_variables(value: Any) -> Iterator[str]:
    if value is None:
        return
    if not isinstance(value, list):
        yield "variables must be a list of names"
        return
    for item in value:
        if not isinstance(item, str):
            yield f"variables: {item!r} is not a name"
        elif why := profile_problem(item):
            yield f'variables: "{item}" {why}'


def _in_both(env: Any, variables: Any) -> Iterator[str]:
    if isinstance(env, dict) and isinstance(variables, list):
        both = sorted({name for name in variables if isinstance(name, str)} & set(env))
        if both:
            yield f"{', '.join(both)} stands in both env and variables"


def _invalid(name: str, folder: Path, wrong: Sequence[str]) -> CompileError:
    path, cwd = folder / FILE, Path.cwd()
    shown = path.relative_to(cwd) if path.is_relative_to(cwd) else path
    start = f'profile "{name}": {shown}: '
    return CompileError(
        start + "; ".join(wrong), tag="ProfileManifestInvalid", issues=[start + why for why in wrong]
    )
