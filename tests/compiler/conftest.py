"""Projects on disk, written from a dict of files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

SUITE = """
from sphynx import case, command, suite, variant

def passes(ctx):
    return True

smoke = suite(
    id="smoke",
    prompt="Say {{word}}",
    cases=[case(id="says-hello", variables={"word": "hello"}, validate=passes)],
    variants=[variant(harness="codex", model="m")],
)
"""

Write = Callable[[Mapping[str, str | bytes]], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write files into an empty folder of their own, which becomes the working folder."""
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)

    def put(files: Mapping[str, str | bytes]) -> Path:
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return root

    return put


@pytest.fixture
def staging(tmp_path: Path) -> Path:
    """Where bundles are written."""
    return tmp_path / "staging"
