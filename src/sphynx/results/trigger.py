"""What started a batch, read from the environment."""

from __future__ import annotations

from collections.abc import Mapping

GITHUB = "https://github.com"
_URL_LIMIT = 2_048


def from_env(env: Mapping[str, str]) -> dict[str, str]:
    """The wire's ``EvalTrigger``: ``ci`` (with the attempt's URL on GitHub Actions) or ``cli``."""
    if env.get("GITHUB_ACTIONS") == "true":
        url = _attempt_url(env)
        return {"source": "ci", "url": url} if url else {"source": "ci"}
    return {"source": "ci" if env.get("CI") == "true" else "cli"}


def _attempt_url(env: Mapping[str, str]) -> str | None:
    repository, run = env.get("GITHUB_REPOSITORY"), env.get("GITHUB_RUN_ID")
    if not repository or not run:
        return None
    server = (env.get("GITHUB_SERVER_URL") or GITHUB).rstrip("/")
    attempt = env.get("GITHUB_RUN_ATTEMPT") or "1"
    url = f"{server}/{repository}/actions/runs/{run}/attempts/{attempt}"
    return url if len(url) <= _URL_LIMIT else None
