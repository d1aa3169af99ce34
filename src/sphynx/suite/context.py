"""What functions of an eval file are given and may give back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias


class Verdict:
    """What a check decided.

    ``passed`` alone decides the trial. ``message`` (at most 2,000 characters are kept) says why; ``score``
    (0 to 1) and ``metrics`` (named numbers) are reported per run with mean and spread, and never count as
    pass or fail.
    """

    __slots__ = ("message", "metrics", "passed", "score")

    def __init__(
        self,
        passed: bool,
        message: str = "",
        score: float | None = None,
        metrics: Mapping[str, float] | None = None,
    ) -> None:
        self.passed = passed
        self.message = message
        self.score = score
        self.metrics = metrics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Verdict):
            return NotImplemented
        return self._key() == other._key()

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        return f"Verdict(passed={self.passed!r}, message={self.message!r}, score={self.score!r})"

    def _key(self) -> tuple[object, ...]:
        return (self.passed, self.message, self.score, dict(self.metrics or {}))


class Turn(Protocol):
    """One turn of the conversation. ``command_count`` ties calls of mocks to turns."""

    @property
    def index(self) -> int: ...
    @property
    def user_text(self) -> str: ...
    @property
    def agent_text(self) -> str: ...
    @property
    def command_count(self) -> int: ...
    @property
    def events(self) -> Sequence[Any]:
        """Journal entries in order, as ``event["exitCode"]`` or ``event.exit_code``.

        ``_tag`` is ``message`` (``role``, ``text``), ``command`` (``command``, ``exitCode``, ``output``),
        ``fileChange`` (``paths``, ``kind``) or ``toolCall`` (``name``, ``kind``, ``input``, ``output``,
        ``error``, ``status``); ``kind`` is the tool's canonical name.
        """
        ...


class ShellCommand(Protocol):
    """A command the agent ran. ``exit_code`` is ``None`` when nobody saw how it ended."""

    @property
    def command(self) -> str: ...
    @property
    def exit_code(self) -> int | None: ...


class TokenSums(Protocol):
    """Tokens of all turns; ``input`` is what was neither read from nor written to the cache."""

    @property
    def input(self) -> int: ...
    @property
    def output(self) -> int: ...
    @property
    def cache_read(self) -> int: ...
    @property
    def cache_write(self) -> int: ...
    @property
    def total(self) -> int: ...


class Summary(Protocol):
    """What the agent did over all turns. Lists hold at most 10,000 entries each, counts go on."""

    @property
    def shell_commands(self) -> Sequence[ShellCommand]: ...
    @property
    def failed_commands(self) -> int:
        """Commands whose exit code is known and not 0."""
        ...

    @property
    def files_read(self) -> Sequence[str]:
        """Paths read with the agent's tools, from the workspace; what a shell command reads nobody sees."""
        ...

    @property
    def files_modified(self) -> Sequence[str]:
        """Paths written, by whatever means, from the workspace."""
        ...

    @property
    def tool_calls(self) -> Mapping[str, int]:
        """Calls per canonical name: ``file_read``, ``file_write``, ``file_edit``, ``shell``, ``web_fetch``,
        ``web_search``, ``glob``, ``grep``, ``list_dir``, ``agent_task``, ``mcp``, ``unknown``."""
        ...

    @property
    def total_tool_calls(self) -> int: ...
    @property
    def web_fetches(self) -> Sequence[str]:
        """Addresses fetched."""
        ...

    @property
    def total_turns(self) -> int: ...
    @property
    def errors(self) -> Sequence[str]:
        """Tool calls that failed: the tool's name and what it said."""
        ...

    @property
    def thinking_blocks(self) -> int:
        """Pieces of reasoning there were; their text is not kept."""
        ...

    @property
    def tokens(self) -> TokenSums | None:
        """``None`` when the agent reported none."""
        ...


class Completed(Protocol):
    """How a process of ``exec`` ended. ``exit_code`` is 128 + n when signal n ended it."""

    @property
    def exit_code(self) -> int: ...
    @property
    def stdout(self) -> str: ...
    @property
    def stderr(self) -> str: ...
    @property
    def timed_out(self) -> bool: ...
    @property
    def truncated(self) -> bool:
        """Whether an output was longer than what is kept of it."""
        ...


class CallLog(Protocol):
    """The calls a mock recorded."""

    async def calls(self, name: str | None = None) -> Sequence[Any]:
        """Every call in order, or those of the mock called ``name``."""
        ...


