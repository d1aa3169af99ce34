"""Installs an agent's command line from npm: once per machine where that is shared, else inside the sandbox.

The recipe is one shell script, so it works on this machine and in any sandbox with a shell and npm. It leaves
``run`` in the install's folder, which starts the agent whatever node it needs.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from sphynx.contracts import Sandbox
from sphynx.errors import StageError
from sphynx.harnesses.transcripts.reading import last_lines

LIMIT_S = 900
_SAID = 8_192

Show = Callable[[str], None]


class Recipe(Protocol):
    """How one agent is installed."""

    @property
    def agent(self) -> str: ...

    def script(self, version: str) -> str:
        """The shell script; its first argument is the folder to install into, which is there and empty."""
        ...


@dataclass(frozen=True, slots=True)
class NpmRecipe:
    """How one agent comes from npm. ``node``: the oldest version that runs it, ``22`` or ``22.19``."""

    agent: str
    package: str
    program: str
    node: str | None = None

    def script(self, version: str) -> str:
        lines = [
            "set -e",
            'cd "$1"',
            'command -v npm >/dev/null || { echo "npm is missing; it comes with Node.js" >&2; exit 1; }',
            f"packages={shlex.quote(f'{self.package}@{version}')}",
            *(self._node_lines() if self.node else ()),
            "printf '{\"private\":true}\\n' > package.json",
            "npm install --no-audit --no-fund --no-update-notifier --loglevel=error $packages 1>&2",
            "cat > run <<'END'",
            "#!/bin/sh",
            'bin=$(cd "$(dirname "$0")" && pwd)/node_modules/.bin',
            *self._start_lines(),
            "END",
            "chmod +x run",
            f"test -e node_modules/.bin/{self.program}",
        ]
        return "\n".join(lines)

    def _node_lines(self) -> list[str]:
        major, _, minor = str(self.node).partition(".")
        wanted = (
            f"const [a, b] = process.versions.node.split('.').map(Number), n = {major}, m = {minor or 0}; "
        )
        check = wanted + "process.exit(a > n || (a === n && b >= m) ? 0 : 1)"
        return [f'node -e "{check}" 2>/dev/null || packages="$packages node@{major}"']

    def _start_lines(self) -> list[str]:
        if self.node is None:
            return [f'exec "$bin/{self.program}" "$@"']
        return [
            'test -x "$bin/node" && node=$bin/node || node=node',
            f'exec "$node" "$bin/{self.program}" "$@"',
        ]


@dataclass(frozen=True, slots=True)
class TarballRecipe:
    """How one agent comes as an archive. ``url`` may use ``$version``, ``$os`` and ``$arch``.

    ``archs`` maps what ``uname -m`` says to the vendor's word, ``systems`` what ``uname -s`` says in lower
    case. ``latest`` is a command that prints the newest version, for who asks for the version ``latest``.
    """

    agent: str
    url: str
    program: str
    archs: Mapping[str, str] = field(default_factory=dict[str, str])
    systems: Mapping[str, str] = field(default_factory=dict[str, str])
    latest: str = ""

    def script(self, version: str) -> str:
        """The shell script; it needs curl and tar."""
        archs = [f"{name}) arch={word};;" for name, word in self.archs.items()]
        systems = [f"{name}) os={word};;" for name, word in self.systems.items()]
        lines = [
            "set -e",
            'cd "$1"',
            f"version={shlex.quote(version)}",
            *([f'test "$version" != latest || version=$({self.latest})'] if self.latest else []),
            "os=$(uname -s | tr A-Z a-z) arch=$(uname -m)",
            'case "$arch" in ' + " ".join(archs) + " esac",
            'case "$os" in ' + " ".join(systems) + " esac",
            f'curl -fsSL -o package.tar.gz "{self.url}"',
            "tar -xzf package.tar.gz && rm package.tar.gz",
            f"found=$(find . -type f -name {self.program} | head -n 1)",
            f'test -n "$found" || {{ echo "the archive holds no {self.program}" >&2; exit 1; }}',
            'chmod +x "$found"',
            "cat > run <<END",
            "#!/bin/sh",
            'exec "\\$(dirname "\\$0")/$found" "\\$@"',
            "END",
            "chmod +x run",
        ]
        return "\n".join(lines)


async def install(box: Sandbox, recipe: Recipe, version: str, show: Show | None) -> str:
    """The path of the program that starts the agent; ``StageError`` with npm's own last lines."""
    name = f"{recipe.agent}@{version}"
    script = recipe.script(version)
    shared: Any = getattr(box, "install_once", None)
    if shared is not None:
        folder = await shared(name, _on_this_machine(name, script, show))
        return f"{folder}/run"
    target = f"{box.home}/.sphynx/harness/{name}"
    _tell(show, f"installing {name}")
    line = 'test -x "$1/run" || { mkdir -p "$1" && sh -c "$0" sh "$1"; }'
    done = await box.exec(["/bin/sh", "-c", line, script, target], timeout_ms=LIMIT_S * 1000)
    if done.exit_code != 0:
        raise _failed(name, (done.stderr or done.stdout).decode("utf-8", "replace"), done.timed_out)
    return f"{target}/run"


def _on_this_machine(name: str, script: str, show: Show | None) -> Callable[[Path], Awaitable[None]]:
    async def build(folder: Path) -> None:
        _tell(show, f"installing {name} (once for this machine)")
        process = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", script, "sh", str(folder)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(LIMIT_S):
                said = await _tail(process.stderr)
                code = await process.wait()
        except BaseException as error:
            _kill(process.pid)
            await process.wait()
            if isinstance(error, TimeoutError):
                raise _failed(name, "", True) from error
            raise
        if code != 0:
            raise _failed(name, said, False)
        _tell(show, f"installed {name}")

    return build


async def _tail(stream: asyncio.StreamReader | None) -> str:
    kept = b""
    while stream is not None and (part := await stream.read(65_536)):
        kept = (kept + part)[-_SAID:]
    return kept.decode("utf-8", "replace")


def _kill(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _failed(name: str, said: str, timed_out: bool) -> StageError:
    why = f"it took longer than {LIMIT_S // 60}m" if timed_out else last_lines(said, 4) or "npm failed"
    hint = "see whether npm can reach its registry, or name another version with --harness-version"
    return StageError(f"{name} could not be installed: {why}", stage="harness", cause="harness", hint=hint)


def _tell(show: Show | None, text: str) -> None:
    if show is not None:
        show(text + "\n")
