"""Grades that other runners of skill evals left behind: ``grading.json`` files, with rates counted anew."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from sphynx.errors import UsageError
from sphynx.results.skill_export import NOT_SCORED
from sphynx.suite.skills.json_places import JsonError, parse

GRADING = "grading.json"
BENCHMARK = "benchmark.json"
ARMS = ("with_skill", "without_skill", "old_skill")
LISTS = ("expectations", "assertion_results", "assertions")

_RUN = re.compile(r"run-(\d+)")
_DIGITS = re.compile(r"(\d+)")
# Files round to two decimals; what is further off is another number.
_CLOSE = 0.005 + 1e-9


class Criterion(NamedTuple):
    """A criterion of one run; ``passed`` is None when nobody decided it."""

    text: str
    passed: bool | None


class Grading(NamedTuple):
    """One run. ``arm`` is None where no folder says it, ``run`` where there is no ``run-K``."""

    file: Path
    case: str
    arm: str | None
    run: int | None
    criteria: tuple[Criterion, ...]

    @property
    def passed(self) -> int:
        return sum(one.passed is True for one in self.criteria)

    @property
    def total(self) -> int:
        """Decided criteria."""
        return sum(one.passed is not None for one in self.criteria)

    @property
    def pass_rate(self) -> float | None:
        """0 to 1; None when nothing was decided."""
        return self.passed / self.total if self.total else None


class Difference(NamedTuple):
    """Something a file says that its own criteria do not."""

    file: Path
    field: str
    message: str


class Grades(NamedTuple):
    gradings: tuple[Grading, ...]
    differences: tuple[Difference, ...]


def read(path: Path) -> Grades:
    """Grades of one ``grading.json``, or of all below a folder except what agents put into ``outputs``.

    ``UsageError`` names the file and the field that cannot be read.
    """
    if not path.exists():
        raise UsageError(f"no such file: {path}")
    if path.is_file():
        grading, differences = _grading(path, path.absolute().parent)
        return Grades((grading,), tuple(differences))
    gradings: list[Grading] = []
    differences: list[Difference] = []
    files = list(_below(path))
    for file in files:
        if file.name == GRADING:
            grading, found = _grading(file, path.absolute())
            gradings.append(grading)
            differences += found
    if not gradings:
        raise UsageError(
            f"{path}: there is no {GRADING} in it", hint="name an iteration folder, or one grading.json"
        )
    for file in files:
        if file.name == BENCHMARK:
            below = [one for one in gradings if file.parent in one.file.parents]
            differences += _against_benchmark(file, below)
    return Grades(tuple(gradings), tuple(differences))


def pass_rate(gradings: Iterable[Grading], arm: str | None) -> float | None:
    """Mean of the runs' rates in ``arm``, as viewers count it; None when no run there was decided."""
    rates = [one.pass_rate for one in gradings if one.arm == arm and one.pass_rate is not None]
    return fmean(rates) if rates else None


def _below(folder: Path) -> Iterator[Path]:
    found: list[Path] = []
    for top, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "outputs" and not name.startswith(".")]
        found += [Path(top) / name for name in names if name in (GRADING, BENCHMARK)]
    yield from sorted(found, key=_natural)


def _natural(path: Path) -> list[list[tuple[int, str]]]:
    """``eval-2`` before ``eval-10``."""
    return [
        [(int(bit), "") if bit.isdecimal() else (0, bit) for bit in _DIGITS.split(part)]
        for part in path.parts
    ]


def _grading(file: Path, root: Path) -> tuple[Grading, list[Difference]]:
    value = _object(file)
    name = next((key for key in LISTS if key in value), None)
    if name is None:
        raise UsageError(f"{file}: expectations: is missing", hint=f"read are {', '.join(LISTS)}")
    if not isinstance(value[name], list):
        raise UsageError(f"{file}: {name}: has to be a list")
    criteria = tuple(_criterion(file, f"{name}[{at}]", item) for at, item in enumerate(value[name]))
    grading = Grading(file, *_place(file, root), criteria)
    differences = list(_against_summary(grading, value.get("summary")))
    for key in LISTS:
        if key in value and key != name:
            differences.append(Difference(file, key, f"was not read, {name} is there too"))
    return grading, differences


def _object(file: Path) -> dict[str, Any]:
    try:
        value = parse(file.read_text("utf-8-sig")).value
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except JsonError as error:
        place = f"line {error.place.line}, column {error.place.column}"
        raise UsageError(f"{file}: not valid JSON: {error.message} ({place})") from None
    if not isinstance(value, dict):
        raise UsageError(f"{file}: has to be a JSON object")
    return value


def _criterion(file: Path, where: str, item: Any) -> Criterion:
    if not isinstance(item, dict):
        raise UsageError(f"{file}: {where}: has to be an object with text and passed")
    text, passed = item.get("text"), item.get("passed", "")
    if not isinstance(text, str) or not text.strip():
        raise UsageError(f"{file}: {where}.text: has to be a text")
    if passed is not None and not isinstance(passed, bool):
        raise UsageError(f"{file}: {where}.passed: has to be true or false")
    # Viewers know no third state, so an export writes what nobody decided as failed, with the reason.
    if passed is False and str(item.get("evidence", "")).startswith(NOT_SCORED):
        passed = None
    return Criterion(text, passed)


def _place(file: Path, root: Path) -> tuple[str, str | None, int | None]:
    """Case, arm and run from ``<case>/<arm>/[runs/][run-K/]grading.json``, each folder optional."""
    folder, arm, run = file.absolute().parent, None, None
    if found := _RUN.fullmatch(folder.name):
        run = int(found[1])
        folder = folder.parent
    if folder.name == "runs":
        folder = folder.parent
    if folder.name in ARMS:
        arm = folder.name
        folder = folder.parent
    inside = folder != root and root in folder.parents
    return (folder.relative_to(root).as_posix() if inside else folder.name), arm, run


def _against_summary(grading: Grading, summary: Any) -> Iterator[Difference]:
    if not isinstance(summary, dict):
        return
    counted = {
        "passed": grading.passed,
        "failed": grading.total - grading.passed,
        "total": grading.total,
        "pass_rate": grading.pass_rate or 0.0,
    }
    for key, ours in counted.items():
        if key in summary:
            yield from _differs(grading.file, f"summary.{key}", summary[key], ours)


def _against_benchmark(file: Path, gradings: Sequence[Grading]) -> Iterator[Difference]:
    summary = _object(file).get("run_summary")
    if not isinstance(summary, dict):
        return
    rates = {arm: rate for arm in ARMS if (rate := pass_rate(gradings, arm)) is not None}
    for arm, ours in rates.items():
        told = _inside(summary, arm, "pass_rate", "mean")
        if told is not None:
            yield from _differs(file, f"run_summary.{arm}.pass_rate.mean", told, ours)
    base = next((arm for arm in ARMS[1:] if arm in rates), None)
    told = _inside(summary, "delta", "pass_rate")
    if base and "with_skill" in rates and told is not None:
        gap = rates["with_skill"] - rates[base]
        yield from _differs(file, "run_summary.delta.pass_rate", told, gap)


def _inside(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _differs(file: Path, field: str, told: Any, ours: float) -> Iterator[Difference]:
    try:
        close = abs(float(told) - ours) <= (_CLOSE if isinstance(ours, float) else 0)
    except (TypeError, ValueError, OverflowError):
        close = False
    if not close:
        shown = f"{ours:.2f}" if isinstance(ours, float) else str(ours)
        yield Difference(file, field, f"says {told}, counted {shown}")
