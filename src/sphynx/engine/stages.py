"""The stages of a trial, in the order they run. Each does one thing to the trial it is given."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from sphynx.contracts import (
    ExecResult,
    GuestRequest,
    HarnessSetup,
    OnFrame,
    RunFunction,
    Sandbox,
    SandboxSpec,
)
from sphynx.engine import (
    checks,
    command_check,
    kept_workspace,
    login_profile,
    mocks,
    people,
    prepare,
    profile_files,
    sources,
    turns,
    workspace,
)
from sphynx.engine.checks import Scored
from sphynx.engine.credentials import harness_keys
from sphynx.engine.diff import Changes
from sphynx.engine.shown import Shown
from sphynx.errors import StageError
from sphynx.registry import load_harness
from sphynx.schema.records import CAUSES, Cause

if TYPE_CHECKING:
    from sphynx.engine.trial import Trial

SOLUTION_LIMIT_MS = 1_800_000


def known_cause(name: str) -> Cause:
    """A plug-in's cause, or ``internal`` for one that does not exist."""
    known: dict[str, Cause] = {cause: cause for cause in CAUSES}
    return known.get(name, "internal")


def spec_of(trial: Trial) -> SandboxSpec:
    """The trial's machine, with the environment every process of it gets."""
    job, machine = trial.job, trial.machine
    profile = job.variant.profile
    env = {**machine.forwarded, **((profile.env if profile else None) or {})}
    key = job.key
    return SandboxSpec(
        trial_id=f"{key.batch_id}-{key.case_id}-{key.ordinal}",
        bundle=job.suite.bundle,
        env=env,
        isolate=machine.isolate,
    )


async def open_sandbox(trial: Trial) -> None:
    """Open the trial's machine."""
    try:
        trial.box = await trial.machine.backend.open(spec_of(trial))
    except OSError as error:
        text = f"The sandbox did not open: {error.strerror or error}"
        raise StageError(text, stage="sandbox", cause="sandbox") from error
    trial.isolation = trial.box.isolation


async def set_up(trial: Trial) -> None:
    """Harness, profile, source and the case's own prepare, in the documented order."""
    box = opened(trial)
    profile = trial.job.variant.profile
    env = trial.env()
    trial.harness = harness = load_harness(trial.job.variant.variant.harness)()
    await harness.prepare(box, _setup(trial, box))
    if profile is not None:
        await profile_files.write_files(box, profile, "home")
    await sources.place_source(
        box,
        trial.job.case.source,
        base=trial.job.suite.path.parent,
        redactor=trial.redactor,
        host_env=trial.machine.host_env,
        outside=lambda: trial.machine.backend.open(SandboxSpec(trial_id=f"{trial.job.key.batch_id}-clone")),
    )
    if profile is not None:
        await profile_files.write_files(box, profile, "workspace")
        await profile_files.install(
            box, profile, env=env, redactor=trial.redactor, show=lambda text: trial.show("install", text)
        )
    await mocks.start(trial, box)
    await _prepare(trial, box, env)
    if trial.job.case.case.checks:
        trial.login = await login_profile.kept(box)
    trial.before = await workspace.remember(box, trial.job.case.source)


async def run_agent(trial: Trial) -> None:
    """The agent's turns. A failed or timed-out agent settles the trial."""
    assert trial.harness is not None
    case = trial.job.case.case
    person = people.person_of(trial)
    begun = monotonic()
    try:
        talk = await turns.converse(
            trial.harness,
            opened(trial),
            opening=_opening(trial),
            person=person,
            max_turns=case.effective_max_turns,
            limit_ms=case.effective_timeout_ms,
            journal=trial.journal,
        )
    finally:
        trial.model_ms = (monotonic() - begun) * 1000
        if person is not None:
            trial.asked = people.spends_of(person)
            await people.close(trial, person)
    trial.talk = talk
    await mocks.settled(trial)
    if talk.status == "timed_out":
        trial.end("timed_out", cause="limit", stage="agent", reason=talk.reason)
    elif talk.status == "failed":
        stage = "person" if talk.ending == "no-user" else "agent"
        trial.end("void", cause=known_cause(talk.cause), stage=stage, reason=talk.reason)
    elif trial.journal.lost is not None:
        trial.void_fields.append("journal")
        reason = f"An event could not be stored: {trial.journal.lost}"
        trial.end("void", cause="internal", stage="journal", reason=reason)


async def see_changes(trial: Trial) -> None:
    """What the agent left in the workspace, before a check touches it. Never decides anything."""
    try:
        trial.changes = await workspace.changes_since(opened(trial), trial.before)
    except Exception as error:
        trial.changes = Changes(notes=[f"no diff: {str(error).splitlines()[0] if str(error) else error!r}"])


async def score(trial: Trial) -> None:
    """Run the case's checks, or its command, and settle the trial."""
    case = trial.job.case.case
    box = opened(trial)
    env = trial.env()
    note = await workspace.make_usable(box)
    if note:
        trial.notes.append(note)
    shown = Shown(trial.redactor, lambda text: trial.show("checks", text))
    if case.command is not None:
        scored = await command_check.run_command(box, case.command, env=env, show=shown.feed)
    else:
        scored = await checks.run_checks(
            box,
            case.checks,
            suite=trial.job.suite.index,
            case=case.id,
            payload=_payload(trial),
            env=env,
            show=shown.feed,
        )
    shown.close()
    await mocks.settled(trial)
    settle(trial, scored)


def settle(trial: Trial, scored: Scored) -> None:
    """Take over what the checks decided. With judges to come only a void trial is settled."""
    trial.scored = scored
    trial.void_fields += scored.void_fields
    if scored.status == "void":
        trial.end("void", cause="check", stage="checks", reason=scored.reason)
    elif not trial.job.case.case.judges:
        trial.end(
            scored.status, cause="agent" if scored.status == "failed" else None, stage=None, reason=None
        )


