"""The house rules that a machine can check."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "src" / "sphynx").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
STDLIB_ROOMS = ("guest", "suite", "validators", "mocks", "runner")
SLOW_AT_IMPORT = {"asyncio", "dataclasses", "inspect"}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_modules_stay_under_400_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_functions_stay_under_60_lines(path: Path) -> None:
    long = [
        f"{node.name} has {(node.end_lineno or 0) - node.lineno + 1} lines"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > 60
    ]
    assert not long


def test_no_module_has_a_name_that_says_nothing() -> None:
    vague = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc"}
    assert [name(path) for path in SOURCES if path.stem in vague] == []


def test_rooms_that_travel_into_a_sandbox_use_only_the_standard_library() -> None:
    import sys

    wrong = []
    for path in SOURCES:
        room = path.relative_to(ROOT / "src" / "sphynx").parts[0]
        if room not in STDLIB_ROOMS and path.name != "errors.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            wrong += [
                f"{name(path)}: {found}"
                for found in names
                if found.split(".")[0] not in {*sys.stdlib_module_names, "sphynx"}
            ]
    assert wrong == []


def test_rooms_that_travel_import_slow_modules_only_inside_functions() -> None:
    wrong = []
    for path in SOURCES:
        room = path.relative_to(ROOT / "src" / "sphynx").parts[0]
        if room not in STDLIB_ROOMS and path.name not in ("errors.py", "__init__.py"):
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Import):
                wrong += [f"{name(path)}: {a.name}" for a in node.names if a.name in SLOW_AT_IMPORT]
            if isinstance(node, ast.ImportFrom) and node.module in SLOW_AT_IMPORT:
                wrong.append(f"{name(path)}: {node.module}")
    assert wrong == []


def test_tests_use_real_parts() -> None:
    """No patching: a seam is used instead."""
    patched = re.compile(r"unittest[.]mock|Magic[M]ock|monkeypatch[.]setattr")
    assert [name(p) for p in TESTS if patched.search(p.read_text())] == []


def test_nothing_names_a_path_of_a_machine() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    pattern = re.compile(
        r"/home/(?!agent\b|user\b|node\b)[a-z]+/|/Users/[a-z]+/|/root/\w|/work/(?:main|shared)"
    )
    found = []
    for line in listed.splitlines():
        path = ROOT / line
        if (
            path.suffix in {".py", ".md", ".toml", ".yml", ".sh", ""}
            and path.is_file()
            and path.name != Path(__file__).name
        ):
            found += [line for _ in pattern.finditer(path.read_text(errors="replace"))]
    assert sorted(set(found)) == []
