"""For an agent of one's own: what a process is given and the lines it prints, what a function is given."""

from __future__ import annotations

from sphynx.runner.agent import Agent as Agent
from sphynx.runner.agent import Said as Said
from sphynx.runner.agent import Turn as Turn
from sphynx.runner.emitter import Emitter as Emitter
from sphynx.runner.emitter import TokenCounts as TokenCounts
from sphynx.runner.emitter import create_emitter as create_emitter
from sphynx.runner.environment import RunnerEnv as RunnerEnv
from sphynx.runner.environment import env as env

__all__ = ["Agent", "Emitter", "RunnerEnv", "Said", "TokenCounts", "Turn", "create_emitter", "env"]
