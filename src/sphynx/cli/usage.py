"""A command line that cannot be read, as one line that says what is wrong and one that says what to do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_NAMED = 3
"""Batches that a hint names."""


def explain(error: Any, program: str, commands: Iterable[str]) -> tuple[str, str]:
    """The message and the hint for an error of the command line's parser."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else program
    general = f"{path} --help lists what there is"
    option = getattr(error, "option_name", None)
    if option and hasattr(error, "possibilities"):
        near = list(error.possibilities or ())
        return f"no such option: {option}", f"did you mean {' or '.join(near)}?" if near else general
    if refused := _refused_value(error):
        return refused, general
    message = str(error.format_message()).strip().rstrip(".")
    if needs := re.fullmatch(r"Option '(.+)' requires an argument", message):
        return f"{needs[1]} needs a value", _resumable() if needs[1] == "--resume" else general
    if extra := re.fullmatch(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", message):
        hint = f"sphynx show BATCH --case {extra[1]}" if path.endswith(" show") else general
        return f"unexpected argument: {extra[1]}", hint
    if unknown := re.match(r"No such command '(.*)'", message):
        near = difflib.get_close_matches(unknown[1], list(commands), n=1)
        return f"no such command: {unknown[1]}", f"did you mean {near[0]}?" if near else general
    return message[:1].lower() + message[1:], general


def _resumable() -> str:
    """How ``--resume`` is used, with the newest batches of this folder."""
    from sphynx.engine import list_batches

    names = [folder.name for folder in list_batches(Path.cwd())[:_NAMED]]
    there = f", such as {', '.join(names)}" if names else "; no batch is recorded here"
    return f"sphynx eval --local --resume BATCH{there}"


def _refused_value(error: Any) -> str | None:
    """``--trials must be at most 10, not 11``: the parser's checker tells why, in its own words."""
    parameter, cause = getattr(error, "param", None), error.__cause__
    if parameter is None or not hasattr(cause, "errors"):
        return None
    fault = cause.errors()[0]
    limits = fault.get("ctx") or {}
    expected = {
        "greater_than_equal": f"at least {limits.get('ge')}",
        "less_than_equal": f"at most {limits.get('le')}",
        "int_parsing": "a whole number",
        "float_parsing": "a number",
    }.get(fault["type"])
    name = max(parameter.opts, key=len)
    if expected is not None:
        return f"{name} must be {expected}, not {fault['input']}"
    return f"{name}: {str(fault['msg']).removeprefix('Value error, ').rstrip('.')}"
