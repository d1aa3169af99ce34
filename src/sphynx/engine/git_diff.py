"""The difference of a workspace by git, inside the sandbox: for cloned sources and machines we cannot read.

A private object store and index under the trial's home hold the state before the agent, so the agent's own
commits, resets and branches do not matter. The repository's configuration cannot make it run anything.
"""

from __future__ import annotations

from dataclasses import dataclass

from sphynx.contracts import Sandbox
from sphynx.engine.diff import Changes

KEEP = 2_000_000
LIMIT_MS = 60_000

_GIT = (
    "git -c core.fsmonitor=false -c core.hooksPath=/dev/null -c core.quotePath=false -c core.safecrlf=false"
    " -c core.compression=0 -c core.bigFileThreshold=1m -c advice.addEmbeddedRepo=false"
)
_SETUP = (
    'mkdir -p "$SX/objects" && if [ ! -d .git ]; then git init -q --bare "$SX/git" &&'
    ' export GIT_DIR="$SX/git" GIT_WORK_TREE="$PWD";'
    ' else export GIT_ALTERNATE_OBJECT_DIRECTORIES="$PWD/.git/objects"; fi;'
    ' export GIT_OBJECT_DIRECTORY="$SX/objects" GIT_INDEX_FILE="$SX/index"; '
)
_BEFORE = (
    _SETUP
    + 'if [ -f .git/index ]; then cp .git/index "$SX/index"; fi; '
    + f"{_GIT} add -A . 2>/dev/null; {_GIT} write-tree"
)
_STAGE = _SETUP + f"{_GIT} add -A . 2>/dev/null; "
_NAMES = _STAGE + f"{_GIT} diff --cached --no-renames --name-only -z $TREE"
_PATCH = _SETUP + f"{_GIT} diff --cached --no-renames --no-ext-diff --no-textconv --no-color $TREE"


@dataclass(frozen=True, slots=True)
class GitState:
    """The tree a workspace had before the agent."""

    tree: str
    store: str


async def remember(box: Sandbox) -> GitState | None:
    """Keep the state of the workspace; ``None`` when git cannot."""
    store = f"{box.home}/.sphynx/diff"
    result = await box.exec(["sh", "-c", _BEFORE], env=_env(store), timeout_ms=LIMIT_MS)
    tree = result.stdout.decode("ascii", "replace").strip()
    return GitState(tree, store) if result.exit_code == 0 and len(tree) >= 40 else None


async def changes_since(box: Sandbox, state: GitState | None) -> Changes:
    """What changed since ``remember``; a note says why when there is nothing to show."""
    if state is None:
        return Changes(notes=["no diff: git could not read the workspace before the agent"])
    env = {**_env(state.store), "TREE": state.tree}
    names = await box.exec(["sh", "-c", _NAMES], env=env, timeout_ms=LIMIT_MS, keep=KEEP)
    if names.exit_code != 0 or names.timed_out:
        return Changes(notes=["no diff: git could not compare the workspace after the agent"])
    patch = await box.exec(["sh", "-c", _PATCH], env=env, timeout_ms=LIMIT_MS, keep=KEEP)
    paths = [name for name in names.stdout.decode("utf-8", "replace").split("\0") if name]
    text = patch.stdout
    notes: list[str] = []
    if patch.stdout_bytes > len(text):
        # A line that was cut may end inside a secret that redaction would then not know.
        text = text[: text.rfind(b"\n") + 1]
        notes.append(f"the diff has {patch.stdout_bytes} bytes, the rest is left out")
    return Changes(paths=paths, text=text.decode("utf-8", "replace"), notes=notes)


def _env(store: str) -> dict[str, str]:
    return {"SX": store, "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
