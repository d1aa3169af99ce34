"""Which files a command means."""

from __future__ import annotations

import os
from typing import Any

import pytest

from case_data import case_id, load
from sphynx.compiler import discovery
from sphynx.errors import UsageError
from sphynx.sandboxes.local_root import LocalRoot


@pytest.mark.parametrize("case", load("eval-files"), ids=case_id)
def test_the_worked_cases(case: dict[str, Any], write) -> None:
    def ours(name: str) -> str:
        return name.replace(".eval.ts", "_eval.py") if name.endswith(".eval.ts") else name

    root = write(dict.fromkeys(map(ours, case["input"]["entries"]), ""))
    found = [path.relative_to(root).as_posix() for path in discovery.find(root)]
    wanted = sorted(map(ours, case["expected"]["files"]))
    assert found == wanted


def test_folders_of_built_and_foreign_code_are_skipped(write) -> None:
    skipped = ["node_modules", "dist", "build", "venv", "site-packages", "__pycache__", ".git", ".venv"]
    root = write({**{f"a/{name}/x_eval.py": "" for name in skipped}, "a/x_eval.py": "", ".x_eval.py": ""})
    assert discovery.find(root) == [root / "a/x_eval.py"]


def test_a_virtual_environment_of_any_name_is_skipped(write) -> None:
    root = write({"env/pyvenv.cfg": "", "env/lib/x_eval.py": "", "y_eval.py": ""})
    assert discovery.find(root) == [root / "y_eval.py"]


def test_files_are_sorted_by_utf16_code_unit(write) -> None:
    names = ["z_eval.py", "\U0001f600_eval.py", "\uff21_eval.py", "Z/a_eval.py", "a_eval.py"]
    root = write(dict.fromkeys(names, ""))
    found = [path.relative_to(root).as_posix() for path in discovery.find(root)]
    assert found == ["Z/a_eval.py", "a_eval.py", "z_eval.py", "\U0001f600_eval.py", "\uff21_eval.py"]


def test_a_loop_of_links_does_not_hang_it_and_files_come_once(write) -> None:
    root = write({"a/x_eval.py": ""})
    os.symlink(root, root / "a" / "loop")
    os.symlink(root / "a", root / "again")
    os.symlink("/", root / "everything")
    os.symlink(root / "nowhere_eval.py", root / "broken_eval.py")
    assert discovery.find(root) == [root / "a/x_eval.py"]


def test_paths_may_be_files_or_folders_and_keep_their_order(write) -> None:
    root = write({"b/2_eval.py": "", "b/1_eval.py": "", "a_eval.py": "", "plain.py": ""})
    found = discovery.find(root, ["plain.py", "b", "./a_eval.py", "b/1_eval.py", str(root / "a_eval.py")])
    assert found == [root / "plain.py", root / "b/1_eval.py", root / "b/2_eval.py", root / "a_eval.py"]


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("smok_eval.py", "smoke_eval.py"),
        ("./evals/smok_eval.py", "evals/smoke_eval.py"),
        ("deep_eval.py", None),
    ],
)
def test_a_missing_file_is_named_with_the_nearest_there_is(text: str, near: str | None, write) -> None:
    root = write({"smoke_eval.py": "", "evals/smoke_eval.py": "", "a/b/other_eval.py": ""})
    with pytest.raises(UsageError) as caught:
        discovery.find(root, [text])
    assert caught.value.message == f"no such file: {text}"
    assert caught.value.hint == (f"did you mean {near}?" if near else None)


def test_the_nearest_name_is_found_in_another_folder(write) -> None:
    root = write({"deep/down/checkout_eval.py": ""})
    with pytest.raises(UsageError) as caught:
        discovery.find(root, ["chekout_eval.py"])
    assert caught.value.hint == "did you mean deep/down/checkout_eval.py?"


def test_nothing_found_is_an_error_that_says_where(write) -> None:
    root = write({"empty/readme.md": ""})
    with pytest.raises(UsageError, match=f"no eval files .* under {root}"):
        discovery.find(root)
    with pytest.raises(UsageError, match="under empty"):
        discovery.find(root, ["empty"])
    with pytest.raises(UsageError, match=r"readme.md is not a Python file"):
        discovery.find(root, ["empty/readme.md"])


def test_copies_in_a_local_root_inside_the_project_are_not_found(write) -> None:
    """Bundles that are staged and workspaces of running trials hold eval files that nobody asked for."""
    root = write({"smoke_eval.py": ""})
    local = LocalRoot(root / "local")
    for folder in (local.staging / "entry-1" / "tree", local.trials / "one" / "workspace"):
        folder.mkdir(parents=True)
        (folder / "copied_eval.py").write_text("")
    assert [path.name for path in discovery.find(root)] == ["smoke_eval.py"]
    with pytest.raises(UsageError, match="no such file"):
        discovery.find(root, ["copid_eval.py"])
