"""A harness of one's own, from a package somebody else installs: entry point, registration, conformance."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from eval_project import Project

SPHYNX = str(Path(sys.executable).parent / "sphynx")
MODULE = '''
"""An agent that writes down what it was asked."""

from sphynx.contracts import HarnessSetup, Sandbox, TurnResult
from sphynx.journal.events import Message, Started


class AcmeHarness:
    name = "acme"
    version = "7"

    @classmethod
    def keys(cls, variant, env):
        return {name: env[name] for name in ("ACME_KEY",) if name in env}

    @classmethod
    def needs(cls, variant, env):
        return [{"name": "ACME_KEY", "found": "ACME_KEY" in env, "why": "harness acme needs it"}]

    async def prepare(self, box: Sandbox, setup: HarnessSetup) -> None:
        self.model = setup.model
        await box.write(f"{box.home}/key", setup.keys["ACME_KEY"].encode(), mode=0o600)

    async def turn(self, box, prompt, *, session_id, timeout_ms, emit) -> TurnResult:
        if session_id is None:
            emit(Started("acme-1", self.model))
        line = 'printf "%s\\\\n" "$1" >> said.txt'
        said = await box.exec(["sh", "-c", line, "sh", prompt], timeout_ms=timeout_ms)
        emit(Message("assistant", f"heard {prompt}"))
        return TurnResult("finished", session_id="acme-1", exit_code=said.exit_code)


class SecondHarness(AcmeHarness):
    name = "acme-second"
'''
CONFORMANCE = """
import os
import pytest
from acme_agent import AcmeHarness
from sphynx.harnesses.conformance import HARNESS_CHECKS, Subject, run
from sphynx.sandboxes.local import LocalBackend
from sphynx.sandboxes.local_root import LocalRoot

SUBJECT = Subject(AcmeHarness, "say hello", {"keys": {"ACME_KEY": "acme-key-1234567890"}})

@pytest.mark.anyio
@pytest.mark.parametrize("check", HARNESS_CHECKS, ids=lambda check: check.name)
async def test_acme(check, tmp_path):
    backend = LocalBackend(LocalRoot(tmp_path), env={"PATH": os.environ["PATH"]})
    try:
        await run(check, SUBJECT, backend)
    finally:
        await backend.aclose()
"""
SUITE = """
    from sphynx import register_harness
    from acme_agent import SecondHarness

    register_harness("acme-second", SecondHarness)
    def heard(ctx):
        return ctx.read_text("said.txt") == "open\\n again\\n".replace(" ", "")
    demo = suite(id="demo", prompt="open", cases=[case(id="one", user=script(["again"]), validate=heard)],
                 variants=[variant(harness="acme", model="m"), variant(harness="acme-second", model="m")])
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder the package was installed into."""
    folder = tmp_path_factory.mktemp("acme")
    wheel = folder / "acme_agent-7-py3-none-any.whl"
    info = "acme_agent-7.dist-info"
    files = {
        "acme_agent.py": MODULE,
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: acme-agent\nVersion: 7\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[sphynx.harnesses]\nacme = acme_agent:AcmeHarness\n",
    }
    record = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in (*files.items(), (f"{info}/RECORD", record)):
            archive.writestr(name, text)
    target = folder / "site"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", str(target)]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    return target


def sphynx(
    project: Project, installed: Path, *arguments: str, **env: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SPHYNX, *arguments], cwd=project.root, capture_output=True, text=True, check=False,
        env={**project.env, "PYTHONPATH": str(installed), "LANG": "C.UTF-8", **env}, timeout=60,
    )  # fmt: skip


def test_an_installed_package_brings_a_harness_and_an_eval_file_registers_one(
    tmp_path: Path, installed: Path
) -> None:
    project = Project(tmp_path)
    project.suite(SUITE)
    refused = sphynx(project, installed, "eval", "--local")
    assert refused.returncode == 1 and "ACME_KEY is not set" in refused.stderr
    done = sphynx(project, installed, "eval", "--local", "--json", ACME_KEY="acme-key-1234567890")
    assert done.returncode == 0, done.stderr
    records = [json.loads(path.read_text()) for path in project.root.rglob("trial.json")]
    assert {(item["harness"], item["status"], item["turns"]) for item in records} == {
        ("acme", "passed", 2),
        ("acme-second", "passed", 2),
    }
    assert {item["harnessVersion"] for item in records} == {"7"}
    assert all(item["sessionId"] == "acme-1" for item in records)


def test_without_the_package_the_name_is_not_known(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.suite("""
        demo = suite(id="demo", prompt="p", cases=[case(id="one", validate=command("true"))],
                     variants=[variant(harness="acme", model="m")])
    """)
    done = sphynx(project, tmp_path / "nowhere", "eval", "--local")
    assert done.returncode == 1
    assert '"acme" is not known' in done.stderr


def test_the_package_runs_the_conformance_suite(tmp_path: Path, installed: Path) -> None:
    """Third parties import the suite and run it with their own pytest."""
    (tmp_path / "test_acme.py").write_text(CONFORMANCE)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_acme.py"], cwd=tmp_path,
        env={"PATH": str(Path(sys.executable).parent) + ":/usr/bin:/bin", "PYTHONPATH": str(installed)},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
