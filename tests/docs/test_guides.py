"""Every guide is executed: its titled blocks are files, its console blocks are commands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\((?!https?://)([^)#]*)(?:#([^)]*))?\)")


def page_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(path: Path) -> list[tuple[str, str, str]]:
    return BLOCK.findall(path.read_text())


def commands(path: Path) -> list[str]:
    lines = [line for kind, _, text in blocks(path) if kind == "console" for line in text.splitlines()]
    return [line[2:].split("   #")[0].strip() for line in lines if line.startswith("$ ")]


@pytest.mark.parametrize("path", [p for p in PAGES if commands(p)], ids=page_name)
def test_commands_of_a_guide_work_in_order(path: Path, tmp_path: Path) -> None:
    """A reader who copies the files and types the commands gets exit code 0 for each."""
    for _, title, text in blocks(path):
        if title:
            target = tmp_path / title
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
    env = {**os.environ, "SPHYNX_LOCAL_ROOT": str(tmp_path / "local"), "NO_COLOR": "1", "HOME": str(tmp_path)}
    env.pop("SPHYNX_DATABASE_URL", None)
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    env.pop("SPHYNX_API_KEY", None)
    for command in commands(path):
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"


def anchors(path: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", path.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("path", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "AGENTS.md"], ids=page_name)
def test_links_lead_somewhere(path: Path) -> None:
    prose = BLOCK.sub("", path.read_text())
    for target, anchor in LINK.findall(prose):
        file = (path.parent / target) if target else path
        assert file.exists(), f"{page_name(path)} links to {target}, which is not there"
        if anchor:
            assert anchor in anchors(file), f"{page_name(path)} links to {target}#{anchor}"


def test_the_hello_example_passes_its_own_self_test(tmp_path: Path) -> None:
    env = {**os.environ, "SPHYNX_LOCAL_ROOT": str(tmp_path / "local")}
    command = [str(Path(sys.executable).parent / "sphynx"), "eval", "--local", "--self-test"]
    done = subprocess.run(
        [*command, str(ROOT / "examples" / "hello_eval.py")],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
