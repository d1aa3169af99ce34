"""``skill lint``: what it says about SKILL.md and evals files, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from sphynx.errors import UsageError
from sphynx.importers.skill_lint import Remark, lint

GOOD = '---\nname: tide-table\ndescription: "Reads tide tables."\n---\nRead the table.\n'
EVALS = '{"skill_name": "tide-table",\n "evals": [{"id": 1, "prompt": "p", "assertions": ["x is named"]}]}'


def skill(folder: Path, main: str = GOOD, evals: str | None = EVALS, name: str = "tide-table") -> Path:
    root = folder / name
    (root / "evals").mkdir(parents=True)
    (root / "SKILL.md").write_text(main, "utf-8")
    if evals is not None:
        (root / "evals" / "evals.json").write_text(evals, "utf-8")
    return root


def told(root: Path) -> list[Remark]:
    return lint([root])[0]


def test_a_good_skill_gets_no_remark(tmp_path: Path) -> None:
    """Nothing is invented."""
    assert lint([skill(tmp_path)]) == ([], 2)


@pytest.mark.parametrize(
    ("main", "level", "line", "word"),
    [
        ("no front matter\n", "error", 1, "front matter"),
        ("---\ndescription: x\n---\n", "error", 1, "no name"),
        ("---\nname: tide-table\n---\n", "error", 1, "description"),
        ("---\nname: tide-table\ndescription: a: b\n---\n", "warning", 3, "not YAML"),
        ("\ufeff" + GOOD, "warning", 1, "byte order mark"),
        ("---\nname: other\ndescription: x\n---\n", "warning", 2, "differs from the folder"),
        ("---\nname: Tide Table\ndescription: x\n---\n", "warning", 2, "lower case"),
        (f"---\nname: tide-table\ndescription: {'x' * 1_025}\n---\n", "warning", 3, "1,024"),
        (GOOD + "x" * 41_000, "warning", 1, "bytes"),
        (GOOD.replace("---\nRead", "disable-model-invocation: true\n---\nRead"), "note", 4, "hides"),
    ],
)
def test_each_fault_of_a_skill_md_is_told_on_its_line(
    tmp_path: Path, main: str, level: str, line: int, word: str
) -> None:
    """What agents silently drop or cut."""
    found = told(skill(tmp_path, main))
    assert [(one.level, one.line) for one in found if word in one.message] == [(level, line)]


@pytest.mark.parametrize(
    ("evals", "level", "place", "word"),
    [
        ('{"evals": [\n  {"id": 1, "prompt": " "}]}', "error", (2, 23), "prompt is empty"),
        ('{"evals": [\n {"id": 1, "prompt": "p"}]}', "warning", (2, 2), "nothing to check"),
        ('{"evals": [{"id": 1, "prompt": "p", "assertions": ["x"],\n "files": ["a.csv"]}]}', "warning",
         (2, 12), "a.csv is not there"),
        ('{"skill_name": "else", "evals": [{"id": 1, "prompt": "p", "assertions": ["x"]}]}', "note",
         (1, 1), "skill_name"),
        ('{"evals": [{"id": 1,}]}', "error", (1, 20), "not valid JSON"),
        ('{"evals": [{"id": 1, "prompt": "p",\n "assertions": [{"kind": "regex", "value": "("}]}]}', "error",
         (2, 17), "regular expression"),
    ],
)  # fmt: skip
def test_each_fault_of_an_evals_file_is_told_at_its_place(
    tmp_path: Path, evals: str, level: str, place: tuple[int, int], word: str
) -> None:
    """Line and column of the value it is about."""
    found = [one for one in told(skill(tmp_path, evals=evals)) if word in one.message]
    assert [(one.level, (one.line, one.column)) for one in found] == [(level, place)]


def test_files_of_a_skill_that_would_not_work_are_named(tmp_path: Path) -> None:
    """Scripts without the executable bit, links out of the skill, binaries."""
    root = skill(tmp_path)
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "out").symlink_to(tmp_path)
    (root / "logo.png").write_bytes(b"\x89PNG\0")
    (root / "passwd").symlink_to("/etc/hostname")
    words = {one.file.name: one.message for one in told(root)}
    assert "chmod +x" in words["run.sh"]
    assert "binary" in words["logo.png"]
    assert "link out" in words["passwd"]


def test_a_folder_of_skills_and_a_single_file_are_looked_at_too(tmp_path: Path) -> None:
    """PATH is a skill, a folder of them, or an evals file; anything else is refused."""
    one, two = skill(tmp_path, name="one"), skill(tmp_path, evals=None, name="two")
    found, files = lint([tmp_path])
    assert files == 3
    assert {remark.file.parent for remark in found} >= {one, two}
    assert lint([one / "evals" / "evals.json"])[1] == 1
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="is no skill"):
        lint([tmp_path / "empty"])
