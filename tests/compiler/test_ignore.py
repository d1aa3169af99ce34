"""``.gitignore`` rules mean what git makes of them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sphynx.compiler.ignore import Rule, is_ignored, parse

git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def ignored(path: str, files: dict[str, str]) -> bool:
    """Whether ``path`` is ignored, with ``files`` (folder to rules); what holds for a parent holds for it."""
    parts = path.split("/")
    levels: list[tuple[str, list[Rule]]] = []
    for depth in range(len(parts)):
        folder = "/".join(parts[:depth])
        if folder in files:
            levels.append((folder, parse(files[folder])))
        if is_ignored("/".join(parts[: depth + 1]), depth + 1 < len(parts), levels):
            return True
    return False


ENV = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git repository that holds ``PATHS``."""
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", "."], cwd=root, env=ENV, check=True)
    for path in PATHS:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("")
    return root


def by_git(root: Path, files: dict[str, str]) -> set[str]:
    for old in root.rglob(".gitignore"):
        old.unlink()
    for folder, text in files.items():
        (root / folder / ".gitignore").write_bytes(text.encode())
    command = ["git", "check-ignore", "--no-index", "-z", "--stdin"]
    asked = "\0".join(PATHS).encode()
    done = subprocess.run(command, cwd=root, env=ENV, input=asked, capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return {path for path in done.stdout.decode().split("\0") if path}


PATHS = [
    "a", "b.txt", "A", "d/a", "d/b.txt", "d/e/a", "d/e/f/b.txt", "d/e/f/c.log", "foo/bar/baz",
    "foo/x/y/baz", "x/foo", "#hash", "!bang", "sp ace", "trail ", "[x]", "a-b", "a]b", "back\\slash",
    ".dot", "d/.dot", "1.tmp",
]  # fmt: skip

PATTERNS = [
    "e**//", "d/f**", "foo**/baz",
    "a", "/a", "a/", "*.txt", "/*.txt", "d/*", "d/**", "**/b.txt", "**/e", "d/**/b.txt", "foo/*/baz",
    "foo/**/baz", "*", "**", "!a", "*\n!b.txt", "*\n!d/\n!d/a", "d\n!d/a", "d/\n!d/a", "/d/e\n",
    "[a-c].txt", "[!b].txt", "[^b].txt", "[[:digit:]].tmp", "[]x].tmp", "?.txt", "??", "\\#hash",
    "#hash", "\\!bang", "!bang", "sp ace  ", "trail\\ ", "trail ", "\\[x]", "[[]x]", "a[-]b", "a[]]b",
    "a[]-]b", "back\\\\slash", "*.t[x-z]t", ".*", "*.", "d/e/f/", "e/f", "**foo", "foo**", "f**o/bar",
    "a/**/b", "**/", "/**", "/", "//a", "[", "[z-a]", "[a", "\\", "a\\", "d//a", "*.log\r\n", "\ufeffa",
    "[\\]]", "a[\\]]b", "[[:nope:]]", "*/a", "*/*/a", "d/**/", "**/**/a", "***/a", "d/***",
]  # fmt: skip


@git
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_ignores_what_git_ignores(pattern: str, repository: Path) -> None:
    files = {"": pattern}
    assert {path for path in PATHS if ignored(path, files)} == by_git(repository, files)


@git
@pytest.mark.parametrize(
    "files",
    [
        {"": "*.txt", "d": "!b.txt"},
        {"": "*.txt\n!b.txt", "d/e": "*"},
        {"": "e/", "d": "!e/"},
        {"d": "/a\n*.log", "d/e/f": "!c.log"},
        {"": "d", "d": "!a"},
        {"foo": "baz\n!bar/baz", "foo/x": "y/"},
    ],
)
def test_files_of_several_folders_together_ignore_what_git_ignores(
    files: dict[str, str], repository: Path
) -> None:
    assert {path for path in PATHS if ignored(path, files)} == by_git(repository, files)


PIECE = st.sampled_from(
    ["a", "b", "d", "e", "foo", "*", "**", "?", "/", "!", "[a-e]", "[!a]", ".txt", "\\", " ", "#", "***"]
)
LINE = st.lists(PIECE, max_size=6).map("".join)
TEXT = st.lists(LINE, max_size=4).map("\n".join)


@git
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=st.dictionaries(st.sampled_from(["", "d", "d/e", "foo"]), TEXT, max_size=3))
def test_made_up_files_ignore_what_git_ignores(files: dict[str, str], repository: Path) -> None:
    assert {path for path in PATHS if ignored(path, files)} == by_git(repository, files)


@given(st.text(max_size=60), st.text(min_size=1, max_size=30))
def test_any_text_can_be_read(text: str, path: str) -> None:
    for rule in parse(text):
        rule.matches(path, True)


def test_a_question_mark_is_one_character_not_one_byte() -> None:
    """Git counts bytes; what an author sees is characters."""
    assert ignored("é.txt", {"": "?.txt"})
    assert ignored("é.txt", {"": "[!a].txt"})
