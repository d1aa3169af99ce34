"""A bundle holds what an eval file needs, keeps each file in its place, and runs on its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from compiler.conftest import SUITE
from sphynx.compiler import bundle, compile_files
from sphynx.compiler.es_module import library, pack
from sphynx.compiler.load import load
from sphynx.errors import CompileError


def contents(root: Path, name: str, include: tuple[str, ...] = ()) -> bundle.Contents:
    return bundle.collect(load(root / name, cwd=root), include, root)


def refused(root: Path, name: str, include: tuple[str, ...] = ()) -> CompileError:
    with pytest.raises(CompileError) as caught:
        contents(root, name, include)
    return caught.value


def test_what_is_imported_anywhere_in_the_file_is_in_it(write) -> None:
    head = """
import importlib
import app.core
from pkg.part import thing
from tools import maker as renamed
if False:
    import never_run
def check(ctx):
    import lazy
    from app import inside
    importlib.import_module("named")
    __import__("dunder")
    try:
        import not_there
    except ImportError:
        pass
"""
    wanted = {
        "pyproject.toml": "", "evals/x_eval.py": head + SUITE, "evals/lazy.py": "import lazier",
        "evals/lazier.py": "", "evals/never_run.py": "", "evals/named.py": "", "evals/dunder.py": "",
        "src/app/__init__.py": "import app.boot", "src/app/boot.py": "", "src/app/inside.py": "",
        "src/app/core.py": "from .near import *", "src/app/near.py": "from . import far",
        "src/app/far.py": "", "src/pkg/part.py": "thing = 1", "tools/maker.py": "",
    }  # fmt: skip
    other = {
        "evals/conftest.py": "",
        "src/app/unused.py": "",
        "evals/other_eval.py": "",
        "tools/data.json": "{}",
    }
    made = contents(write({**wanted, **other}), "evals/x_eval.py")
    assert set(made.files) == set(wanted) - {"pyproject.toml"}
    assert made.manifest == {
        "format": 1,
        "entry": "evals/x_eval.py",
        "module": "x_eval",
        "roots": ["evals", "src", "."],
        "requirements": [],
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
    }
    assert made.sources[0] == "evals/x_eval.py"
    assert made.warnings == []


def test_parents_init_files_travel_with_their_own_imports(write) -> None:
    root = write({
        "pkg/__init__.py": "import base_thing", "base_thing.py": "", "pkg/sub/__init__.py": "",
        "pkg/conftest.py": "", "pkg/sub/x_eval.py": "from .. import mate\n" + SUITE, "pkg/mate.py": "",
    })  # fmt: skip
    made = contents(root, "pkg/sub/x_eval.py")
    assert set(made.files) == {
        "pkg/__init__.py",
        "base_thing.py",
        "pkg/sub/__init__.py",
        "pkg/sub/x_eval.py",
        "pkg/mate.py",
    }
    assert (made.manifest["module"], made.manifest["roots"]) == ("pkg.sub.x_eval", ["."])


def test_what_the_import_really_ran_is_in_it_and_an_unseen_import_is_warned_about(write) -> None:
    head = "import importlib\nNAME = 'plug' + 'in'\nimportlib.import_module(NAME)\n"
    root = write({"x_eval.py": head + SUITE, "plugin.py": "import more", "more.py": ""})
    made = contents(root, "x_eval.py")
    assert {"plugin.py", "more.py"} < set(made.files)
    assert [line.partition(": ")[0] for line in made.warnings] == ["x_eval.py:3"]


def test_a_module_found_through_the_interpreters_path_keeps_its_root(write, monkeypatch) -> None:
    root = write(
        {"pyproject.toml": "", "libs/core/thing.py": "", "evals/x_eval.py": "import thing\n" + SUITE}
    )
    monkeypatch.syspath_prepend(str(root / "libs/core"))
    made = contents(root, "evals/x_eval.py")
    assert "libs/core/thing.py" in made.files
    assert made.manifest["roots"] == ["evals", ".", "libs/core"]


def test_installed_packages_are_pinned_and_not_packed(write) -> None:
    root = write({"x_eval.py": "import json, yaml, sphynx\nfrom pydantic import BaseModel\n" + SUITE})
    import pydantic
    import yaml

    made = contents(root, "x_eval.py")
    assert made.manifest["requirements"] == [f"PyYAML=={yaml.__version__}", f"pydantic=={pydantic.VERSION}"]
    assert set(made.files) == {"x_eval.py"}


def test_a_module_outside_the_project_that_no_package_holds_is_warned_about(
    write, tmp_path, monkeypatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/stray.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path / "elsewhere"))
    made = contents(write({"x_eval.py": "import stray\n" + SUITE}), "x_eval.py")
    assert made.warnings == ["x_eval.py: stray is neither in the project nor in an installed package"]


def test_a_compiled_module_of_the_project_is_refused_by_name(write) -> None:
    import _heapq

    name = f"src/fast/{Path(_heapq.__file__).name}"
    head = "def f():\n    from fast import _heapq\n"
    files = {"pyproject.toml": "", "src/fast/__init__.py": "", "evals/x_eval.py": head + SUITE}
    root = write({**files, name: Path(_heapq.__file__).read_bytes()})
    assert refused(root, "evals/x_eval.py").message == f"{name}: a compiled module cannot travel in a bundle"


def test_a_link_that_leaves_the_project_is_refused_by_name(write, tmp_path) -> None:
    (tmp_path / "outside.py").write_text("X = 1")
    root = write({"x_eval.py": "import linked\n" + SUITE})
    os.symlink(tmp_path / "outside.py", root / "linked.py")
    assert refused(root, "x_eval.py").message == "linked.py: is a link that leaves the project"


def test_a_link_inside_the_project_travels_as_a_file_in_its_own_place(write) -> None:
    root = write({"x_eval.py": "import linked\n" + SUITE, "real.py": "X = 1"})
    os.symlink(root / "real.py", root / "linked.py")
    assert contents(root, "x_eval.py").files["linked.py"] == b"X = 1"


def test_data_files_travel_when_they_are_named(write) -> None:
    root = write({
        "pyproject.toml": "", "evals/x_eval.py": SUITE, "evals/a.json": "1", "evals/b.json": "2",
        "evals/c.txt": "3", "evals/deep/d/e.bin": b"\0\1",
        "evals/deep/__pycache__/f.pyc": "", "shared/g.csv": "4",
    })  # fmt: skip
    made = contents(root, "evals/x_eval.py", ("*.json", "./deep", "../shared/*.csv"))
    assert set(made.files) - {"evals/x_eval.py"} == {
        "evals/a.json",
        "evals/b.json",
        "evals/deep/d/e.bin",
        "shared/g.csv",
    }
    assert made.files["evals/deep/d/e.bin"] == b"\0\1"
    assert made.sources == ["evals/x_eval.py"]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("nothing/*.json", 'include "nothing/*.json" matches no file'),
        ("../../outside.txt", 'include "../../outside.txt" leaves the project'),
        ("a/../../outside.txt", 'include "a/../../outside.txt" leaves the project'),
        ("/etc/hostname", 'include "/etc/hostname" leaves the project'),
        ("linked.txt", "evals/linked.txt: is a link that leaves the project"),
        ("folder", "evals/folder: is a link to a folder, which does not travel"),
        ("a", "evals/a/inner: is a link to a folder, which does not travel"),
    ],
)
def test_an_include_that_leaves_the_project_or_finds_nothing_is_refused(
    pattern: str, text: str, write, tmp_path
) -> None:
    (tmp_path / "outside.txt").write_text("secret")
    root = write({"pyproject.toml": "", "evals/x_eval.py": SUITE, "evals/a/b": ""})
    os.symlink(tmp_path / "outside.txt", root / "evals/linked.txt")
    os.symlink(tmp_path, root / "evals/folder")
    os.symlink(tmp_path, root / "evals/a/inner")
    assert refused(root, "evals/x_eval.py", (pattern,)).message == text


def test_a_broken_link_in_an_included_folder_is_named_and_a_pipe_is_left_out(write) -> None:
    root = write({"x_eval.py": SUITE, "data/a": "1"})
    os.mkfifo(root / "data/pipe")
    assert set(contents(root, "x_eval.py", ("data",)).files) == {"x_eval.py", "data/a"}
    os.symlink(root / "nothing", root / "data/broken")
    assert refused(root, "x_eval.py", ("data",)).message == "data/broken: is a link to nothing"


def test_a_staging_folder_that_cannot_be_written_is_named(write, tmp_path) -> None:
    made = contents(write({"x_eval.py": SUITE}), "x_eval.py")
    (tmp_path / "file").write_text("")
    with pytest.raises(
        CompileError, match=f"cannot write a bundle to {tmp_path}/file/staging: Not a directory"
    ):
        bundle.write(made, tmp_path / "file" / "staging")


def test_a_syntax_error_in_a_module_only_imported_inside_a_function_is_shown(write) -> None:
    root = write({"x_eval.py": "def f():\n    import broken\n" + SUITE, "broken.py": "X = 1\nX = = 2\n"})
    assert refused(root, "x_eval.py").message == "broken.py:2: SyntaxError: invalid syntax"


def test_equal_contents_have_one_digest_and_are_written_once(write, staging) -> None:
    root = write({"x_eval.py": SUITE, "y.txt": ""})
    first = bundle.write(contents(root, "x_eval.py"), staging)
    mark = first.path / "tree" / "x_eval.py"
    before = mark.stat().st_ino
    assert bundle.write(contents(root, "x_eval.py"), staging) == first
    assert mark.stat().st_ino == before
    (root / "x_eval.py").write_text(SUITE + "#")
    assert bundle.write(contents(root, "x_eval.py"), staging) != first
    assert sorted(path.name for path in staging.iterdir()) == sorted(
        {first.digest, contents(root, "x_eval.py").digest}
    )


def test_a_bundle_that_was_changed_on_disk_is_written_anew(write, staging) -> None:
    root = write({"x_eval.py": SUITE})
    made = contents(root, "x_eval.py")
    ref = bundle.write(made, staging)
    (ref.path / "tree/x_eval.py").write_text("forged")
    assert bundle.write(made, staging) == ref
    assert (ref.path / "tree/x_eval.py").read_text() == SUITE
    assert [path.name for path in staging.iterdir()] == [ref.digest]


def test_a_suite_without_functions_needs_no_bundle(write, staging) -> None:
    root = write({"x_eval.py": SUITE.replace("validate=passes", 'validate=command("true")')})
    (compiled,) = compile_files([], cwd=root, staging=staging)
    assert compiled.bundle is None
    assert not staging.exists()


WORK = """
import json
from pathlib import Path
from sphynx import Verdict, case, suite, variant
from mate import WORD

