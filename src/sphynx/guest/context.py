"""What a check receives: the conversation, the workspace, the call logs of the mocks."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from sphynx.guest import files, frames
from sphynx.guest.calling import awaits
from sphynx.guest.console import Running, current
from sphynx.guest.processes import ExecOutcome, Program, wait_async
from sphynx.guest.values import readable

_LOGIN = (
    'HOME="$SPHYNX_LOGIN_HOME"; '
    'sphynx_login() { unset -f sphynx_login; eval "$SPHYNX_LOGIN"; }; sphynx_login; '
    'PATH="$SPHYNX_PATH${PATH:+:$PATH}"; unset SPHYNX_LOGIN SPHYNX_LOGIN_HOME SPHYNX_PATH; '
)
"""What a login shell reads of a home, from the text kept before the agent could write there."""
_NO_HOME = "/nonexistent"


class Context:
    """The one object all checks of a trial share. Set attributes of your own on it to share work.

    Every method answers in the caller's own way: an ``async def`` check awaits it
    (``await ctx.read_text("a.txt")``), a plain ``def`` check calls it (``ctx.read_text("a.txt")``). What is
    called, with what and how it ended is noted in the check's evidence.

    ``prepared`` is what the case's ``prepare`` returned (``{}`` without one), ``workspace`` and ``home`` are
    absolute paths. ``cli.calls()``, ``mcp.calls()`` and ``api.calls()`` are the mocks' logs.
    """

    workspace: str
    home: str
    prepared: dict[str, Any]
    cli: CallLog
    mcp: CallLog
    api: ApiLog
    _payload: Mapping[str, Any]
    _tree: str
    _reserved: frozenset[str]

    def __init__(self, payload: Mapping[str, Any], *, workspace: str, home: str, tree: str) -> None:
        own = vars(self)
        own["_payload"] = payload
        own["_tree"] = tree
        own["workspace"] = workspace
        own["home"] = home
        own["prepared"] = payload.get("prepared") or {}
        own["cli"] = CallLog(self, "cli", "cli")
        own["mcp"] = CallLog(self, "mcp", "server")
        own["api"] = ApiLog(self, "api", "api")
        own["_reserved"] = frozenset(own) | {name for name in dir(type(self)) if not name.startswith("__")}

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._reserved:
            raise AttributeError(
                f"{name!r} belongs to the context: keep what checks share under another name"
            )
        vars(self)[name] = value

    def answer(self) -> Any:
        """The agent's last message; ``""`` when it said nothing."""
        return self._answer("answer", [], lambda: self._payload.get("answer") or "")

    def transcript(self) -> Any:
        """All the agent's messages, joined by blank lines."""
        return self._answer("transcript", [], lambda: self._payload.get("transcript") or "")

    def turns(self) -> Any:
        """The conversation: a list of turns with ``index``, ``user_text``, ``agent_text``, ``command_count``
        and ``events``, each also under its wire key (``turn["userText"]``)."""
        return self._answer("turns", [], lambda: readable(self._payload.get("turns") or []))

    def summary(self) -> Any:
        """What the agent did, counted and listed over all turns: see ``sphynx.Summary``."""
        return self._answer("summary", [], lambda: readable(self._payload.get("summary") or {}))

    def read_text(self, path: str | os.PathLike[str]) -> Any:
        """A file of the workspace as UTF-8 text.

        What the agent left instead of a file that can be read (nothing, a folder, a pipe, a loop of links,
        more than 256 MiB) is an ``AssertionError``, so that the check has failed, and the ``OSError`` it is.
        """
        path = os.fspath(path)
        return self._answer("readText", [path], lambda: files.read_text(self.workspace, path))

    def exists(self, path: str | os.PathLike[str]) -> Any:
        """Whether a file or folder is there in the workspace."""
        path = os.fspath(path)
        return self._answer("exists", [path], lambda: files.exists(self.workspace, path))

    def exec(
        self,
        command: str,
        args: Sequence[str | os.PathLike[str]] | None = None,
        *,
        timeout_ms: int | None = None,
    ) -> Any:
        """Run a shell command (``/bin/sh -lc``) in the workspace and give its :class:`ExecOutcome`.

        With ``args``, as in ``prepare``, ``command`` is a program and none of it is read by a shell.
        It never raises for how the command ends; past ``timeout_ms`` the command is killed and ``timed_out``
        is true. The trial's own ``PATH`` comes before what the login profile makes of it. Of the trial's home
        the login reads ``.profile`` as it was before the agent began, nothing the agent wrote.
        """
        if not isinstance(command, str):
            raise TypeError(f"exec takes one shell command as text, not {type(command).__name__}")
        told: list[Any] = [command]
        if args is not None:
            if isinstance(args, str):
                raise TypeError(f"exec takes the arguments as a list: exec({command!r}, [{args!r}])")
            told = [command, [os.fspath(part) for part in args]]
            command = shlex.join([command, *told[1]])

        def start() -> Program:
            env = {
                **os.environ,
                "HOME": _NO_HOME,
                "SPHYNX_LOGIN": self._payload.get("login") or "",
                "SPHYNX_LOGIN_HOME": os.environ.get("HOME", self.home),
                "SPHYNX_PATH": os.environ.get("PATH", os.defpath),
            }
            # In a subshell, as a login shell that is bash reads ~/.bash_logout when a command calls exit.
            text = f"{_LOGIN}( {command}\n)"
            return Program(["/bin/sh", "-lc", text], cwd=self.workspace, env=env)

        def shown(outcome: ExecOutcome) -> Any:
            return {"exitCode": outcome.exit_code, "stderr": outcome.stderr, "stdout": outcome.stdout}

        caller = current()
        if caller is not None and awaits(caller):
            work = self._noted_async("exec", told, lambda: wait_async(start(), timeout_ms), shown)
            return caller.later("exec", work)
        return self._noted("exec", told, lambda: start().wait(timeout_ms), shown)

    def _answer(self, method: str, arguments: list[Any], work: Callable[[], Any]) -> Any:
        caller = current()
        if caller is None or not awaits(caller):
            return self._noted(method, arguments, work)

        async def later() -> Any:
            return work()

        return caller.later(method, self._noted_async(method, arguments, later))

    def _noted(
        self,
        method: str,
        arguments: list[Any],
        work: Callable[[], Any],
        shown: Callable[[Any], Any] | None = None,
    ) -> Any:
        note = _Note(current(), method, arguments, self._tree)
        try:
            value = work()
        except BaseException as error:
            note.failed(error)
            raise
        note.ended(shown(value) if shown else value)
        return value

    async def _noted_async(
        self,
        method: str,
        arguments: list[Any],
        work: Callable[[], Awaitable[Any]],
        shown: Callable[[Any], Any] | None = None,
    ) -> Any:
        note = _Note(current(), method, arguments, self._tree)
        try:
            value = await work()
        except BaseException as error:
            note.failed(error)
            raise
        note.ended(shown(value) if shown else value)
        return value