async def keep_workspace(trial: Trial) -> None:
    """Copy the workspace beside the trial's record, and the calls of mocks, when that was asked for."""
    root = workspace.host_path(trial.box) if trial.box is not None else None
    if not trial.machine.keep_workspace or root is None:
        return
    folder = trial.machine.folder.trial_folder(trial.job.key)
    note = await anyio.to_thread.run_sync(kept_workspace.copy, root, str(folder / kept_workspace.NAME))
    if note:
        trial.notes.append(note)
    if trial.mocks is not None:
        calls = trial.mocks.of_the_agent()
        await anyio.to_thread.run_sync(kept_workspace.keep_calls, folder, calls, trial.redactor)


def _opening(trial: Trial) -> str:
    """The prompt, with the trial's APIs behind it; from here on their calls are the agent's."""
    if trial.mocks is None:
        return trial.job.case.prompt
    trial.mocks.journalled = True
    return trial.mocks.opening(trial.job.case.prompt)


def opened(trial: Trial) -> Sandbox:
    """The trial's sandbox, which an earlier stage opened."""
    assert trial.box is not None
    return trial.box


async def _prepare(trial: Trial, box: Sandbox, env: Mapping[str, str]) -> None:
    case = trial.job.case.case
    cache, store = case.cache, trial.machine.cache
    restored = False
    if cache and store is not None:
        try:
            restored = await store.restore(box, cache["key"], cache["path"])
        except OSError as error:
            text = f"The cache {cache['path']} was not restored: {error.strerror or error}"
            raise StageError(text, stage="prepare", cause="setup") from error
    if case.prepare is not None:
        trial.prepared = await prepare.run_prepare(
            box,
            suite=trial.job.suite.index,
            case=case.id,
            cached=restored,
            env={**env, **({"SPHYNX_CACHE_RESTORED": "1"} if restored else {})},
            redactor=trial.redactor,
            show=lambda text: trial.show("prepare", text),
            api=trial.mocks.urls if trial.mocks else {},
        )
    if cache and store is not None and not restored:
        try:
            await store.save(box, cache["key"], cache["path"])
        except OSError as error:
            trial.notes.append(f"the cache was not saved: {error.strerror or error}")


def _setup(trial: Trial, box: Sandbox) -> HarnessSetup:
    job = trial.job
    profile = job.variant.profile
    env = {**trial.machine.forwarded, **((profile.env if profile else None) or {}), **trial.env()}
    return HarnessSetup(
        model=job.variant.variant.model,
        system_prompt=profile.system_prompt if profile else None,
        run=profile.run if profile else None,
        env=env,
        timeout_ms=job.case.case.effective_timeout_ms,
        solution=_solution(trial, box),
        function=_function(trial, box),
        options=job.variant.variant.options,
        keys=harness_keys(job.variant, trial.machine.host_env),
        version=job.variant.variant.harness_version,
        profile_files=tuple(profile.files) if profile else (),
        show=lambda text: trial.show("harness", trial.redactor.text(text)),
        recorder=trial.machine.recorder,
        mcp_servers=mocks.mcp_servers(job.suite.suite, box),
    )


def _solution(trial: Trial, box: Sandbox) -> Any:
    solution = trial.job.case.case.solution
    if solution is None:
        return None
    env = trial.env()

    async def run_text() -> ExecResult:
        argv = ["bash", "-c", str(solution)]
        return await box.exec(argv, cwd=box.workspace, env=env, timeout_ms=SOLUTION_LIMIT_MS)

    async def run_function() -> ExecResult:
        said: list[dict[str, Any]] = []
        request = GuestRequest(
            op="solution",
            suite=trial.job.suite.index,
            case=trial.job.case.case.id,
            payload={"api": trial.mocks.urls if trial.mocks else {}},
            env=env,
            timeout_ms=SOLUTION_LIMIT_MS,
        )
        result = await box.guest(request, on_frame=said.append)
        failed = next((frame for frame in said if frame.get("t") == "failed"), None)
        if failed:
            raise StageError(str(failed.get("message")), stage="agent", cause="setup")
        return result

    return run_text if isinstance(solution, str) else run_function


def _function(trial: Trial, box: Sandbox) -> RunFunction | None:
    variant = trial.job.variant.variant
    if variant.function is None:
        return None
    variants = trial.job.suite.suite.variants
    place = next(number for number, other in enumerate(variants) if other is variant)

    async def run(
        payload: Mapping[str, Any], env: Mapping[str, str], timeout_ms: int, on_frame: OnFrame
    ) -> ExecResult:
        shown = Shown(trial.redactor, lambda text: trial.show("agent", text))
        request = GuestRequest(
            op="turn",
            suite=trial.job.suite.index,
            case=trial.job.case.case.id,
            payload={**payload, "variant": place},
            env=env,
            timeout_ms=timeout_ms,
        )
        try:
            return await box.guest(request, on_frame=on_frame, on_output=shown.feed)
        finally:
            shown.close()

    return run


def _payload(trial: Trial) -> dict[str, Any]:
    return {
        "answer": trial.journal.answer(),
        "transcript": trial.journal.transcript(),
        "turns": trial.journal.turns(),
        "summary": trial.journal.overview.summary(
            trial.talk.usage if trial.talk else None,
            trial.talk.thinking if trial.talk else 0,
            opened(trial).workspace,
        ),
        "prepared": trial.prepared,
        "login": trial.login,
        "api": trial.mocks.urls if trial.mocks else {},
        "calls": trial.mocks.calls if trial.mocks else {},
        "capture": trial.job.suite.suite.capture_validation,
    }
