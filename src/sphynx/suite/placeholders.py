"""Filling ``{{name}}`` placeholders of a prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping

_MARK = r"\\\{\{|\{\{[ \t]*([A-Za-z0-9_][A-Za-z0-9_.-]*)[ \t]*\}\}"


def names(prompt: str) -> list[str]:
    """The variables a prompt asks for, in order of first use, each once."""
    return list(dict.fromkeys(match[1] for match in re.finditer(_MARK, prompt) if match[1]))


def render(prompt: str, variables: Mapping[str, str]) -> tuple[str, list[str], list[str]]:
    """Fill a prompt: ``(text, missing, unused)``.

    Values are put in as they are and not expanded again. ``\\{{`` stands for two literal braces. A name
    without a value stays as written and is in ``missing``; a variable the prompt never uses is in
    ``unused``. Braces around anything but a name are text.
    """
    asked = names(prompt)

    def fill(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return "{{"
        return variables[name] if name in variables else match[0]

    text = re.sub(_MARK, fill, prompt)
    return text, [name for name in asked if name not in variables], [n for n in variables if n not in asked]
