"""What a run leaves on GitHub: lines in the job summary, and the check run ``sphynx``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import httpx

LIMIT = 65_535
"""Characters GitHub takes for a summary, one more than it keeps."""
_TAIL = "\n\n(truncated)"
_TIMEOUT_S = 15.0

Conclusion = Literal["success", "failure", "neutral"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One suite of the run: its link when a batch was started, its ``EvalBatch`` when it ended."""

    suite: str
    file: str
    link: str | None
    batch: Mapping[str, Any] | None
    error: str | None
    problems: Sequence[str]


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


def body(outcomes: Sequence[Outcome]) -> str:
    """The results as Markdown, no longer than GitHub keeps."""
    text = "\n\n".join(_section(one) for one in outcomes)
    return text if len(text) < LIMIT else text[: LIMIT - 1 - len(_TAIL)] + _TAIL


def _section(one: Outcome) -> str:
    where = f" ({_cell(one.file)})" if one.file else ""
    lines = [f"### {_cell(one.suite)}{where}"]
    if one.link:
        lines += ["", f"[Open the batch]({one.link})"]
    told = [*([one.error] if one.error else []), *one.problems]
    if told:
        lines += ["", *(f"- {_cell(text)}" for text in told)]
    if one.batch is not None:
        lines += ["", "| Case | Variant | Pass rate |", "|-|-|-|"]
        lines += [_row(run) for run in one.batch["runs"]]
    return "\n".join(lines)


def _row(run: Mapping[str, Any]) -> str:
    variant, spread = run["variant"], run["distribution"]
    label = f"{variant['harness']}/{variant['model']}"
    label += f"@{variant['profile']}" if variant["profile"] else ""
    rate = f"{round(spread['passRate'] * 100)}%" if spread["scored"] else "-"
    return f"| {_cell(run['case']['name'])} | {_cell(label)} | {rate} |"


def _cell(text: str) -> str:
    for mark, safe in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|")):
        text = text.replace(mark, safe)
    return " ".join(text.split())


def add_to_summary(env: Mapping[str, str], *lines: str) -> None:
    """Append to the job summary, each part followed by a blank line; nothing outside of GitHub."""
    path = env.get("GITHUB_STEP_SUMMARY")
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n\n" for line in lines))


def post_check(env: Mapping[str, str], outcomes: Sequence[Outcome], note: Callable[[str], None]) -> None:
    """Post the check run when a token and a repository are there. A failure is only a note."""
    token, repository = env.get("GITHUB_TOKEN", ""), env.get("GITHUB_REPOSITORY", "")
    commit = _commit(env)
    if not token or not repository or not commit:
        return
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
    except httpx.HTTPError as error:
        note(f"the check run was not posted: {type(error).__name__}")


def _commit(env: Mapping[str, str]) -> str:
    """The head of the pull request, else the commit of the job."""
    try:
        event = json.loads(Path(env.get("GITHUB_EVENT_PATH", "")).read_bytes())
        return str(event["pull_request"]["head"]["sha"])
    except (OSError, ValueError, KeyError, TypeError):
        return env.get("GITHUB_SHA", "")
