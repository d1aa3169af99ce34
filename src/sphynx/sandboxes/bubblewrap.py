"""Command lines for bubblewrap: a trial that sees its own folders and the machine's programs, nothing else.

The network is shared. Everything a trial may write is bound from its own folder; interpreter, site-packages,
toolchains on PATH outside /usr and harness installs are bound read-only where they stand. Run by root, the
trial gets an unprivileged user of its own and no capabilities: without both, bubblewrap is no sandbox.
Options travel through a descriptor, never through argv.
"""

from __future__ import annotations

import functools
import os
import shutil
import site
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

_WORKSPACES = ("/work", "/workspace", "/trial/work")
"""Where the workspace is: the first that is not in the way of a folder the trial must be able to read."""
HOME = "/home/agent"
TMP = "/tmp"
BUNDLE = "/run/sphynx/bundle"
PACKAGES = "/packages"
_ARGUMENTS_FD = 4
_ETC = (
    "ssl", "ca-certificates", "resolv.conf", "hosts", "nsswitch.conf", "ld.so.cache", "ld.so.conf",
    "ld.so.conf.d", "alternatives", "localtime", "protocols", "services", "gai.conf", "host.conf",
    "mime.types", "os-release", "debian_version",
)  # fmt: skip
_ROOT_FOLDERS = ("bin", "sbin", "lib", "lib64", "lib32")
_TOOLCHAINS = (
    ".pyenv", ".nvm", ".volta", ".asdf", ".deno", ".rbenv", ".nodenv", ".rustup", ".bun/bin", ".cargo/bin",
    ".local/bin", ".local/share/mise", ".local/share/fnm", ".local/share/pnpm",
    "miniconda3", "miniforge3", "anaconda3",
)  # fmt: skip
"""Folders of a home that hold programs and no credentials, as far as PATH leads into them."""
_COMPANIONS = {
    ".cargo/bin": (".rustup",),
    ".local/bin": (".local/share/uv/python", ".local/share/uv/tools", ".local/share/claude/versions"),
}
VARIABLES = {"USER": "agent", "LOGNAME": "agent", "SHELL": "/bin/bash", "LANG": "C.UTF-8", "TERM": "dumb"}
"""What an isolated command gets beside PATH, HOME and TMPDIR."""


def available() -> tuple[bool, str]:
    """Whether this machine can isolate trials, and why not. Really tried, once per process."""
    return _tried()


@functools.cache
def _tried() -> tuple[bool, str]:
    if sys.platform != "linux":
        return False, "bubblewrap exists on Linux only"
    program = shutil.which("bwrap")
    if program is None:
        return False, "bubblewrap is not installed (Debian and Ubuntu: apt-get install bubblewrap)"
    options = [*_walls(), *_system(), "--proc", "/proc", "--dev", "/dev", "--", "/bin/true"]
    try:
        tried = subprocess.run([program, *options], capture_output=True, timeout=20, check=False, cwd="/")
    except (OSError, subprocess.TimeoutExpired) as problem:
        return False, f"bubblewrap cannot be run: {problem}"
    if tried.returncode == 0:
        return True, ""
    said = tried.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"]
    return False, f"bubblewrap cannot make a sandbox here: {said[-1]}{_remedy()}"


def _remedy() -> str:
    """The two switches by which distributions turn this off for ordinary users."""
    for path, off in (
        ("/proc/sys/kernel/unprivileged_userns_clone", "0"),
        ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
    ):
        try:
            if Path(path).read_text().strip() == off:
                name = path.removeprefix("/proc/sys/").replace("/", ".")
                return f" (this system has {name}={off})"
        except OSError:
            continue
    return ""


