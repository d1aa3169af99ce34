"""A real Docker daemon for tests, with an image made without any registry; needs root, as the daemon does.

The daemon has everything of its own below one short temporary folder, and no network bridge: it disturbs
nothing, and nothing is left. Images start from a Debian made by mmdebstrap, kept between runs in the folder
that ``SPHYNX_TEST_CACHE`` names (default: ``~/.cache/sphynx-tests``).
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
SUITE = "trixie"
MIRROR = "http://deb.debian.org/debian"
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
BASE = "sphynx-base"
AGENT = "sphynx-agent"
_NEEDED = ("dockerd", "docker", "mmdebstrap")


class Daemon:
    """A running daemon: ``host`` is what ``DOCKER_HOST`` would be."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.host = f"unix://{folder}/docker.sock"
        self.env = {"DOCKER_HOST": self.host, "PATH": os.environ["PATH"]}
        files = min(20_000, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        settings = {
            "hosts": [self.host], "data-root": f"{folder}/root", "exec-root": f"{folder}/exec",
            "pidfile": f"{folder}/docker.pid", "iptables": False, "ip6tables": False, "bridge": "none",
            "ip-forward": False, "ip-masq": False,
            "default-ulimits": {"nofile": {"Name": "nofile", "Hard": files, "Soft": files}},
        }  # fmt: skip
        (folder / "daemon.json").write_text(json.dumps(settings))
        self._log = (folder / "log").open("wb")
        self._process = subprocess.Popen(
            ["dockerd", "--config-file", str(folder / "daemon.json")],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, start_new_session=True,
        )  # fmt: skip
        self._wait()

    def _wait(self) -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end and self._process.poll() is None:
            if self.docker("version", check=False).returncode == 0:
                return
            time.sleep(0.2)
        log = (self.folder / "log").read_text(errors="replace")[-3_000:]
        self.stop()
        raise RuntimeError(f"dockerd did not start:\n{log}")

    def docker(
        self, *arguments: str, check: bool = True, stdin: bytes | None = None, limit: float = 400
    ) -> subprocess.CompletedProcess[bytes]:
        """Run the docker command against this daemon."""
        env = {**os.environ, **self.env, "DOCKER_BUILDKIT": "0"}
        done = subprocess.run(
            ["docker", *arguments], input=stdin, capture_output=True, env=env, timeout=limit, check=False
        )
        if check and done.returncode:
            said = (done.stdout + done.stderr).decode(errors="replace")[-3_000:]
            raise AssertionError(f"docker {' '.join(arguments)}:\n{said}")
        return done

    def build(self, dockerfile: str, name: str, context: str) -> None:
        """Build one of the repository's images on the Debian made here, with the machine's own network."""
        self.docker(
            *("build", "--network", "host", "--build-arg", f"BASE={BASE}", "-t", name),
            *("-f", str(REPOSITORY / "containers" / dockerfile), str(REPOSITORY / context)),
        )

    def containers(self) -> list[str]:
        """Ids of all containers, also those that have ended."""
        return self.docker("ps", "-aq", "--no-trunc").stdout.decode().split()

    def stop(self) -> None:
        """End the daemon and what it started, and remove its folder."""
        if self._process.poll() is None:
            for container in self.containers():
                self.docker("rm", "-f", container, check=False)
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._log.close()
        mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
        for mount in sorted((one for one in mounts if one.startswith(f"{self.folder}/")), reverse=True):
            subprocess.run(["umount", "-l", mount], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


def base_archive() -> Path:
    """A minimal Debian as a tar file, with the machine's own certificate authorities."""
    cache = Path(os.environ.get("SPHYNX_TEST_CACHE") or Path.home() / ".cache" / "sphynx-tests")
    cache.mkdir(parents=True, exist_ok=True)
    path = cache / f"debian-{SUITE}-1.tar"
    if not path.exists():
        part = cache / f"{path.name}.{os.getpid()}.part.tar"
        hooks = (
            [f"--customize-hook=copy-in {AUTHORITIES} {AUTHORITIES.parent}"] if AUTHORITIES.exists() else []
        )
        command = ["mmdebstrap", "--quiet", "--variant=minbase", "--include=ca-certificates", *hooks]
        subprocess.run([*command, SUITE, str(part), MIRROR], check=True, timeout=300)
        part.rename(path)
    return path


def import_base(daemon: Daemon) -> None:
    """The image all others begin with."""
    daemon.docker("import", str(base_archive()), BASE)


def import_busybox(daemon: Daemon, name: str, *, without: tuple[str, ...] = ()) -> None:
    """A tiny image that has a shell and the usual small programs, and neither Python nor bash."""
    busybox = shutil.which("busybox")
    assert busybox is not None, "busybox-static is missing"
    programs = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split()
    target = BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        tar.add(busybox, "bin/busybox")
        for program in programs:
            if program != "busybox" and program not in without:
                entry = tarfile.TarInfo(f"bin/{program}")
                entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
                tar.addfile(entry)
        for folder in ("tmp", "root", "etc"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
    daemon.docker("import", "-", name, stdin=target.getvalue())


def running() -> Iterator[Daemon]:
    """The body of a fixture: a daemon with the ready image for trials."""
    missing = [name for name in _NEEDED if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"missing: {', '.join(missing)}" if missing else "a Docker daemon needs root")
    daemon = Daemon(Path(tempfile.mkdtemp(prefix="sphynx-dockerd-")))
    try:
        import_base(daemon)
        daemon.build("agent.Dockerfile", AGENT, "containers")
        yield daemon
    finally:
        daemon.stop()
