"""A small project on disk for tests that run real trials: eval file, profiles, options."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sphynx.contracts import TrialKey
from sphynx.engine import BatchResult, LocalOptions, Stop, plan_local, run_plan
from sphynx.schema.records import TrialRecord

SUITE = """
from sphynx import case, command, empty, files, named, repo, suite, variant, Verdict
from sphynx.validators import script

AGENT = dict(harness="command", model="scripted", profile={"name": "agent", "dir": "./agent"})
"""


class Recorder:
    """A sink that keeps everything it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []

    def batch_started(self, batch: Any) -> None:
        self.told.append(("batch_started", batch))

    def trial_started(self, key: TrialKey) -> None:
        self.told.append(("trial_started", key))

    def event(self, key: TrialKey, event: Any) -> None:
        self.told.append(("event", event))

    def output(self, key: TrialKey, stage: str, text: str) -> None:
        self.told.append(("output", (stage, text)))

    def trial_ended(self, key: TrialKey, record: TrialRecord) -> None:
        self.told.append(("trial_ended", record))

    def batch_ended(self, batch: Any) -> None:
        self.told.append(("batch_ended", batch))

    def note(self, text: str) -> None:
        self.told.append(("note", text))

    def of(self, kind: str) -> list[Any]:
        return [value for name, value in self.told if name == kind]

    def shown(self, stage: str) -> str:
        return "".join(text for name, text in self.of("output") if name == stage)


class Project:
    """``root`` is the project, ``local`` the local root of its runs."""

    def __init__(self, tmp_path: Path) -> None:
        self.root = tmp_path / "project"
        self.local = tmp_path / "local"
        self.root.mkdir()
        (self.root / "pyproject.toml").write_text("[project]\nname = 'demo'\n")
        self.env = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(tmp_path / "user-home"),
            "SPHYNX_LOCAL_ROOT": str(self.local),
        }
        (tmp_path / "user-home").mkdir()

    def agent(
        self, run: str, *, name: str = "agent", files: Mapping[str, str] | None = None, **manifest: Any
    ) -> None:
        """Write a profile whose ``run`` is a bash script."""
        folder = self.root / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "run.sh").write_text(textwrap.dedent(run))
        (folder / "profile.json").write_text(json.dumps({"run": "run.sh", **manifest}))
        for path, text in (files or {}).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)

    def python_agent(self, code: str, *, name: str = "agent", **manifest: Any) -> None:
        """Write a profile that runs a Python program."""
        run = f"exec {sys.executable} -S $SPHYNX_HOME/agent.py"
        self.agent(run, name=name, files={"home/agent.py": textwrap.dedent(code)}, **manifest)

    def suite(self, text: str, *, file: str = "demo_eval.py") -> Path:
        """Write an eval file; ``AGENT`` is the profile above, builders are imported."""
        path = self.root / file
        path.write_text(SUITE + textwrap.dedent(text))
        return path

    def options(self, **options: Any) -> LocalOptions:
        env = {**self.env, **options.pop("env", {})}
        return LocalOptions(cwd=self.root, env=env, **{"jobs": 2, **options})

    async def run_all(
        self,
        *,
        sinks: Sequence[Any] = (),
        stop: Stop | None = None,
        paths: Sequence[str] = (),
        **options: Any,
    ) -> list[BatchResult]:
        return await run_plan(plan_local(paths, self.options(**options)), sinks, stop)

    async def run(self, **options: Any) -> BatchResult:
        (result,) = await self.run_all(**options)
        return result

    async def trial(self, **options: Any) -> TrialRecord:
        (trial,) = (await self.run(**options)).trials
        return trial


def git_repository(path: Path, commits: Sequence[Mapping[str, str]]) -> list[str]:
    """A repository with these files, one commit each; gives the commit ids."""
    path.mkdir(parents=True)
    ids = []
    _git(path, "init", "-q", "-b", "main")
    for number, files in enumerate(commits):
        for name, text in files.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_text(text)
        _git(path, "add", "-A")
        _git(path, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", f"commit {number}")
        ids.append(_git(path, "rev-parse", "HEAD").strip())
    return ids


def _git(path: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=path, check=True, capture_output=True, text=True).stdout
