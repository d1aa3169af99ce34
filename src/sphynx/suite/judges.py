"""Model judges, as far as a case knows: what ``judge()`` may hold and what an empty field means.

Judges are made in ``sphynx.validators``, which this room cannot import: they are told apart by their
``sphynx_kind``, and their fields are read from ``given``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from sphynx.suite import harness_names
from sphynx.suite.fields import (
    Fault,
    Field,
    faults_in,
    flag,
    listing,
    mapping,
    nearest,
    sequence,
    show,
    text,
    whole,
)
from sphynx.suite.paths import file_path

PROVIDERS = ("openai",)
DEFAULT_THRESHOLD = 1.0
DEFAULT_TIMEOUT_MS = 120_000
MOST_FILES = 8
MOST_CHOICES = 20
MOST_VOTES = 9
MOST_CRITERIA = 60
_NO_HARNESS = ("command", *harness_names.LOCAL)


def agent_name(value: Any) -> Iterator[Fault]:
    """The harness of a judge or a person: any agent with a model of its own."""
    if not isinstance(value, str):
        yield Fault(f"must be a harness name, not {show(value)}")
        return
    if value in _NO_HARNESS:
        yield Fault(f'cannot be "{value}", which has no model to ask', hint='for example "codex"')
    elif not harness_names.is_known(value):
        known = [name for name in harness_names.known() if name not in _NO_HARNESS]
        near = nearest(value, known)
        hint = f'did you mean "{near}"?' if near else "there are: " + ", ".join(known)
        yield Fault(f"{show(value)} is not known", hint=hint)


def _provider(value: Any) -> Iterator[Fault]:
    if value not in PROVIDERS:
        yield Fault(f'must be "openai", not {show(value)}', hint='harness="..." asks an agent instead')


def _score(value: Any) -> Iterator[Fault]:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        yield Fault(f"must be a number from 0 to 1, not {show(value)}")


def _choices(value: Any) -> Iterator[Fault]:
    if not isinstance(value, Mapping):
        yield Fault(f"must be a dict from choice to score, not {show(value)}")
        return
    items = cast("Mapping[object, object]", value)
    if not 1 <= len(items) <= MOST_CHOICES:
        yield Fault(f"must hold 1 to {MOST_CHOICES} choices, there are {len(items)}")
    for label, score in items.items():
        if not isinstance(label, str) or not label.strip():
            yield Fault(f"has a choice that is no text or blank: {show(label)}")
            continue
        for fault in _score(score):
            yield fault.under(f'["{label}"]')


_files = listing(file_path, low=1, high=MOST_FILES, of="paths")


def _votes(value: Any) -> Iterator[Fault]:
    wrong = list(whole(1, MOST_VOTES)(value))
    yield from wrong
    if not wrong and value % 2 == 0:
        yield Fault(f"must be odd, so that there is one in the middle, not {value}")


JUDGE_FIELDS = (
    Field("name", "str", text(low=1, high=100), doc="what it is called, unique in the case", required=True),
    Field("harness", "str | None", agent_name, doc="the agent that judges (any but command)"),
    Field("provider", "str | None", _provider, doc='"openai" instead of harness: a plain model call'),
    Field("model", "str", text(low=1, high=200), doc="the model that is asked, verbatim", required=True),
    Field("prompt", "str", text(low=1, high=32_000), doc="what a good answer is", required=True),
    Field("expected", "str | None", text(high=32_000), doc="a reference answer the judge is shown"),
    Field(
        "files", "Sequence[str]", _files, doc="1 to 8 workspace files the judge reads whole", default="none"
    ),
    Field(
        "choices",
        "Mapping[str, float]",
        _choices,
        doc="1 to 20 labels and their scores, 0 to 1",
        required=True,
    ),
    Field("threshold", "float", _score, doc="the lowest score that passes", default="1"),
    Field(
        "timeout_ms",
        "int | None",
        whole(1_000, 300_000),
        doc="how long it may take",
        default=f"{DEFAULT_TIMEOUT_MS}",
    ),
    Field(
        "workspace",
        "bool",
        flag,
        doc="a harness judge looks around in a copy of the workspace",
        default="False",
    ),
    Field(
        "criteria",
        "Sequence[str]",
        listing(text(low=1, high=4_000), low=1, high=MOST_CRITERIA, of="texts"),
        doc="what it decides one by one in the same answer; the score is the share that is met",
        default="none",
    ),
    Field("votes", "int", _votes, doc="how often it is asked, odd; the median score counts", default="1"),
)


class JudgeForm:
    """The dict form of ``judge()``."""

    __slots__ = ("given",)
    sphynx_kind = "judge"

    def __init__(self, given: Mapping[str, object]) -> None:
        self.given = given


class JudgeSpec:
    """One judge of a case, defaults filled in. ``index`` is its place among the judges, from 0.

    Exactly one of ``harness`` and ``provider`` is set. ``choices`` map labels to scores.
    """

    __slots__ = (
        "choices", "criteria", "expected", "files", "harness", "index", "model", "name", "prompt", "provider",
        "threshold", "timeout_ms", "votes", "workspace",
    )  # fmt: skip

    def __init__(self, index: int, given: Mapping[str, Any]) -> None:
        self.index = index
        self.name: str = given.get("name") or f"Judge {index + 1}"
        self.harness: str | None = given.get("harness")
        self.provider: str | None = given.get("provider")
        self.model: str = given.get("model") or ""
        self.prompt: str = given.get("prompt") or ""
        self.expected: str | None = given.get("expected")
        self.files: list[str] = cast("list[str]", sequence(given.get("files")) or [])
        self.choices: dict[str, float] = cast("dict[str, float]", mapping(given.get("choices")) or {})
        self.criteria: list[str] = cast("list[str]", sequence(given.get("criteria")) or [])
        threshold = given.get("threshold")
        self.threshold: float = DEFAULT_THRESHOLD if threshold is None else threshold
        self.timeout_ms: int = given.get("timeout_ms") or DEFAULT_TIMEOUT_MS
        self.workspace = bool(given.get("workspace"))
        self.votes: int = given.get("votes") or 1

    def __repr__(self) -> str:
        return f"judge({self.name!r})"

    @property
    def rubric(self) -> str:
        """The prompt with the numbered criteria, when there are any."""
        numbered = [f"{number}. {text}" for number, text in enumerate(self.criteria, 1)]
        return "\n".join([self.prompt, "", *numbered]) if numbered else self.prompt


def is_judge(value: object) -> bool:
    """What ``judge()`` makes, or its dict form."""
    return getattr(value, "sphynx_kind", None) == "judge" and not isinstance(value, type)


def judge_faults(given: Mapping[str, Any]) -> Iterator[Fault]:
    """What is wrong with one judge's fields, each alone and together."""
    for fault in faults_in(JUDGE_FIELDS, given, what="judge()"):
        yield fault.under(": ") if fault.at else Fault(f"has an {fault.text}", hint=fault.hint)
    harness, provider = given.get("harness"), given.get("provider")
    if harness is None and provider is None:
        yield Fault("is missing", at=": harness", hint='harness="codex", or provider="openai"')
    elif harness is not None and provider is not None:
        yield Fault("cannot stand beside harness", at=": provider", hint="keep one of them")
    if given.get("workspace") is True and provider is not None:
        yield Fault("needs a harness: a plain model call cannot look around", at=": workspace")
    if given.get("workspace") is True and given.get("files"):
        yield Fault("are not needed with workspace=True, which shows every file", at=": files")


def repeated_names(judges: list[JudgeSpec]) -> Iterator[Fault]:
    """Two judges of one case with the same name."""
    seen: set[str] = set()
    for judge in judges:
        if judge.name in seen:
            yield Fault(f'holds two judges called "{judge.name}"', hint="give each its own name")
        seen.add(judge.name)
