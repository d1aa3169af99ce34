"""Profiles are collected, limited and versioned as the contract has it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from case_data import case_id, load
from sphynx.compiler.manifest import parse_manifest
from sphynx.compiler.profiles import Profile, collect, profile_version, valid_path
from sphynx.errors import CompileError


def fill(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / "p" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    (root / "p").mkdir(exist_ok=True)
    return root


def collected(root: Path, harness: str = "codex") -> Profile:
    return collect("p", name="tide", base=root, harness=harness)


def refused(root: Path, harness: str = "codex") -> CompileError:
    with pytest.raises(CompileError) as caught:
        collected(root, harness)
    return caught.value


@pytest.mark.parametrize("case", load("profile-path"), ids=case_id)
def test_paths_of_the_worked_cases(case: dict[str, Any]) -> None:
    assert valid_path(case["input"]["path"]) == case["expected"]["accepted"]


@pytest.mark.parametrize("case", load("profile-version"), ids=case_id)
def test_versions_of_the_worked_cases(case: dict[str, Any]) -> None:
    expected = case["expected"]
    given = case["input"]
    pairs = (
        [(given, expected["version"])] if "version" in expected else [(given[k], expected[k]) for k in "ab"]
    )
    for profile, version in pairs:
        made = Profile(
            name=profile["name"],
            files=profile["files"],
            system_prompt=profile.get("systemPrompt"),
            env=profile.get("env"),
            variables=tuple(profile.get("variables", ())),
        )
        assert made.version == version


@pytest.mark.parametrize("case", load("profile-collect"), ids=case_id)
def test_collecting_the_worked_cases(case: dict[str, Any], tmp_path: Path) -> None:
    given, expected = case["input"], case["expected"]
    if "variants" in given:
        outcomes = [outcome(variant, tmp_path / str(at)) for at, variant in enumerate(given["variants"])]
        assert outcomes == expected["outcomes"]
    elif "profile" in given:
        manifest = {key: given["profile"][key] for key in ("env", "variables")}
        with pytest.raises(CompileError) as caught:
            parse_manifest(manifest, tmp_path, "tide")
        assert all(name in caught.value.message for name in expected["names"])
    else:
        fill(tmp_path, given["files"])
        if "error" in expected:
            error = refused(tmp_path)
            assert error.tag == expected["error"]
            assert all(name in error.message for name in expected["names"])
        else:
            assert list(collected(tmp_path).files) == expected["shipped"]


def outcome(variant: dict[str, Any], root: Path) -> str:
    import json

    fill(root, {"profile.json": json.dumps(variant["manifest"])})
    try:
        collected(root, variant["harness"])
    except CompileError as error:
        return error.tag or ""
    return "ok"


def test_files_that_are_not_under_home_or_workspace_stay_here(tmp_path: Path) -> None:
    fill(
        tmp_path,
        {"README.md": "x", "home/.rc": "é", "other/x": "x", "homework/x": "x", "workspace/.git": "x"},
    )
    assert collected(tmp_path).files == {"home/.rc": "é"}


def test_links_are_neither_followed_nor_shipped(tmp_path: Path) -> None:
    fill(tmp_path, {"home/a": "x", "outside/secret": "x"})
    os.symlink(tmp_path / "p/home/a", tmp_path / "p/home/link")
    os.symlink(tmp_path / "p/outside", tmp_path / "p/home/folder")
    os.symlink(tmp_path / "p/outside", tmp_path / "p/workspace")
    assert list(collected(tmp_path).files) == ["home/a"]


def test_the_profiles_own_gitignore_counts_and_files_above_do_not(tmp_path: Path) -> None:
    files = ["home/a.log", "home/.cache/x", "home/b", "workspace/home/.cache/y"]
    fill(tmp_path, {".gitignore": "*.log\n/home/.cache/\n", **dict.fromkeys(files, "")})
    (tmp_path / ".gitignore").write_text("*\n")
    assert list(collected(tmp_path).files) == ["home/b", "workspace/home/.cache/y"]


def test_too_many_files_names_the_three_biggest_folders(tmp_path: Path) -> None:
    counts = {"workspace/docs": 150, "workspace/src": 70, "home/.x": 40, "workspace/few": 2}
    files = {f"{folder}/sub/{at}": "\0" for folder, count in counts.items() for at in range(count)}
    fill(tmp_path, {**files, "home/top": ""})
    error = refused(tmp_path)
    assert error.tag == "ProfileTooManyFiles"
    assert "263 files, at most 256" in error.message
    assert error.message.endswith("workspace/docs (150), workspace/src (70), home/.x (40)")
    assert ".gitignore" in (error.hint or "")


def test_exactly_the_limits_are_allowed_and_sizes_count_utf16_units(tmp_path: Path) -> None:
    fill(tmp_path, {f"home/{at}": "😀" * 48_000 for at in range(20)})
    assert len(collected(tmp_path).files) == 20
    fill(tmp_path, {"home/last": "x" * 80_000})
    assert len(collected(tmp_path).files) == 21
    fill(tmp_path, {"home/more": "x"})
    error = refused(tmp_path)
    assert error.tag == "ProfileTooLarge"
    assert "2000001" in error.message
    assert "2000000" in error.message


def test_a_size_is_checked_before_the_path_and_a_bad_path_is_named(tmp_path: Path) -> None:
    long = "home/" + "/".join(["d" * 200] * 2) + "/" + "f" * 200
    fill(tmp_path, {long: "x"})
    assert (error := refused(tmp_path)).tag == "ProfilePathInvalid"
    assert long in error.message
    fill(tmp_path, {long: "x" * 96_001})
    assert refused(tmp_path).tag == "ProfileFileTooLarge"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    error = refused(tmp_path)
    assert error.tag == "ProfileUnreadable"
    assert "the folder p" in error.message


def test_manifest_values_that_name_a_file_become_its_text(tmp_path: Path) -> None:
    texts = '"systemPrompt": "system.md", "install": "steps/install.sh", "run": "python run.py"'
    manifest = f'{{{texts}, "env": {{"A": "system.md"}}}}'
    fill(
        tmp_path,
        {"profile.json": manifest, "system.md": "Be terse.\n", "steps/install.sh": "pip install x\n"},
    )
    profile = collected(tmp_path, "command")
    assert (profile.system_prompt, profile.install, profile.run) == (
        "Be terse.\n",
        "pip install x\n",
        "python run.py",
    )
    assert profile.env == {"A": "system.md"}
    assert profile.files == {}


@pytest.mark.parametrize("value", ["../outside.md", "home/link.md", "{absolute}"])
def test_a_manifest_value_that_names_a_file_outside_is_an_error(value: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("x")
    value = value.replace("{absolute}", str(outside))
    fill(tmp_path, {"profile.json": f'{{"systemPrompt": "{value}"}}', "home/x": ""})
    os.symlink(outside, tmp_path / "p/home/link.md")
    error = refused(tmp_path)
    assert error.tag == "ProfileManifestOutside"
    assert value in error.message


@pytest.mark.parametrize(
    ("manifest", "part"),
    [
        ("[]", "must be an object"),
        ("{", "cannot be read"),
        ('{"systemprompt": "x"}', 'unknown key "systemprompt"'),
        ('{"install": 3}', "install must be text"),
        ('{"env": {"lower": "x"}}', 'env "lower"'),
        ('{"env": {"A": 1}}', 'env "A" must be text'),
        ('{"env": []}', "env must be an object"),
        ('{"variables": "A"}', "variables must be a list"),
        ('{"variables": [1]}', "variables: 1 is not a name"),
        ('{"variables": ["SPHYNX_TOKEN"]}', "SPHYNX_TOKEN"),
        ('{"variables": ["E2B_API_KEY"]}', "E2B_API_KEY"),
        ('{"variables": ["GROQ_API_KEY"]}', "GROQ_API_KEY"),
    ],
)
def test_a_wrong_manifest_names_the_profile_and_what_is_wrong(
    manifest: str, part: str, tmp_path: Path
) -> None:
    fill(tmp_path, {"profile.json": manifest})
    error = refused(tmp_path)
    assert error.tag == "ProfileManifestInvalid"
    assert error.message.startswith('profile "tide": ')
    assert part in error.message


def test_a_wrong_manifest_is_named_as_seen_from_where_one_stands(tmp_path, monkeypatch) -> None:
    fill(tmp_path, {"profile.json": "[]"})
    monkeypatch.chdir(tmp_path.parent)
    assert (
        refused(tmp_path).message == f'profile "tide": {tmp_path.name}/p/profile.json: it must be an object'
    )


def test_a_key_a_harness_uses_may_be_named(tmp_path: Path) -> None:
    fill(tmp_path, {"profile.json": '{"variables": ["OPENAI_API_KEY", "MY_KEY"], "$schema": "x"}'})
    assert collected(tmp_path).variables == ("OPENAI_API_KEY", "MY_KEY")


def test_an_empty_env_is_another_version_than_none() -> None:
    none, empty = Profile(name="a", files={}), Profile(name="a", files={}, env={})
    assert profile_version(none) != profile_version(empty)


PARTS = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(st.sampled_from(["home", "workspace"]), st.lists(PARTS, min_size=1, max_size=6))
def test_a_path_is_valid_exactly_when_no_segment_is_a_dot_or_two(top: str, parts: list[str]) -> None:
    assert valid_path("/".join([top, *parts])) == (not {".", ".."} & set(parts))


@given(st.text(max_size=40))
def test_a_valid_path_never_leaves_the_folder_it_is_joined_to(path: str) -> None:
    if valid_path(path):
        assert os.path.normpath(os.path.join("/base", path)).startswith(("/base/home/", "/base/workspace/"))


@given(st.text(max_size=20))
def test_nothing_else_is_valid(text: str) -> None:
    assert not valid_path(text) or text.split("/")[0] in ("home", "workspace")
    assert not valid_path("/" + text)
    assert not valid_path("elsewhere/" + text)
    assert not valid_path(f"home/{text}\0")
    assert not valid_path(f"home//{text}")


STRAY = {
    "profile.json": '{"run": "python3 my_agent.py"}',
    "my_agent.py": "",
    "lib/tools.py": "",
    "README.md": "",
    ".editorconfig": "",
    "home/kept.txt": "",
}


def test_files_that_reach_no_trial_are_found(tmp_path: Path) -> None:
    """A program beside profile.json, where it is natural to put it, is told; what is meant to stay is not."""
    assert collected(fill(tmp_path, STRAY), "command").stray == ("lib/", "my_agent.py")


def test_files_a_manifest_names_or_a_gitignore_excludes_are_not_stray(tmp_path: Path) -> None:
    files = {
        "profile.json": '{"run": "./run.sh", "systemPrompt": "prompts/system.txt"}',
        "run.sh": "true",
        "prompts/system.txt": "Be brief",
        "notes.txt": "",
        ".gitignore": "notes.txt",
    }
    assert collected(fill(tmp_path, files), "command").stray == ()


def test_a_folder_without_a_manifest_or_with_eval_files_has_no_stray_files(tmp_path: Path) -> None:
    assert collected(fill(tmp_path / "a", {"tool.py": ""})).stray == ()
    beside = {"profile.json": "{}", "tool.py": "", "smoke_eval.py": ""}
    assert collected(fill(tmp_path / "b", beside)).stray == ()
