"""What the command harness tells a process through its environment."""

from __future__ import annotations

import os
from collections.abc import Mapping

from sphynx.errors import SphynxError


class RunnerEnv:
    """The case as the process sees it. ``system_prompt_file`` is ``None`` without a system prompt."""

    __slots__ = ("home", "model", "prompt", "session_id", "system_prompt_file", "trace_log", "workspace")

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.prompt = _required(environ, "SPHYNX_PROMPT")
        self.model = _required(environ, "SPHYNX_MODEL")
        self.workspace = _required(environ, "SPHYNX_WORKSPACE")
        self.home = _required(environ, "SPHYNX_HOME")
        self.trace_log = _required(environ, "SPHYNX_TRACE_LOG")
        self.system_prompt_file = environ.get("SPHYNX_SYSTEM_PROMPT_FILE") or None
        self.session_id = environ.get("SPHYNX_SESSION_ID") or None
        """The session to continue, from the second turn of a conversation on."""

    def __repr__(self) -> str:
        return f"RunnerEnv(model={self.model!r}, workspace={self.workspace!r})"


def env(environ: Mapping[str, str] | None = None) -> RunnerEnv:
    """The variables the command harness sets; ``SphynxError`` names one that is missing or empty."""
    return RunnerEnv(os.environ if environ is None else environ)


def _required(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name)
    if not value:
        raise SphynxError(
            f"{name} is not set",
            hint="the command harness sets it; by hand, export it before the script starts",
        )
    return value
