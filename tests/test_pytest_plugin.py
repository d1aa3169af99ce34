"""``pytest --sphynx``: cases as tests, only when asked for."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

from server.whole import clean_env, project

# An installed package is found by its entry point; naming the plugin as well would be once too often.
INSTALLED = any(point.name == "sphynx" for point in entry_points(group="pytest11"))
PLUGIN = [] if INSTALLED else ["-p", "sphynx.pytest_plugin"]


def run_pytest(home: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *PLUGIN, *args],
        cwd=home, env=clean_env(home), capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def test_each_case_and_variant_is_an_item_with_its_verdict(tmp_path: Path) -> None:
    home = project(tmp_path, "echo bye > hello.txt")
    listed = run_pytest(home, "--sphynx", "smoke_eval.py", "--collect-only", "-q").stdout
    assert "smoke::writes-hello[command/m@mine]" in listed
    done = run_pytest(home, "--sphynx", "smoke_eval.py")
    assert done.returncode == 1
    assert "1 failed, 1 passed" in done.stdout
    assert "says_hello" in done.stdout
    assert "Traceback" not in done.stdout
    assert run_pytest(home, "--sphynx", "smoke_eval.py", "-k", "has-file").returncode == 0


def test_without_the_switch_nothing_is_collected_and_a_wrong_file_says_what_is_wrong(tmp_path: Path) -> None:
    home = project(tmp_path, "true")
    assert run_pytest(home, "smoke_eval.py", "--collect-only", "-q").stdout.find("smoke::") < 0
    text = (home / "smoke_eval.py").read_text().replace('id="smoke"', 'id="Not An Id"')
    (home / "smoke_eval.py").write_text(text)
    done = run_pytest(home, "--sphynx", "smoke_eval.py")
    assert done.returncode == 2
    assert "Not An Id" in done.stdout
