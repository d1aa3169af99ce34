"""Every error Sphynx raises on purpose. Standard library only.

SphynxError            what is wrong, where, and the next step (``hint``); printed without a traceback
├── UsageError         the command or call asks for something that does not exist or cannot be done
├── DefinitionError    an eval file is wrong; ``problems`` holds every one of them
├── CompileError       an eval file is right but cannot be packed (bundle, profile, size)
├── MissingExtraError  an optional dependency is not installed; the message names the pip line
├── StageError         a stage of one trial broke: the trial is void with ``cause`` and ``stage``
└── GateError          the trials ran, and the gate did not pass (exit code 2)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum


class ExitCode(IntEnum):
    """What the command line ends with."""

    OK = 0
    ERROR = 1
    GATE = 2
    INTERRUPTED = 130
    TERMINATED = 143


class SphynxError(Exception):
    """An error meant for a person.

    ``message`` says what is wrong and where, in one line; ``hint`` says what to do next. ``status``
    and ``tag`` are set when a server answered with them, ``issues`` holds its field problems.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        status: int | None = None,
        tag: str | None = None,
        issues: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.status = status
        self.tag = tag
        self.issues = tuple(issues)


class Problem:
    """One thing wrong in an eval file: where it stands and what would be right.

    ``file`` and ``line`` point at the builder's call in the user's own code; ``where`` names suite, case
    or variant (``suite "smoke", case "writes-hello"``); ``message`` says what is wrong.
    """

    __slots__ = ("file", "hint", "line", "message", "where")

    def __init__(
        self, message: str, *, where: str = "", file: str = "", line: int = 0, hint: str | None = None
    ) -> None:
        self.message = message
        self.where = where
        self.file = file
        self.line = line
        self.hint = hint

    def __repr__(self) -> str:
        return f"Problem({self.text()!r})"

    def text(self) -> str:
        """``file: where: message`` with the empty parts left out."""
        return ": ".join(part for part in (self.file, self.where, self.message) if part)


class UsageError(SphynxError):
    """The command or call asks for something that does not exist or cannot be done."""


class DefinitionError(SphynxError):
    """An eval file is wrong. ``problems`` lists everything that is, not only the first."""

    def __init__(self, problems: Iterable[Problem], *, hint: str | None = None) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(problem.text() for problem in self.problems), hint=hint)


class CompileError(SphynxError):
    """An eval file is right but cannot be packed: imports, data files, profiles, size."""


class MissingExtraError(SphynxError):
    """An optional dependency is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs the extra {extra!r}", hint=f'pip install "sphynx-sh[{extra}]"')


class StageError(SphynxError):
    """A stage of one trial broke, so the trial is void: never a pass, never a fail.

    ``stage`` is the stage's name (``source``, ``prepare``, ``agent`` ...), ``cause`` one of
    ``sphynx.schema.records.CAUSES``.
    """

    def __init__(self, message: str, *, stage: str, cause: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.stage = stage
        self.cause = cause


class GateError(SphynxError):
    """The trials ran and the gate did not pass; ``problems`` names the trials."""

    def __init__(self, message: str, problems: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)
