"""For a process that runs as a command harness: what it was given, and the lines it prints."""

from __future__ import annotations

from sphynx.runner.emitter import Emitter as Emitter
from sphynx.runner.emitter import TokenCounts as TokenCounts
from sphynx.runner.emitter import create_emitter as create_emitter
from sphynx.runner.environment import RunnerEnv as RunnerEnv
from sphynx.runner.environment import env as env

__all__ = ["Emitter", "RunnerEnv", "TokenCounts", "create_emitter", "env"]
