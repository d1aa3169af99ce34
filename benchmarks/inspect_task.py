"""The same no-op trial for Inspect AI: its local sandbox, its mock model, one command and one check."""

from __future__ import annotations

import os

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, Target, accuracy, scorer
from inspect_ai.solver import Generate, TaskState, solver
from inspect_ai.util import sandbox

AGENT = "printf hello > hello.txt"
CHECK = 'test "$(cat hello.txt)" = hello'


@solver
def agent():
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        await sandbox().exec(["bash", "-c", AGENT])
        return state

    return solve


@scorer(metrics=[accuracy()])
def check():
    async def score(state: TaskState, target: Target) -> Score:
        done = await sandbox().exec(["bash", "-c", CHECK])
        return Score(value=1 if done.success else 0)

    return score


@task
def noop() -> Task:
    samples = [Sample(input="Create hello.txt") for _ in range(int(os.environ["NOOP_TRIALS"]))]
    return Task(dataset=samples, solver=agent(), scorer=check(), sandbox="local")
