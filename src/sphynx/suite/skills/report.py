"""Collect what there is to say about an evals file while it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sphynx.suite.skills.json_places import Document, Path, Place
from sphynx.suite.skills.model import Finding, Level


class Findings:
    """Errors, warnings and notes with their places. ``case`` is the case being read, 0 outside of one."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.found: list[Finding] = []
        self.case = 0
        self._kinds: dict[tuple[str, bool], int] = {}
        self._extras: dict[str, int] = {}

    def error(self, message: str, path: Path, *, hint_keys: Mapping[str, Any] | None = None) -> None:
        """Something that keeps the case, and so the file, from being used."""
        if hint_keys:
            message += f" (it has: {', '.join(list(hint_keys)[:6])})"
        self._add("error", message, path)

    def warning(self, message: str, path: Path) -> None:
        """Something that makes a result mean less."""
        self._add("warning", message, path)

    def note(self, message: str, path: Path = ()) -> None:
        """Something done silently otherwise."""
        self._add("note", message, path)

    def judged_kind(self, kind: str, known: bool) -> None:
        """A criterion with a kind that a judge decides all the same; told once per kind."""
        self._kinds[kind, known] = self._kinds.get((kind, known), 0) + 1

    def unread(self, key: str) -> None:
        """A key nobody reads; told once."""
        self._extras[key] = self._extras.get(key, 0) + 1

    def failed(self, case: int) -> bool:
        """Whether the case has an error."""
        return any(found.level == "error" and found.case == case for found in self.found)

    def finish(self) -> tuple[Finding, ...]:
        """Everything, the counted ones last."""
        self.case = 0
        for (kind, known), count in self._kinds.items():
            criteria = "1 criterion is judged" if count == 1 else f"{count} criteria are judged"
            why = f"had kind {kind}" if known else f"the kind {kind} is not known"
            self.note(f"{criteria} from the sentence: {why}")
        if self._extras:
            self.note(f"not read: {', '.join(self._extras)}")
        return tuple(self.found)

    def _add(self, level: Level, message: str, path: Path) -> None:
        place = self.document.place(path) if path else Place(1, 1)
        self.found.append(Finding(level, message, place, self.case))
