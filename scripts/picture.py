"""Draws docs/images/first-run.svg: a real run in a pseudo-terminal, as it looks.

.venv/bin/python scripts/picture.py
"""

from __future__ import annotations

import io
import os
import pty
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import NIGHT_OWLISH
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "images" / "first-run.svg"
WIDTH = 100


def record(argv: list[str]) -> str:
    """Run ``argv`` with standard output on a terminal and return what the person is left with."""
    received = io.BytesIO()

    def keep(descriptor: int) -> bytes:
        data = os.read(descriptor, 65536)
        received.write(data)
        return data

    with tempfile.TemporaryDirectory() as spare:
        os.environ.update(
            COLUMNS=str(WIDTH), LINES="50", TERM="xterm-256color", SPHYNX_LOCAL_ROOT=f"{spare}/local"
        )
        os.environ.pop("NO_COLOR", None)
        os.chdir(ROOT)
        # The live part on standard error is redrawn in place; the picture keeps what stays.
        pty.spawn(["/bin/sh", "-c", f"{' '.join(argv)} 2>/dev/null"], keep)
    return received.getvalue().decode().replace("\r\n", "\n")


def main() -> None:
    command = "sphynx eval --local examples/hello_eval.py"
    text = record([str(Path(sys.executable).with_name("sphynx")), *command.split()[1:]])
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text(f"$ {command}", style="bold"))
    console.print(Text.from_ansi(text))
    console.save_svg(str(TARGET), title="sphynx", theme=NIGHT_OWLISH)


if __name__ == "__main__":
    main()
