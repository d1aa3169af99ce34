"""``sphynx clean``: what can be removed, and its removal when that is asked for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sphynx.errors import ExitCode, UsageError


def clean(
    batches: Annotated[
        bool,
        typer.Option("--batches", help="Recorded batches of this project, and copies of skills they ran"),
    ] = False,
    caches: Annotated[
        bool, typer.Option("--caches", help="Agent installs, case caches and download caches of this machine")
    ] = False,
    older_than: Annotated[
        float | None, typer.Option("--older-than", min=0, metavar="DAYS", help="Only what was not used since")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove it without asking")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors")] = False,
) -> int:
    """List what can be removed. With --batches or --caches, remove it: after a question in a terminal, or
    with --yes. Do not remove caches while a run is going."""
    from sphynx.cli import disk
    from sphynx.cli.out import stderr, stdout
    from sphynx.cli.render import figures
    from sphynx.cli.render.disk import entry_lines
    from sphynx.sandboxes.local_root import LocalRoot

    out, err = stdout(), stderr()
    root = LocalRoot()
    chosen = batches or caches
    if yes and not chosen:
        raise UsageError("--yes needs to know what to remove", hint="sphynx clean --batches --yes")
    found = disk.batches(Path.cwd()) if batches or not chosen else []
    found += disk.caches(root) if caches or not chosen else []
    found = [entry for entry in found if older_than is None or entry.age_s >= older_than * disk.DAY_S]
    out.write("".join(line + "\n" for line in entry_lines(found, out.style)))
    going = [entry for entry in found if not entry.busy]
    if not chosen or not going:
        if going:
            err.line("nothing was removed   sphynx clean --batches, sphynx clean --caches")
        return ExitCode.OK
    if not yes and not _agreed(len(going)):
        err.line("nothing was removed   add --yes to remove it")
        return ExitCode.OK
    freed = 0
    for entry in going:
        disk.remove(entry, root)
        freed += entry.bytes
    err.line(f"removed {figures.plural(len(going), 'folder')}, {figures.bytes_size(freed)} freed")
    return ExitCode.OK


def _agreed(count: int) -> bool:
    """Ask where somebody can answer."""
    if not sys.stdin.isatty():
        return False
    return typer.confirm(f"remove {'it' if count == 1 else f'these {count}'}?", err=True)
