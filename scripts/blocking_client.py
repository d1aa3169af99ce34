"""Writes ``client/blocking.py`` from ``client/asynchronous.py``: people write one, the other is its twin.

    .venv/bin/python scripts/blocking_client.py [--check]

With ``--check`` nothing is written; it fails when the twin is not what the script would write.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

CLIENT = Path(__file__).resolve().parent.parent / "src" / "sphynx" / "client"
TWIN = CLIENT / "blocking.py"
TITLE = '"""``Sphynx``: the client for plain code."""\n'
NOTE = "\n# Written by scripts/blocking_client.py from asynchronous.py: change it there.\n"
WORDS = (
    (r'\A""".*"""\n', TITLE + NOTE),
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\b__a(enter|exit)__\b", r"__\1__"),
    (r"\basync_connect\b", "connect"),
    (r"\baclose\b", "close"),
    (r"\bAsync(Sphynx|Iterator|Client)\b", r"\1"),
    (r"\bAsync(?=[A-Z])", "Sync"),
    (r"(?m)^( +)for (\w+) in (.+):\n +yield \2$", r"\1yield from \3"),
    ("share between tasks", "share between threads"),
)


def render() -> str:
    """The text of ``blocking.py``."""
    text = (CLIENT / "asynchronous.py").read_text("utf-8")
    for old, new in WORDS:
        text = re.sub(old, new, text)
    for command in (["check", "--select", "I", "--fix"], ["format"]):
        argv = [sys.executable, "-m", "ruff", *command, "--quiet", "--stdin-filename", str(TWIN), "-"]
        text = subprocess.run(argv, input=text, text=True, check=True, stdout=subprocess.PIPE).stdout
    return text


def main() -> int:
    text = render()
    if "--check" not in sys.argv[1:]:
        TWIN.write_text(text, "utf-8")
    elif text != TWIN.read_text("utf-8"):
        print("error: client/blocking.py is not the twin of asynchronous.py: run scripts/blocking_client.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
