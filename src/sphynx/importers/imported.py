"""What an import found in a case file, whatever its format, and the tally it prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

FALLBACK_SUITE = "imported-suite"
FALLBACK_CASE = "case"


@dataclass(frozen=True, slots=True)
class Line:
    """One assertion of a case. With ``call`` it becomes that check of the answer, else a placeholder."""

    text: str
    call: str = ""
    """``contains_any``, ``contains_all`` or ``contains_none``."""
    needles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportedCase:
    """One case of the new suite; ``comments`` stand above it, one paragraph each."""

    id: str
    name: str
    task: str
    lines: tuple[Line, ...]
    comments: tuple[str, ...] = ()
    budget: int | None = None
    """``max_steps`` of a YAML case."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How much became a check: ``needs_author`` assertions are placeholders that fail until written."""

    cases: int
    converted: int
    needs_author: int


@dataclass(frozen=True, slots=True)
class Imported:
    """A suite to be written."""

    suite_id: str
    cases: tuple[ImportedCase, ...]
    origin: str
    """Name of the file or folder it was read from."""
    always_placeholder: bool = False
    notes: Sequence[str] = field(default_factory=list[str])

    @property
    def tally(self) -> Tally:
        """Counts over all cases."""
        lines = [line for case in self.cases for line in case.lines]
        converted = sum(bool(line.call) for line in lines)
        return Tally(len(self.cases), converted, len(lines) - converted)


def summary(tally: Tally) -> str:
    """What an import says at its end."""
    told = f"read {_count(tally.cases, 'case')}, converted {_count(tally.converted, 'assertion')}"
    if not tally.needs_author:
        return told
    verb = "needs" if tally.needs_author == 1 else "need"
    owed = f"{_count(tally.needs_author, 'assertion')} could not be converted and {verb} a person"
    return f"{told}; {owed}: the suite fails until they are written"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
