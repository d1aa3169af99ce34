"""Secrets in texts that authors and checks choose: taken out of records, refused where they are names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sphynx.compiler.compiled import CompiledVariant
from sphynx.engine.credentials import named_variables
from sphynx.engine.options import PlannedSuite
from sphynx.errors import UsageError
from sphynx.redaction import Redactor
from sphynx.redaction.redactor import MIN_SECRET
from sphynx.schema.records import BatchRecord, RunPlan, Score, VerifyStep
from sphynx.settings.names import SECRET_WORDS


def check_names(planned: Sequence[PlannedSuite], env: Mapping[str, str]) -> None:
    """``UsageError`` when an id, a model or a label holds a secret: results are found by them."""
    for suite in planned:
        for variable, value in _secrets(suite.variants, env):
            for what, name in _names(suite):
                if value in name:
                    raise UsageError(
                        f"{suite.compiled.file}: {what} holds the value of {variable}",
                        hint="names are stored and shown: have the agent or a check read the variable",
                    )


def without_secrets(record: BatchRecord, planned: PlannedSuite, env: Mapping[str, str]) -> BatchRecord:
    """The record with its free texts redacted: names, prompts, commands, checks, source files."""
    redactor = Redactor(value for one in planned.variants for value in named_variables(one, env).values())
    return record.model_copy(
        update={
            "suite_name": redactor.text(record.suite_name),
            "runs": [_run(run, redactor) for run in record.runs],
            "warnings": redactor.value(record.warnings),
            "x": {**record.x, "sourceFiles": redactor.value(record.x.get("sourceFiles", []))},
        }
    )


def clean_scores(scores: Sequence[Score], redactor: Redactor) -> list[Score]:
    """Scores with the names a check gave redacted: its own and those of its metrics."""
    return [
        score.model_copy(
            update={"check": redactor.text(score.check), "metrics": redactor.value(score.metrics)}
        )
        for score in scores
    ]


def clean_steps(steps: Sequence[VerifyStep], redactor: Redactor) -> list[VerifyStep]:
    """Commands that were run, redacted."""
    return [step.model_copy(update={"command": redactor.text(step.command)}) for step in steps]


def _run(run: RunPlan, redactor: Redactor) -> RunPlan:
    return run.model_copy(
        update={
            "case_name": redactor.text(run.case_name),
            "options": redactor.value(run.options),
            "setup": redactor.value(run.setup),
        }
    )


def _secrets(variants: Sequence[CompiledVariant], env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for variant in variants:
        for name, value in named_variables(variant, env).items():
            if len(value.strip()) >= MIN_SECRET and any(word in name.upper() for word in SECRET_WORDS):
                yield name, value.strip()


def _names(planned: PlannedSuite) -> Iterator[tuple[str, Any]]:
    yield "the id of a suite", planned.compiled.suite.id
    yield from (("the id of a case", case.case.id) for case in planned.cases)
    yield from (("the label of a variant", variant.label) for variant in planned.variants)
