"""Without the extra everything but the server works, and the server says what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

HIDDEN = ("fastapi", "uvicorn", "sqlalchemy", "aiosqlite", "alembic", "dbos", "cryptography", "psycopg")
PROGRAM = """
import sys
for name in {hidden!r}:
    sys.modules[name] = None
from sphynx.cli.main import main
sys.exit(main({args!r}))
"""


@pytest.mark.parametrize("args", [["serve"], ["worker"], ["admin", "list-keys"]])
def test_a_missing_extra_is_one_line_with_the_command_that_installs_it(args: list[str]) -> None:
    program = PROGRAM.format(hidden=HIDDEN, args=args)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert 'pip install "sphynx-sh[server]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_the_client_and_its_commands_need_no_extra() -> None:
    program = PROGRAM.format(hidden=HIDDEN, args=["env", "list", "--help"])
    program = program.replace(
        "from sphynx.cli.main", "from sphynx import AsyncSphynx, Sphynx\nfrom sphynx.cli.main"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "ModuleNotFoundError" not in done.stderr
    assert "List what is set" in done.stdout
