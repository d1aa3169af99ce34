"""Files written and read from outside, and paths that try to leave."""

from __future__ import annotations

import time

from sphynx.contracts import Sandbox
from sphynx.sandboxes.conformance.checks import check, refused, sh


@check
async def written_files_are_read(box: Sandbox) -> None:
    """What is written is read back, by this side and by commands, byte for byte."""
    data = bytes(range(256)) * 10
    await box.write("data.bin", data)
    assert await box.read("data.bin") == data
    assert (await box.exec(["cat", "data.bin"])).stdout == data


@check
async def folders_are_made(box: Sandbox) -> None:
    """Writing makes the folders it needs; ``.`` and empty parts of a path mean nothing."""
    await box.write("./a//b/./c.txt", b"deep")
    assert await box.read("a/b/c.txt") == b"deep"


@check
async def writing_replaces(box: Sandbox) -> None:
    """Writing replaces what was there, also with less."""
    await box.write("file.txt", b"a long first version")
    await box.write("file.txt", b"short")
    assert await box.read("file.txt") == b"short"


@check
async def modes_are_set(box: Sandbox) -> None:
    """``mode`` is set exactly, whatever the umask and whatever was there; the default is 0644."""
    await box.write("private", b"", mode=0o600)
    await box.write("script", b"#!/bin/sh\necho ran\n", mode=0o755)
    await box.write("plain", b"")
    listed = await sh(box, "ls -l private script plain | cut -c1-10")
    assert listed.stdout.split() == [b"-rw-r--r--", b"-rw-------", b"-rwxr-xr-x"]
    assert (await box.exec(["./script"])).stdout == b"ran\n"


@check
async def reading_has_a_limit(box: Sandbox) -> None:
    """``limit`` cuts what is read."""
    await box.write("ten", b"0123456789")
    assert await box.read("ten", limit=4) == b"0123"
    assert await box.read("ten", limit=100) == b"0123456789"
    assert await box.read("ten", limit=0) == b""


@check
async def missing_files_are_told(box: Sandbox) -> None:
    """Reading what is not there is ``FileNotFoundError``."""
    for path in ("nothing", "no/such/folder/file"):
        try:
            await box.read(path)
        except FileNotFoundError:
            continue
        raise AssertionError(f"{path} was read")


@check
async def folders_are_not_files(box: Sandbox) -> None:
    """Reading or writing a folder is an ``OSError``."""
    await box.write("folder/file", b"")
    assert await refused(box.read("folder"))
    assert await refused(box.write("folder", b"x"))


@check
async def absolute_paths_of_the_sandbox(box: Sandbox) -> None:
    """Absolute paths below workspace, home and tmp work."""
    for folder in (box.workspace, box.home, box.tmp):
        await box.write(f"{folder}/absolute.txt", folder.encode())
        assert await box.read(f"{folder}/absolute.txt") == folder.encode()
        assert (await box.exec(["cat", f"{folder}/absolute.txt"])).stdout == folder.encode()


@check
async def large_files(box: Sandbox) -> None:
    """Twenty million bytes are written and read."""
    data = b"0123456789" * 2_000_000
    await box.write("large", data)
    assert await box.read("large") == data


@check
async def strange_names(box: Sandbox) -> None:
    """Names with blanks, quotes, newlines and other scripts are names like any other."""
    for name in ("a b.txt", 'it\'s "quoted"', "new\nline", "ünïcödé-日本", "-rf", "$HOME"):
        await box.write(name, name.encode())
        assert await box.read(name) == name.encode()


@check
async def paths_may_not_leave(box: Sandbox) -> None:
    """Paths that lead out of the sandbox are refused, for reading and for writing."""
    outside = ("../../../../../../etc/passwd", "a/../../../../../etc/passwd", "/etc/passwd", "..", "/")
    for path in outside:
        assert await refused(box.read(path)), path
        assert await refused(box.write(path, b"x")), path


@check
async def links_may_not_leave(box: Sandbox) -> None:
    """Links that lead out of the sandbox are not followed, neither as the file nor as a folder on the way."""
    await sh(
        box, "ln -s /etc/passwd file; ln -s /etc folder; ln -s ../../../../../../etc up; ln -s loop loop"
    )
    for path in ("file", "folder/passwd", "up/passwd", "loop"):
        assert await refused(box.read(path)), path
        assert await refused(box.write(path, b"x")), path
    assert await refused(box.write("folder/new-file", b"x"))


@check
async def links_inside_are_followed(box: Sandbox) -> None:
    """Links that stay inside are followed, relative and absolute ones."""
    await box.write("real/file.txt", b"content")
    await sh(box, 'ln -s real/file.txt near; ln -s "$PWD/real" folder; ln -s ../real/file.txt real/back')
    for path in ("near", "folder/file.txt", "real/back"):
        assert await box.read(path) == b"content", path


@check
async def pipes_do_not_block(box: Sandbox) -> None:
    """A named pipe where a file is expected is refused at once instead of waited for."""
    await sh(box, "mkfifo pipe")
    began = time.monotonic()
    assert await refused(box.read("pipe"))
    assert await refused(box.write("pipe", b"x"))
    assert time.monotonic() - began < 5
