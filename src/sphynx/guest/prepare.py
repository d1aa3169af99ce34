"""Run a case's ``prepare`` or its ``solution`` function."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sphynx.errors import SphynxError
from sphynx.guest import files, frames, limits
from sphynx.guest.calling import Caller, Loop, awaits
from sphynx.guest.context import url_of
from sphynx.guest.processes import ExecOutcome, Program, wait_async
from sphynx.guest.protocol import EXIT_FAILED, EXIT_OK, Outbox
from sphynx.guest.values import NotJson, to_json

_HEARD = 16_000


class ExecError(SphynxError):
    """A program that ``exec`` started did not end with 0, not in time, or could not be started.

    ``status`` is its exit status (``None`` when it never started), ``outcome`` how it ended and what it
    printed. ``except SphynxError`` catches it.
    """

    def __init__(
        self, message: str, *, step: str, status: int | None, outcome: ExecOutcome | None = None
    ) -> None:
        super().__init__(message)
        self.step = step
        self.status = status
        self.outcome = outcome


class PrepareContext:
    """What ``prepare`` and ``solution`` functions receive: files and programs of the fresh workspace.

    As in a check, an ``async def`` function awaits the methods and a plain ``def`` function just calls them.
    ``cached`` is true when the case's cache folder was restored; ``workspace`` and ``home`` are absolute
    paths; ``api.url(name)`` is where an API mock listens. Relative paths are relative to the workspace.
    """

    def __init__(self, payload: Mapping[str, Any], *, workspace: str, home: str, caller: Caller) -> None:
        self.cached = bool(payload.get("cached"))
        self.workspace = workspace
        self.home = home
        self.api = _Api(self, payload.get("api") or {})
        self._caller = caller

    def read_text(self, path: str) -> Any:
        """A file as UTF-8 text. ``OSError`` when it is missing or no regular file."""
        return self._answer("read_text", lambda: files.read_text(self.workspace, path))

    def write_text(self, path: str, text: str) -> Any:
        """Write a file as UTF-8 text, making its folders."""
        return self._answer("write_text", lambda: files.write_text(self.workspace, path, text))

    def exists(self, path: str) -> Any:
        """Whether a file or folder is there; ``False`` also when one may not look."""

        def look() -> bool:
            try:
                return files.exists(self.workspace, path)
            except OSError:
                return False

        return self._answer("exists", look)

    def exec(
        self,
        file: str | os.PathLike[str],
        args: Sequence[str | os.PathLike[str]] = (),
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        timeout_ms: int | None = None,
        check: bool = True,
    ) -> Any:
        """Run a program without a shell and give its :class:`ExecOutcome`.

        ``env`` is added to the trial's own. Raises :class:`ExecError` when it does not end with 0 (unless
        ``check=False``), when it cannot be started, and when ``timeout_ms`` passes: then it is killed.
        """
        if isinstance(args, str):
            raise TypeError(f"exec takes the arguments as a list: exec({file!r}, [{args!r}])")
        argv = [os.fspath(part) for part in (file, *args)]
        step = _step(argv)

        def start() -> Program:
            folder = os.path.join(self.workspace, cwd or "")
            try:
                return Program(argv, cwd=folder, env={**os.environ, **(env or {})})
            except OSError as error:
                text = f"{step} could not be started: {error.strerror}"
                if " " in argv[0]:
                    text += "; exec uses no shell, so the arguments go into a list of their own"
                raise ExecError(text, step=step, status=None) from None

        def checked(outcome: ExecOutcome) -> ExecOutcome:
            if outcome.timed_out:
                raise ExecError(
                    f"{step} did not end within {timeout_ms} ms", step=step, status=137, outcome=outcome
                )
            if check and outcome.exit_code != 0:
                said = _first_line(outcome.stderr) or _first_line(outcome.stdout)
                text = f"{step} exited with status {outcome.exit_code}" + (f": {said}" if said else "")
                raise ExecError(text, step=step, status=outcome.exit_code, outcome=outcome)
            return outcome

        async def later() -> ExecOutcome:
            return checked(await wait_async(start(), timeout_ms))

        if awaits(self._caller):
            return self._caller.later("exec", later())
        return checked(start().wait(timeout_ms))

    def _answer(self, method: str, work: Callable[[], Any]) -> Any:
        async def later() -> Any:
            return work()

        return self._caller.later(method, later()) if awaits(self._caller) else work()


class _Api:
    def __init__(self, context: PrepareContext, urls: Mapping[str, str]) -> None:
        self._context = context
        self._urls = urls

    def url(self, name: str) -> Any:
        """Where the API mock ``name`` listens. ``LookupError`` names the ones there are."""
        return self._context._answer("api.url", lambda: url_of(self._urls, name))


def run_prepare(
    fn: Any, payload: Mapping[str, Any], outbox: Outbox, *, workspace: str, home: str, tree: str
) -> int:
    """Run ``prepare`` and send what it returned, or why there is nothing. Gives the exit code."""
    return _run("prepare", fn, payload, outbox, (workspace, home, tree))


def run_solution(
    fn: Any, payload: Mapping[str, Any], outbox: Outbox, *, workspace: str, home: str, tree: str
) -> int:
    """Run the case's reference solution. Gives the exit code; a ``failed`` frame says why it is not 0."""
    return _run("solution", fn, payload, outbox, (workspace, home, tree))


