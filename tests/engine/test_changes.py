"""What is told about files an agent changed."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_project import Project
from sphynx.engine import tree
from sphynx.engine.diff import MAX_TEXT, compare
from sphynx.engine.record import MAX_DIFF, cut_diff


def changes(folder: Path, act) -> tuple[list[str], str]:
    before = tree.scan(str(folder))
    act()
    found = compare(before, tree.scan(str(folder)))
    return found.paths, found.text


def test_created_changed_and_removed_files_are_one_unified_diff(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("a\nb\nc\n")
    (tmp_path / "gone.txt").write_text("bye\n")

    def act() -> None:
        (tmp_path / "old.txt").write_text("a\nB\nc\n")
        (tmp_path / "gone.txt").unlink()
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub" / "new.txt").write_text("no line end")

    paths, text = changes(tmp_path, act)
    assert paths == ["gone.txt", "old.txt", "sub/new.txt"]
    assert "--- a/gone.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-bye\n" in text
    assert "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n" in text
    assert "--- /dev/null\n+++ b/sub/new.txt\n@@ -0,0 +1,1 @@\n+no line end\n\\ No newline" in text


@given(
    st.dictionaries(st.sampled_from("abc"), st.text("x\ny", max_size=12), max_size=3),
    st.dictionaries(st.sampled_from("abc"), st.text("x\ny", max_size=12), max_size=3),
)
def test_git_applies_the_diff(before: dict[str, str], after: dict[str, str]) -> None:
    """The promise of a unified diff: applied to the old files it gives the new ones."""
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp())
    try:
        for name, text in before.items():
            (folder / name).write_text(text)

        def act() -> None:
            for name in before.keys() - after.keys():
                (folder / name).unlink()
            for name, text in after.items():
                (folder / name).write_text(text)

        _, text = changes(folder, act)
        for path in folder.iterdir():
            path.unlink()
        for name, old in before.items():
            (folder / name).write_text(old)
        if text:
            subprocess.run(["git", "apply", "-"], input=text.encode(), cwd=folder, check=True)
        assert {path.name: path.read_text() for path in folder.iterdir()} == after
    finally:
        shutil.rmtree(folder)


def test_binary_large_and_long_files_are_named_not_shown(tmp_path: Path) -> None:
    def act() -> None:
        (tmp_path / "image.bin").write_bytes(b"\0" * 10)
        (tmp_path / "large.txt").write_bytes(b"x" * 200_000)
        (tmp_path / "long.txt").write_text("x\n" * 5_000)

    paths, text = changes(tmp_path, act)
    assert paths == ["image.bin", "large.txt", "long.txt"]
    assert text.count(" not shown (") == 3 and "+x" not in text


def test_links_pipes_and_skipped_folders_are_never_opened(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("do not read")
    work = tmp_path / "work"
    work.mkdir()

    def act() -> None:
        os.mkfifo(work / "pipe")
        (work / "link").symlink_to(tmp_path / "outside" / "secret.txt")
        (work / "folder").symlink_to(tmp_path / "outside")
        (work / "node_modules").mkdir()
        (work / "node_modules" / "x.js").write_text("x")

    paths, text = changes(work, act)
    assert paths == ["folder", "link"]
    assert "do not read" not in text and "outside" in text
    assert tree.read_file(str(work), "folder/secret.txt") is None
    assert tree.read_file(str(work), "pipe") is None


def test_a_tree_too_large_to_compare_says_so(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number}.txt").write_text("x")
    found = compare(tree.Tree(), tree.scan(str(tmp_path), limit=10))
    assert len(found.paths) == 10
    assert found.notes == ["the workspace has too many files to compare all of them"]


def test_a_long_diff_is_cut_at_a_line() -> None:
    assert cut_diff("short\n") == ("short\n", False)
    text, cut = cut_diff("0123456789\n" * 40_000)
    assert cut and len(text) <= MAX_DIFF and text.endswith("9\n")


@pytest.mark.anyio
async def test_the_diff_and_the_kept_files_are_redacted(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.agent('echo "token: $APP_SECRET" > notes.md; mkdir s; echo x > s/a.py', variables=["APP_SECRET"])
    project.suite("""
        demo = suite(id="demo", prompt="x", variants=[AGENT],
                     cases=[case(id="one", validate=command("grep -q value-of-it notes.md"))])
    """)
    result = await project.run(env={"APP_SECRET": "value-of-it-1"})
    (trial,) = result.trials
    assert trial.status == "passed"
    assert "+token: [redacted]" in (trial.diff or "")
    assert [item.path for item in trial.artifacts] == ["notes.md", "s/a.py", "changes.diff"]
    folder = next(result.folder.glob("trials/*"))
    assert (folder / str(trial.artifacts[0].file)).read_text() == "token: [redacted]\n"
    for item in trial.artifacts:
        data = (folder / str(item.file)).read_bytes()
        assert (item.byte_size, item.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    assert (folder / "changes.diff").read_text() == trial.diff


@pytest.mark.anyio
async def test_files_that_may_hold_secrets_are_named_in_the_diff_and_not_shown(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.agent(
        """
        echo "PORT=plain-value-of-env" > .env
        mkdir secrets; echo folder-value > secrets/a.txt
        echo \'api_key = "0123456789abcdef"\' > config.py
        echo all: > Makefile
        """
    )
    project.suite("""
        demo = suite(id="demo", prompt="x", variants=[AGENT],
                     cases=[case(id="one", validate=command("echo checked > Makefile"))])
    """)
    result = await project.run()
    (trial,) = result.trials
    diff = trial.diff or ""
    assert "+all:" in diff and "checked" not in diff, "taken before the checks"
    for text in ("plain-value-of-env", "folder-value", "0123456789abcdef"):
        assert text not in diff
    assert "Left out: .env may hold a secret\n" in diff
    assert "left out of the diff, they may hold secrets: .env, config.py, secrets/a.txt" in trial.notes
    assert [item.path for item in trial.artifacts] == ["changes.diff"]


@pytest.mark.anyio
async def test_a_kept_workspace_stands_beside_the_record(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.agent("mkdir deep; echo here > deep/a.txt; ln -s /nowhere dangling")
    project.suite("""
        demo = suite(id="demo", prompt="x", variants=[AGENT],
                     cases=[case(id="one", validate=command("true"))])
    """)
    result = await project.run(keep_workspace=True)
    (kept,) = result.folder.glob("trials/*/workspace")
    assert (kept / "deep" / "a.txt").read_text() == "here\n"


def test_names_cannot_forge_lines_of_the_diff_and_need_not_be_utf8(tmp_path: Path) -> None:
    """Names are quoted as git does; bytes that are no UTF-8 are written out."""

    def act() -> None:
        (tmp_path / "a\n+++ b").write_text("x\n")
        (tmp_path / os.fsdecode(b"inv\xff.txt")).write_text("y\n")
        (tmp_path / "ö.txt").write_text("z\n")

    paths, text = changes(tmp_path, act)
    assert paths == ["a\n+++ b", "inv\\xff.txt", "ö.txt"]
    assert 'diff --git "a/a\\n+++ b" "b/a\\n+++ b"\n' in text
    assert '+++ "b/inv\\\\xff.txt"\n' in text
    assert "+++ b/ö.txt\n" in text


def test_a_workspace_that_became_a_link_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("x")
    (tmp_path / "workspace").symlink_to(outside)
    assert tree.scan(str(tmp_path / "workspace")).files == {}
    assert tree.read_file(str(tmp_path / "workspace"), "secret.txt") is None


def test_folders_too_deep_to_follow_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "/".join("d" * 150)).mkdir(parents=True)
    (tmp_path / "/".join("d" * 150) / "file").write_text("x")
    (tmp_path / "top").write_text("x")
    found = tree.scan(str(tmp_path))
    assert list(found.files) == ["top"]
    assert not found.complete


def test_a_diff_of_very_many_files_lists_all_and_shows_the_first(tmp_path: Path) -> None:
    """The time is linear in the files, and no text is made that nobody would store."""
    names = [f"{number:05}" for number in range(12_000)]
    after = tree.Tree({name: tree.FileState(1, 0, 0, 0o100644, b"x") for name in names})
    found = compare(tree.Tree(), after)
    assert found.paths == names
    assert MAX_DIFF < len(found.text) < MAX_TEXT + 1_000
    shown = found.text.count("diff --git ")
    assert found.notes == [f"the diff shows {shown} of 12000 changed files"]
