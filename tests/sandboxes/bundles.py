"""Bundles made by hand, in the layout that ``sphynx.guest.bundle`` reads."""

from __future__ import annotations

import hashlib
import json
import textwrap
from pathlib import Path

from sphynx.contracts import BundleRef

HEAD = "from sphynx import case, empty, suite, variant\n"
TAIL = """
odd = suite(
    id="odd", prompt="do it", source=empty, variants=[variant(harness="nop", model="none")],
    cases=[case(id="one", prepare=globals().get("prepare"), validate=globals().get("checks", []),
                solution=globals().get("solution"))],
)
"""


def bundle(folder: Path, source: str, **others: str) -> BundleRef:
    """A bundle of one eval file: ``source`` defines ``prepare``, ``checks`` and ``solution`` as it likes."""
    text = HEAD + textwrap.dedent(source) + TAIL
    tree = folder / "tree"
    (tree / "evals").mkdir(parents=True)
    (tree / "evals" / "odd_eval.py").write_text(text)
    for name, content in others.items():
        (tree / "evals" / f"{name}.py").write_text(textwrap.dedent(content))
    described = {
        "format": 1, "entry": "evals/odd_eval.py", "module": "odd_eval", "roots": ["evals", "."],
        "requirements": [], "python": "3.11",
    }  # fmt: skip
    (folder / "bundle.json").write_text(json.dumps(described))
    return BundleRef(folder, hashlib.sha256(text.encode()).hexdigest()[:16])
