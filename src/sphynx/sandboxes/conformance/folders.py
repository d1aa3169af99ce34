"""Whole folders into the sandbox and out of it."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path

from sphynx.contracts import Sandbox
from sphynx.sandboxes.conformance.checks import check, refused, sh


@check
async def folders_go_in(box: Sandbox) -> None:
    """An uploaded folder is there for commands: files byte for byte, deep and empty folders."""
    with tempfile.TemporaryDirectory() as name:
        source = Path(name)
        (source / "deep" / "er").mkdir(parents=True)
        (source / "empty").mkdir()
        (source / "deep" / "er" / "data.bin").write_bytes(bytes(range(256)) * 4_000)
        (source / "ünï code.txt").write_text("named")
        await box.upload(source, "tree/inside")
    listed = await sh(box, "find . | LC_ALL=C sort", cwd="tree/inside")
    wanted = [".", "./deep", "./deep/er", "./deep/er/data.bin", "./empty", "./ünï code.txt"]
    assert listed.stdout.decode().split("\n")[:-1] == wanted
    assert await box.read("tree/inside/deep/er/data.bin") == bytes(range(256)) * 4_000


@check
async def folders_come_out(box: Sandbox) -> None:
    """A downloaded folder is the one commands see."""
    await sh(box, "mkdir -p out/a/b out/none; printf deep > out/a/b/file; printf top > 'out/new\nline'")
    with tempfile.TemporaryDirectory() as name:
        target = Path(name) / "made" / "here"
        await box.download("out", target)
        assert (target / "a" / "b" / "file").read_bytes() == b"deep"
        assert (target / "new\nline").read_bytes() == b"top"
        assert (target / "none").is_dir()


@check
async def modes_and_links_go_in(box: Sandbox) -> None:
    """Uploading keeps modes, and links as links, also those that lead nowhere."""
    with tempfile.TemporaryDirectory() as name:
        source = Path(name)
        (source / "script").write_text("#!/bin/sh\necho ran\n")
        (source / "script").chmod(0o755)
        (source / "private").write_text("")
        (source / "private").chmod(0o600)
        (source / "locked").mkdir(0o700)
        (source / "near").symlink_to("script")
        (source / "far").symlink_to("/nowhere/at/all")
        await box.upload(source, "tree")
    listed = await sh(box, "ls -ld private script locked near | cut -c1-10; readlink near far", cwd="tree")
    lines = listed.stdout.decode().split()
    assert sorted(lines[:4]) == ["-rw-------", "-rwxr-xr-x", "drwx------", "lrwxrwxrwx"]
    assert lines[4:] == ["script", "/nowhere/at/all"]
    assert (await box.exec(["./near"], cwd="tree")).stdout == b"ran\n"


@check
async def modes_and_links_come_out(box: Sandbox) -> None:
    """Downloading keeps modes and links, and follows none: what they lead to stays where it is."""
    line = (
        "mkdir -p out/d; echo x > out/run; chmod 750 out/run; chmod 500 out/d; ln -s run out/near; "
        "ln -s /etc/passwd out/passwd; ln -s /etc out/etc; mkfifo out/pipe"
    )
    await sh(box, line)
    with tempfile.TemporaryDirectory() as name:
        target = Path(name) / "out"
        await box.download("out", target)
        assert stat.S_IMODE((target / "run").stat().st_mode) == 0o750
        assert stat.S_IMODE((target / "d").stat().st_mode) == 0o500
        links = {"near": "run", "passwd": "/etc/passwd", "etc": "/etc"}
        assert {name: str((target / name).readlink()) for name in links} == links
        assert not (target / "pipe").exists()


@check
async def uploading_replaces(box: Sandbox) -> None:
    """Uploading replaces what has the same name, a link itself and not what it leads to; the rest stays."""
    await sh(
        box,
        "mkdir tree; echo 1 > tree/file; echo stays > tree/other; echo safe > safe; ln -s ../safe tree/link",
    )
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "file").write_text("new")
        (Path(name) / "link").write_text("a file now")
        await box.upload(Path(name), "tree")
    read = [await box.read(path) for path in ("tree/file", "tree/other", "tree/link", "safe")]
    assert read == [b"new", b"stays\n", b"a file now", b"safe\n"]


@check
async def folders_may_not_leave(box: Sandbox) -> None:
    """Folders outside the sandbox, by path or by link, are neither read nor written."""
    await sh(box, "ln -s /etc folder; ln -s ../../../../../../etc up")
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "file").write_text("x")
        for path in ("..", "/etc", "folder", "up", "../../../../../tmp", "/"):
            assert await refused(box.upload(Path(name), path)), path
            assert await refused(box.download(path, Path(name) / "out")), path


@check
async def missing_folders_are_told(box: Sandbox) -> None:
    """Downloading what is not there, or is a file, is an ``OSError``."""
    await box.write("file", b"x")
    with tempfile.TemporaryDirectory() as name:
        assert await refused(box.download("nothing", Path(name) / "out"))
        assert await refused(box.download("file", Path(name) / "out"))


@check
async def large_folders(box: Sandbox) -> None:
    """Two thousand files go in and come out again in a few seconds."""
    with tempfile.TemporaryDirectory() as name:
        source, target = Path(name) / "in", Path(name) / "out"
        for number in range(2_000):
            place = source / str(number % 20)
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{number}.txt").write_text(str(number))
        await box.upload(source, "many")
        await box.download("many", target)
        assert sum(1 for path in target.rglob("*.txt") if path.read_text() == path.stem) == 2_000
