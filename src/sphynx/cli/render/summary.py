"""What a run ends with: each trial with its outcome and reason, then counts, tokens and money."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from sphynx.cli.render import figures
from sphynx.cli.render.style import Style, words
from sphynx.cli.render.text import fold, one_line, pad, width, wrap
from sphynx.results.warnings import explained
from sphynx.schema.records import TrialRecord

_STATUS = 11
_NAMED = 5
"""Warnings that are told trial by trial."""
_INDENT = " " * (4 + _STATUS)
ORDER = ("passed", "failed", "void", "timed_out", "cancelled")
_COMPONENTS = {"model": "model", "harness": "harness", "sandbox": "sandbox", "platform": "platform",
               "user": "simulated user", "judge": "judges"}  # fmt: skip


def trial_name(record: TrialRecord, *, numbered: bool) -> str:
    """``writes-hello on command/flaky #2``; the number only where a run has several trials."""
    name = f"{record.case_id} on {record.variant}"
    return f"{name} #{record.ordinal}" if numbered else name


def trial_lines(records: Sequence[TrialRecord], style: Style, *, numbered: bool) -> list[str]:
    """One line a trial, its reason indented below; a name too long for the line goes on in the next."""
    names = [trial_name(record, numbered=numbered) for record in records]
    times = [
        "" if record.status == "cancelled" else figures.duration(record.duration_ms) for record in records
    ]
    clock = max((width(text) for text in times), default=0)
    longest = max((width(name) for name in names), default=0)
    room = min(longest, max(20, style.width - len(_INDENT) - 3 - clock))
    lines: list[str] = []
    for record, name, took in zip(records, names, times, strict=True):
        first, *more = wrap(name, room) or [""]
        status = pad(words(record.status), _STATUS)
        lines.append(f"  {style.mark(record.status)} {status}{pad(first, room)}   {took:>{clock}}".rstrip())
        lines += [_INDENT + "  " + line for line in more]
        for reason in reasons(record):
            lines += [_INDENT + line for line in wrap(reason, style.width - len(_INDENT))]
    return lines


def reasons(record: TrialRecord) -> list[str]:
    """Why a trial did not pass: its failing checks' messages, or the cause and the reason.

    What was noted of a failed trial (its agent exited with an error) often says why, so it stands there too.
    """
    if record.status == "passed":
        return []
    if record.status == "failed":
        return [*_failed_checks(record), *(f"note: {one_line(note)}" for note in record.notes)]
    reason = record.reason or ", ".join(record.void_fields)
    cause = record.cause or ""
    if record.status == "cancelled":
        return [one_line(reason)] if reason else []
    return [one_line(f"{cause}: {reason}" if cause and reason else cause or reason)]


def _failed_checks(record: TrialRecord) -> list[str]:
    failing = [item for item in record.validations if item.get("status") == "failed"]
    said: list[str] = []
    for item in failing:
        name, message = str(item.get("name") or "check"), one_line(str(item.get("message") or ""))
        if not message:
            said.append(f"{name} did not pass")
        else:
            # A command's name says what was run, its message only how it ended.
            alone = len(failing) == 1 and item.get("kind") != "command"
            said.append(message if alone else f"{name}: {message}")
    if not said:
        said = [
            f"exit {step.exit_code}: {one_line(step.command)}"
            for step in record.verify_steps
            if step.exit_code
        ]
    return said or ([record.reason] if record.reason else [])


def counts(statuses: Iterable[str]) -> str:
    """``4 passed, 1 failed, 1 void`` in a fixed order; what did not happen is left out."""
    tally = Counter(statuses)
    return ", ".join(f"{tally[status]} {words(status)}" for status in ORDER if tally[status])


def totals_lines(
    records: Sequence[TrialRecord], style: Style, elapsed_ms: float, *, lead: str = "", indent: str = "  "
) -> list[str]:
    """``6 trials: 4 passed, 1 failed, 1 void    1.9s    12k tokens (11k in, 1k out), $0.04 est.``"""
    ended = counts(record.status for record in records)
    told = f"{lead}{figures.plural(len(records), 'trial')}{f': {ended}' if ended else ''}"
    parts = [style.paint(told, "bold"), figures.duration(elapsed_ms)]
    spent = ", ".join(part for part in (_tokens(records), _estimate(records)) if part)
    return fold([*parts, spent] if spent else parts, "    ", style.width, indent)


def cost_lines(records: Sequence[TrialRecord], style: Style) -> list[str]:
    """``model $0.03, judges $0.01, price of 1 trial not known``; none when nothing cost anything.

    Nor when all that is not known are agents of one's own that count no tokens: there is no sum to mark.
    """
    parts = [
        f"{_COMPONENTS[component]} {figures.money(usd)}"
        for component in _COMPONENTS
        if (usd := _spent(records, component)) is not None and usd > 0
    ]
    unknown = [record for record in records if record.costs_incomplete]
    if unknown and (parts or not all(_counts_nothing(record) for record in unknown)):
        parts.append(f"price of {figures.plural(len(unknown), 'trial')} not known")
    return fold([*(part + "," for part in parts[:-1]), *parts[-1:]], " ", style.width)


def _counts_nothing(record: TrialRecord) -> bool:
    """Whether only the agent's own price is unknown, and it is a process that reports no tokens."""
    own = record.harness == "command" or record.harness.startswith("python/")
    return own and not record.usage and all(x.component == "model" for x in record.costs if x.usd is None)


def warning_lines(records: Sequence[TrialRecord]) -> list[str]:
    """Trials that paid again and again for what they had read once: how many, and the first few by name."""
    grew = sum("context-grew-fast" in record.warnings for record in records)
    cold = sum("nothing-cached" in record.warnings for record in records)
    lines: list[str] = []
    if grew:
        lines.append(f"  {figures.plural(grew, 'trial')} re-read a large context on every turn")
    if cold:
        lines.append(f"  {figures.plural(cold, 'trial')} got nothing from the cache")
    told = [
        f"    {trial_name(record, numbered=True)} {text}"
        for record in records
        for text in usage_warnings(record)
    ]
    more = [f"    and {len(told) - _NAMED} more: sphynx show"] if len(told) > _NAMED else []
    return [*lines, *told[:_NAMED], *more]


def usage_warnings(record: TrialRecord) -> list[str]:
    """What a trial is warned of, in words and numbers."""
    usage = record.usage
    return [] if usage is None else [explained(name, usage, record.turns) for name in record.warnings]


def run_cost(records: Sequence[TrialRecord]) -> float | None:
    """What is known of the money some trials took; ``None`` when nothing is."""
    known = [usd for component in _COMPONENTS if (usd := _spent(records, component)) is not None]
    return sum(known) if known else None


def _spent(records: Sequence[TrialRecord], component: str) -> float | None:
    known = [
        line.usd
        for record in records
        for line in record.costs
        if line.component == component and line.usd is not None
    ]
    return sum(known) if known else None


def _tokens(records: Sequence[TrialRecord]) -> str:
    used = [record.usage for record in records if record.usage is not None]
    if not used:
        return ""
    inward = sum(usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens for usage in used)
    outward = sum(usage.output_tokens for usage in used)
    total = figures.tokens(inward + outward)
    return f"{total} tokens ({figures.tokens(inward)} in, {figures.tokens(outward)} out)"


def _estimate(records: Sequence[TrialRecord]) -> str:
    usd = run_cost(records)
    if usd is None or usd == 0:
        return ""
    incomplete = any(record.costs_incomplete for record in records)
    return f"{'at least ' if incomplete else ''}{figures.money(usd)} est."
