"""Put a case's source into its workspace: nothing, a few files, or a clone that carries no credentials."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os.path import normpath
from pathlib import Path, PurePosixPath
from time import monotonic
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit, urlunsplit

from sphynx.contracts import ExecResult, Sandbox
from sphynx.engine.workspace import host_path
from sphynx.errors import StageError
from sphynx.redaction import Redactor

LIMIT_S = 300.0
STAGE = "source"

_HOST_NAMES = (
    "HOME", "XDG_CONFIG_HOME", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "USER", "LOGNAME", "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH", "SSL_CERT_FILE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy",
    "https_proxy", "no_proxy", "all_proxy",
)  # fmt: skip
_QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GCM_INTERACTIVE": "never",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
    "GIT_LFS_SKIP_SMUDGE": "0",
    "LC_ALL": "C",
}
_SETTINGS = ("-c", "core.hooksPath=/dev/null", "-c", "init.templateDir=", "-c", "advice.detachedHead=false")


@dataclass(frozen=True, slots=True)
class CloneUrl:
    """A clone URL without its credentials, and the credentials in the form git takes from its environment."""

    url: str
    secrets: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])


def split_credentials(url: str) -> CloneUrl:
    """Take user, password and query out of an http(s) URL. Others have no use for a password: it goes.

    A query often is a token. Git puts it back by itself from its environment, whatever file the URL is in.
    """
    parts = urlsplit(url)
    userinfo, _, host = parts.netloc.rpartition("@")
    user, colon, password = userinfo.partition(":")
    if parts.scheme not in ("http", "https"):
        if not password:
            return CloneUrl(url)
        netloc = host if parts.scheme == "file" or not user else f"{user}@{host}"
        clean = urlunsplit((parts.scheme, netloc, parts.path, parts.query, ""))
        return CloneUrl(clean, (userinfo, password, unquote(password)))
    clean = urlunsplit((parts.scheme, host, parts.path, "", ""))
    settings: list[tuple[str, str]] = []
    secrets: list[str] = []
    if userinfo:
        basic = base64.b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode()
        secret = password if colon and password else user
        secrets += [basic, userinfo, secret, unquote(secret)]
        settings.append((f"http.{parts.scheme}://{host}/.extraHeader", f"Authorization: Basic {basic}"))
    if parts.query:
        values = [value for _, value in parse_qsl(parts.query)]
        secrets += [parts.query, *values, *(quote(value, safe="") for value in values)]
        settings.append((f"url.{clean}?{parts.query}.insteadOf", clean))
    return CloneUrl(clean, tuple(secrets), _settings(settings))


def _settings(values: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Settings as git takes them from its environment."""
    if not values:
        return {}
    env = {"GIT_CONFIG_COUNT": str(len(values))}
    for place, (key, value) in enumerate(values):
        env |= {f"GIT_CONFIG_KEY_{place}": key, f"GIT_CONFIG_VALUE_{place}": value}
    return env


def git_env(host: Mapping[str, str]) -> dict[str, str]:
    """Environment of git: never asks, and knows the user's own credential helpers and ssh agent."""
    return {**{name: host[name] for name in _HOST_NAMES if host.get(name)}, **_QUIET}


async def place_source(
    box: Sandbox,
    source: Any,
    *,
    base: Path,
    redactor: Redactor,
    host_env: Mapping[str, str],
    outside: Callable[[], Awaitable[Sandbox]],
) -> None:
    """Fill the workspace. Paths of repositories are meant from ``base``, the eval file's folder.

    An isolated trial sees neither local repositories nor the user's git credentials: ``outside`` opens a
    sandbox that does, for the clone alone. One that is not on this machine clones inside, with what the URL
    holds and nothing of this machine. Raises ``StageError`` with git's own reason, redacted.
    """
    kind = source.kind
    if kind == "files":
        for path, text in source.files.items():
            await box.write(f"{box.workspace}/{inside(path)}", text.encode("utf-8", "surrogatepass"))
    elif kind == "repo":
        if host_path(box) is None:
            await _Clone(box, source.url, source.ref, redactor, dict(_QUIET)).run()
            return
        url, env = _file_url(source.url, base), git_env(host_env)
        if box.isolation == "none":
            await _Clone(box, url, source.ref, redactor, env).run()
            return
        plain = await outside()
        try:
            await _Clone(plain, url, source.ref, redactor, env).run()
            _move(host_path(plain), host_path(box))
        finally:
            await plain.close()


