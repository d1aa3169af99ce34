"""A skill's report in the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sphynx.cli.render import figures
from sphynx.cli.render.style import Style
from sphynx.cli.render.text import pad, width
from sphynx.results.skills import (
    AgentReport,
    ArmRow,
    Count,
    CriterionRow,
    Difference,
    QueryRow,
    SkillReport,
    Spread,
)

_TONES = {"helps": "green", "hurts": "red", "never passes": "red", "unstable": "yellow", "unscored": "yellow"}
_ARM_HEADS = ("arm", "criteria met", "trials passed", "skill used", "tokens", "time", "cost", "judge")
_WHAT = {
    "helps": "passes with the skill and not without",
    "hurts": "passes without the skill and not with it",
    "same": "passes always, so it says nothing about the skill",
    "never passes": "is broken, or too hard",
    "unstable": "differs from trial to trial",
}
_LONGEST = 64


def terminal(report: SkillReport, style: Style) -> list[str]:
    """The report as lines of a terminal."""
    lines = ["", style.paint(f"skill {report.skill}", "bold") + f"   {_how(report)}"]
    for agent in report.agents:
        lines += ["", f"{style.paint(agent.agent, 'bold')}   {head(agent)}"]
        lines += _table([_ARM_HEADS, *(_arm_cells(row) for row in agent.arms)], style)
        lines += [f"  {text}" for text in _changes(agent)]
        rows = [("case", "criterion", *(arm for arm in report.arms), "")]
        rows += [_criterion_cells(row, report.arms) for row in agent.criteria]
        if len(rows) > 1:
            lines += ["", *_table(rows, style)]
        if agent.queries:
            heads = ("query", "wanted", "right")
            lines += ["", *_table([heads, *(_query_cells(one) for one in agent.queries)], style)]
        lines += [f"  {text}" for text in _groups(agent)]
    lines += [f"  note: {note}" for note in report.notes]
    return lines


def markdown(reports: Iterable[SkillReport]) -> str:
    """The reports for a pull request."""
    parts: list[str] = []
    for report in reports:
        parts.append(f"## Skill {_cell(report.skill)}\n\n{_cell(_how(report))}\n")
        for agent in report.agents:
            parts.append(f"### {_cell(agent.agent)}\n\n**{_cell(head(agent))}**\n")
            parts.append(_md_table([_ARM_HEADS, *(_arm_cells(row) for row in agent.arms)]))
            parts += [f"- {_cell(text)}" for text in _changes(agent)]
            rows = [("case", "criterion", *report.arms, "")]
            rows += [_criterion_cells(row, report.arms, cut=False) for row in agent.criteria]
            if len(rows) > 1:
                parts.append(f"\n{_md_table(rows)}")
            if agent.queries:
                heads = ("query", "wanted", "right")
                parts.append(_md_table([heads, *(_query_cells(one) for one in agent.queries)]))
            parts += [f"- {_cell(text)}" for text in _groups(agent)]
        labels = {row.label for agent in report.agents for row in agent.criteria}
        told = [f"*{label}*: {_WHAT[label]}" for label in _WHAT if label in labels]
        parts.append(f"\n{'; '.join(told)}.\n" if told else "")
        if report.notes:
            notes = "\n".join(f"- {_cell(note)}" for note in report.notes)
            title = f"<summary>{figures.plural(len(report.notes), 'note')}</summary>"
            parts.append(f"<details>{title}\n\n{notes}\n\n</details>\n")
    return "\n".join(part for part in parts if part).rstrip() + "\n"


def head(agent: AgentReport) -> str:
    """The answer in one line: with, without, the difference and how sure it is."""
    arms = {row.arm: row for row in agent.arms}
    said = [f"{_percent(row.rate)} {arm}" for arm, row in arms.items()]
    for gap in agent.differences:
        told = f"{gap.arm} minus {gap.baseline}: {gap.points:+.0f} points"
        interval = f"95% {gap.low:+.0f} to {gap.high:+.0f}, {figures.plural(gap.cases, 'case')}"
        said.append(f"{told} ({interval}{_sureness(gap)})")
    return ", ".join(said)


def _sureness(gap: Difference) -> str:
    if gap.few:
        return ": too few to mean much, the true interval is wide"
    return ": could be nothing" if gap.wide else ""


def _how(report: SkillReport) -> str:
    versions = ", ".join(f"{arm} {version[:12]}" for arm, version in report.versions.items() if version)
    agents = ", ".join(
        f"{agent.agent.partition('/')[0]} {', '.join(agent.versions)}".rstrip() for agent in report.agents
    )
    judge = f"judge {report.judge}" if report.judge else "no judge"
    return f"{agents}; {judge}; versions: {versions}"


def _arm_cells(row: ArmRow) -> tuple[str, ...]:
    left_out = [
        text
        for text, count in ((f"{row.void} void", row.void), (f"{row.timed_out} timed out", row.timed_out))
        if count
    ]
    trials = f"{row.trials.passed}/{row.trials.scored}" + (f" ({', '.join(left_out)})" if left_out else "")
    return (
        row.arm,
        _percent(row.rate),
        trials,
        "-" if row.arm == "without" else _used(row),
        _spread(row.tokens, lambda value: figures.tokens(round(value))),
        _spread(row.seconds, lambda value: figures.duration(value * 1000)),
        "?" if row.usd is None else figures.money(row.usd),
        "-" if row.judge_usd is None else figures.money(row.judge_usd),
    )


def _used(row: ArmRow) -> str:
    beside = [
        text
        for text, count in ((f"{row.late} late", row.late), (f"{row.tried} failed to", row.tried))
        if count
    ]
    return f"{row.used.passed}/{row.used.scored}" + (f" ({', '.join(beside)})" if beside else "")


def _spread(spread: Spread | None, show: object) -> str:
    if spread is None or not callable(show):
        return "-"
    if spread.low == spread.high:
        return str(show(spread.median))
    return f"{show(spread.median)} ({show(spread.low)}..{show(spread.high)})"


def _changes(agent: AgentReport) -> Iterator[str]:
    """Tokens, time and money with the skill minus without it."""
    arms = {row.arm: row for row in agent.arms}
    for gap in agent.differences:
        first, second = arms[gap.arm], arms[gap.baseline]
        said: list[str] = []
        if first.tokens and second.tokens:
            said.append(f"{first.tokens.median - second.tokens.median:+,.0f} tokens")
        if first.seconds and second.seconds:
            said.append(f"{first.seconds.median - second.seconds.median:+.1f}s")
        if first.usd is not None and second.usd is not None and first.usd != second.usd:
            more = first.usd - second.usd
            said.append(f"{'+' if more > 0 else '-'}{figures.money(abs(more))} in all")
        if said:
            yield f"{gap.arm} minus {gap.baseline}, medians: {', '.join(said)}"


def _groups(agent: AgentReport) -> Iterator[str]:
    for title, trials in (
        ("skill used but failed", agent.used_but_failed),
        ("skill not used but passed", agent.unused_but_passed),
    ):
        if trials:
            yield f"{title}: {', '.join(trials)}"


def _criterion_cells(row: CriterionRow, arms: Sequence[str], *, cut: bool = True) -> tuple[str, ...]:
    text = " ".join(row.text.split())
    if cut and width(text) > _LONGEST:
        text = text[: _LONGEST - 1] + "…"
    text += " (derived)" if row.derived else ""
    return (row.case_id, text, *(_count(row.arms.get(arm)) for arm in arms), row.label)


def _query_cells(one: QueryRow) -> tuple[str, ...]:
    text = " ".join(one.prompt.split())
    text = text if width(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return (text, "yes" if one.wanted else "no", _count(one.right))


def _count(count: Count | None) -> str:
    if count is None:
        return "-"
    return f"{count.passed}/{count.scored}" + (f" (+{count.unscored} unscored)" if count.unscored else "")


def _percent(rate: float | None) -> str:
    return "-" if rate is None else figures.percent(rate)


def _table(rows: Sequence[Sequence[str]], style: Style) -> list[str]:
    rooms = [max(width(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines: list[str] = []
    for number, row in enumerate(rows):
        cells = [pad(cell, room) for cell, room in zip(row, rooms, strict=True)]
        if number == 0:
            cells = [style.paint(cell, "dim") for cell in cells]
        elif row[-1] in _TONES:
            cells[-1] = style.paint(cells[-1], _TONES[row[-1]])
        lines.append("  " + "  ".join(cells).rstrip())
    return lines


def _md_table(rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
    lines.insert(1, "|" + "-|" * len(rows[0]))
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Text that cannot break a table or become a tag."""
    clean = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return clean.replace("|", "\\|").replace("@", "&#64;") if "|" in clean or "@" in clean else clean
