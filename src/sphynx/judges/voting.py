"""Ask a judge once or several times, and make one judgment of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sphynx.errors import SphynxError
from sphynx.journal.events import Usage
from sphynx.judges import criteria
from sphynx.judges.verdict import Answer, InvalidAnswer, check, read
from sphynx.providers.asking import ProviderError
from sphynx.suite.judges import JudgeSpec

UNDECIDED = "The judge reached no verdict"


@dataclass(frozen=True, slots=True)
class Vote:
    """One asking. When it gave no verdict ``error`` says why, and ``choice`` and ``score`` are ``None``."""

    choice: str | None = None
    score: float | None = None
    reason: str = UNDECIDED
    error: str | None = None
    text: str = ""
    """The raw answer, also of a judge that was not understood."""
    usage: Usage | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    criteria: tuple[dict[str, Any], ...] = ()
    """What was decided one by one: number, text, passed, evidence."""


@dataclass(frozen=True, slots=True)
class Judgment:
    """What a judge decided over all its votes."""

    votes: tuple[Vote, ...]
    decisive: Vote
    """The vote with the median score, or the first one without a verdict."""

    @property
    def spread(self) -> float:
        """Highest minus lowest score of the votes that have one."""
        scores = [vote.score for vote in self.votes if vote.score is not None]
        return max(scores) - min(scores) if scores else 0.0


async def vote(judge: JudgeSpec, ask: Callable[[], Awaitable[Answer]]) -> Vote:
    """Ask once and read the answer. Never raises for what the judge or its model does."""
    answer: Answer | None = None
    try:
        answer = await ask()
        if judge.criteria:
            return _decided(judge, answer)
        verdict = read(answer, judge.choices)
    except InvalidAnswer as error:
        assert answer is not None
        return Vote(
            error=f'judge "{judge.name}" {error}',
            text=answer.text,
            usage=answer.usage,
            metadata=dict(answer.metadata),
        )
    except TimeoutError:
        return Vote(error=f'judge "{judge.name}" timed out after {judge.timeout_ms / 1000:g} s')
    except ProviderError as error:
        return Vote(error=f"{_could_not(judge)}: {error.message}", text=error.body)
    except SphynxError as error:
        return Vote(error=f"{_could_not(judge)}: {error.message}")
    except OSError as error:
        return Vote(error=f"{_could_not(judge)}: {error.strerror or error}")
    score = judge.choices[verdict.choice]
    return Vote(
        verdict.choice,
        score,
        verdict.reason,
        text=answer.text,
        usage=answer.usage,
        metadata=dict(answer.metadata),
    )


def _decided(judge: JudgeSpec, answer: Answer) -> Vote:
    """The vote of a judge that decides criteria one by one."""
    check(answer)
    found = criteria.kept(judge, criteria.parse(answer.text, len(judge.criteria)))
    missed = [f"{one['number']}: {one['evidence']}" for one in found if not one["passed"]]
    met = len(found) - len(missed)
    return Vote(
        criteria.CHOSEN.format(met, len(found)),
        met / len(found),
        "; ".join(missed) or "every criterion is met",
        text=answer.text,
        usage=answer.usage,
        metadata=dict(answer.metadata),
        criteria=tuple(found),
    )


def not_asked(judge: JudgeSpec, why: str) -> Judgment:
    """A judge that could not even be asked."""
    none = Vote(error=f'judge "{judge.name}" was not asked: {why}')
    return Judgment((), none)


def combined(votes: Sequence[Vote]) -> Judgment:
    """The vote in the middle decides; one vote without a verdict leaves the judgment without one."""
    broken = next((one for one in votes if one.score is None), None)
    if broken is not None:
        return Judgment(tuple(votes), broken)
    ranked = sorted(votes, key=lambda one: one.score or 0.0)
    return Judgment(tuple(votes), ranked[len(ranked) // 2])


def _could_not(judge: JudgeSpec) -> str:
    kind = "agent judge" if judge.harness else "OpenAI judge"
    return f'judge "{judge.name}": the {kind} could not complete'