class ApiLog(CallLog, Protocol):
    """The calls HTTP mocks recorded, and where they listen."""

    async def url(self, name: str) -> str:
        """The base URL of the HTTP mock called ``name``."""
        ...


class Context(Protocol):
    """What a check reads. All checks of a trial get the same object and may keep things on it.

    An ``async def`` check awaits the methods; a plain ``def`` check calls them and gets the value itself
    (annotate its argument as :class:`PlainContext`).
    """

    prepared: Any
    """What ``prepare`` returned; stored nowhere."""
    workspace: str
    home: str
    cli: CallLog
    mcp: CallLog
    api: ApiLog

    async def answer(self) -> str:
        """The agent's last message, ``""`` when it said nothing."""
        ...

    async def transcript(self) -> str:
        """Every message of the agent, with blank lines between."""
        ...

    async def turns(self) -> Sequence[Turn]:
        """The conversation, turn by turn."""
        ...

    async def summary(self) -> Summary:
        """What the agent did: commands, files, tools, errors, tokens."""
        ...

    async def read_text(self, path: str) -> str:
        """A workspace file as UTF-8 text. When there is no such file the check has failed."""
        ...

    async def exists(self, path: str) -> bool:
        """Whether the path is there."""
        ...

    async def exec(
        self, command: str, args: Sequence[str] | None = None, *, timeout_ms: int | None = None
    ) -> Completed:
        """Run a ``/bin/sh -lc`` command in the workspace. Never raises for how it ends.

        With ``args``, as in ``prepare``, ``command`` is a program and none of it is read by a shell.
        """
        ...


class PlainCallLog(Protocol):
    """:class:`CallLog` in a plain ``def`` check."""

    def calls(self, name: str | None = None) -> Sequence[Any]: ...


class PlainApiLog(PlainCallLog, Protocol):
    """:class:`ApiLog` in a plain ``def`` check."""

    def url(self, name: str) -> str: ...


class PlainContext(Protocol):
    """:class:`Context` as a plain ``def`` check sees it: methods give their value at once."""

    prepared: Any
    workspace: str
    home: str
    cli: PlainCallLog
    mcp: PlainCallLog
    api: PlainApiLog

    def answer(self) -> str: ...
    def transcript(self) -> str: ...
    def turns(self) -> Sequence[Turn]: ...
    def summary(self) -> Summary: ...
    def read_text(self, path: str) -> str: ...
    def exists(self, path: str) -> bool: ...
    def exec(
        self, command: str, args: Sequence[str] | None = None, *, timeout_ms: int | None = None
    ) -> Completed: ...


class ApiUrls(Protocol):
    """Where HTTP mocks listen."""

    async def url(self, name: str) -> str:
        """The base URL of the HTTP mock called ``name``."""
        ...


class PrepareContext(Protocol):
    """What an ``async def`` ``prepare`` or ``solution`` works with. A plain ``def`` one calls the methods
    without ``await``."""

    cached: bool
    """Whether the case's cache was restored."""
    workspace: str
    home: str
    api: ApiUrls

    async def exec(
        self,
        file: str,
        args: Sequence[str] = (),
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout_ms: int | None = None,
        check: bool = True,
    ) -> Completed:
        """Run a program without a shell; raises when it exits non-zero unless ``check=False``."""
        ...

    async def read_text(self, path: str) -> str:
        """A workspace file as UTF-8 text."""
        ...

    async def write_text(self, path: str, text: str) -> None:
        """Write a workspace file, making its folders."""
        ...

    async def exists(self, path: str) -> bool:
        """Whether the path is there."""
        ...


Judgement: TypeAlias = bool | Verdict | Mapping[str, Any]
"""What a validator may return: a bool, a ``Verdict``, or a dict with a ``Verdict``'s keys."""

Validator: TypeAlias = (
    Callable[[Context], Judgement | Awaitable[Judgement]] | Callable[[PlainContext], Judgement]
)
"""A code check: one ``Context`` in. A failing ``assert`` is a failed check with its text; any other
exception voids the trial."""

Prepare: TypeAlias = Callable[[PrepareContext], Any] | Callable[[Any], Any]
"""Setup before the agent: sync or async. What it returns reaches checks as ``prepared``."""

Solution: TypeAlias = Callable[[PrepareContext], Any] | Callable[[Any], Any]
"""A reference solution: what ``--self-test`` runs in the agent's place."""
