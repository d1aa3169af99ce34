"""Requests as they are kept: programs once, under the identity their author gave them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from server.whole import project
from sphynx.compiler import compile_eval, compile_files
from sphynx.schema.wire import SuiteBatchRequest
from sphynx.server.definitions import definitions_of
from sphynx.server.execution.rebuilt import bundle_digest, rebuild
from sphynx.server.modules import NotPython, read_module, unpack
from sphynx.server.refusals import Refusal


def test_a_case_has_the_same_hash_on_the_server_as_in_a_local_run(tmp_path: Path) -> None:
    home = project(tmp_path / "p", "true")
    local = compile_files([home / "smoke_eval.py"], cwd=home, staging=tmp_path / "staging")[0]
    kept = definitions_of(compile_eval(home / "smoke_eval.py")[0], runs_here=True)
    assert [one.hash for one in kept.cases] == [case.definition_hash for case in local.cases]
    assert len(kept.bundles) == 1


def test_judged_cases_keep_programs_apart_too_and_hash_the_same(tmp_path: Path) -> None:
    home = project(tmp_path / "p", "true")
    text = (home / "smoke_eval.py").read_text()
    judge = 'judge(name="j", provider="openai", model="m", prompt="p", choices={"yes": 1, "no": 0})'
    text = text.replace("validate=[says_hello]", f"validate=[says_hello, {judge}]")
    (home / "smoke_eval.py").write_text(text.replace("import case,", "import case, judge,"))
    local = compile_files([home / "smoke_eval.py"], cwd=home, staging=tmp_path / "staging")[0]
    kept = definitions_of(compile_eval(home / "smoke_eval.py")[0], runs_here=False)
    assert [one.hash for one in kept.cases] == [case.definition_hash for case in local.cases]
    assert len(str(kept.cases[0].stored)) < 20_000


def test_what_is_kept_becomes_what_the_engine_runs(tmp_path: Path) -> None:
    home = project(tmp_path / "p", "true")
    request = compile_eval(home / "smoke_eval.py")[0]
    kept = definitions_of(request, runs_here=True).cases[0]
    assert bundle_digest(kept.stored)
    of_variant = {"harness": "command", "model": "m", "version": "", "options": {}}
    made = rebuild(
        kept.stored, definition_hash=kept.hash, of_variant=of_variant, profile=None, bundle_ref=None
    )
    assert [check.name for check in made.case.case.checks] == ["says_hello"]
    assert made.case.prompt == "write it"
    assert made.suite.suite.problems() == [] or all(
        "validate" in problem.message or "profile" in problem.message
        for problem in made.suite.suite.problems()
    )


ALL = """
from sphynx import case, human, judge, suite, variant
from sphynx.mocks.cli import cli, command

async def check(ctx):
    return True

GOOD = {"good": 1, "weak": 0.5}
STATUS = command(path=["status"], description="Show it", handler=lambda: "clean")
git = cli(path="git", version="1.0.0", commands=[STATUS])
everything = suite(
    id="everything", prompt="p", cli=[git],
    variants=[variant(harness="codex", model="m")],
    cases=[
        case(id="judged", fixtures={"a": 1}, max_turns=3, user=human(goal="g", prompt="p"), validate=[check,
            judge(name="one", provider="openai", model="m", prompt="p", choices=GOOD, threshold=0.5,
                  files=["a.md"], expected="e", votes=3, timeout_ms=5_000),
            judge(name="two", harness="codex", model="m", prompt="p\\n\\n1. own", choices=GOOD,
                  workspace=True, criteria=["It is.", "It was."]),
        ]),
        case(id="played", user=human(goal="g", prompt="p", harness="claude", model="m"), validate=check),
    ],
)
"""


def test_judges_people_and_mocks_are_the_authors_again(tmp_path: Path) -> None:
    """Every field of them, so that a hosted trial asks what a local one would."""
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "all_eval.py").write_text(ALL)
    local = compile_files([tmp_path / "all_eval.py"], cwd=tmp_path, staging=tmp_path / "staging")[0]
    kept = definitions_of(compile_eval(tmp_path / "all_eval.py")[0], runs_here=True)
    of_variant = {"harness": "codex", "model": "m", "version": "", "options": {}}
    for theirs, stored in zip(local.cases, kept.cases, strict=True):
        made = rebuild(
            stored.stored, definition_hash=stored.hash, of_variant=of_variant, profile=None, bundle_ref=None
        )
        ours, wanted = made.case.case, theirs.case
        assert stored.hash == theirs.definition_hash
        assert [slots(one) for one in ours.judges] == [slots(one) for one in wanted.judges]
        assert [one.rubric for one in ours.judges] == [one.rubric for one in wanted.judges]
        assert [one.name for one in ours.checks] == [one.name for one in wanted.checks]
        assert {**slots(ours.user), "given": 0} == {**slots(wanted.user), "given": 0}
        assert (ours.fixtures, ours.effective_max_turns) == (wanted.fixtures, wanted.effective_max_turns)
        assert [mock.label for mock in made.suite.suite.mocks] == ["git"]


def slots(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}


def test_other_programs_are_refused_where_they_would_have_to_run(tmp_path: Path) -> None:
    home = project(tmp_path / "p", "true")
    body = compile_eval(home / "smoke_eval.py")[0].wire()
    body["cases"][0]["validator"]["source"] = "process.exit(0)"
    request = SuiteBatchRequest.model_validate(body)
    with pytest.raises(Refusal, match="Python checks only"):
        definitions_of(request, runs_here=True)
    assert "module" in definitions_of(request, runs_here=False).cases[0].stored["case"]["validator"]


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x"])
def test_a_bundle_cannot_write_outside_its_folder(tmp_path: Path, name: str) -> None:
    import io
    import json
    import zipfile
    import zlib

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        manifest = {"entry": "a.py", "module": "a", "roots": ["."]}
        archive.writestr("bundle.json", json.dumps(manifest))
        archive.writestr(f"tree/{name}", "x")
    with pytest.raises(NotPython, match="outside"):
        unpack(zlib.compress(buffer.getvalue()))


def test_a_bundle_that_grows_without_end_is_refused() -> None:
    import zlib

    packer = zlib.compressobj(9)
    bomb = b"".join(packer.compress(bytes(1_000_000)) for _ in range(80)) + packer.flush()
    with pytest.raises(NotPython, match="more than"):
        unpack(bomb)
    with pytest.raises(NotPython):
        read_module("export default 1")