class CallLog:
    """What one kind of mock was asked during the trial, in order."""

    def __init__(self, context: Context, kind: str, key: str) -> None:
        self._context = context
        self._kind = kind
        self._key = key

    def calls(self, name: str | None = None) -> Any:
        """The logged calls, of the mock called ``name`` or of all. ``call.input`` is ``call["input"]``."""

        def found() -> list[Any]:
            logs = self._context._payload.get("calls") or {}
            wanted = [
                call for call in logs.get(self._kind) or [] if name is None or call.get(self._key) == name
            ]
            return readable(wanted)

        return self._context._answer(f"{self._kind}.calls", [] if name is None else [name], found)


class ApiLog(CallLog):
    """The HTTP mocks: their calls and where they listen."""

    def url(self, name: str) -> Any:
        """Where the API mock ``name`` listens. ``LookupError`` names the ones there are."""
        return self._context._answer(
            "api.url", [name], lambda: url_of(self._context._payload.get("api"), name)
        )


def url_of(urls: Mapping[str, str] | None, name: str) -> str:
    """The URL of the API mock ``name``."""
    if not urls or name not in urls:
        there = ", ".join(sorted(urls)) if urls else "none"
        raise LookupError(f'there is no API mock "{name}" here, there are: {there}')
    return urls[name]


class _Note:
    """One context call in the evidence of the check that made it."""

    __slots__ = ("_began", "_entry", "_running", "_tree")

    def __init__(self, running: Running | None, method: str, arguments: list[Any], tree: str) -> None:
        self._running = running
        self._tree = tree
        self._began = time.perf_counter()
        self._entry = running.record.call(method, arguments) if running else None

    def ended(self, value: Any) -> None:
        if self._running:
            self._running.record.called(self._entry, self._began, output=value)

    def failed(self, error: BaseException) -> None:
        if self._running:
            self._running.record.called(self._entry, self._began, error=frames.stack(error, self._tree))
