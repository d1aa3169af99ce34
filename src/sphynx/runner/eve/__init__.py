"""Running an agent built on eve as a command harness."""

from __future__ import annotations

from sphynx.runner.eve.reducer import EveOutcome as EveOutcome
from sphynx.runner.eve.reducer import EveState as EveState
from sphynx.runner.eve.reducer import reduce_eve as reduce_eve
from sphynx.runner.eve.server import EveServer as EveServer
from sphynx.runner.eve.server import serve_eve as serve_eve
from sphynx.runner.eve.session import run_eve as run_eve

__all__ = ["EveOutcome", "EveServer", "EveState", "reduce_eve", "run_eve", "serve_eve"]
