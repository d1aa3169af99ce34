"""What Sphynx adds to a trial, beside a bare floor and, if asked, beside Inspect AI, in one run.

    python benchmarks/overhead.py                      sphynx against the floor, start-up against bare Python
    python benchmarks/overhead.py --peer inspect       also Inspect AI's local sandbox, in a venv of its own
    python benchmarks/overhead.py --check              fail when a ratio is twice the one in baseline.json
    python benchmarks/overhead.py --save               write the ratios into baseline.json

All sides run the same two commands per trial, alternating, in one folder on one file system (tmpfs when there
is one). CPU is user plus system time of the whole process tree, as the kernel accounts it. Only ratios and
differences to the floor are kept: absolute times belong to the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
BASELINE = HERE / "baseline.json"
TRIALS, JOBS = 500, 50


@dataclass
class Sample:
    """One run of one side: seconds of wall time and of CPU."""

    wall: float
    cpu: float


def timed(argv: list[str], cwd: Path, env: dict[str, str], ok: tuple[int, ...] = (0,)) -> Sample:
    """Run ``argv`` to its end and account for its whole tree."""
    begun = time.perf_counter()
    log = cwd / "last-output.txt"
    with log.open("wb") as out:
        process = subprocess.Popen(argv, cwd=cwd, env=env, stdout=out, stderr=out)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in ok:
        raise SystemExit(f"error: {argv} ended with {process.returncode}\n{log.read_text()[-2000:]}")
    return Sample(time.perf_counter() - begun, usage.ru_utime + usage.ru_stime)


def scratch() -> tuple[Path, str]:
    """A fresh folder that all sides share, and the name of its file system."""
    shm = Path("/dev/shm")
    home = shm if shm.is_dir() and os.access(shm, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="sphynx-bench-", dir=home))
    return folder, "tmpfs" if home else "temp folder"


def sides(folder: Path, peer_python: Path | None) -> dict[str, tuple[list[str], dict[str, str]]]:
    """The command line and environment of every side."""
    plain = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
    own = {**plain, "SPHYNX_LOCAL_ROOT": str(folder / "local"), "TMPDIR": str(folder)}
    shutil.copytree(HERE / "noop", folder / "noop")
    sphynx = [str(Path(sys.executable).with_name("sphynx")), "eval", "--local", "-j", str(JOBS)]
    table = {
        "floor": ([sys.executable, str(HERE / "floor.py"), str(TRIALS), str(JOBS), "floor"], own),
        "sphynx": ([*sphynx, "noop/noop_eval.py"], own),
        "sphynx-python": ([*sphynx, "noop/noop_python_eval.py"], own),
    }
    if peer_python:
        shutil.copy(HERE / "inspect_task.py", folder)
        command = [str(peer_python.with_name("inspect")), "eval", "inspect_task.py", "--model"]
        command += [
            "mockllm/model",
            "--display",
            "none",
            "--max-samples",
            str(JOBS),
            "--max-sandboxes",
            str(JOBS),
        ]
        command += ["--log-dir", str(folder / "logs"), "--no-log-samples"]
        table["inspect"] = (command, {**own, "NOOP_TRIALS": str(TRIALS)})
    return table


def run_trials(folder: Path, rounds: int, peer_python: Path | None) -> dict[str, float]:
    """Alternate the sides and return ratios to the floor and CPU milliseconds per trial above it."""
    table = sides(folder, peer_python)
    samples: dict[str, list[Sample]] = {side: [] for side in table}
    for turn in range(rounds):
        for side, (argv, env) in table.items():
            shutil.rmtree(folder / "floor", ignore_errors=True)
            (folder / "floor").mkdir()
            samples[side].append(timed(argv, folder, env))
            print(f"  round {turn + 1}  {side:14} {samples[side][-1].wall:6.2f} s wall", file=sys.stderr)
    wall = {side: statistics.median(s.wall for s in runs) for side, runs in samples.items()}
    cpu = {side: statistics.median(s.cpu for s in runs) for side, runs in samples.items()}
    found = {}
    for side in table:
        if side != "floor":
            found[f"{side}: wall, times the floor"] = wall[side] / wall["floor"]
            found[f"{side}: CPU ms a trial above the floor"] = (cpu[side] - cpu["floor"]) / TRIALS * 1000
    return found


def best(argv: list[str], folder: Path, times: int = 9) -> float:
    """The quickest of some runs, in seconds."""
    env = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
    return min(timed(argv, folder, env).wall for _ in range(times))


def run_startup(folder: Path) -> dict[str, float]:
    """Start-up of the command and of the import, beside a Python that does nothing."""
    bare = best([sys.executable, "-c", "pass"], folder)
    command = best([str(Path(sys.executable).with_name("sphynx")), "--help"], folder)
    imported = best([sys.executable, "-c", "import sphynx"], folder)
    return {
        "sphynx --help: ms above 3 bare starts": (command - 3 * bare) * 1000,
        "sphynx --help: times a bare start": command / bare,
        "import sphynx: ms above a bare start": (imported - bare) * 1000,
    }


TARGETS = {
    "sphynx: wall, times the floor": 2.0,
    "sphynx: CPU ms a trial above the floor": 5.0,
    "sphynx-python: CPU ms a trial above the floor": 8.0,
    "sphynx --help: ms above 3 bare starts": 100.0,
    "import sphynx: ms above a bare start": 30.0,
}


def report(found: dict[str, float], check: bool) -> int:
    """Print the table; with ``check`` say which figure doubled since the baseline was written."""
    kept = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    worse = 0
    for name, value in found.items():
        before, target = kept.get(name), TARGETS.get(name)
        doubled = check and before is not None and value > 2 * max(before, 0.5)
        worse += doubled
        notes = [
            f"baseline {before:.2f}" if before is not None else "",
            f"target {target:g}" if target else "",
        ]
        mark = "DOUBLED" if doubled else ""
        print(f"{name:48} {value:8.2f}   {'   '.join(note for note in notes if note)} {mark}".rstrip())
    if worse:
        print(f"error: {worse} figures doubled since benchmarks/baseline.json was written", file=sys.stderr)
    return 1 if worse else 0


def peer(folder: Path) -> Path:
    """A venv of its own with Inspect AI; returns its interpreter."""
    venv = folder / "peer"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    subprocess.run([venv / "bin/python", "-m", "pip", "install", "-q", "inspect-ai"], check=True)
    return venv / "bin" / "python"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer", choices=["inspect"])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    folder, system = scratch()
    try:
        found = run_startup(folder)
        with tempfile.TemporaryDirectory(prefix="sphynx-peer-") as spare:
            python = peer(Path(spare)) if options.peer else None
            found |= run_trials(folder, options.rounds, python)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{TRIALS} trials, {JOBS} at a time, {options.rounds} rounds, file system: {system}")
    if options.save:
        BASELINE.write_text(
            json.dumps({name: round(value, 2) for name, value in found.items()}, indent=2) + "\n"
        )
    return report(found, options.check)


if __name__ == "__main__":
    sys.exit(main())
