"""A bundle runs from its folder alone, and what is wrong with it is told at the author's own line."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from sphynx import suite
from sphynx.guest.bundle import minimal_environment, suites_of


def case_source(name: str, check: str) -> str:
    return (
        f'{name} = suite(id="{name}", prompt="p", cases=[case(id="one", validate={check})],'
        ' variants=[variant(harness="nop", model="m")])\n'
    )


IMPORTS = "from sphynx import case, suite, variant\n"


def import_failure(answer: Any) -> str:
    assert answer.exit_code == 2 and answer.done
    return answer.one("failed")["message"]


MIXED = """
from pathlib import Path
import sibling
from library.deep import answer
from sphynx import case, suite, variant

def check(ctx):
    from library import late
    data = (Path(__file__).parent / "data.txt").read_text()
    return [sibling.NAME, answer(), late.NAME, data] == ["evals", 42, "late", "data"]

"""


def test_the_tree_is_imported_from_its_roots_with_siblings_packages_and_data(either):
    either.bundle(
        {
            "evals/smoke_eval.py": MIXED + case_source("smoke", "check"),
            "evals/sibling.py": "NAME = 'evals'",
            "evals/data.txt": "data",
            "sibling.py": "NAME = 'the wrong one'",
            "src/library/__init__.py": "",
            "src/library/deep/__init__.py": "from ..late import NAME\ndef answer(): return 42 if NAME else 0",
            "src/library/late.py": "NAME = 'late'",
        },
        entry="evals/smoke_eval.py",
        roots=["evals", "src", "."],
    )
    assert either.run().record["status"] == "passed"


def test_an_eval_file_inside_a_package_may_import_relatively(guest):
    source = IMPORTS + "from .sibling import check\n" + case_source("smoke", "check")
    guest.bundle(
        {
            "evals/__init__.py": "",
            "evals/api/__init__.py": "",
            "evals/api/smoke_eval.py": source,
            "evals/api/sibling.py": "def check(ctx): return True",
        },
        entry="evals/api/smoke_eval.py",
        module="evals.api.smoke_eval",
    )
    assert guest.run().record["status"] == "passed"


@pytest.mark.parametrize("module", ["my-smoke_eval", "json", "dotted.name_eval"])
def test_a_file_whose_name_is_no_module_name_or_is_taken_is_imported_all_the_same(guest, module):
    source = (
        IMPORTS + "def check(ctx): return __file__.endswith('_eval.py')\n" + case_source("smoke", "check")
    )
    guest.bundle({"odd_eval.py": source}, entry="odd_eval.py", module=module)
    assert guest.run().record["status"] == "passed"


@pytest.mark.parametrize(
    ("line", "said", "advice"),
    [
        (
            "import missing_library",
            "ModuleNotFoundError: No module named 'missing_library'",
            "only the bundle",
        ),
        ("import os; os.environ['TOKEN']", "KeyError: 'TOKEN'", "read TOKEN in the function"),
        ("open('data.json')", "FileNotFoundError", "include=[...]"),
        ("1 / 0", "ZeroDivisionError: division by zero", ""),
        ("raise SystemExit(3)", "SystemExit: 3", ""),
        ("def broken(:", "SyntaxError: invalid syntax", ""),
    ],
)
@pytest.mark.parametrize("where", ["smoke_eval.py", "helper.py"])
def test_an_import_that_fails_shows_the_authors_line(guest, where, line, said, advice):
    files = {"smoke_eval.py": "import helper\n", "helper.py": "\n"}
    files[where] = f"\n\n{line}\n"
    guest.bundle(files)
    message = import_failure(guest.run())
    assert message.startswith(f"{where}:3: {said}")
    assert advice in message
    assert "Traceback" not in message


def test_an_error_raised_inside_a_library_shows_the_line_that_called_it(guest):
    guest.bundle({"smoke_eval.py": "import json\n\njson.loads('{')\n"})
    assert import_failure(guest.run()).startswith("smoke_eval.py:3: JSONDecodeError")


def test_a_broken_or_newer_description_is_named(guest):
    guest.bundle({"smoke_eval.py": ""}, format=2)
    assert "bundle format 2 is not known here" in import_failure(guest.run())
    (guest.folder / "bundle.json").write_text("{")
    assert "the bundle's description cannot be read" in import_failure(guest.run())
    (guest.folder / "bundle.json").unlink()
    assert "FileNotFoundError" in import_failure(guest.run())


def test_the_import_environment_holds_nothing_of_the_trial():
    given = {
        "PATH": "/bin",
        "HOME": "/h",
        "OPENAI_API_KEY": "k",
        "TMPDIR": "/t",
        "PYTHONPATH": "/p",
        "LANG": "C",
    }
    assert minimal_environment(given, "/empty") == {
        "PATH": "/bin", "LANG": "C", "HOME": "/empty", "TMPDIR": "/empty",
    }  # fmt: skip


def made(file: str, name: str) -> Any:
    """A suite that says it was made in ``file``."""
    found = suite(id=name)
    found.file = file
    return found


def module(file: str, **names: Any) -> ModuleType:
    found = ModuleType(file.rpartition("/")[2].removesuffix(".py"))
    found.__file__ = file
    vars(found).update(names)
    return found


def test_suites_come_in_source_order_once_each_at_their_first_name():
    one, two = made("/p/a_eval.py", "one"), made("/p/a_eval.py", "two")
    found = suites_of(
        module("/p/a_eval.py", number=1, two=two, one=one, again=two, many=[made("/p/a_eval.py", "x")])
    )
    assert found == [two, one]


def test_a_name_that_is_bound_again_holds_only_its_last_suite():
    source = "from sphynx import suite\na = suite(id='x')\nb = suite(id='y')\na = suite(id='z')\n"
    found = module("/p/a_eval.py")
    exec(compile(source, "/p/a_eval.py", "exec"), vars(found))
    assert [each.id for each in suites_of(found)] == ["z", "y"]


@pytest.fixture
def loaded():
    """Puts modules into ``sys.modules`` and takes them out again."""
    names: list[str] = []

    def put(each: ModuleType) -> ModuleType:
        names.append(each.__name__)
        sys.modules[each.__name__] = each
        return each

    yield put
    for name in names:
        del sys.modules[name]


def test_a_suite_of_another_eval_file_belongs_to_that_file(loaded):
    theirs, ours = made("/p/other_eval.py", "theirs"), made("/p/a_eval.py", "ours")
    other = loaded(module("/p/other_eval.py", theirs=theirs))
    here = loaded(module("/p/a_eval.py", theirs=theirs, ours=ours))
    assert suites_of(here) == [ours]
    assert suites_of(other) == [theirs]


def test_suites_that_a_function_elsewhere_made_for_this_file_count(loaded):
    by_helper, by_eval = made("/p/factory.py", "a"), made("/p/other_eval.py", "b")
    loaded(module("/p/factory.py"))
    loaded(module("/p/other_eval.py"))
    assert suites_of(loaded(module("/p/a_eval.py", a=by_helper, b=by_eval))) == [by_helper, by_eval]
