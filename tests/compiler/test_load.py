"""An eval file imports as pytest users expect, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import sys
import threading
from pathlib import Path

import pytest

from compiler.conftest import SUITE
from sphynx.compiler.load import load, load_suites
from sphynx.errors import CompileError


def names(path: Path) -> list[str]:
    return [suite.name for suite in load_suites(path)[0]]


def test_suites_come_in_source_order_each_once(write) -> None:
    root = write(
        {"a_eval.py": SUITE + "again = smoke\nlast = suite(id='last', prompt='', cases=[], variants=[])\n"}
    )
    assert names(root / "a_eval.py") == ["smoke", "last"]


def test_files_of_the_same_name_each_get_their_own_siblings(write) -> None:
    named = SUITE.replace("id=", "name=WORD, id=").replace(
        "from sphynx", "from helpers import WORD\nfrom sphynx", 1
    )
    root = write({
        "one/x_eval.py": named, "one/helpers.py": "WORD = 'one'",
        "two/x_eval.py": named, "two/helpers.py": "WORD = 'two'",
    })  # fmt: skip
    assert [names(root / folder / "x_eval.py")[0] for folder in ("one", "two", "one")] == [
        "one",
        "two",
        "one",
    ]


def test_a_file_in_a_package_may_import_relatively(write) -> None:
    head = (
        "from . import near\nfrom ..shared import WORD\nfrom .near import deep\nassert deep == WORD == 'w'\n"
    )
    root = write({
        "pyproject.toml": "", "pkg/__init__.py": "", "pkg/shared.py": "WORD = 'w'",
        "pkg/evals/__init__.py": "", "pkg/evals/near.py": "from pkg.shared import WORD as deep",
        "pkg/evals/x_eval.py": head + SUITE,
    })  # fmt: skip
    loaded = load(root / "pkg/evals/x_eval.py")
    assert loaded.layout.module == "pkg.evals.x_eval"
    assert [suite.id for suite in loaded.suites] == ["smoke"]


def test_a_src_layout_the_project_root_and_namespace_packages_are_found(write) -> None:
    head = "import app.core\nimport tools.make\nfrom ns.part import X\nfrom evals.extra import Y\n"
    root = write({
        "pyproject.toml": "", "src/app/__init__.py": "", "src/app/core.py": "", "tools/make.py": "",
        "src/ns/part.py": "X = 1", "evals/extra.py": "Y = 1", "evals/x_eval.py": head + SUITE,
    })  # fmt: skip
    assert names(root / "evals/x_eval.py") == ["smoke"]


@pytest.mark.parametrize("setting", ['["lib", "../outside"]', '"lib"'])
def test_pytests_pythonpath_is_used(setting: str, write) -> None:
    root = write({
        "pyproject.toml": f"[tool.pytest.ini_options]\npythonpath = {setting}\n", "lib/mine.py": "",
        "evals/x_eval.py": "import mine\n" + SUITE,
    })  # fmt: skip
    assert names(root / "evals/x_eval.py") == ["smoke"]


def test_the_project_root_is_the_nearest_pyproject_then_git_then_the_working_folder(write) -> None:
    root = write({
        "a/.git/HEAD": "", "a/b/pyproject.toml": "", "a/b/c/x_eval.py": SUITE, "a/d/y_eval.py": SUITE,
        "e/z_eval.py": SUITE,
    })  # fmt: skip
    assert load(root / "a/b/c/x_eval.py").layout.root == root / "a/b"
    assert load(root / "a/d/y_eval.py").layout.root == root / "a"
    assert load(root / "e/z_eval.py").layout.root == root
    os.chdir(root / "a")
    assert load(root / "e/z_eval.py").layout.root == root / "e"


def test_a_sibling_wins_over_an_installed_package_that_is_already_imported(write) -> None:
    import yaml

    root = write({"yaml.py": "MINE = 1", "x_eval.py": "import yaml\nassert yaml.MINE\n" + SUITE})
    assert names(root / "x_eval.py") == ["smoke"]
    assert sys.modules["yaml"] is yaml
    assert not hasattr(yaml, "MINE")


def test_path_modules_environment_and_folder_are_afterwards_as_they_were(write, monkeypatch) -> None:
    monkeypatch.setenv("KEPT", "before")
    monkeypatch.setenv("GONE", "before")
    head = (
        "import os, sys, helpers, colorsys\nsys.path.append('/nowhere')\nos.environ['KEPT'] = 'after'\n"
        "os.environ['NEW'] = '1'\ndel os.environ['GONE']\nos.chdir('/')\nsys.modules['made_up'] = helpers\n"
    )
    root = write(
        {"x_eval.py": head + SUITE, "helpers.py": "import test_only_pkg", "test_only_pkg/__init__.py": ""}
    )
    import colorsys  # noqa: F401  # the standard library stays imported, so it is not part of the promise

    before = (list(sys.path), dict(sys.modules), dict(os.environ), os.getcwd(), threading.active_count())
    assert names(root / "x_eval.py") == ["smoke"]
    after = (list(sys.path), dict(sys.modules), dict(os.environ), os.getcwd(), threading.active_count())
    assert after == before
    assert sorted(path.name for path in root.rglob("*")) == [
        "__init__.py",
        "helpers.py",
        "test_only_pkg",
        "x_eval.py",
    ]


def test_all_is_put_back_when_the_import_raises(write) -> None:
    root = write(
        {
            "x_eval.py": "import os, sys, helpers\nos.environ['NEW'] = '1'\nsys.path.clear()\n1 / 0",
            "helpers.py": "",
        }
    )
    before = (list(sys.path), dict(sys.modules), dict(os.environ))
    with pytest.raises(CompileError):
        load_suites(root / "x_eval.py")
    assert (list(sys.path), dict(sys.modules), dict(os.environ)) == before


def test_an_installed_package_is_imported_once_for_all_files(write, tmp_path, monkeypatch) -> None:
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "counted.py").write_text("import os\nprint('counted', file=open(os.environ['LOG'], 'a'))\n")
    monkeypatch.syspath_prepend(str(installed))
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    root = write({name: "import counted\n" + SUITE for name in ("a_eval.py", "b_eval.py")})
    assert names(root / "a_eval.py") == names(root / "b_eval.py") == ["smoke"]
    assert (tmp_path / "log").read_text() == "counted\n"
    assert "counted" not in sys.modules


def test_a_package_with_compiled_parts_stays_imported(write, tmp_path, monkeypatch) -> None:
    """Some (numpy) cannot be imported twice in one process."""
    import _heapq

    installed = tmp_path / "site-packages"
    (installed / "fastpkg").mkdir(parents=True)
    compiled = Path(_heapq.__file__)
    (installed / "fastpkg" / compiled.name).write_bytes(compiled.read_bytes())
    (installed / "fastpkg/__init__.py").write_text("from fastpkg import _heapq\n")
    monkeypatch.syspath_prepend(str(installed))
    root = write({"a_eval.py": "import fastpkg\n" + SUITE})
    try:
        assert names(root / "a_eval.py") == ["smoke"]
        assert "fastpkg" in sys.modules
    finally:
        for name in ("fastpkg", "fastpkg._heapq"):
            sys.modules.pop(name, None)


def test_what_the_import_prints_goes_to_stderr(write, capsys) -> None:
    root = write({"x_eval.py": "print('loading')\n" + SUITE})
    load_suites(root / "x_eval.py")
    assert capsys.readouterr() == ("", "loading\n")


ERRORS = {
    "raise": ("X = 1\nraise ValueError('two\\nlines')\n", "x_eval.py:2: ValueError: two"),
    "name": ("import os\nos.environ['NOT_THERE']\n", "x_eval.py:2: KeyError: 'NOT_THERE'"),
    "syntax": ("X = 1\ndef f(:\n", "x_eval.py:2: SyntaxError: invalid syntax"),
    "exit": ("\n\nimport sys\nsys.exit(3)\n", "x_eval.py:4: SystemExit: 3"),
    "at once": ("import os\nos._exit(0)\n", "x_eval.py:2: Exited: os._exit(0) while the file is imported"),
    "empty": ("raise RuntimeError\n", "x_eval.py:1: RuntimeError"),
    "module": ("import nowhere\n", "x_eval.py:1: ModuleNotFoundError: No module named 'nowhere'"),
    "library": ("import json\n\njson.loads('[')\n", "x_eval.py:3: JSONDecodeError: Expecting value: "),
    "nul": ("\0", "x_eval.py: SyntaxError: source code string cannot contain null bytes"),
}  # fmt: skip


@pytest.mark.parametrize(("source", "text"), ERRORS.values(), ids=list(ERRORS))
def test_an_import_that_raises_shows_the_users_own_frame(source: str, text: str, write) -> None:
    root = write({"x_eval.py": source})
    with pytest.raises(CompileError) as caught:
        load_suites(root / "x_eval.py")
    said = caught.value.message.replace("ValueError: source", "SyntaxError: source")
    assert said.replace("line 1 column 2 (char 1)", "") == text


def test_an_error_in_a_sibling_is_shown_there_and_says_who_imported_it(write) -> None:
    root = write(
        {"evals/x_eval.py": "\nimport helpers\n", "evals/helpers.py": "def f():\n    return 1 / 0\nf()\n"}
    )
    with pytest.raises(CompileError) as caught:
        load_suites(root / "evals/x_eval.py", root)
    assert caught.value.message == "evals/helpers.py:2: ZeroDivisionError: division by zero"
    assert caught.value.hint == "imported by evals/x_eval.py:2"


def test_a_syntax_error_in_a_sibling_is_shown_there(write) -> None:
    root = write({"x_eval.py": "import helpers\n", "helpers.py": "X = 1\nX = = 2\n"})
    with pytest.raises(CompileError) as caught:
        load_suites(root / "x_eval.py")
    assert caught.value.message == "helpers.py:2: SyntaxError: invalid syntax"


def test_a_missing_module_says_where_was_looked(write) -> None:
    root = write({"evals/x_eval.py": "import helprs\n", "src/a.py": ""})
    with pytest.raises(CompileError) as caught:
        load_suites(root / "evals/x_eval.py", root)
    assert caught.value.hint == "install it, or put it below one of the import roots: evals, src, ."


def test_a_relative_import_outside_a_package_says_what_is_missing(write) -> None:
    root = write({"evals/x_eval.py": "from . import helpers\n", "evals/helpers.py": ""})
    with pytest.raises(CompileError) as caught:
        load_suites(root / "evals/x_eval.py")
    assert caught.value.message.startswith("evals/x_eval.py:1: ImportError: attempted relative import")
    assert caught.value.hint == "a relative import needs an __init__.py in evals"


def test_a_file_name_with_a_dot_is_refused(write) -> None:
    root = write({"smoke.v2_eval.py": SUITE})
    with pytest.raises(CompileError, match=r"smoke.v2_eval.py: .*dot"):
        load_suites(root / "smoke.v2_eval.py")


def test_a_file_named_like_a_module_of_python_is_refused(write) -> None:
    root = write({"json.py": SUITE})
    with pytest.raises(CompileError) as caught:
        load_suites(root / "json.py")
    assert caught.value.message == 'json.py: the name "json" is taken by another module'


def test_a_file_name_that_is_no_identifier_works(write) -> None:
    root = write({"my-first_eval.py": SUITE})
    assert names(root / "my-first_eval.py") == ["smoke"]


def test_an_import_that_is_slow_or_starts_a_thread_or_process_is_warned_about(write) -> None:
    head = (
        "import subprocess, threading, time\n"
        "t = threading.Thread(target=time.sleep, args=(4,), daemon=True)\nt.start()\n"
        "p = subprocess.Popen(['sleep', '4'])\ntime.sleep(2.05)\n"
    )
    root = write({"x_eval.py": head + SUITE, "y_eval.py": SUITE})
    suites, warnings = load_suites(root / "x_eval.py")
    assert len(suites) == 1
    assert [
        any(re.search(said, line) for line in warnings) for said in (r"\d\.\d s\b", "a thread", "a process")
    ] == [True] * 3
    assert all(line.startswith("x_eval.py: ") for line in warnings)
    assert load_suites(root / "y_eval.py")[1] == []


def test_a_file_that_compiles_itself_says_so_instead_of_looping(write) -> None:
    root = write({"x_eval.py": SUITE + "from sphynx.compiler import compile_eval\ncompile_eval(__file__)\n"})
    with pytest.raises(CompileError) as caught:
        load_suites(root / "x_eval.py")
    assert "compiles itself" in caught.value.message


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        ('case("a", None)', 'its fields are named: case(id="...", ...)'),
        ('variant("codex", "m")', 'its fields are named: variant(harness="...", ...)'),
    ],
)
def test_fields_without_their_names_are_an_error_that_says_so(write, call: str, hint: str) -> None:
    root = write({"x_eval.py": f"from sphynx import case, variant\n{call}\n"})
    with pytest.raises(CompileError) as caught:
        load(root / "x_eval.py", cwd=root)
    assert caught.value.message.startswith("x_eval.py:2: TypeError: ")
    assert caught.value.hint == hint


def test_an_error_that_cannot_say_what_it_is_still_has_its_place(write) -> None:
    """The class of an error is the user's code too."""
    odd = 'class Odd(Exception):\n    def __str__(self):\n        raise ValueError("no")\n\nraise Odd()\n'
    root = write({"odd_eval.py": odd})
    with pytest.raises(CompileError, match=r"odd_eval.py:5: Odd$"):
        load_suites(root / "odd_eval.py")


def test_only_this_process_is_kept_from_ending_and_only_while_it_imports(write) -> None:
    """A child that the import forks ends as ever; a name kept from the import ends the process later."""
    root = write(
        {
            "x_eval.py": SUITE
            + """
import os
from os import _exit as kept
child = os.fork()
if not child:
    os._exit(7)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
smoke.given["name"] = str(status)
smoke.given["kept"] = kept
"""
        }
    )
    (suite,), _ = load_suites(root / "x_eval.py")
    assert suite.given["name"] == "7"
    child = os.fork()
    if not child:
        suite.given["kept"](9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
