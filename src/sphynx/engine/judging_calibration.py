"""Run a judge over answers people have labelled, and see how far it agrees."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from sphynx.compiler import compile_files
from sphynx.engine import costing
from sphynx.engine.judging import Bench, Judged, Shown, ask
from sphynx.engine.options import LocalOptions
from sphynx.engine.other_agents import judge_secrets
from sphynx.engine.plan import local_root
from sphynx.errors import DefinitionError, Problem, UsageError
from sphynx.judges.agreement import Agreement, agreement
from sphynx.judges.evidence import bounded
from sphynx.judges.files import JudgeFile, fitted
from sphynx.redaction import Redactor
from sphynx.registry import load_sandbox
from sphynx.schema.records import CostLine
from sphynx.suite.judges import JudgeSpec, judge_faults

KNOWN = ("id", "input", "output", "label", "expected", "conversation", "files")


@dataclass(frozen=True, slots=True)
class Example:
    """One labelled answer. ``label`` is the choice a good judge makes."""

    id: str
    output: str
    label: str
    input: str = ""
    expected: str | None = None
    conversation: tuple[dict[str, Any], ...] | None = None
    files: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """What the judge said of one answer; ``choice`` is ``None`` when it reached no verdict."""

    id: str
    label: str
    choice: str | None
    score: float | None
    reason: str
    error: str | None


@dataclass(frozen=True, slots=True)
class Calibration:
    """The judge over all answers."""

    judge: JudgeSpec
    rows: list[Row]
    agreement: Agreement
    cost: CostLine | None


async def calibrate(judge: JudgeSpec, examples: Sequence[Example], options: LocalOptions) -> Calibration:
    """Ask the judge about every example, ``options.jobs`` at a time."""
    rows: list[Row | None] = [None] * len(examples)
    asked: list[Judged | None] = [None] * len(examples)
    backend = load_sandbox("local")(local_root(options), env=options.env)
    bench = Bench(backend, "calibrate", options.env, isolate=options.isolate)
    limit = anyio.CapacityLimiter(options.jobs)
    redactor = Redactor(judge_secrets(judge, options.env))

    async def one(place: int) -> None:
        async with limit:
            asked[place] = found = await _ask(judge, examples[place], bench)
            rows[place] = _row(examples[place], found.record, redactor.text)

    try:
        async with anyio.create_task_group() as group:
            for place in range(len(examples)):
                group.start_soon(one, place)
    finally:
        with anyio.CancelScope(shield=True):
            await backend.aclose()
    done = [row for row in rows if row is not None]
    spends = [spend for found in asked if found is not None for spend in found.spends]
    pairs = [(row.label, row.choice) for row in done if row.choice is not None]
    lines = costing.other_lines([], spends)
    return Calibration(judge, done, agreement(pairs, list(judge.choices)), lines[0] if lines else None)


def read_examples(path: Path) -> tuple[dict[str, Any] | None, list[Example]]:
    """The judge a file holds, if any, and its examples.

    ``.jsonl``: one example per line. ``.json``: a list of examples, or an object with ``examples`` and
    perhaps ``judge``. An example has ``output`` and ``label``, and may have ``id``, ``input``, ``expected``,
    ``conversation`` (steps as a judge sees them) and ``files`` (path to text). ``UsageError`` says what is
    wrong and where.
    """
    judge, values = _values(path)
    examples = [_example(value, place, path) for place, value in enumerate(values, 1)]
    if not examples:
        raise UsageError(f"{path}: there is no example in it", hint='add {"output": "...", "label": "..."}')
    return judge, examples


def judge_from(given: dict[str, Any] | None, named: str | None, options: LocalOptions) -> JudgeSpec:
    """The judge to calibrate: ``named`` is ``EVAL_FILE`` or ``EVAL_FILE::NAME``, else the file's own."""
    judge = _named(named, options) if named else _own(given)
    if judge.workspace:
        raise UsageError(
            f'judge "{judge.name}" looks around in a workspace, which labelled answers do not have',
            hint="calibrate it without workspace=True",
        )
    return judge


def check_labels(judge: JudgeSpec, examples: Sequence[Example]) -> None:
    """Every label must be a choice of the judge."""
    for example in examples:
        if example.label not in judge.choices:
            raise UsageError(
                f'example {example.id}: label "{example.label}" is no choice of judge "{judge.name}"',
                hint="its choices are: " + ", ".join(judge.choices),
            )


