"""A whole server in a process of its own, as ``sphynx serve`` starts it, and the command line against it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sphynx import Sphynx

SPHYNX = str(Path(sys.executable).with_name("sphynx"))
EVAL = '''
from sphynx import case, command, suite, variant

async def says_hello(ctx):
    """The agent wrote the file."""
    return (await ctx.read_text("hello.txt")).strip() == "hello"

smoke = suite(
    id="smoke",
    prompt="{{task}}",
    cases=[
        case(id="writes-hello", variables={"task": "write it"}, validate=[says_hello]),
        case(id="has-file", variables={"task": "write it"}, validate=command("test -f hello.txt")),
        *[case(id=f"more-{n}", variables={"task": "write it"}, validate=[says_hello]) for n in range(MORE)],
    ],
    variants=[variant(harness="command", model="m", profile={"name": "mine", "dir": "./mine"})],
    trials=TRIALS,
)
'''


@dataclass
class Whole:
    """A server process, its worker and its key."""

    process: subprocess.Popen[str]
    url: str
    key: str
    data: Path
    log: Path
    database_url: str = ""

    def client(self) -> Sphynx:
        return Sphynx(self.key, self.url)

    def cli(self, *args: str, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
        env = {**clean_env(cwd), "SPHYNX_API_KEY": self.key, "SPHYNX_BASE_URL": self.url}
        return subprocess.run(
            [SPHYNX, *args], cwd=cwd, env=env, input=stdin, text=True,
            capture_output=True, timeout=120,
        )  # fmt: skip

    def more_workers(
        self, data: Path, jobs: int = 2, *args: str, environ: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """A ``sphynx worker`` on the server's database."""
        env = {**clean_env(data.parent), "SPHYNX_DATABASE_URL": self.database_url, **(environ or {})}
        with self.log.open("a") as file:
            return subprocess.Popen(
                [SPHYNX, "worker", "--data", str(data), "--jobs", str(jobs), "--no-isolate", *args],
                stderr=file, env=env,
            )  # fmt: skip

    def worker_pid(self) -> int:
        """The child of the server that runs trials."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        for child in children:
            if b"execution.worker" in Path(f"/proc/{child}/cmdline").read_bytes():
                return int(child)
        tasks = Path(f"/proc/{self.process.pid}/task")
        for task in tasks.iterdir():
            for child in (task / "children").read_text().split():
                if b"execution.worker" in Path(f"/proc/{child}/cmdline").read_bytes():
                    return int(child)
        raise AssertionError("there is no worker")


KEPT = ("PATH", "LANG", "TMPDIR", "XDG_RUNTIME_DIR", "COVERAGE_PROCESS_START")


def clean_env(home: Path) -> dict[str, str]:
    """What a program needs, and nothing that tells where the tests run: CI is recorded as a trigger."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**kept, "SPHYNX_LOCAL_ROOT": str(home / ".local-root"), "HOME": str(home)}


def project(folder: Path, run: str, *, trials: int = 1, variables: str = "[]", cases: int = 2) -> Path:
    """A folder with one eval file whose agent is the shell command ``run``."""
    (folder / "mine").mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").touch()
    (folder / "smoke_eval.py").write_text(EVAL.replace("TRIALS", str(trials)).replace("MORE", str(cases - 2)))
    manifest = f'{{"run": "sh run.sh", "variables": {variables}}}'
    (folder / "mine" / "profile.json").write_text(manifest)
    (folder / "mine" / "workspace").mkdir(exist_ok=True)
    (folder / "mine" / "workspace" / "run.sh").write_text(run)
    return folder


@contextmanager
def whole(
    data: Path, *args: str, key: str = "", database_url: str = "", environ: Mapping[str, str] | None = None
) -> Iterator[Whole]:
    """Start a server, with more variables than it needs, and stop it in order."""
    data.mkdir(parents=True, exist_ok=True)
    log = data.parent / f"{data.name}.log"
    # A daemon of whoever runs the tests is none of theirs: those that want one bring it.
    env = {**clean_env(data.parent), "DOCKER_HOST": "unix:///no/daemon.sock", **(environ or {})}
    if database_url:
        env["SPHYNX_DATABASE_URL"] = database_url
    command = [SPHYNX, "serve", "--data", str(data), "--port", "0", "--allow-local-sandbox", "--jobs", "3"]
    with log.open("a") as file:
        process = subprocess.Popen([*command, *args], stdout=subprocess.PIPE, stderr=file, text=True, env=env)
    assert process.stdout is not None
    url = ""
    for line in process.stdout:
        url = url or next(iter(re.findall(r"listens on (http\S+)", line)), "")
        key = key or next(iter(re.findall(r"SPHYNX_API_KEY=(\S+)", line)), "")
        if "SPHYNX_API_KEY" in line or (key and "SPHYNX_BASE_URL" in line):
            break
    assert url, log.read_text()
    try:
        yield Whole(process, url, key, data, log, database_url)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(30)
        process.stdout.close()


def until(what: object, seconds: float = 20) -> None:
    """Wait for a promise to come true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():  # type: ignore[operator]
            return
        time.sleep(0.1)
    raise AssertionError("it did not happen in time")