def inside(path: str) -> str:
    """A workspace-relative path, or ``StageError`` when it would leave the workspace."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or "\0" in path:
        raise StageError(f'the file "{path}" would leave the workspace', stage=STAGE, cause="setup")
    return str(pure)


class _Clone:
    """One clone: shallow, and holding no commit but the one that was asked for."""

    def __init__(
        self, box: Sandbox, url: str, ref: str | None, redactor: Redactor, env: Mapping[str, str]
    ) -> None:
        found = split_credentials(url)
        for secret in found.secrets:
            redactor.add(secret)
        self.box = box
        self.url = found.url
        self.ref = ref
        self.redactor = redactor
        self.env = {**env, **found.env}
        self.ends = monotonic() + LIMIT_S

    async def run(self) -> None:
        if self.ref is None:
            await self.must("clone", "--quiet", "--depth", "1", "--", self.url, self.box.workspace)
            return
        await self.must("init", "--quiet", self.box.workspace)
        await self.must("remote", "add", "origin", self.url)
        fetched = await self.git("fetch", "--quiet", "--depth", "1", "origin", self.ref)
        if fetched.exit_code != 0:
            commit = await self.full_commit(fetched)
            await self.must("fetch", "--quiet", "--depth", "1", "origin", commit)
        await self.must("checkout", "--quiet", "--detach", "FETCH_HEAD")
        if "GIT_CONFIG_COUNT" in self.env:
            # Git notes there the URL it really asked, and the agent must not read that.
            await self.box.exec(["rm", "-f", f"{self.box.workspace}/.git/FETCH_HEAD"])

    async def full_commit(self, refused: ExecResult) -> str:
        """Servers give out full ids only: look a short one up in a history without files."""
        if not _looks_short(self.ref or ""):
            raise self.failure(refused)
        history = f"{self.box.tmp}/sphynx-history"
        await self.must("clone", "--quiet", "--bare", "--filter=tree:0", "--", self.url, history)
        found = await self.git("--git-dir", history, "rev-parse", "--verify", f"{self.ref}^{{commit}}")
        await self.box.exec(["rm", "-rf", history])
        if found.exit_code != 0:
            raise self.failure(refused)
        return found.stdout.decode("ascii", "replace").strip()

    async def must(self, *args: str) -> None:
        result = await self.git(*args)
        if result.exit_code != 0:
            raise self.failure(result)

    async def git(self, *args: str) -> ExecResult:
        left = self.ends - monotonic()
        if left <= 0:
            raise self.too_slow()
        argv = ["git", *_SETTINGS, *args]
        result = await self.box.exec(argv, env=self.env, timeout_ms=max(1, int(left * 1000)))
        if result.timed_out:
            raise self.too_slow()
        return result

    def too_slow(self) -> StageError:
        return StageError(
            f"Cloning {self.what()} took longer than {LIMIT_S:.0f} s", stage=STAGE, cause="setup"
        )

    def failure(self, result: ExecResult) -> StageError:
        reason = git_reason(result.stderr.decode("utf-8", "replace")) or f"git exited with {result.exit_code}"
        text = self.redactor.text(f"Cannot clone {self.what()}: {reason}")
        return StageError(text, stage=STAGE, cause="setup")

    def what(self) -> str:
        named = self.url if self.ref is None else f"{self.url} at {self.ref}"
        return self.redactor.text(named)


def git_reason(stderr: str) -> str:
    """The line of git's errors that says why."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    for mark in ("fatal:", "remote: error:", "ERROR:", "error:"):
        for line in lines:
            if line.startswith(mark):
                return line.removeprefix(mark).strip()
    return lines[-1] if lines else ""


def _file_url(url: str, base: Path) -> str:
    """Local paths as ``file://``: git ignores ``--depth`` for plain paths."""
    if url in (".", "..") or url.startswith(("/", "./", "../", "~")):
        return Path(normpath(base / Path(url).expanduser())).as_uri()
    return url


def _move(source: str | None, target: str | None) -> None:
    if source is None or target is None:
        raise StageError("this sandbox cannot be given a clone", stage=STAGE, cause="sandbox")
    for entry in Path(source).iterdir():
        entry.rename(Path(target) / entry.name)


def _looks_short(ref: str) -> bool:
    return 4 <= len(ref) < 40 and all(c in "0123456789abcdef" for c in ref.lower())
