"""A trial that lost its worker after the agent goes on with its checks, and ends as if nothing had been."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from eval_project import Project
from sphynx.contracts import Sandbox, SandboxSpec, TrialKey
from sphynx.engine import plan_local, read_events
from sphynx.engine.batch_folder import BatchFolder
from sphynx.engine.trial import Machine, TrialJob, run_trial
from sphynx.sandboxes.local import LocalBackend
from sphynx.sandboxes.local_root import LocalRoot
from sphynx.schema.records import TrialRecord

pytestmark = pytest.mark.anyio

SECRET = "token-0123456789-abcdef"
SUITE = """
async def went_on(ctx):
    (turn,) = await ctx.turns()
    assert (await ctx.answer(), turn["commandCount"]) == ("I am done", 7), turn
    assert "Write it." in turn["userText"]
    return await ctx.read_text("out.txt") == "once\\n"

async def nothing(ctx):
    return {}

async def address(ctx):
    return {"url": "http://127.0.0.1:1"}

demo = suite(id="demo", prompt="Write it.", variants=[variant(**AGENT)], cases=[
    case(id="plain", validate=[went_on], prepare=nothing),
    case(id="prepared", validate=[went_on], prepare=address),
])
"""
AGENT = """
echo once >> out.txt; echo made > new.md
echo '{"_tag":"Command","command":"date","exitCode":1,"output":"today"}'
echo '{"_tag":"FileChange","paths":["new.md"]}'
echo '{"_tag":"Message","role":"assistant","text":"I am done"}'
echo '{"_tag":"Usage","inputTokens":100,"outputTokens":20}'
"""


class Lasting:
    """A sandbox that outlives the first who closes it, as one does whose worker was killed."""

    def __init__(self, box: Sandbox) -> None:
        self._box = box
        self._closed = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._box, name)

    async def close(self) -> None:
        self._closed += 1
        if self._closed > 1:
            await self._box.close()


class LastingBackend:
    """Opens sandboxes that last."""

    def __init__(self, backend: LocalBackend) -> None:
        self._backend = backend

    async def open(self, spec: SandboxSpec) -> Any:
        return Lasting(await self._backend.open(spec))

    async def aclose(self) -> None:
        await self._backend.aclose()


class Kept:
    """Checkpoints in memory. The worker is lost when one is kept, or when there will be none."""

    def __init__(self, state: Mapping[str, Any] | None = None, box: Any = None) -> None:
        self.state = state
        self.box = box
        self.why = ""
        self.reached = anyio.Event()

    async def left(self) -> Mapping[str, Any] | None:
        return self.state

    async def attach(self, spec: SandboxSpec) -> Any:
        return self.box

    async def keep(self, box: Sandbox, state: Mapping[str, Any]) -> None:
        self.state, self.box = state, box
        self.reached.set()
        await anyio.sleep_forever()

    async def give_up(self, why: str) -> None:
        self.why = why


class Bench:
    """Runs one trial of the project as often as it is told."""

    def __init__(self, project: Project, backend: LocalBackend, folder: Path) -> None:
        (self._suite,) = plan_local([], project.options(cases=("plain", "prepared"))).suites
        self._backend = backend
        self._folder = folder
        self._env = {**project.env, "MY_TOKEN": SECRET}

    async def run(self, kept: Kept | None, case: str = "plain") -> tuple[TrialRecord, list[Any]]:
        compiled = self._suite.compiled
        found = next(one for one in compiled.cases if one.case.id == case)
        key = TrialKey("batch", "demo", case, compiled.variants[0].label, 1)
        folder = BatchFolder.create(self._folder / str(len(list(self._folder.iterdir()))), "batch")
        folder.trial_started(key)
        machine = Machine(
            backend=LastingBackend(self._backend) if kept is not None else self._backend, folder=folder,
            sinks=(), host_env=self._env, forwarded={}, checkpoints=kept,
        )  # fmt: skip
        record = await run_trial(TrialJob(key, compiled, found, compiled.variants[0]), machine)
        return record, list(read_events(folder.trial_folder(key)))

    async def lose(self, kept: Kept) -> None:
        """Run it until its checkpoint is kept, and no further."""
        async with anyio.create_task_group() as group:
            group.start_soon(self.run, kept)
            await kept.reached.wait()
            group.cancel_scope.cancel()


@pytest.fixture
async def bench(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Bench]:
    """Its agent does more where a test's parameter says so."""
    project = Project(tmp_path)
    project.agent(AGENT + getattr(request, "param", ""), variables=["MY_TOKEN"])
    project.suite(SUITE)
    backend = LocalBackend(LocalRoot(project.local), env=project.env)
    folder = tmp_path / "batches"
    folder.mkdir()
    yield Bench(project, backend, folder)
    await backend.aclose()


def steady(record: TrialRecord) -> dict[str, Any]:
    """A record without its times."""
    kept = record.model_dump(exclude={"started_at", "duration_ms", "model_ms", "sandbox_ms", "validations"})
    return {**kept, "verdicts": [(one["id"], one["status"], one["message"]) for one in record.validations]}


async def test_a_trial_that_goes_on_ends_as_one_that_was_never_interrupted(bench: Bench) -> None:
    lost = Kept()
    await bench.lose(lost)
    assert SECRET not in str(lost.state)
    went_on, events = await bench.run(Kept(lost.state, lost.box))
    whole, of_whole = await bench.run(None)
    assert (whole.status, whole.files_changed) == ("passed", ["new.md", "out.txt"])
    assert steady(went_on) == steady(whole)
    assert [type(event) for event in events] == [type(event) for event in of_whole]
    assert went_on.model_ms > 0
    assert went_on.duration_ms > went_on.model_ms + went_on.sandbox_ms - 2


async def test_what_cannot_be_read_or_attached_to_begins_anew(bench: Bench) -> None:
    old = Kept({"format": "of another version"})
    with anyio.move_on_after(30) as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(bench.run, old)
            await old.reached.wait()
            group.cancel_scope.cancel()
    assert not scope.cancelled_caught
    assert old.why == "what was kept of it cannot be read any more"
    await old.box.close()
    again = Kept(old.state, None)
    await bench.lose(again)
    assert again.box is not None, "its agent has worked again"
    await again.box.close()


async def test_a_value_of_prepare_is_not_kept(bench: Bench) -> None:
    kept = Kept()
    record, _ = await bench.run(kept, "prepared")
    assert (record.status, kept.why) == ("passed", "what its prepare gave is stored nowhere")


@pytest.mark.parametrize(
    "bench",
    [
        'echo "{\\"_tag\\":\\"Message\\",\\"role\\":\\"assistant\\",\\"text\\":\\"$MY_TOKEN\\"}"\n',
        'touch "$MY_TOKEN"\n',
    ],
    indirect=True,
)
async def test_what_a_check_reads_of_a_secret_is_not_kept(bench: Bench) -> None:
    """In what the agent says, or in the name of a file; what is in a file is redacted where it is kept."""
    kept = Kept()
    await bench.run(kept)
    assert kept.why == "what it left holds a secret, and those are stored nowhere"
