"""What an evals file says, once read: cases, criteria, and what there is to say about them."""

# pyright: basic
# The values are other people's JSON: their types are looked at where they are used.
from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

from sphynx.suite.skills.json_places import Place

Level = Literal["error", "warning", "note"]


class Finding(NamedTuple):
    """Something to tell about an evals file or a skill. An error keeps it from being used."""

    level: Level
    message: str
    place: Place
    case: int = 0
    """The case's position from 1; 0 when it is about the whole file."""


class Part(NamedTuple):
    """One mechanical demand of a criterion; all parts of it must hold.

    ``op`` is ``any``, ``all``, ``none`` (texts), ``regex_any``, ``regex_all``, ``regex_none``, ``ordered``,
    ``count``, ``exists``, ``missing``, ``tool``, ``no_tool``, ``command``, ``no_command`` or ``run``.
    ``where`` is ``answer``, ``transcript``, ``files`` (those the agent changed) or ``file`` (``path``).
    """

    op: str
    values: tuple[str, ...]
    where: str = "answer"
    path: str = ""
    low: int = 1
    high: int | None = None
    status: int = 0


class Criterion(NamedTuple):
    """One thing a good trial shows. ``parts`` make it a code check; without them a judge decides."""

    text: str
    parts: tuple[Part, ...] = ()
    absent: bool = False
    """It must not be so: from a list of what a good answer does not do."""
    derived: bool = False
    """Made of ``expected_output``, because the case has nothing else to go by."""
    had_kind: str = ""
    """The kind the file gave it though a judge has to decide."""

    @property
    def key(self) -> str:
        """What tells it apart within its case, and what a report shows."""
        return f"must not: {self.text}" if self.absent else self.text


class Trigger(NamedTuple):
    """Whether the agent should pick the skill up. ``skills`` names others than the one under test."""

    wanted: bool
    skills: tuple[str, ...] = ()


class FileRef(NamedTuple):
    """A workspace file of a case: ``content`` stands in the evals file, else it lies at ``path``."""

    path: str
    content: str | None = None
    index: int = 0


class EvalCase(NamedTuple):
    """One case of an evals file."""

    id: str
    eval_id: str
    number: int
    """Its position in its list, from 1."""
    name: str
    prompt: str
    replies: tuple[str, ...]
    expected: str
    files: tuple[FileRef, ...]
    criteria: tuple[Criterion, ...]
    trigger: Trigger | None
    tags: tuple[str, ...]
    timeout_ms: int | None
    path: tuple[str | int, ...]
    """Where it stands in the file."""

    @property
    def judged(self) -> list[Criterion]:
        """Criteria a judge decides, in order."""
        return [found for found in self.criteria if not found.parts]

    @property
    def checked(self) -> list[Criterion]:
        """Criteria that code decides, in order."""
        return [found for found in self.criteria if found.parts]

    @property
    def checkable(self) -> bool:
        """Whether there is anything to decide the case by."""
        return bool(self.criteria) or self.trigger is not None


class EvalFile(NamedTuple):
    """A whole evals file. With an error in it ``cases`` is empty, unless bad cases were to be skipped."""

    suite: str
    skill_name: str
    cases: tuple[EvalCase, ...]
    findings: tuple[Finding, ...]
    skipped: tuple[int, ...] = ()
    total: int = 0
    """Cases the file lists, refused ones included."""

    @property
    def errors(self) -> list[Finding]:
        """What keeps the file from being used."""
        return [found for found in self.findings if found.level == "error"]

    @property
    def judged(self) -> int:
        """Criteria for a judge."""
        return sum(len(case.judged) for case in self.cases)

    @property
    def converted(self) -> int:
        """Checks that need no judge, trigger checks included."""
        return sum(len(case.checked) + (case.trigger is not None) for case in self.cases)


def slug(text: str, fallback: str = "") -> str:
    """Lower case, one hyphen for each run of anything but a-z and 0-9, none at the ends."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or fallback


def texts_of(value: Any) -> tuple[str, ...]:
    """One text, number or a list of them as texts; empty for anything else."""
    items: list[Any] = value if isinstance(value, list) else [value]
    found = [_text(item) for item in items]
    return tuple(text for text in found if text)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else ""
