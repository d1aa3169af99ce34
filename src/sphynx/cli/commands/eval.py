"""``sphynx eval``: options in, an exit code out."""

from __future__ import annotations

import difflib
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sphynx.cli.commands import skill_options as skill
from sphynx.errors import UsageError

if TYPE_CHECKING:
    from sphynx.cli.eval_request import EvalRequest


class FailOn(StrEnum):
    """When trials fail the command."""

    failures = "failures"
    strict = "strict"
    never = "never"


Paths = Annotated[
    list[Path] | None,
    typer.Argument(metavar="PATH", help="Eval files or folders; none: every *_eval.py below"),
]
Local = Annotated[bool, typer.Option("--local", help="Run on this machine, without a server")]
Case = Annotated[list[str] | None, typer.Option(metavar="ID", help="Run one case; repeat for more")]
Variant = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LABEL",
        help="Run one variant: harness/model, harness/model@profile or a profile name; repeat for more",
    ),
]
Trials = Annotated[int | None, typer.Option(min=1, max=10, metavar="N", help="Trials per case and variant")]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", min=1, max=256, metavar="N", help="Trials at a time (default: cores, at most 4)"
    ),
]
Gate = Annotated[
    FailOn | None,
    typer.Option(
        help="The gate. failures: a trial that did not pass fails it; strict: also one that is missing; "
        "never: trials do not matter (default: failures; never for skills, which --baseline gates)",
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="With --local: stop the whole run after this long and exit 1. On a server: wait this long for "
        "each batch (default 1200), which then goes on",
    ),
]
Output = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a JSON report")]
Junit = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a JUnit XML report")]
Json = Annotated[bool, typer.Option("--json", help="Print each finished batch as JSON and nothing else")]
Resume = Annotated[
    str | None, typer.Option(metavar="BATCH", help="Run only the trials a stopped batch lacks")
]
RetryVoid = Annotated[
    bool, typer.Option("--retry-void", help="With --resume: void and timed-out trials run again too")
]
Isolate = Annotated[bool, typer.Option("--isolate", help="Run each trial inside bubblewrap (Linux)")]
Keep = Annotated[bool, typer.Option("--keep-workspace", help="Keep each trial's workspace beside its record")]
HarnessVersion = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VERSION", help="Run another version of an agent; repeat for more"),
]
UseLogin = Annotated[
    bool,
    typer.Option("--use-login", help="Agents may use the login their own program keeps on this machine"),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would run, start nothing")]
SelfTest = Annotated[
    bool, typer.Option("--self-test", help="Do the checks fail an untouched workspace and pass its solution?")
]
NoWait = Annotated[bool, typer.Option("--no-wait", help="On a server: print the started batches and leave")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors")]


def run_eval(
    paths: Paths = None,
    local: Local = False,
    case: Case = None,
    variant: Variant = None,
    trials: Trials = None,
    jobs: Jobs = None,
    fail_on: Gate = None,
    timeout: Timeout = None,
    output: Output = None,
    junit: Junit = None,
    json: Json = False,
    resume: Resume = None,
    retry_void: RetryVoid = False,
    isolate: Isolate = False,
    keep_workspace: Keep = False,
    harness_version: HarnessVersion = None,
    use_login: UseLogin = False,
    dry_run: DryRun = False,
    self_test: SelfTest = False,
    agent: skill.Agent = None,
    arms: skill.Arms = "with,without",
    old_ref: skill.OldRef = None,
    skill_use: skill.SkillUse = skill.Use.available,
    judge: skill.Judge = None,
    limit: skill.Limit = None,
    sample: skill.Sample = None,
    yes: skill.Yes = False,
    markdown: skill.Markdown = None,
    skill_report: skill.Report = None,
    export_benchmark: skill.Benchmark = None,
    baseline: skill.Baseline = None,
    no_wait: NoWait = False,
    debug: Debug = False,
) -> int:
    """Run eval suites and gate on the results.

    Exit codes: 0 the gate passed, 2 it failed, 1 an error, 130 interrupted, 143 terminated.
    """
    from sphynx.cli.eval_request import EvalRequest, skill_request

    request = EvalRequest(
        paths=tuple(paths or ()), cases=tuple(case or ()), variants=tuple(variant or ()), trials=trials,
        jobs=jobs, fail_on=(fail_on or FailOn.failures).value,
        gate_named=fail_on is not None, timeout_s=timeout, output=output, junit=junit, json=json,
        resume=resume, retry_void=retry_void, isolate=isolate, keep_workspace=keep_workspace,
        harness_versions=tuple(harness_version or ()), use_login=use_login, dry_run=dry_run,
        self_test=self_test, yes=yes, markdown=markdown, skill_report=skill_report,
        export_benchmark=export_benchmark, baseline=baseline,
        skill=skill_request(agent, arms, old_ref, skill_use.value, judge, limit, sample),
    )  # fmt: skip
    return _run(request, local=local, wait=not no_wait)


def _run(request: EvalRequest, *, local: bool, wait: bool) -> int:
    _refuse_missing_paths(request.paths)
    request.check()
    # A self-test asks no agent: it runs here also when the batches would run elsewhere.
    if not local and not (request.self_test and not request.skills):
        _refuse_local_only(request)
        if not wait:
            _refuse_unwaited(request)
        if request.dry_run:
            from sphynx.cli.server_dry_run import report

            return report(request)
        from sphynx.cli.server_eval import start as start_on_server

        return start_on_server(request, wait=wait)
    if not wait:
        raise UsageError("--no-wait cannot be used with --local", hint="a local run ends with the command")
    from sphynx.cli.local_eval import start

    return start(request)


def _refuse_unwaited(request: EvalRequest) -> None:
    """What tells of results, when nobody waits for them."""
    for name, value in {"--junit": request.junit, "--timeout": request.timeout_s}.items():
        if value:
            raise UsageError(
                f"{name} cannot be used with --no-wait", hint="there are no results without waiting"
            )


def _refuse_local_only(request: EvalRequest) -> None:
    """Options that only mean something where the trials run."""
    given = {
        "--jobs": request.jobs, "--resume": request.resume, "--isolate": request.isolate,
        "--keep-workspace": request.keep_workspace, "--use-login": request.use_login,
        "--harness-version": request.harness_versions,
    }  # fmt: skip
    given |= {name: True for name in request.skill_options}
    given |= {f"the skill {path}": True for path in request.skills}
    for name, value in given.items():
        if value:
            raise UsageError(f"{name} needs --local", hint="sphynx eval --local runs on this machine")


def _refuse_missing_paths(paths: tuple[Path, ...]) -> None:
    for path in paths:
        if not path.exists():
            near = _near(path)
            hint = f"did you mean {near}?" if near else "sphynx eval --local alone runs every *_eval.py below"
            what = "file" if path.suffix else "file or folder"
            raise UsageError(f"no such {what}: {path}", hint=hint)


def _near(path: Path) -> Path | None:
    folder = path.parent
    if not folder.is_dir():
        return None
    items = [item for item in folder.iterdir() if item.name.endswith("_eval.py") or item.is_dir()]
    names = [item.name for item in items if item.exists()]
    found = difflib.get_close_matches(path.name, names, n=1)
    return folder / found[0] if found else None
