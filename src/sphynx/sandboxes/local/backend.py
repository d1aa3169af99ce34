"""The local backend: opens sandboxes on this machine."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from sphynx.contracts import BundleRef, SandboxSpec
from sphynx.errors import UsageError
from sphynx.guest.bundle import minimal_environment
from sphynx.sandboxes import bubblewrap
from sphynx.sandboxes.local import importing, isolation, warmth
from sphynx.sandboxes.local.box import LocalBox, Place
from sphynx.sandboxes.local.groups import Census, GroupRunner
from sphynx.sandboxes.local.jobs import Runner
from sphynx.sandboxes.local.link import ZygoteLink
from sphynx.sandboxes.local.paths import Folders, Root
from sphynx.sandboxes.local.removal import remove
from sphynx.sandboxes.local_root import LocalRoot


class LocalBackend:
    """Opens a sandbox per trial below ``root``.

    ``env`` is the environment of whoever runs this: PATH and LANG are taken from it and nothing else.
    ``bundle`` is for trials whose spec names none; ``readable`` are folders isolated trials may read beside
    the machine's programs and the harness installs. ``supervised=False`` does without zygote and supervisors,
    as on macOS.
    """

    def __init__(
        self,
        root: LocalRoot | None = None,
        *,
        env: Mapping[str, str],
        bundle: BundleRef | None = None,
        readable: Sequence[Path] = (),
        supervised: bool = sys.platform == "linux",
    ) -> None:
        self.root = root or LocalRoot(environ=env)
        self._env = {**env, "PATH": interpreter_first(env.get("PATH") or os.defpath)}
        self._bundle = bundle
        self._readable = tuple(readable)
        self._walls: bubblewrap.Walls | None = None
        self._zygotes: dict[str, asyncio.Task[ZygoteLink | None]] = {}
        self._boxes: set[LocalBox] = set()
        self._tidied = False
        self._supervised = supervised
        self._census = Census()

    async def start(self, bundle: BundleRef | None = None) -> None:
        """Get ready for trials with this bundle. ``CompileError`` when it cannot be imported in a sandbox.

        Not needed before ``open``; it tells of a broken import once, before the first trial.
        """
        await self._ready(bundle or self._bundle)

    async def open(self, spec: SandboxSpec) -> LocalBox:
        """A new sandbox for one trial. Commands get PATH, HOME, TMPDIR, package caches and ``spec.env``.

        ``spec.isolate`` puts it into bubblewrap; ``UsageError`` says why this machine cannot.
        """
        bundle = spec.bundle or self._bundle
        walls = self._walls_of(spec)
        zygote = await self._ready(None if walls else bundle)
        folder = self.root.new_trial(spec.trial_id)
        try:
            if walls is None:
                place = _plain_place(folder)
                runner = await self._runner(zygote, {**self._commands_env(place), **spec.env}, place)
            else:
                place = isolation.place(folder, walls)
                runner = await self._isolated(zygote, walls, place, spec)
        except BaseException:
            await remove(folder)
            raise
        box = LocalBox(
            place,
            runner,
            isolation="none" if walls is None else "bubblewrap",
            warm=zygote is not None and zygote.warm,
            bundle=_bundle_for(folder, bundle, copied=walls is not None),
            install_once=self.root.install_once,
            remove=lambda: self._forget(box, folder),
        )
        self._boxes.add(box)
        return box

    async def _runner(self, zygote: ZygoteLink | None, env: Mapping[str, str], place: Place) -> Runner:
        if zygote is None:
            return GroupRunner(env, self._census)
        return await zygote.lease(env, place.workspace)

    def _walls_of(self, spec: SandboxSpec) -> bubblewrap.Walls | None:
        if not spec.isolate:
            return None
        if self._walls is None:
            can, why = bubblewrap.available()
            if not can:
                raise UsageError(f"--isolate cannot be used here: {why}")
            path = self._env.get("PATH") or os.defpath
            self._walls = bubblewrap.Walls(path, [self.root.harness, *self._readable])
        return self._walls

    async def _isolated(
        self, zygote: ZygoteLink | None, walls: bubblewrap.Walls, place: Place, spec: SandboxSpec
    ) -> Runner:
        assert zygote is not None
        self.root.package_variables()
        options = isolation.options(walls, place.folder, self.root)
        try:
            env = {**isolation.environment(walls), **spec.env}
            return await zygote.isolated(isolation.command(walls), [options], env, place.workspace)
        finally:
            os.close(options)

    def _commands_env(self, place: Place) -> dict[str, str]:
        env = {
            "PATH": f"{place.home}/.local/bin:{self._env['PATH']}",
            "HOME": place.home,
            "TMPDIR": place.tmp,
            **self.root.package_variables(),
        }
        if self._env.get("LANG"):
            env["LANG"] = self._env["LANG"]
        return env

    async def _forget(self, box: LocalBox, folder: Path) -> None:
        await remove(folder)
        self._boxes.discard(box)

    async def _ready(self, bundle: BundleRef | None) -> ZygoteLink | None:
        """The zygote for this bundle, started when it is first asked for; ``None`` where there is none."""
        key = "" if bundle is None else bundle.digest
        task = self._zygotes.get(key)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            if not self._tidied:
                self._tidied = True
                self.root.tidy_in_background()
            task = self._zygotes[key] = asyncio.create_task(self._start(bundle))
        return await asyncio.shield(task)

    async def _start(self, bundle: BundleRef | None) -> ZygoteLink | None:
        empty = self.root.new_staging()
        env = minimal_environment(self._env, str(empty))
        try:
            if self._supervised:
                return await _start_zygote(bundle, env, empty)
            if bundle is not None:
                await importing.check(bundle.path, env=env, cwd=empty)
            return None
        finally:
            await remove(empty)

    async def aclose(self) -> None:
        """Close every sandbox that is still open, and the processes behind them."""
        async with asyncio.TaskGroup() as closing:
            for box in self._boxes:
                closing.create_task(box.close())
        for task in self._zygotes.values():
            task.cancel()
            await asyncio.wait([task])
            zygote = None if task.cancelled() or task.exception() else task.result()
            if zygote is not None:
                await zygote.close()
        self._zygotes.clear()


async def _start_zygote(bundle: BundleRef | None, env: Mapping[str, str], empty: Path) -> ZygoteLink:
    """A warm one for the bundle; a bare one without a bundle, or when its import forbids forking."""
    why = ""
    if bundle is not None:
        link = await ZygoteLink.start(bundle.path, fresh=warmth.tracing(), env=env, cwd=empty)
        if link.warm:
            return link
        await link.close()
        why = link.why_not_warm
    link = await ZygoteLink.start(None, fresh="", env=env, cwd=empty)
    link.why_not_warm = why
    return link


def _plain_place(folder: Path) -> Place:
    """Workspace, home and temporary folder of a trial that is not isolated: where they are for everyone."""
    roots = []
    for name in ("work", "home", "tmp"):
        path = f"{folder}/{name}"
        os.mkdir(path, 0o700)
        roots.append(Root(path, path))
    return Place(folder, roots[0].inside, roots[1].inside, roots[2].inside, Folders(roots))


def _bundle_for(
    folder: Path, bundle: BundleRef | None, *, copied: bool
) -> Callable[[], AbstractContextManager[str]] | None:
    """Gives the bundle's folder as the trial sees it, for as long as one of its functions runs."""
    if bundle is None:
        return None
    if copied:
        return lambda: isolation.bundle_inside(folder, bundle.path)
    return lambda: nullcontext(str(bundle.path))


def interpreter_first(path: str) -> str:
    """``path`` with the folder of the running interpreter in front: a trial's ``python3`` is the user's own,
    with the packages the user has, also when Sphynx was started without activating its environment."""
    folder = str(Path(sys.executable).parent)
    rest = [entry for entry in path.split(os.pathsep) if entry and entry != folder]
    return os.pathsep.join([folder, *rest])
