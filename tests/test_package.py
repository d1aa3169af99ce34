"""The package itself: lazy names, what an import costs, what a sandbox has."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import sphynx

ROOT = Path(sphynx.__file__).parent
TREE = ast.parse((ROOT / "__init__.py").read_text())


def run(code: str, *, path: Path = ROOT.parent, flags: tuple[str, ...] = ()) -> str:
    """What ``code`` prints in a fresh interpreter that has ``path``."""
    env = {"PYTHONPATH": str(path), "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, *flags, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_table_types_and_all_agree() -> None:
    """The lazy table, the names pyright sees and ``__all__`` name the same things in the same modules."""
    guarded = next(node for node in TREE.body if isinstance(node, ast.If))
    seen = {
        alias.asname: node.module
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == sphynx._LAZY
    assert set(sphynx.__all__) == set(seen) - {"AsyncSphynx", "Sphynx", "register_harness"}
    assert sphynx.__all__ == sorted(sphynx.__all__)
    assert list(sphynx._LAZY) == sorted(sphynx._LAZY)


@pytest.mark.parametrize("name", sorted(sphynx._LAZY))
def test_every_name_is_there(name: str) -> None:
    """Each name loads, is listed, and loads as itself from its own module."""
    value = getattr(sphynx, name)
    assert value is getattr(sys.modules[sphynx._LAZY[name]], name)
    assert name in dir(sphynx)


def test_unknown_names_are_attribute_errors() -> None:
    """A mistyped name fails as in any module."""
    with pytest.raises(AttributeError, match="nothing"):
        _ = sphynx.nothing  # type: ignore[attr-defined]
    with pytest.raises(ImportError):
        exec("from sphynx import nothing")


@pytest.mark.parametrize(
    "first",
    [
        "import sphynx.suite",
        "import sphynx.suite.cases",
        "from sphynx.suite import Suite",
        "import sphynx.compiler",
    ],
)
def test_suite_is_the_builder_whatever_was_imported_before(first: str) -> None:
    """The room called ``suite`` never hides the function called ``suite``."""
    code = f"{first}\nfrom sphynx import suite\nimport sphynx, sphynx.suite.labels\n"
    assert run(code + "print(suite.__name__, sphynx.suite is suite)") == "suite True"


def test_importing_loads_nothing_heavy() -> None:
    """Neither ``import sphynx`` nor the builders load slow modules or an installed package."""
    heavy = "('asyncio', 'dataclasses', 'inspect', 'pydantic', 'httpx', 'typer', 'rich', 'msgspec', 'anyio')"
    code = f"import sys; {{}}; print([m for m in {heavy} if m in sys.modules])"
    assert run(code.format("import sphynx")) == "[]"
    assert run(code.format("from sphynx import *; import sphynx.validators, sphynx.runner.eve")) == "[]"


def test_importing_is_quick(tmp_path: Path) -> None:
    """An import adds at most 30 ms to bare Python; the test allows a slow machine three times that."""
    env = {"PYTHONPATH": str(ROOT.parent), "PYTHONPYCACHEPREFIX": str(tmp_path), "PATH": os.environ["PATH"]}
    timed = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"
    for code in ("import sphynx", "from sphynx import suite, case, command"):
        took = [
            float(
                subprocess.run(
                    [sys.executable, "-c", timed.format(code)], env=env, capture_output=True
                ).stdout
            )
            for _ in range(6)
        ]
        assert min(took) < 0.090, f"{code}: {min(took) * 1000:.0f} ms"


@pytest.fixture
def sandbox_copy(tmp_path: Path) -> Path:
    """What travels into a sandbox: the standard-library rooms only."""
    there = tmp_path / "sphynx"
    there.mkdir()
    for name in ("__init__.py", "_version.py", "errors.py"):
        shutil.copy(ROOT / name, there / name)
    for room in ("suite", "validators", "runner", "guest"):
        shutil.copytree(ROOT / room, there / room)
    return tmp_path


def test_builders_work_in_a_bare_sandbox(sandbox_copy: Path) -> None:
    """With the standard library and nothing else, an eval file still imports."""
    code = "from sphynx import *; print(suite(id='s', prompt='p', cases=[], variants=[]).id)"
    assert run(code, path=sandbox_copy, flags=("-S",)) == "s"


def test_names_a_sandbox_lacks_say_so(sandbox_copy: Path) -> None:
    """Asking for a room that did not travel is one clear error, not a missing module of ours."""
    code = (
        "from sphynx import SphynxError\n"
        "try:\n from sphynx import register_harness\nexcept SphynxError as e: print(e.message, '|', e.hint)"
    )
    assert run(code, path=sandbox_copy, flags=("-S",)) == (
        "sphynx.register_harness is not available here: it needs sphynx.registry | "
        "a check in a sandbox has the builders only: import the rest where it is used"
    )


def test_every_library_is_one_that_the_installation_brings() -> None:
    """What the package imports, at any depth, is a dependency; what only an extra brings stays there."""
    project = tomllib.loads((ROOT.parents[1] / "pyproject.toml").read_text())["project"]
    always = {_plain(one) for one in project["dependencies"]}
    extras = {
        name: {_plain(one) for one in named} for name, named in project["optional-dependencies"].items()
    }
    extras["pytest"] = {"pytest"}  # whoever loads a plugin of pytest has it
    homes = packages_distributions()
    wrong: list[str] = []
    for path in ROOT.rglob("*.py"):
        room = path.relative_to(ROOT).as_posix()
        allowed = always.union(
            *(extras[name] for place, name in _EXTRA_ROOMS.items() if room.startswith(place))
        )
        for name in _imported(path) - sys.stdlib_module_names - {"sphynx", "wire_program"}:
            if (
                not {_BROUGHT_BY.get(_plain(home), _plain(home)) for home in homes.get(name, [name])}
                & allowed
            ):
                wrong.append(f"{room}: {name}")
    assert not wrong, "\n".join(sorted(wrong))


_EXTRA_ROOMS = {
    "server/": "server", "cli/commands/serve.py": "server", "cli/commands/admin.py": "server",
    "sandboxes/docker/": "docker", "server/execution/": "docker", "pricing/": "models",
    "pytest_plugin.py": "pytest",
}  # fmt: skip


# Parts of a library's own interface that come as a distribution of their own.
_BROUGHT_BY = {"pydantic-core": "pydantic", "starlette": "fastapi", "aiohttp": "aiodocker"}


def _plain(requirement: str) -> str:
    return re.split(r"[\[<>=!~; ]", requirement)[0].lower().replace("_", "-")


def _imported(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.partition(".")[0] for name in names}
