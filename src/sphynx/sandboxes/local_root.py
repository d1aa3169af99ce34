"""The folder local runs share: installs, caches, downloads, and the folders of running trials.

    <root>/harness/    one install per harness version
    <root>/cache/      what a case's ``cache`` keeps
    <root>/packages/   downloads of pip, uv, bun and npm
    <root>/staging/    what is being written or thrown away
    <root>/trials/     one folder per running trial

``<root>`` is ``SPHYNX_LOCAL_ROOT`` or ``~/.sphynx/local``. Everything is made on use. Several runs may use it
at once: what is written appears by one rename, and what is removed is first moved aside into ``staging``.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import re
import secrets
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from sphynx.errors import SphynxError, UsageError
from sphynx.sandboxes.local import leftovers
from sphynx.sandboxes.local.removal import remove_now

_DAY_S = 86_400
_UNUSED_S = 30 * _DAY_S
_STAGED_S = 3_600
_REFRESH_S = 60.0
PACKAGE_CACHES = {
    "BUN_INSTALL_CACHE_DIR": "bun",
    "npm_config_cache": "npm",
    "PIP_CACHE_DIR": "pip",
    "UV_CACHE_DIR": "uv",
}
"""Variables that point a trial's package managers at shared downloads, and the folders below ``packages``."""


CACHE_TAG = "CACHEDIR.TAG"
_CACHE_TAG_TEXT = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# Installs, caches and running trials of sphynx: nothing to back up, and nothing to search for evals.\n"
)


ISOLATED = "isolated"
"""Below ``packages``: the downloads isolated trials share among themselves. What they write there must not
reach trials that are not isolated."""


class LocalRoot:
    """One local root. Making the object touches nothing."""

    def __init__(self, path: Path | None = None, *, environ: Mapping[str, str] | None = None) -> None:
        self._named = ""
        if path is None:
            path, self._named = _place(os.environ if environ is None else environ)
        self.path = path.absolute()
        self._refreshed = 0.0

    @property
    def harness(self) -> Path:
        return self._made("harness")

    @property
    def cache(self) -> Path:
        return self._made("cache")

    @property
    def packages(self) -> Path:
        return self._made("packages")

    @property
    def staging(self) -> Path:
        return self._made("staging")

    @property
    def trials(self) -> Path:
        return self._made("trials")

    def _made(self, name: str) -> Path:
        folder = self.path / name
        if not folder.is_dir():
            try:
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                (self.path / CACHE_TAG).write_text(_CACHE_TAG_TEXT)
            except OSError as error:
                raise self._unusable(error) from error
        return folder

    def _unusable(self, error: OSError) -> SphynxError:
        why = f", which {self._named} leads to" if self._named else ""
        hint = "SPHYNX_LOCAL_ROOT=/a/folder/of/yours keeps installs, caches and running trials there"
        if error.errno == errno.ENOSPC:
            hint = "sphynx clean shows what takes space"
        return SphynxError(f"cannot write in {self.path}{why}: {error.strerror or error}", hint=hint)

    def new_staging(self) -> Path:
        """A new, empty folder to write an install or a cache entry in."""
        folder = self.staging / f"entry-{secrets.token_hex(8)}"
        folder.mkdir()
        return folder

    def new_trial(self, trial_id: str) -> Path:
        """A new folder for one trial, locked in the name of this process."""
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", trial_id)[:60].strip("-") or "trial"
        while True:
            folder = f"{self.path}/trials/{name}-{secrets.token_hex(4)}"
            try:
                os.mkdir(folder, 0o700)  # noqa: PTH102 - pathlib is a third of what a short trial costs here
            except FileNotFoundError:
                os.mkdir(self.trials / Path(folder).name, 0o700)  # noqa: PTH102
            try:
                leftovers.lock(folder)
            except FileNotFoundError:
                continue  # another run that tidied took the empty folder for one without a holder
            return Path(folder)

    def package_variables(self) -> dict[str, str]:
        """Where package managers keep their downloads; also marks those folders as in use."""
        variables = {name: f"{self.path}/packages/{folder}" for name, folder in PACKAGE_CACHES.items()}
        if time.monotonic() - self._refreshed > _REFRESH_S or not self._refreshed:
            self._refreshed = time.monotonic()
            packages = self.packages
            for folder in (*PACKAGE_CACHES.values(), ISOLATED):
                _touch(packages / folder)
        return variables

    async def install_once(self, name: str, builder: Callable[[Path], Awaitable[None]]) -> Path:
        """The folder of the install ``name`` (``gemini@1.0.0``), built by ``builder`` if it is not there.

        ``builder`` writes into the empty folder it is given, which then becomes the install by one rename;
        links in it must be relative. Of several trials or runs that want it first, one builds and the
        others wait. What ``builder`` raises is raised, and nothing is kept.
        """
        install = self.harness / install_key(name)
        if _touch(install, make=False):
            return install
        async with _Lock(self.staging / f"lock-{install_key(name)}"):
            if _touch(install, make=False):
                return install
            folder = self.new_staging()
            try:
                await builder(folder)
                folder.rename(install)
            finally:
                await asyncio.to_thread(remove_now, folder)
        return install

    def tidy_in_background(self) -> None:
        """Tidy up without anyone waiting for it; a run that ends first leaves the rest to the next."""
        threading.Thread(target=self.tidy, name="sphynx-tidy", daemon=True).start()

    def tidy(self) -> None:
        """Remove what no run needs any more; never raises, and safe while other runs tidy or work.

        Removed are: installs, case caches and package caches unused for 30 days, staging that a crashed run
        left more than an hour ago, whatever was moved aside, npm downloads inside installs, the shared
        ``home`` of older versions, and the folders of trials whose run is gone.
        """
        now = time.time()
        self._retire(self.path / "home")
        for folder in (self.path / "harness", self.path / "cache", self.path / "packages"):
            for entry in _listed(folder):
                if _age(entry, now) > _UNUSED_S:
                    self._retire(entry, unused_s=_UNUSED_S)
        for install in _listed(self.path / "harness"):
            self._retire(install / ".npm")
        self.clear_dead_trials()
        for entry in _listed(self.path / "staging"):
            stale = entry.name.startswith("entry-") and _age(entry, now) > _STAGED_S
            if stale or entry.name.startswith("retired-"):
                remove_now(entry)

    def clear_dead_trials(self) -> int:
        """End what still runs in, and remove, folders of trials whose run is gone. Gives their number."""
        found = _listed(self.path / "trials")
        dead = [folder for folder in found if leftovers.is_dead(folder)]
        for folder in found:
            with contextlib.suppress(OSError):
                folder.rmdir()  # a run that was killed before it could write who holds it left it empty
        if dead:
            leftovers.kill_inside(dead)
        for folder in dead:
            self._retire(folder)
        return len(dead)

    def _retire(self, entry: Path, *, unused_s: float = 0.0) -> None:
        """Move ``entry`` aside and remove it; put it back when someone began to use it meanwhile."""
        if not os.path.lexists(entry):
            return
        aside = self.staging / f"retired-{secrets.token_hex(8)}"
        try:
            entry.rename(aside)
            if unused_s and _age(aside, time.time()) <= unused_s:
                aside.rename(entry)
                return
        except OSError:
            return  # another run was faster, or it is in the way of nobody
        remove_now(aside)