def _run(stage: str, fn: Any, payload: Mapping[str, Any], outbox: Outbox, place: tuple[str, str, str]) -> int:
    workspace, home, tree = place
    step = getattr(fn, "__name__", None) or stage
    caller = Caller(fn)
    context = PrepareContext(payload, workspace=workspace, home=home, caller=caller)
    with _heard() as heard:
        try:
            value = Loop().call(fn, context, caller)
        except SystemExit as error:
            value = None
            if error.code not in (None, 0):
                return _failed(outbox, *_exit_reason(stage, step, error, heard.last_line()))
        except BaseException as error:
            return _failed(outbox, *_reason(stage, step, error, tree))
    if forgotten := caller.forgotten():
        return _failed(outbox, f"The {stage} step {step} {forgotten}", None)
    if stage == "solution":
        return EXIT_OK
    problem = _unfit(value)
    if problem:
        return _failed(outbox, f"The {stage} step {step} {problem}", None)
    outbox.send({"t": "prepared", "value": {} if value is None else json.loads(to_json(value))})
    return EXIT_OK


def _unfit(value: Any) -> str:
    """Why ``value`` cannot be handed to checks; empty when it can."""
    if value is None:
        return ""
    if not isinstance(value, dict):
        return f"returned {type(value).__name__}; it must return a dict that JSON can hold, or nothing"
    try:
        size = limits.units(to_json(value))
    except NotJson as error:
        return f"returned a dict that JSON cannot hold: {error}"
    if size > limits.PREPARED:
        return f"returned {size:,} characters of JSON; the limit is {limits.PREPARED:,}"
    return ""


def _failed(outbox: Outbox, message: str, status: int | None) -> int:
    outbox.send({"t": "failed", "message": limits.cut(message, limits.MESSAGE), "status": status})
    return EXIT_FAILED


def _reason(stage: str, step: str, error: BaseException, tree: str) -> tuple[str, int | None]:
    if isinstance(error, ExecError):
        return f"The {stage} step {error}", error.status
    where = frames.place(error, tree)
    at = f" ({where[0]}:{where[1]})" if where else ""
    return f"The {stage} step {step} raised {frames.one_line(error)}{at}", None


def _exit_reason(stage: str, step: str, error: SystemExit, heard: str) -> tuple[str, int | None]:
    if isinstance(error.code, int):
        return f"The {stage} step {step} exited with status {error.code}" + (
            f": {heard}" if heard else ""
        ), error.code
    return f"The {stage} step {step} exited with status 1: {_first_line(str(error.code))}", 1


def _step(argv: Sequence[str]) -> str:
    """A command as it is named in an error: on one line, with as many arguments as 120 characters hold.

    Arguments are never cut: the host could not recognise half a secret.
    """
    text = argv[0]
    for part in argv[1:]:
        if len(text) + len(part) > 120:
            return " ".join(f"{text} ...".split())
        text += f" {part}"
    return " ".join(text.split())


def _first_line(text: str) -> str:
    """The first line that says something."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


class _heard:
    """Context manager: remembers the last line a function printed to ``sys.stderr``, which stays live."""

    def __enter__(self) -> _heard:
        self._real = sys.stderr
        self._tail = ""
        sys.stderr = self
        return self

    def __exit__(self, *exc: object) -> None:
        sys.stderr = self._real

    def write(self, text: str) -> int:
        self._tail = (self._tail + text)[-_HEARD:]
        return self._real.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def last_line(self) -> str:
        """Empty when its beginning is no longer known: half a secret must not be told."""
        lines = self._tail.splitlines()
        whole = lines[1:] if len(self._tail) == _HEARD else lines
        return next((line.strip() for line in reversed(whole) if line.strip()), "")
