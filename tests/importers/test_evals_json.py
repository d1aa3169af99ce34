"""``evals-json``: the documented shape, converted or refused as a whole."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import case_data
from sphynx.errors import UsageError
from sphynx.importers import evals_json, template, yaml_cases
from sphynx.importers.imported import Imported, Tally, summary


def run_imported(source: str, folder: Path) -> Any:
    """Import the generated file in a fresh interpreter and say what its suite holds."""
    (folder / "made_eval.py").write_text(source, "utf-8")
    program = (
        "import json, made_eval\n"
        "from sphynx.suite.suites import Suite\n"
        "suite = next(v for v in vars(made_eval).values() if isinstance(v, Suite))\n"
        "print(json.dumps({'id': suite.id, 'cases': [c.id for c in suite.cases], 'prompt': suite.prompt,\n"
        " 'trials': suite.trials, 'tasks': [c.variables['task'] for c in suite.cases],\n"
        " 'variants': [{'harness': v.harness, 'model': v.model} for v in suite.variants],\n"
        " 'problems': [p.text() for p in suite.problems()]}))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check_imported(imported: Imported, expected: dict[str, Any], folder: Path) -> None:
    """Compare an import, and the file it makes, with a worked case."""
    assert imported.suite_id == expected["suiteId"]
    assert [case.id for case in imported.cases] == expected["caseIds"]
    tally = expected["tally"]
    assert imported.tally == Tally(tally["cases"], tally["converted"], tally["needsAuthor"])
    source = template.render(imported)
    if "helpers" in expected:
        assert ("from sphynx.validators import" in source) is expected["helpers"]
    if "placeholder" in expected:
        assert ("def unwritten(" in source) is expected["placeholder"]
    made = run_imported(source, folder)
    assert made["problems"] == []
    assert made["id"] == expected["suiteId"]
    assert made["cases"] == expected["caseIds"]
    for key in ("trials", "variants", "prompt"):
        if key in expected:
            assert made[key] == expected[key]


@pytest.mark.parametrize("case", case_data.load("import-json"), ids=case_data.case_id)
def test_worked_cases_of_evals_json(case: dict[str, Any], tmp_path: Path) -> None:
    """Ids, tally, and a file that loads with the documented prompt, trials and variant."""
    path = tmp_path / "evals.json"
    path.write_text(json.dumps(case["input"]["file"]), "utf-8")
    check_imported(evals_json.read(path), case["expected"], tmp_path)


@pytest.mark.parametrize("case", case_data.load("import-yaml"), ids=case_data.case_id)
def test_worked_cases_of_yaml(case: dict[str, Any], tmp_path: Path) -> None:
    """A folder's files in order, with their step numbers kept as comments."""
    folder = tmp_path / "cases"
    folder.mkdir()
    for name, text in case["input"]["directory"].items():
        (folder / name).write_text(text, "utf-8")
    imported = yaml_cases.read(folder)
    assert [one.budget for one in imported.cases] == case["expected"]["budgets"]
    check_imported(imported, case["expected"], tmp_path)


@pytest.mark.parametrize("case", case_data.load("import-summary"), ids=case_data.case_id)
def test_worked_cases_of_the_summary(case: dict[str, Any]) -> None:
    """Singular and plural, and the owed part only when something is owed."""
    for given_tally, parts, absent in zip(
        case["input"]["tallies"],
        case["expected"]["contains"],
        case["expected"]["notContains"],
        strict=True,
    ):
        tally = Tally(given_tally["cases"], given_tally["converted"], given_tally["needsAuthor"])
        told = summary(tally)
        assert all(part in told for part in parts)
        assert not any(part in told for part in absent)


def test_a_bad_file_is_refused_with_path_case_and_field(tmp_path: Path) -> None:
    """Every fault at once, and nothing is imported."""
    path = tmp_path / "evals.json"
    bad = {
        "skill_name": 4,
        "evals": [{"id": "x", "assertions": [{"kind": "sonar", "needles": "a"}, 3]}, "text"],
    }
    path.write_text(json.dumps(bad))
    with pytest.raises(UsageError) as caught:
        evals_json.read(path)
    for word in (
        str(path), "skill_name", "evals[0].id", "evals[0].prompt", "assertions[0].kind",
        "assertions[0].needles", "assertions[0].text", "assertions[1]", "evals[1]",
    ):  # fmt: skip
        assert word in caught.value.message


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("a.yaml", "name: x\n", "task"),
        ("a.yaml", "name: [1\n", "not YAML"),
        ("a.yaml", "- 1\n", "mapping"),
        ("a.yaml", "name: x\ntask: y\njudge_context: 3\n", "judge_context"),
        ("a.yaml", "name: x\ntask: y\nmax_steps: many\n", "max_steps"),
        ("a.txt", "", "no .yaml"),
    ],
)
def test_a_bad_yaml_file_refuses_the_whole_folder(tmp_path: Path, name: str, text: str, word: str) -> None:
    """Each kind of fault names the file, and a good neighbour is not imported either."""
    folder = tmp_path / "cases"
    folder.mkdir()
    (folder / name).write_text(text)
    if name.endswith("yaml"):
        (folder / "z.yml").write_text("name: good\ntask: go\n")
    with pytest.raises(UsageError, match=word.replace(".", r"\.")) as caught:
        yaml_cases.read(folder)
    assert str(folder) in caught.value.message


def test_equal_names_of_yaml_cases_are_told_apart(tmp_path: Path) -> None:
    """Two cases of the same name both stand in the suite."""
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text("name: Same\ntask: go\n")
    assert [case.id for case in yaml_cases.read(tmp_path).cases] == ["same", "same-2"]


hostile = st.one_of(
    st.text(max_size=40), st.sampled_from(['"""', "\\", "a\n#b", "\r", "\u2028x", "{{task}}", "'"])
)


@settings(max_examples=150, deadline=None)
@given(name=hostile, prompt=hostile, prose=hostile, needle=hostile, output=hostile)
def test_no_text_can_break_the_file(name: str, prompt: str, prose: str, needle: str, output: str) -> None:
    """Whatever a case says, the file is Python, and the texts in it are the texts of the case."""
    check = {"kind": "content_contains_any", "needles": [needle], "text": prose}
    case = {
        "id": 1, "name": name, "prompt": prompt, "expected_output": output, "files": [prose],
        "assertions": [prose, check],
    }  # fmt: skip
    tree = ast.parse(template.render(evals_json.from_value({"skill_name": name, "evals": [case]}, "x", name)))
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert {prompt, prose, needle} <= texts
    assert sum(isinstance(node, ast.AsyncFunctionDef) for node in tree.body) == 1
