"""Where a check looks for programs: never first in the folder of the trial's home that an agent fills.

A trial's ``PATH`` begins with ``~/.local/bin``, so that the agent meets mocks and what was installed for it.
For a check that folder comes last: an agent that leaves a ``bash`` or a ``python3`` there must not decide for
it. A ``PATH`` that a profile sets is the author's own and stays as it is.
"""

from __future__ import annotations

BIN = ".local/bin"

SETTLE = f'case $PATH in "$1/{BIN}:"?*) PATH="${{PATH#*:}}:$1/{BIN}";; esac; export PATH; '
"""The same as :func:`settled` for a shell; the trial's home is its first argument."""


def settled(path: str, home: str) -> str:
    """``path`` with ``~/.local/bin`` of ``home`` behind the folders of the machine."""
    first, _, rest = path.partition(":")
    return f"{rest}:{first}" if rest and first == f"{home}/{BIN}" else path
