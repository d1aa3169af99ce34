"""Compiling: every problem at once, or suites that are ready to run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compiler.conftest import SUITE
from sphynx.compiler import compile_files
from sphynx.errors import CompileError, DefinitionError, UsageError

FULL = """
from sphynx import case, command, files, named, repo, script, suite, variant

def prepare(ctx):
    return {}

def first(ctx):
    return True

full = suite(
    id="full", name="Full", prompt="Do {{task}} \\\\{{literally}}", source=repo("acme/api@8f31c4a"), trials=2,
    cases=[
        case(
            id="a", variables={"task": "it"}, prepare=prepare,
            validate=[first, named("second", lambda ctx: True)],
        ),
        case(id="b", variables={"task": "that"}, source=files({"x": "y"}), validate=command("true")),
    ],
    variants=[
        variant(harness="codex", model="m"),
        variant(harness="command", model="m", sandbox="local", profile={"name": "mine", "dir": "./profile"}),
    ],
)
"""


def compiled(root: Path, staging: Path, *paths: str):
    return compile_files(paths, cwd=root, staging=staging)


def problems(root: Path, staging: Path) -> list[tuple[str, str, str]]:
    with pytest.raises(DefinitionError) as caught:
        compiled(root, staging)
    assert not staging.exists()
    return [(problem.file, problem.where, problem.message) for problem in caught.value.problems]


def test_a_suite_is_ready_to_run(write, staging) -> None:
    root = write({"evals/full_eval.py": FULL, "evals/profile/profile.json": '{"run": "python run.py"}'})
    (suite,) = compiled(root, staging)
    assert (suite.path, suite.file, suite.index) == (root / "evals/full_eval.py", "evals/full_eval.py", 0)
    assert [item.prompt for item in suite.cases] == ["Do it {{literally}}", "Do that {{literally}}"]
    assert [item.source.kind for item in suite.cases] == ["repo", "files"]
    assert [item.label for item in suite.variants] == ["codex/m", "command/m@mine"]
    assert suite.variants[0].profile is None
    assert suite.variants[1].profile
    assert suite.variants[1].profile.run == "python run.py"
    assert suite.bundle
    assert (suite.bundle.path / "tree/evals/full_eval.py").read_text() == FULL
    assert suite.warnings == ()


def test_every_suite_of_a_file_shares_its_bundle_and_knows_its_place(write, staging) -> None:
    more = SUITE.replace("smoke", "third").replace("says-hello", "third-case")
    plain = SUITE.replace("smoke", "plain").replace("validate=passes", 'validate=command("true")')
    root = write({"x_eval.py": SUITE + plain.replace("says-hello", "plain-case") + more})
    made = compiled(root, staging)
    assert [(item.suite.id, item.index) for item in made] == [("smoke", 0), ("plain", 1), ("third", 2)]
    assert made[0].bundle == made[2].bundle
    assert made[1].bundle is None


def test_all_problems_of_all_files_come_together(write, staging) -> None:
    root = write({
        "a_eval.py": SUITE.replace("validate=passes", "validate=passes, timout_ms=1, max_turns=99"),
        "b_eval.py": "raise ValueError('broken')",
        "c_eval.py": "X = 1",
        "d_eval.py": SUITE.replace('model="m"', 'model="m", profile={"name": "p", "dir": "missing"}'),
        "e_eval.py": SUITE,
        "f_eval.py": SUITE.replace('id="smoke"', 'id="smoke", include=["nope"]'),
    })  # fmt: skip
    found = problems(root, staging)
    case = 'suite "smoke", case "says-hello"'
    assert [(file, where) for file, where, _ in found] == [
        ("a_eval.py", case), ("a_eval.py", case), ("", ""), ("c_eval.py", ""), ("d_eval.py", 'suite "smoke"'),
        ("f_eval.py", ""),
    ]  # fmt: skip
    texts = [message for _, _, message in found]
    assert "timout_ms" in " ".join(texts[:2])
    assert "99" in " ".join(texts[:2])
    assert texts[2] == "b_eval.py:1: ValueError: broken"
    assert texts[3] == "no suite in this file"
    assert "missing" in texts[4]
    assert texts[5] == 'include "nope" matches no file'


def test_two_suites_of_one_file_cannot_have_the_same_id(write, staging) -> None:
    """The second is named with its line and the first's; in two files the same id is fine."""
    root = write({"twice_eval.py": SUITE + "\nagain = suite(**{**smoke.given})\n"})
    with pytest.raises(DefinitionError) as caught:
        compile_files([], cwd=root, staging=staging)
    (problem,) = caught.value.problems
    assert problem.text() == 'twice_eval.py: suite "smoke": the suite in line 7 has the same id'
    assert problem.line == 14
    write({"twice_eval.py": SUITE, "other_eval.py": SUITE})
    assert len(compile_files([], cwd=root, staging=staging)) == 2


def test_problems_of_a_suite_and_of_its_profiles_come_together(write, staging) -> None:
    source = SUITE.replace("validate=passes", "validate=passes, timout_ms=1").replace(
        'variant(harness="codex", model="m")',
        'variant(harness="command", model="m", profile={"name": "p", "dir": "p"}), '
        'variant(harness="codex", model="m", profile={"name": "q", "dir": "q"})',
    )
    root = write({"x_eval.py": source, "p/profile.json": "{}", "q/profile.json": '{"run": "x"}'})
    found = problems(root, staging)
    assert len(found) == 3
    assert [("needs" in text, "only works" in text) for _, _, text in found[1:]] == [
        (True, False),
        (False, True),
    ]


