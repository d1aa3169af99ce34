"""Run a plan on this machine: as many trials at a time as asked, all of them recorded."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import anyio

from sphynx.contracts import BundleRef, ResultSink, SandboxBackend
from sphynx.engine.batch import BatchRun
from sphynx.engine.batch_folder import write_atomically
from sphynx.engine.options import BatchResult, LocalOptions, LocalPlan
from sphynx.engine.plan import local_root
from sphynx.engine.skills import SkillRequest, plan_paths
from sphynx.engine.stop import Stop
from sphynx.engine.trial import Machine, TrialJob
from sphynx.errors import SphynxError, UsageError
from sphynx.guest import recorder
from sphynx.registry import load_sandbox
from sphynx.sandboxes.case_cache import CaseCache
from sphynx.sandboxes.local_root import LocalRoot
from sphynx.settings.forwarding import forwarded
from sphynx.suite import Suite

TIMED_OUT = "the run took longer than --timeout"


async def run_plan(
    plan: LocalPlan, sinks: Sequence[ResultSink] = (), stop: Stop | None = None
) -> list[BatchResult]:
    """Run every trial of a plan and give the batches as they ended, in the plan's order.

    Each batch is kept in its folder whatever ``sinks`` do. A stop cancels what runs, within 5 s, and marks
    the rest cancelled. Raises ``UsageError`` when a variable the plan needs is missing, ``CompileError``
    when an eval file cannot be imported where its functions run.
    """
    if plan.missing:
        names = ", ".join(need.name for need in plan.missing)
        raise UsageError(f"missing: {names}; nothing was started", hint=f"export {plan.missing[0].name}=...")
    stop = stop or Stop()
    backend = load_sandbox("local")(local_root(plan.options), env=plan.options.env)
    try:
        for bundle in _bundles(plan):
            await backend.start(bundle)
        return await _run_batches(plan, backend, sinks, stop)
    finally:
        with anyio.CancelScope(shield=True):
            await backend.aclose()


async def run_local(
    what: str | os.PathLike[str] | Suite | Sequence[str | os.PathLike[str] | Suite] = (),
    options: LocalOptions | None = None,
    *,
    skills: SkillRequest | None = None,
    sinks: Sequence[ResultSink] = (),
    stop: Stop | None = None,
) -> list[BatchResult]:
    """Plan and run eval files, skills, folders or ``Suite`` objects on this machine, and give the results.

    ``skills`` says which agents and arms the skills among the paths are run with.

    A ``Suite`` object must stand at the top level of the file it was made in, since its functions run in a
    process of their own. Nothing given: every eval file below the current folder.
    """
    options = options or LocalOptions()
    items = [what] if isinstance(what, (str, os.PathLike, Suite)) else list(what)
    suites = [item for item in items if isinstance(item, Suite)]
    paths = [item for item in items if not isinstance(item, Suite)]
    paths += list(dict.fromkeys(suite.file for suite in suites))
    plan = plan_paths(paths, options, skills or SkillRequest())
    if suites:
        plan = _only(plan, suites, {Path(item).resolve() for item in items if not isinstance(item, Suite)})
    return await run_plan(plan, sinks, stop)


def _only(plan: LocalPlan, suites: Sequence[Suite], files: set[Path]) -> LocalPlan:
    """The plan without suites that share a file with a wanted one but were not asked for."""
    wanted = {(Path(suite.file).resolve(), suite.id) for suite in suites}
    shared = {path for path, _ in wanted}
    kept = []
    for planned in plan.suites:
        path = planned.compiled.path.resolve()
        asked = (path, planned.compiled.suite.id) in wanted or any(f in files for f in (path, *path.parents))
        if asked or path not in shared:
            kept.append(planned)
    found = {(planned.compiled.path.resolve(), planned.compiled.suite.id) for planned in kept}
    for path, suite_id in wanted - found:
        raise UsageError(
            f'suite "{suite_id}" is not at the top level of {path.name}',
            hint="its functions run in a process that imports the file: assign the suite to a name there",
        )
    plan.suites = kept
    return plan


def run_local_sync(
    what: str | os.PathLike[str] | Suite | Sequence[str | os.PathLike[str] | Suite] = (),
    options: LocalOptions | None = None,
    *,
    skills: SkillRequest | None = None,
    sinks: Sequence[ResultSink] = (),
    stop: Stop | None = None,
) -> list[BatchResult]:
    """``run_local`` for code that is not async."""
    return asyncio.run(run_local(what, options, skills=skills, sinks=sinks, stop=stop))


async def _run_batches(
    plan: LocalPlan, backend: SandboxBackend, sinks: Sequence[ResultSink], stop: Stop
) -> list[BatchResult]:
    options = plan.options
    addresses = forwarded(options.cwd, options.env)
    recorder = None if options.isolate else shared_recorder(local_root(options))
    batches = [BatchRun(suite, options, sinks) for suite in plan.suites]
    for batch in batches:
        batch.begin(
            Machine(
                backend=backend,
                folder=batch.folder,
                sinks=sinks,
                host_env=options.env,
                forwarded=addresses,
                cache=CaseCache(local_root(options)),
                recorder=recorder,
                isolate=options.isolate,
                keep_workspace=options.keep_workspace,
            )
        )
    try:
        await _run_all(batches, options, stop)
    except SphynxError as error:
        for batch in batches:
            batch.cancel_rest(error.message, "failed")
        raise
    finally:
        for batch in batches:
            batch.cancel_rest(stop.reason or "the run ended early")
    return [batch.result() for batch in batches]


def _bundles(plan: LocalPlan) -> list[BundleRef | None]:
    """Each bundle once; ``None`` when no suite has functions of its own."""
    found = {
        suite.compiled.bundle.digest: suite.compiled.bundle for suite in plan.suites if suite.compiled.bundle
    }
    return list(found.values()) or [None]


def shared_recorder(root: LocalRoot) -> str:
    """The one shell recorder of this machine, which every trial's shells read."""
    digest = hashlib.sha256("\0".join(recorder.FILES.values()).encode()).hexdigest()
    folder = root.path / f"recorder-{digest[:12]}"
    if not (folder / recorder.NAME).exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in recorder.FILES.items():
            write_atomically(folder / name, text.encode())
            (folder / name).chmod(0o444)
    return str(folder / recorder.NAME)


async def _run_all(batches: Sequence[BatchRun], options: LocalOptions, stop: Stop) -> None:
    """Workers take trials in order until there are none, or until somebody stops them."""
    queue = iter([(batch, job) for batch in batches for job in batch.jobs])
    total = sum(len(batch.jobs) for batch in batches)
    loop = asyncio.get_running_loop()
    try:
        async with anyio.create_task_group() as group:
            cancel = group.cancel_scope.cancel
            unwatch = stop.watch(lambda: _soon(loop, cancel))
            alarm = loop.call_later(options.timeout_s, stop.stop, TIMED_OUT) if options.timeout_s else None
            try:
                async with anyio.create_task_group() as workers:
                    for _ in range(min(options.jobs, total)):
                        workers.start_soon(_worker, queue)
            finally:
                unwatch()
                if alarm is not None:
                    alarm.cancel()
    except BaseExceptionGroup as errors:
        raise _first(errors) from None


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one error worth telling: workers fail for the same cause, such as a full disk."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, OSError):
        return SphynxError(f"cannot write the results: {error.strerror or error}")
    return error


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
    loop.call_soon_threadsafe(call)


async def _worker(queue: Iterator[tuple[BatchRun, TrialJob]]) -> None:
    for batch, job in queue:
        await batch.run(job)
