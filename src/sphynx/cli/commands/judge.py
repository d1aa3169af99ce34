"""``sphynx judge calibrate``: does a judge agree with people?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sphynx.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from sphynx.engine.judging_calibration import Calibration


def calibrate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Labelled answers: .json or .jsonl")],
    judge: Annotated[
        str | None,
        typer.Option(metavar="EVAL_FILE::NAME", help="The judge of an eval file; none: the one in FILE"),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, metavar="N", help="Answers at a time")] = 4,
    min_kappa: Annotated[
        float | None, typer.Option(metavar="K", help="Exit 2 when Cohen's kappa is lower, or unknown")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors")] = False,
) -> int:
    """Run a judge over answers people have labelled, and print agreement, confusion and Cohen's kappa.

    Exit codes: 0 done, 2 below --min-kappa, 1 no answer could be judged.
    """
    import asyncio
    import json as json_module

    from sphynx.cli.out import stderr, stdout
    from sphynx.engine import judging_calibration as work
    from sphynx.engine.options import LocalOptions

    options = LocalOptions(jobs=jobs)
    given, examples = work.read_examples(file)
    wanted = work.judge_from(given, judge, options)
    work.check_labels(wanted, examples)
    stderr().line(f'asking judge "{wanted.name}" ({wanted.model}) about {len(examples)} answers')
    found = asyncio.run(work.calibrate(wanted, examples, options))
    out = stdout()
    if json:
        out.line(json_module.dumps(_value(found), indent=2, ensure_ascii=False))
    else:
        for line in _lines(found):
            out.line(line)
    if not found.agreement.scored:
        why = found.rows[0].error or "no verdict"
        raise UsageError(f"no answer could be judged: {why}")
    kappa = found.agreement.kappa
    low = min_kappa is not None and (kappa is None or kappa < min_kappa)
    return ExitCode.GATE if low else ExitCode.OK


def _lines(found: Calibration) -> list[str]:
    from sphynx.cli.render import figures
    from sphynx.cli.render.text import one_line

    result, choices = found.agreement, list(found.judge.choices)
    lines = [f'judge "{found.judge.name}" on {figures.plural(len(found.rows), "answer")}', ""]
    for row in found.rows:
        if row.choice != row.label:
            said = row.choice or "no verdict"
            lines.append(
                f"  {row.id}: labelled {row.label}, judged {said}: {one_line(row.error or row.reason)}"
            )
    room = max(len(name) for name in (*choices, "labelled \\ judged"))
    wide = [max(len(name), 5) for name in choices]
    lines += [
        "",
        "  "
        + "  ".join(
            ["labelled \\ judged".ljust(room), *(n.rjust(w) for n, w in zip(choices, wide, strict=True))]
        ),
    ]
    for label in choices:
        cells = [str(result.confusion[label][name]).rjust(w) for name, w in zip(choices, wide, strict=True)]
        lines.append("  " + "  ".join([label.ljust(room), *cells]))
    rate = "none" if result.rate is None else figures.percent(result.rate)
    kappa = "undefined, one choice explains everything" if result.kappa is None else f"{result.kappa:.2f}"
    lines += ["", f"  agreement  {result.agreed} of {result.scored} ({rate})", f"  kappa      {kappa}"]
    without = len(found.rows) - result.scored
    if without:
        lines.append(f"  {figures.plural(without, 'answer')} without a verdict, not counted")
    if found.cost is not None:
        price = "not known" if found.cost.usd is None else figures.money(found.cost.usd)
        lines.append(f"  cost       {price}")
    return lines


def _value(found: Calibration) -> dict[str, Any]:
    result = found.agreement
    return {
        "judge": found.judge.name,
        "model": found.judge.model,
        "answers": len(found.rows),
        "scored": result.scored,
        "agreed": result.agreed,
        "agreement": result.rate,
        "kappa": result.kappa,
        "confusion": result.confusion,
        "costUsd": None if found.cost is None else found.cost.usd,
        "rows": [
            {
                "id": row.id,
                "label": row.label,
                "choice": row.choice,
                "score": row.score,
                "reason": row.reason,
                "error": row.error,
            }
            for row in found.rows
        ],
    }