def test_the_only_problem_is_raised_as_it_is(write, staging) -> None:
    root = write({"x_eval.py": "1 / 0", "y_eval.py": SUITE})
    with pytest.raises(CompileError) as caught:
        compiled(root, staging)
    assert caught.value.message == "x_eval.py:1: ZeroDivisionError: division by zero"


def test_a_profile_problem_alone_says_where_it_is(write, staging) -> None:
    source = SUITE.replace('model="m"', 'model="m", profile={"name": "p", "dir": "./p"}')
    root = write({"evals/x_eval.py": source, "evals/p/home/big": "x" * 96_001})
    (found,) = problems(root, staging)
    assert found == (
        "evals/x_eval.py",
        'suite "smoke"',
        'profile "p": home/big has 96001 characters, at most 96000',
    )


def test_everything_wrong_with_a_manifest_is_told_at_once(write, staging) -> None:
    """One problem each, all with the profile's name and the file."""
    source = SUITE.replace('model="m"', 'model="m", profile={"name": "p", "dir": "p"}')
    manifest = {
        "systemPromt": "x", "install": 3, "env": {"lower": "x", "A": 1, "TOKEN": "x"},
        "variables": [7, "SPHYNX_X", "TOKEN"],
    }  # fmt: skip
    root = write({"x_eval.py": source, "p/profile.json": json.dumps(manifest)})
    told = [text for _, _, text in problems(root, staging)]
    assert [text.partition("p/profile.json: ")[2][:24] for text in told] == [
        'unknown key "systemPromt',
        "install must be text",
        'env "lower" must be capi',
        'env "A" must be text',
        "variables: 7 is not a na",
        'variables: "SPHYNX_X" mu',
        "TOKEN stands in both env",
    ]
    assert 'did you mean "systemPrompt"?' in told[0]


def test_binary_files_of_a_profile_and_unused_variables_are_warned_about(write, staging) -> None:
    source = SUITE.replace('model="m"', 'model="m", profile={"name": "p", "dir": "p"}').replace(
        "{{word}}", "it"
    )
    root = write({"x_eval.py": source, "p/home/pic": b"\0", "p/home/text": "x"})
    (suite,) = compiled(root, staging)
    assert any("binary files left out: home/pic" in line for line in suite.warnings)
    assert any('case "says-hello"' in line and "word" in line for line in suite.warnings)


def test_the_same_case_id_in_two_files_is_a_warning(write, staging) -> None:
    root = write({"a_eval.py": SUITE, "b_eval.py": SUITE})
    first, second = compiled(root, staging)
    assert first.warnings == ()
    assert len(second.warnings) == 1
    assert second.warnings[0].startswith('b_eval.py: case "says-hello" also stands in a_eval.py')


def test_a_repository_named_by_a_path_is_meant_from_the_eval_files_folder(write, staging) -> None:
    source = SUITE.replace('id="smoke"', 'id="smoke", source=repo("../app", ref="main")').replace(
        "import case", "import repo, case"
    )
    root = write({"evals/x_eval.py": source, "app/README.md": ""})
    (suite,) = compiled(root, staging)
    place = suite.cases[0].source
    assert (place.kind, place.url, place.ref) == ("repo", str(root / "app"), "main")


def test_a_folder_to_clone_that_is_not_there_is_told_before_anything_starts(write, staging) -> None:
    source = SUITE.replace('id="smoke"', 'id="smoke", source=repo("./app@v1")').replace(
        "import case", "import repo, case"
    )
    root = write({"x_eval.py": source})
    with pytest.raises(DefinitionError) as caught:
        compiled(root, staging)
    (problem,) = caught.value.problems
    assert problem.text() == 'x_eval.py: suite "smoke": source: there is no "./app@v1" to clone'
    assert problem.hint == f"it is looked for beside the eval file, at {root / 'app@v1'}"
    write({"app/README.md": ""})
    with pytest.raises(DefinitionError) as caught:
        compiled(root, staging)
    assert caught.value.problems[0].hint == 'a path takes its ref apart: repo("./app", ref="v1")'


def hashes(root: Path, staging: Path, source: str, **files: str) -> list[str]:
    for name, text in {"x_eval.py": source, **files}.items():
        (root / name).write_text(text)
    return [item.definition_hash for item in compiled(root, staging)[0].cases]


def test_the_hash_follows_what_is_measured_and_nothing_else(write, staging) -> None:
    root = write({})
    plain = SUITE.replace("validate=passes", 'validate=command("true")')
    (before,) = hashes(root, staging, plain)
    assert hashes(root, staging, plain + "\nX = 1") == [before]
    for same in ('name="Other", ', 'tags=["a"], '):
        assert hashes(root, staging, plain.replace('id="says-hello"', same + 'id="says-hello"')) == [before]
    assert hashes(root, staging, plain.replace("variants=", "trials=3, variants=")) == [before]
    changes = [
        plain.replace("hello", "bye"), plain.replace('"true"', '"false"'),
        plain.replace("validate", "max_turns=3, validate"),
        plain.replace('"true"', '"true", timeout_ms=5_000'),
        plain.replace("validate", 'cache={"key": "k", "path": "p"}, validate'),
    ]  # fmt: skip
    assert len({before, *(hashes(root, staging, source)[0] for source in changes)}) == 6


def test_the_hash_of_a_code_check_follows_the_files_it_is_made_of(write, staging) -> None:
    root = write({})
    source = "import mate\n" + SUITE
    (before,) = hashes(root, staging, source, **{"mate.py": "X = 1", "other.py": "1"})
    assert hashes(root, staging, source, **{"other.py": "2"}) == [before]
    assert hashes(root, staging, source, **{"mate.py": "X = 2"}) != [before]


def test_nothing_found_is_an_error(write, staging) -> None:
    with pytest.raises(UsageError):
        compiled(write({"x.py": SUITE}), staging)