class _Lock:
    """A lock between tasks and processes that ends with its holder; polled, so that the loop stays free."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = -1

    async def __aenter__(self) -> None:
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        while True:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                try:
                    await asyncio.sleep(0.05)
                except BaseException:
                    os.close(self._fd)
                    raise

    async def __aexit__(self, *exc: object) -> None:
        os.close(self._fd)


def _place(environ: Mapping[str, str]) -> tuple[Path, str]:
    """Where the local root is, and the variable that says so. ``UsageError`` when it says nothing of use."""
    given = environ.get("SPHYNX_LOCAL_ROOT", "").strip()
    name = "SPHYNX_LOCAL_ROOT" if given else "HOME"
    try:
        path = Path(given).expanduser() if given else Path.home() / ".sphynx" / "local"
    except RuntimeError as error:
        raise UsageError(f"{name}: {error}", hint="SPHYNX_LOCAL_ROOT=/a/folder/of/yours") from error
    if not given and not path.is_absolute():
        raise UsageError(
            f"HOME is {Path.home()}, which is no whole path", hint="export HOME, or SPHYNX_LOCAL_ROOT"
        )
    return path, f"{name}={given or Path.home()}"


def install_key(name: str) -> str:
    """The folder name of an install: all but letters, digits, ``.`` and ``-`` as ``_`` and hex."""
    return re.sub(r"[^A-Za-z0-9.-]", lambda found: "".join(f"_{byte:x}" for byte in found[0].encode()), name)


def _touch(entry: Path, *, make: bool = True) -> bool:
    """Mark as in use now; whether it is there."""
    try:
        if make:
            entry.mkdir(exist_ok=True)
        os.utime(entry)
    except OSError:
        return False
    return True


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _age(entry: Path, now: float) -> float:
    try:
        return now - entry.lstat().st_mtime
    except OSError:
        return 0.0
