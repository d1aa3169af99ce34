"""Requests as they are kept: programs once, under the identity their author gave them."""

from __future__ import annotations

from pathlib import Path

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
