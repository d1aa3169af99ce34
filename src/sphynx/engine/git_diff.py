"""The difference of a workspace by git, inside the sandbox: for cloned sources and machines we cannot read.

A private repository under the trial's home holds the state before the agent, so the agent's own commits,
resets and branches do not matter. Nothing the agent can write says how files are read: the repository is made
anew for each look, with no configuration but its own and attributes that undo those of the workspace, and an
index the agent touched is thrown away.
"""

from __future__ import annotations

from dataclasses import dataclass

from sphynx.contracts import ExecResult, Sandbox
from sphynx.engine.diff import Changes
from sphynx.guest.search_path import SETTLE

KEEP = 2_000_000
LIMIT_MS = 60_000
_SHA1 = 40

_ATTRIBUTES = "* -text !eol !crlf !filter !ident !working-tree-encoding !diff"
"""Files as they are on disk, whatever a ``.gitattributes`` says."""
_GIT = (
    "git -c core.fsmonitor=false -c core.hooksPath=/dev/null -c core.quotePath=false -c core.safecrlf=false"
    " -c core.autocrlf=false -c core.compression=0 -c core.bigFileThreshold=1m"
    " -c advice.addEmbeddedRepo=false"
)
_SETUP = (
    SETTLE
    + 'rm -rf "$SX/git"; mkdir -p "$SX/objects";'
    + " git init -q --bare --template= ${FORMAT:+--object-format=$FORMAT}"
    + ' "$SX/git" && mkdir "$SX/git/info" &&'
    + ' printf "%s\n" "$ATTRIBUTES" > "$SX/git/info/attributes" || exit 1;'
    + ' export GIT_DIR="$SX/git" GIT_WORK_TREE="$PWD" GIT_INDEX_FILE="$SX/index";'
    + ' export GIT_OBJECT_DIRECTORY="$SX/objects" GIT_ALTERNATE_OBJECT_DIRECTORIES="$PWD/.git/objects"; '
)
_ADD = f"{_GIT} add -A --ignore-errors ."
_SEAL = f'{_GIT} hash-object --no-filters "$SX/index"'
_BEFORE = (
    'case "$(git rev-parse --show-object-format 2>/dev/null)" in sha256) FORMAT=sha256;; esac; '
    + _SETUP
    # An index that knows the files spares reading them, unless attributes made them other than on disk.
    + 'if [ -f .git/index ]; then cp .git/index "$SX/index"; '
    + f'[ -z "$({_GIT} ls-files -- .gitattributes \'*/.gitattributes\')" ] || rm "$SX/index"; fi; '
    + f"{_ADD} 2>/dev/null; {_GIT} write-tree && {_SEAL}"
)
_STAGE = (
    _SETUP
    + f'[ "$({_SEAL} 2>/dev/null)" = "$SEAL" ] ||'
    + f' {{ rm -rf "$SX/index"; {_GIT} read-tree $TREE || exit 1; }}; '
    + f"{_ADD}; "
)
_NAMES = _STAGE + f"{_GIT} diff --cached --no-renames --name-only -z $TREE"
_PATCH = _SETUP + f"{_GIT} diff --cached --no-renames --no-ext-diff --no-textconv --no-color $TREE"


@dataclass(frozen=True, slots=True)
class GitState:
    """The tree a workspace had before the agent, and the hash of the index that holds it."""

    tree: str
    seal: str
    store: str


async def remember(box: Sandbox) -> GitState | None:
    """Keep the state of the workspace; ``None`` when git cannot."""
    store = f"{box.home}/.sphynx/diff"
    result = await _run(box, _BEFORE, _env(store))
    said = result.stdout.decode("ascii", "replace").split()
    return GitState(said[0], said[1], store) if result.exit_code == 0 and len(said) == 2 else None


async def changes_since(box: Sandbox, state: GitState | None) -> Changes:
    """What changed since ``remember``; a note says why when there is nothing to show."""
    if state is None:
        return Changes(notes=["no diff: git could not read the workspace before the agent"])
    env = {**_env(state.store), "TREE": state.tree, "SEAL": state.seal}
    if len(state.tree) > _SHA1:
        env["FORMAT"] = "sha256"
    names = await _run(box, _NAMES, env)
    if names.exit_code != 0 or names.timed_out:
        return Changes(notes=["no diff: git could not compare the workspace after the agent"])
    patch = await _run(box, _PATCH, env)
    paths = [name for name in names.stdout.decode("utf-8", "replace").split("\0") if name]
    text = patch.stdout
    notes = _unread(names.stderr.decode("utf-8", "replace"))
    if patch.stdout_bytes > len(text):
        # A line that was cut may end inside a secret that redaction would then not know.
        text = text[: text.rfind(b"\n") + 1]
        notes.append(f"the diff has {patch.stdout_bytes} bytes, the rest is left out")
    return Changes(paths=paths, text=text.decode("utf-8", "replace"), notes=notes)


async def _run(box: Sandbox, script: str, env: dict[str, str]) -> ExecResult:
    argv = ["/bin/sh", "-c", script, "sh", box.home]
    return await box.exec(argv, env=env, timeout_ms=LIMIT_MS, keep=KEEP)


def _unread(said: str) -> list[str]:
    """What git could not take in: a repository without a commit in a folder, files that cannot be read."""
    errors = [line.removeprefix("error: ") for line in said.splitlines() if line.startswith("error: ")]
    return [f"not all of the workspace is in the diff: {errors[0]}"] if errors else []


def _env(store: str) -> dict[str, str]:
    nowhere = {"HOME": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    plain = {"GIT_ATTR_NOSYSTEM": "1", "GIT_NO_REPLACE_OBJECTS": "1", "ATTRIBUTES": _ATTRIBUTES}
    return {"SX": store, **nowhere, **quiet, **plain}
