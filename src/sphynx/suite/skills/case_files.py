"""Where a case's files come from: short texts travel as a source, the rest is copied by ``prepare``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sphynx.suite.fields import units
from sphynx.suite.skills.folder import Placed
from sphynx.suite.skills.model import EvalCase
from sphynx.suite.sources import TOTAL_FILE_UNITS


def texts_and_copies(case: EvalCase, found: Sequence[Placed]) -> tuple[dict[str, str], list[Placed]]:
    """A case's files as texts, and those that have to be copied because they are none."""
    texts = {one.path: one.content for one in case.files if one.content is not None}
    copied: list[Placed] = []
    total = sum(units(text) for text in texts.values())
    for placed in found:
        data = placed.source.read_bytes()
        text = _text_of(data)
        total += len(data)
        if text is None or total > TOTAL_FILE_UNITS or data[:2] == b"#!":
            copied.append(placed)
        else:
            texts[placed.target] = text
    return texts, copied


def _text_of(data: bytes) -> str | None:
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def prepare_with(missing: Sequence[str], copied: Sequence[Placed]) -> Any:
    def prepare(ctx: Any) -> None:
        """Put the case's files where the prompt expects them, with their modes."""
        import shutil

        if missing:
            raise FileNotFoundError(f"the case needs files that are not there: {', '.join(missing)}")
        for placed in copied:
            target = Path(ctx.workspace, placed.target)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(placed.source, target)

    return prepare
