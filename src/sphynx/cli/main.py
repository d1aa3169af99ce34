"""The console entry: turns errors into one line and signals into exit codes.

Nothing heavy is imported here: ``sphynx --help`` and ``--version`` need neither pydantic nor rich.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from sphynx._version import __version__
from sphynx.errors import ExitCode, SphynxError

PROGRAM = "sphynx"
THREADS_S = 1.0


def run() -> None:
    """Console entry of ``sphynx``."""
    _open_streams()
    code = main(sys.argv[1:])
    _leave_threads(code)
    sys.exit(code)


def _leave_threads(code: int) -> None:
    """Do not wait for ever for threads that an eval file started when it was imported."""
    import threading

    others = [t for t in threading.enumerate() if t is not threading.current_thread() and not t.daemon]
    for thread in others:
        thread.join(THREADS_S / len(others))
    if any(thread.is_alive() for thread in others):
        os._exit(code)


def _open_streams() -> None:
    """Give a process started without stdin, stdout or stderr one that swallows everything.

    Python has ``None`` there, and the next file opened would be taken for it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115


def main(argv: Sequence[str]) -> int:
    """Run one command line and give its exit code. Every error becomes ``error: ...`` on stderr."""
    arguments = list(argv)
    if arguments in (["--version"], ["-V"]):
        _print_version()
        return ExitCode.OK
    arrived: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        # Like Ctrl-C, which whoever runs code of others (an eval file's import) lets pass.
        arrived.append(number)
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # What nohup or a shell in the background made us ignore stays ignored.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end)
    code = _guarded(arguments)
    if arrived:
        _say("stopped")
        return 128 + arrived[0]
    return code


def _guarded(arguments: list[str]) -> int:
    debug = "--debug" in arguments
    try:
        return _dispatch(arguments)
    except SphynxError as error:
        return _report(error, debug=debug)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        return ExitCode.ERROR
    except OSError as error:
        return _refused(error, debug=debug)
    except Exception as error:  # the last line of defence: a bug of ours still reads as one line
        return _bug(error, debug=debug)
    finally:
        _flush()


def _dispatch(arguments: list[str]) -> int:
    import typer

    from sphynx.cli import app

    if (told := app.group_help(arguments)) is not None:
        sys.stdout.write(told)
        return ExitCode.OK
    # Its home differs between typer releases (click, or a copy of it inside typer); the class does not.
    usage_error: type[Exception] = next(
        kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
    )
    try:
        result = app.build().main(arguments or ["--help"], prog_name=PROGRAM, standalone_mode=False)
    except typer.Exit as leave:
        return leave.exit_code
    except typer.Abort:
        return ExitCode.INTERRUPTED
    except usage_error as error:
        return _usage(error)
    return int(result or 0)


def _print_version() -> None:
    sys.stdout.write(f"{PROGRAM} {__version__}\n")


def _usage(error: Any) -> int:
    """A command line that cannot be read: exit 1, since 2 means that the gate failed."""
    from sphynx.cli.app import COMMANDS
    from sphynx.cli.usage import explain

    message, hint = explain(error, PROGRAM, COMMANDS)
    _say(f"error: {message}")
    _say(f"  hint: {hint}")
    return ExitCode.ERROR


def _report(error: SphynxError, *, debug: bool) -> int:
    from sphynx.cli.out import stderr
    from sphynx.cli.render.problems import error_lines

    if debug:
        _traceback()
    out = stderr()
    for line in error_lines(error, out.style):
        out.line(line)
    return ExitCode.ERROR


def _refused(error: OSError, *, debug: bool) -> int:
    """What the machine would not do: a full disk, a folder that is gone or may not be written."""
    if debug:
        _traceback()
    text = error.strerror or str(error) or type(error).__name__
    try:
        os.getcwd()  # noqa: PTH109
    except OSError:
        _say("error: the current folder is not there any more")
        return ExitCode.ERROR
    _say(f"error: {error.filename}: {text}" if error.filename else f"error: {text}")
    if error.errno == errno.ENOSPC:
        _say("  hint: sphynx clean shows what takes space")
    elif not debug:
        _say("  hint: --debug shows where this happened")
    return ExitCode.ERROR


def _bug(error: Exception, *, debug: bool) -> int:
    if debug:
        _traceback()
    text = str(error).strip().splitlines()
    detail = f": {text[0]}" if text else ""
    _say(f"error: unexpected {type(error).__name__}{detail}")
    if not debug:
        _say("  hint: run it again with --debug for the traceback, and please report it")
    return ExitCode.ERROR


def _traceback() -> None:
    import traceback

    traceback.print_exc()


def _say(text: str) -> None:
    if not text.isprintable():
        from sphynx.cli.render.text import clean

        text = clean(text)
    try:
        sys.stderr.write(text + "\n")
    except OSError:
        return


def _flush() -> None:
    """Write what is buffered now, where a reader that went away can still be met quietly."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            from sphynx.cli.out import silence

            silence(stream)