async def prepare(ctx):
    import later
    await ctx.exec("sh", ["-c", "echo prepared > made.txt"])
    return {"port": later.PORT, "cached": ctx.cached}

async def reads(ctx):
    import later
    data = json.loads((Path(__file__).parent / "data.json").read_text())
    assert data["word"] == WORD and ctx.prepared == {"port": later.PORT}
    return Verdict(await ctx.read_text("out.txt") == "done", "read it all")

def fails(ctx):
    raise_it = ctx.answer()
    assert raise_it == "something else", "not that"

on = [variant(harness="codex", model="m")]
other = suite(id="other", prompt="", cases=[case(id="c", validate=lambda ctx: True)], variants=on)
work = suite(
    id="work", prompt="", include=["data.json"], variants=on,
    cases=[case(id="a", prepare=prepare, validate=[reads, fails])],
)
"""  # fmt: skip

FILES = {
    "pyproject.toml": "", "evals/work_eval.py": WORK, "evals/mate.py": "WORD = 'w'",
    "src/later.py": "PORT = 4", "evals/data.json": '{"word": "w"}',
}  # fmt: skip


def run_alone(
    folder: Path, op: str, payload: dict[str, Any], workspace: Path
) -> tuple[int, list[dict[str, Any]]]:
    """The packed library runs the bundle in an interpreter that can import nothing else."""
    place = {"workspace": str(workspace), "home": str(workspace)}
    asked = workspace.parent / "request.json"
    asked.write_text(json.dumps({"op": op, "suite": 1, "case": "a", **place, "payload": payload}))
    start = f"import sys, runpy; sys.path.insert(0, {str(folder / 'lib')!r}); "
    program = start + "runpy.run_module('sphynx.guest', run_name='__main__', alter_sys=True)"
    command = [sys.executable, "-I", "-S", "-c", program, "--bundle", str(folder), "--request", str(asked)]
    env = {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        [*command, "--nonce", "abc"], cwd=workspace, env=env, capture_output=True, text=True, timeout=60
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("abc ")]
    assert lines, done.stderr
    return done.returncode, [json.loads(line[4:]) for line in lines]


def test_prepare_and_checks_run_from_the_bundle_alone_in_an_empty_folder(write, staging, tmp_path) -> None:
    root = write(FILES)
    compiled = {item.suite.id: item for item in compile_files([], cwd=root, staging=staging)}["work"]
    assert compiled.index == 1
    assert compiled.bundle
    folder = tmp_path / "alone"
    shutil.copytree(compiled.bundle.path, folder)
    for name, data in library().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    shutil.rmtree(root)
    os.chdir(tmp_path)
    workspace = tmp_path / "empty"
    workspace.mkdir()
    code, frames = run_alone(folder, "prepare", {"cached": False, "api": {}}, workspace)
    assert (code, frames[0]) == (0, {"t": "prepared", "value": {"port": 4, "cached": False}})
    assert (workspace / "made.txt").read_text() == "prepared\n"
    (workspace / "out.txt").write_text("done")
    payload = {"answer": "this", "prepared": {"port": 4}}
    code, frames = run_alone(folder, "checks", payload, workspace)
    last = {frame["record"]["name"]: frame["record"] for frame in frames if frame["t"] == "validation"}
    assert {name: (record["status"], record["message"]) for name, record in last.items()} == {
        "reads": ("passed", "read it all"),
        "fails": ("failed", "not that"),
    }
    assert [frame["t"] for frame in frames[-2:]] == ["result", "done"]


def test_a_packed_bundle_is_the_same_for_the_same_contents(write) -> None:
    made = contents(write(FILES), "evals/work_eval.py", ("data.json",))
    packed = pack(made)
    assert packed == pack(made)
    archive = zipfile.ZipFile(BytesIO(zlib.decompress(packed)))
    names = archive.namelist()
    assert "tree/evals/data.json" in names
    assert "lib/sphynx/guest/program.py" in names
    assert not [name for name in names if name.startswith(("lib/sphynx/compiler", "lib/sphynx/schema"))]


def test_a_bundle_too_large_for_the_wire_names_the_five_largest_files(write) -> None:
    files = {f"evals/{at}.bin": os.urandom(100_000 + 10_000 * at) for at in range(7)}
    made = contents(
        write({"pyproject.toml": "", "evals/x_eval.py": SUITE, **files}), "evals/x_eval.py", ("*.bin",)
    )
    with pytest.raises(CompileError) as caught:
        pack(made)
    assert caught.value.tag == "BundleTooLarge"
    assert "748,000" in caught.value.message
    shown = caught.value.message.partition("largest: ")[2]
    assert shown.startswith("evals/6.bin (160,000 bytes), evals/5.bin (150,000 bytes), ")
    assert shown.count("bytes") == 5
