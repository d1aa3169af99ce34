"""``sphynx show``: a recorded batch or trial, printed again."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated

import typer

from sphynx.errors import ExitCode, UsageError

_LOOKED_AT = 20


def show(
    batch: Annotated[
        str | None,
        typer.Argument(metavar="BATCH", help="A batch id, its beginning, or its folder; none: the newest"),
    ] = None,
    case: Annotated[str | None, typer.Option("--case", metavar="ID", help="Only this case")] = None,
    variant: Annotated[
        str | None, typer.Option("--variant", metavar="LABEL", help="Only this variant")
    ] = None,
    trial: Annotated[int | None, typer.Option("--trial", min=1, metavar="N", help="Only this trial")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors")] = False,
) -> int:  # fmt: skip
    """Print a recorded batch again: its grid, or with --case, --variant or --trial the whole transcript,
    the verdicts and the diff of each trial that matches."""
    from sphynx.cli.out import stderr, stdout
    from sphynx.cli.recorded import Choice, batch_lines, choose, trial_lines
    from sphynx.cli.render.problems import note_line
    from sphynx.engine import find_batch, list_batches, read_batch

    cwd = Path.cwd()
    if batch is None:
        newest = next((found for root in (cwd, *cwd.parents) if (found := _newest(list_batches(root)))), None)
        if newest is None:
            raise UsageError("no local run has been recorded here", hint="sphynx eval --local records one")
        folder = newest
    else:
        folder = find_batch(cwd, batch)
    stored = read_batch(folder)
    status = stderr()
    for note in stored.notes:
        status.line(note_line(note, status.style))
    choice = Choice(case, variant, trial)
    trials = choose(stored, choice)
    out = stdout()
    if json:
        from sphynx.cli.wire import wire_batch

        wanted = None if choice.everything else [item.record for item in trials if item.record is not None]
        out.line(json_module.dumps(wire_batch(folder, wanted), indent=2, ensure_ascii=False))
    elif choice.everything:
        out.write("".join(line + "\n" for line in batch_lines(stored, out.style)))
    else:
        for item in trials:
            for line in trial_lines(stored, item, out.style):
                out.line(line)
    return ExitCode.OK


def _newest(folders: list[Path]) -> Path | None:
    """The newest batch in which agents worked; one of a self-test only when there is no other."""
    from sphynx.schema.records import BatchRecord

    for folder in folders[:_LOOKED_AT]:
        try:
            record = BatchRecord.model_validate_json((folder / "batch.json").read_bytes())
        except (OSError, ValueError):
            continue
        if not record.x.get("selfTest"):
            return folder
    return folders[0] if folders else None
