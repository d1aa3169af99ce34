"""What a run leaves on GitHub: lines in the job summary, and the check run ``sphynx``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sphynx.results.gate import GateProblem

LIMIT = 65_535
"""Characters GitHub takes for a summary, one more than it keeps."""
_TAIL = "\n\n(truncated)"
_TIMEOUT_S = 15.0
_MARKS = {"passed": "✓", "failed": "✗", "running": "…", "queued": "·"}

Conclusion = Literal["success", "failure", "neutral"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One suite of the run: its link when a batch was started, its ``EvalBatch`` when it ended."""

    suite: str
    file: str
    link: str | None
    batch: Mapping[str, Any] | None
    error: str | None
    problems: Sequence[GateProblem] = ()
    more: str = ""
    """Markdown of its own, such as a skill's report."""
    told: bool = False
    """``more`` stands in the job summary already."""


def conclusion(outcomes: Sequence[Outcome]) -> Conclusion:
    """``failure`` for any error or problem, ``success`` when every batch ended, else ``neutral``."""
    if any(one.error is not None or one.problems for one in outcomes):
        return "failure"
    return "success" if outcomes and all(one.batch is not None for one in outcomes) else "neutral"


def title(outcomes: Sequence[Outcome]) -> str:
    """One line that says how it went."""
    return {
        "failure": "Evals: the gate failed",
        "success": "Evals: the gate passed",
        "neutral": "Evals: still running",
    }[conclusion(outcomes)]


def body(outcomes: Sequence[Outcome], *, summary: bool = False) -> str:
    """The results as Markdown, no longer than GitHub keeps; ``summary`` leaves out what stands there."""
    text = "\n\n".join(_section(one, summary) for one in outcomes)
    return text if len(text) < LIMIT else text[: LIMIT - 1 - len(_TAIL)] + _TAIL


def _section(one: Outcome, summary: bool) -> str:
    where = f" ({_cell(one.file)})" if one.file else ""
    lines = [f"### {_cell(one.suite)}{where}"]
    if one.link:
        lines += ["", f"[Open the batch]({one.link})"]
    told = [f"- {_cell(one.error)}"] if one.error else []
    for problem in one.problems:
        told += [f"- {_cell(problem.text)}", *_checks(problem)]
    if told:
        lines += ["", *told]
    if one.batch is not None:
        lines += ["", "| Case | Variant | Trials | Pass rate |", "|-|-|-|-|"]
        lines += [_row(run) for run in one.batch["runs"]]
    if one.more and not (summary and one.told):
        lines += ["", one.more]
    return "\n".join(lines)


def _checks(problem: GateProblem) -> list[str]:
    """What the trial's verdict says below its first line: each failing check with its message."""
    lines: list[str] = []
    for line in problem.detail[:1]:
        # A trial that was not judged says why in that line itself.
        _, dot, reason = line.partition(" · ")
        if dot and not line.lstrip().startswith("✗"):
            lines.append(f"  - {_cell(reason)}")
    for line in problem.detail[1:]:
        if line.startswith("    ✗") or not lines:
            lines.append(f"  - {_cell(line)}")
        else:
            lines[-1] += f" {_cell(line)}"
    return lines


def _row(run: Mapping[str, Any]) -> str:
    variant, spread = run["variant"], run["distribution"]
    label = f"{variant['harness']}/{variant['model']}"
    label += f"@{variant['profile']}" if variant["profile"] else ""
    marks = "".join(_MARKS.get(trial["status"], "○") for trial in run["trials"])
    rate = f"{round(spread['passRate'] * 100)}%" if spread["scored"] else "-"
    return f"| {_cell(run['case']['name'])} | {_cell(label)} | {marks} | {rate} |"


def _cell(text: str) -> str:
    for mark, safe in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|")):
        text = text.replace(mark, safe)
    return " ".join(text.split())


def here(env: Mapping[str, str]) -> bool:
    """Whether GitHub is to be told anything."""
    return bool(env.get("GITHUB_STEP_SUMMARY") or (env.get("GITHUB_TOKEN") and env.get("GITHUB_REPOSITORY")))


def tell(
    env: Mapping[str, str], outcomes: Sequence[Outcome], note: Callable[[str], None], *, check: bool = True
) -> None:
    """The results into the job summary and, with ``check``, as a check run. A failure is only a note."""
    add_to_summary(env, note, f"## {title(outcomes)}", body(outcomes, summary=True))
    if check:
        post_check(env, outcomes, note)


def add_to_summary(env: Mapping[str, str], note: Callable[[str], None], *lines: str) -> None:
    """Append to the job summary, each part followed by a blank line; nothing outside of GitHub."""
    path = env.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    try:
        with Path(path).open("a", encoding="utf-8", errors="replace") as file:
            file.write("".join(f"{line}\n\n" for line in lines))
    except OSError as error:
        note(f"the job summary was not written: {error.strerror or error}")


def post_check(env: Mapping[str, str], outcomes: Sequence[Outcome], note: Callable[[str], None]) -> None:
    """Post the check run when a token and a repository are there. A failure is only a note."""
    token, repository = env.get("GITHUB_TOKEN", ""), env.get("GITHUB_REPOSITORY", "")
    commit = _commit(env)
    if not token or not repository or not commit:
        return
    import httpx  # a local run that posts nothing has no use for it

    link = next((one.link for one in outcomes if one.link), None)
    heading = title(outcomes)
    check: dict[str, Any] = {
        "name": "sphynx",
        "head_sha": commit,
        "status": "completed",
        "conclusion": conclusion(outcomes),
        "output": {"title": heading, "summary": body(outcomes)},
    }
    if link is not None:
        check["details_url"] = link
    address = env.get("GITHUB_API_URL") or "https://api.github.com"
    headers = {"authorization": f"Bearer {token}", "accept": "application/vnd.github+json"}
    try:
        answer = httpx.post(
            f"{address}/repos/{repository}/check-runs", json=check, headers=headers, timeout=_TIMEOUT_S
        )
        if answer.status_code >= 300:
            note(f"the check run was not posted: GitHub answered {answer.status_code}")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        note(f"the check run was not posted: {type(error).__name__}")


def _commit(env: Mapping[str, str]) -> str:
    """The head of the pull request, else the commit of the job."""
    try:
        event = json.loads(Path(env.get("GITHUB_EVENT_PATH", "")).read_bytes())
        return str(event["pull_request"]["head"]["sha"])
    except (OSError, ValueError, KeyError, TypeError):
        return env.get("GITHUB_SHA", "")