class Walls:
    """What is the same for all trials of a run: programs and the folders they are read from."""

    def __init__(self, path: str, readable: Sequence[Path]) -> None:
        self.program = shutil.which("bwrap") or "bwrap"
        self._readable = _outermost(
            [*_interpreter(), *_toolchains(path), *(p for p in readable if p.exists())]
        )
        self.path = _search_path(path, self._readable)
        taken = [str(folder) for folder in self._readable]
        self.workspace = next(place for place in _WORKSPACES if not _inside(taken, place))

    def argv(self, command: Sequence[str]) -> list[str]:
        """What to start, with ``command`` inside; the options come through descriptor 4."""
        return [self.program, "--args", str(_ARGUMENTS_FD), "--", *command]

    def options(self, trial: Path, packages: Path) -> bytes:
        """NUL-separated options for the trial in folder ``trial``."""
        options = [
            *_walls(),
            *_system(),
            *("--ro-bind", f"{trial}/passwd", "/etc/passwd", "--ro-bind", f"{trial}/group", "/etc/group"),
            *("--proc", "/proc", "--dev", "/dev"),
            *(
                "--bind",
                f"{trial}/tmp",
                TMP,
                "--dir",
                "/var",
                "--symlink",
                "../tmp",
                "/var/tmp",
                "--dir",
                "/run",
            ),
            *("--bind", f"{trial}/home", HOME, "--bind", f"{trial}/work", self.workspace),
            *("--ro-bind", f"{trial}/bundle", BUNDLE, "--bind", str(packages), PACKAGES),
            *(part for folder in self._readable for part in ("--ro-bind", str(folder), str(folder))),
            *("--chdir", "/", "--clearenv"),
        ]
        return b"".join(os.fsencode(option) + b"\0" for option in options)

    def accounts(self) -> dict[str, str]:
        """``passwd`` and ``group`` of a trial: its own user and nobody."""
        user, group = (1000, 1000) if os.getuid() == 0 else (os.getuid(), os.getgid())
        return {
            "passwd": f"agent:x:{user}:{group}:agent:{HOME}:/bin/bash\n"
            "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
            "group": f"agent:x:{group}:\nnogroup:x:65534:\n",
        }


def _walls() -> list[str]:
    options = ["--die-with-parent", "--new-session", "--unshare-user"]
    if os.getuid() == 0:
        options += ["--uid", "1000", "--gid", "1000"]
    options += [
        "--cap-drop",
        "ALL",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
    ]
    return [*options, "--hostname", "trial"]


@functools.cache
def _system() -> tuple[str, ...]:
    """/usr, the folders of the root that lead there or stand beside it, and the harmless part of /etc."""
    options = ["--ro-bind", "/usr", "/usr"]
    for name in _ROOT_FOLDERS:
        folder = Path("/", name)
        if folder.is_symlink():
            options += ["--symlink", str(folder.readlink()), str(folder)]
        elif folder.is_dir():
            options += ["--ro-bind", str(folder), str(folder)]
    for name in _ETC:
        options += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return tuple(options)


def _interpreter() -> Iterator[Path]:
    """Folders this interpreter is made of, and those its packages stand in."""
    from sphynx.sandboxes.local import interpreter

    yield Path(sys.prefix)
    yield Path(sys.base_prefix)
    yield Path(os.path.realpath(sys.executable)).parent.parent
    yield interpreter.PACKAGE
    for folder in (*site.getsitepackages(), *interpreter.search_folders()):
        if Path(folder).is_dir():
            yield Path(folder)


def _toolchains(path: str) -> Iterator[Path]:
    """What the folders of PATH outside /usr need to work, credentials not included."""
    home = Path.home()
    for entry in dict.fromkeys(path.split(os.pathsep)):
        folder = Path(entry)
        if not folder.is_absolute() or not folder.is_dir():
            continue
        if folder.is_relative_to(home):
            below = folder.relative_to(home)
            root = next((name for name in _TOOLCHAINS if below.is_relative_to(name)), None)
            yield folder if root is None else home / root
            yield from (home / name for name in _COMPANIONS.get(root or "", ()) if (home / name).is_dir())
        elif folder.name in ("bin", "sbin") and len(folder.parts) > 3:
            yield folder.parent
        else:
            yield folder


def _outermost(folders: Iterable[Path]) -> list[Path]:
    """The folders without those that others, or /usr and its companions, already hold."""
    system = [Path("/usr"), *(Path("/", name) for name in _ROOT_FOLDERS)]
    forbidden = [Path("/"), Path.home(), *Path.home().parents]
    kept: list[Path] = []
    for folder in sorted(set(folders), key=lambda item: len(item.parts)):
        held = any(folder.is_relative_to(outer) for outer in (*system, *kept))
        if not held and folder not in forbidden:
            kept.append(folder)
    return kept


def _search_path(path: str, readable: Sequence[Path]) -> str:
    """PATH with what cannot be seen inside left out."""
    seen = [Path("/usr"), *(Path("/", name) for name in _ROOT_FOLDERS), *readable]
    kept = [
        entry for entry in path.split(os.pathsep) if any(Path(entry).is_relative_to(root) for root in seen)
    ]
    return os.pathsep.join(dict.fromkeys([*kept, "/usr/local/bin", "/usr/bin", "/bin"]))


def _inside(folders: Sequence[str], place: str) -> bool:
    return any(folder == place or folder.startswith(place + "/") for folder in folders)