async def _ask(judge: JudgeSpec, example: Example, bench: Bench) -> Judged:
    steps = example.conversation
    if steps is None:
        steps = ({"user": example.input}, {"agent": example.output})
    shown = Shown(example.input, bounded(steps), example.output)
    files = {file.path: file for file in fitted(example.files)}
    asked = JudgeSpec(
        judge.index, _fields(judge) | ({"expected": example.expected} if example.expected else {})
    )
    return await ask(asked, shown, _wanted(judge, files), bench)


def _wanted(judge: JudgeSpec, files: Mapping[str, JudgeFile]) -> dict[str, JudgeFile]:
    return {path: files.get(path) or JudgeFile(path, "missing") for path in judge.files}


def _fields(judge: JudgeSpec) -> dict[str, Any]:
    return {name: getattr(judge, name) for name in JudgeSpec.__slots__ if name != "index"}


def _row(example: Example, record: Mapping[str, Any], redact: Callable[[str], str]) -> Row:
    judgment = record["judgment"]
    return Row(
        example.id,
        example.label,
        judgment["choice"],
        judgment["score"],
        redact(judgment["reason"]),
        judgment["error"] and redact(judgment["error"]),
    )


def _own(given: dict[str, Any] | None) -> JudgeSpec:
    if given is None:
        hint = 'name one with --judge FILE::NAME, or put it into the file as "judge"'
        raise UsageError("there is no judge to calibrate", hint=hint)
    fields = {"timeout_ms" if key == "timeoutMs" else key: value for key, value in given.items()}
    problems = [
        Problem(f"{fault.at} {fault.text}".strip(" :"), hint=fault.hint) for fault in judge_faults(fields)
    ]
    if problems:
        raise DefinitionError(problems)
    return JudgeSpec(0, fields)


def _named(named: str, options: LocalOptions) -> JudgeSpec:
    file, _, name = named.partition("::")
    suites = compile_files([file], cwd=options.cwd, staging=local_root(options).staging)
    found: dict[str, JudgeSpec] = {}
    for judge in (judge for suite in suites for case in suite.cases for judge in case.case.judges):
        if judge.name in found and _fields(found[judge.name]) != _fields(judge):
            raise UsageError(
                f'{file} has several judges called "{judge.name}"', hint="give each its own name"
            )
        found.setdefault(judge.name, judge)
    if name in found:
        return found[name]
    if not name and len(found) == 1:
        return next(iter(found.values()))
    there = ", ".join(found) or "none"
    what = f'no judge "{name}"' if name else f"{len(found)} judges"
    raise UsageError(f"{file} has {what}", hint=f"there are: {there}; name one with --judge {file}::NAME")


def _values(path: Path) -> tuple[dict[str, Any] | None, list[Any]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    if path.suffix == ".jsonl":
        lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        return None, [_json(line, f"{path}:{number}") for number, line in lines]
    value = _json(text, str(path))
    if isinstance(value, dict) and isinstance(value.get("examples"), list):
        judge = value.get("judge")
        if judge is not None and not isinstance(judge, dict):
            raise UsageError(f"{path}: judge must be an object")
        return judge, value["examples"]
    if isinstance(value, list):
        return None, value
    raise UsageError(f"{path}: must hold a list of examples, or an object with examples and judge")


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where} is not JSON: {error}") from error


def _example(value: Any, place: int, path: Path) -> Example:
    where = f"{path}: example {place}"
    if not isinstance(value, dict):
        raise UsageError(f"{where} must be an object")
    unknown = [key for key in value if key not in KNOWN]
    if unknown:
        raise UsageError(f'{where}: unknown key "{unknown[0]}"', hint="there are: " + ", ".join(KNOWN))
    for key in ("output", "label"):
        if not isinstance(value.get(key), str):
            raise UsageError(f"{where}: {key} must be a text")
    for key in ("id", "input", "expected"):
        if value.get(key) is not None and not isinstance(value[key], str):
            raise UsageError(f"{where}: {key} must be a text")
    files, steps = value.get("files") or {}, value.get("conversation")
    if not isinstance(files, dict) or not all(isinstance(text, str) for text in files.values()):
        raise UsageError(f"{where}: files must be an object from path to text")
    if steps is not None and not (isinstance(steps, list) and all(isinstance(step, dict) for step in steps)):
        raise UsageError(f"{where}: conversation must be a list of objects")
    return Example(
        id=value.get("id") or str(place),
        output=value["output"],
        label=value["label"],
        input=value.get("input") or "",
        expected=value.get("expected"),
        conversation=None if steps is None else tuple(steps),
        files=tuple(files.items()),
    )
