"""Ask the model judges of a trial, and settle it by what they say."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sphynx.contracts import Sandbox, SandboxBackend, SandboxSpec
from sphynx.engine.other_agents import Spend, agent
from sphynx.errors import StageError
from sphynx.judges import agent as agent_judge
from sphynx.judges import provider as provider_judge
from sphynx.judges import records, voting
from sphynx.judges.criteria import told_what_to_decide
from sphynx.judges.evidence import Step, compact, evidence
from sphynx.judges.files import JudgeFile
from sphynx.judges.instructions import as_prompt, instructions
from sphynx.judges.verdict import Answer
from sphynx.schema.records import Score
from sphynx.suite.judges import JudgeSpec

Status = Literal["passed", "failed", "void"]


@dataclass(frozen=True, slots=True)
class Shown:
    """What every judge of a trial is shown; all of it redacted."""

    prompt: str
    steps: Sequence[Step]
    answer: str


@dataclass(frozen=True, slots=True)
class Bench:
    """Where judges sit: how harness judges get a sandbox, and whose keys are used."""

    backend: SandboxBackend
    trial_id: str
    host_env: Mapping[str, str]
    isolate: bool = False
    show: Callable[[str], None] | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """One judge's record, what it took and what it measured."""

    record: dict[str, Any]
    spends: list[Spend] = field(default_factory=list[Spend])
    score: Score | None = None


async def ask(
    judge: JudgeSpec,
    shown: Shown,
    files: Mapping[str, JudgeFile],
    bench: Bench,
    box: Sandbox | None = None,
) -> Judged:
    """One judge, all its votes. ``box`` is the agent's sandbox, for a judge that looks around in it.

    Never raises for what a judge, its model or its sandbox does: the judgment is then without a score.
    """
    started, begun = time.time() * 1000, time.monotonic()
    request, judgment = await _judgment(judge, shown, files, bench, box)
    took = (time.monotonic() - begun) * 1000
    record = records.record(judge, judgment, request=request, started_at=started, duration_ms=took)
    spends = [Spend(judge.model, usage) for usage in records.usages(judgment)]
    return Judged(record, spends, _score(judge, judgment))


def missing_for(judge: JudgeSpec, env: Mapping[str, str]) -> str:
    """What a judge lacks to be asked, for people; empty when it lacks nothing."""
    if judge.harness is None:
        return provider_judge.missing_key(judge, env)
    try:
        agent(judge.harness, judge.model, env=env, timeout_ms=judge.timeout_ms, show=None, who="judge")
    except StageError as error:
        return error.message
    return ""


def verdict(code: Status, judged: Sequence[Mapping[str, Any]]) -> tuple[Status, int, list[str]]:
    """What code checks and judges together mean: status, exit code, void fields.

    A judge without a verdict makes the trial void; a passing one cannot make good what code failed.
    """
    lost = [f"judge:{record['name']}" for record in judged if record["status"] == "error"]
    if lost:
        return "void", -1, lost
    passed = code == "passed" and all(record["status"] == "passed" for record in judged)
    return ("passed", 0, []) if passed else ("failed", 1, [])


async def _judgment(
    judge: JudgeSpec,
    shown: Shown,
    files: Mapping[str, JudgeFile],
    bench: Bench,
    box: Sandbox | None,
) -> tuple[str, voting.Judgment]:
    if judge.criteria and (order := told_what_to_decide(shown.answer)):
        return "", voting.not_asked(judge, f"the answer tells it what to decide: {order}")
    wanted = [files.get(path) or JudgeFile(path, "missing") for path in judge.files]
    problem = next((file.problem for file in wanted if file.problem), "")
    problem = problem or missing_for(judge, bench.host_env)
    if problem:
        return "", voting.not_asked(judge, problem)
    if judge.criteria:
        wanted += [file for path, file in files.items() if not file.problem and path not in judge.files]
    told = instructions(judge)
    facts = evidence(
        prompt=shown.prompt,
        steps=shown.steps,
        answer=shown.answer,
        expected=judge.expected,
        files=[{"path": file.path, "text": file.text} for file in wanted] if wanted else None,
    )
    if judge.harness is None:
        body = provider_judge.request(judge, told, facts)
        return compact(body), await _votes(judge, lambda: provider_judge.ask(judge, body, bench.host_env))
    prompt = as_prompt(told, facts)
    return prompt, await _votes(judge, lambda: _ask_agent(judge, prompt, bench, box))


async def _votes(judge: JudgeSpec, once: Callable[[], Any]) -> voting.Judgment:
    return voting.combined([await voting.vote(judge, once) for _ in range(judge.votes)])


async def _ask_agent(judge: JudgeSpec, prompt: str, bench: Bench, box: Sandbox | None) -> Answer:
    """Ask an agent in a place of its own, which is gone afterwards."""
    harness, setup = agent(
        judge.harness or "",
        judge.model,
        env=bench.host_env,
        timeout_ms=judge.timeout_ms,
        show=bench.show,
        who="judge",
    )
    place = await _place(judge, bench, box)
    try:
        if isinstance(place, agent_judge.BesideWorkspace):
            await place.begin()
        await harness.prepare(place, setup)
        return await agent_judge.ask(judge, harness, place, prompt)
    finally:
        await place.close()


async def _place(
    judge: JudgeSpec, bench: Bench, box: Sandbox | None
) -> Sandbox | agent_judge.BesideWorkspace:
    if judge.workspace:
        if box is None:
            raise StageError("the workspace is not there any more", stage="judge", cause="judge")
        return agent_judge.BesideWorkspace(box)
    try:
        return await bench.backend.open(SandboxSpec(f"{bench.trial_id}-judge", isolate=bench.isolate))
    except OSError as error:
        text = f"its sandbox did not open: {error.strerror or error}"
        raise StageError(text, stage="judge", cause="judge") from error


def _score(judge: JudgeSpec, judgment: voting.Judgment) -> Score | None:
    if judgment.decisive.score is None:
        return None
    spread = {"spread": judgment.spread} if len(judgment.votes) > 1 else {}
    return Score(check=judge.name, score=judgment.decisive.score, metrics=spread)
