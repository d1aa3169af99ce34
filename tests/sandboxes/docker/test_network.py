"""What a container may reach: nothing, everything, or the hosts of a list."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandboxes.docker.conftest import OPTIONS
from sphynx.contracts import SandboxSpec
from sphynx.errors import StageError
from sphynx.sandboxes.docker import DockerBackend
from sphynx.sandboxes.docker.options import Network

if TYPE_CHECKING:
    from dockerd import Daemon

pytestmark = [pytest.mark.anyio, pytest.mark.docker]
SPEC = SandboxSpec(trial_id="network")


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = f"{self.path} of {self.headers['Host']}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        return


@pytest.fixture
def host() -> Iterator[str]:
    """A web server of this machine: host and port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


CURL = ["curl", "-sS", "--max-time", "15"]
# The proxies are asked for everything here: NO_PROXY names the loopback, on which the test's server is.
ASK = {"NO_PROXY": "", "no_proxy": ""}


async def test_none(backend: DockerBackend, host: str) -> None:
    """Without network there is a loopback and nothing else."""
    box = await backend.open(SPEC)
    shown = await box.exec(["bash", "-c", "tail -n +3 /proc/net/dev | cut -d: -f1"])
    assert set(shown.stdout.split()) <= {
        b"lo",
        b"tunl0",
        b"sit0",
        b"ip6tnl0",
        b"gre0",
        b"erspan0",
        b"gretap0",
    }
    assert (await box.exec([*CURL, f"http://{host}/"])).exit_code != 0
    await box.close()


async def test_a_network_by_name(backend: DockerBackend, host: str) -> None:
    """A network of the engine is used by its name; the machine's own stands for an open one here."""
    box = await backend.open(SPEC, options=replace(OPTIONS, network=Network("host")))
    done = await box.exec([*CURL, f"http://{host}/open"])
    assert done.stdout.decode() == f"/open of {host}", done.stderr
    await box.close()


async def test_listed_hosts_only(backend: DockerBackend, host: str, tmp_path: Path) -> None:
    """Listed hosts answer by way of the relay, plain and tunnelled; others are refused, any other way too."""
    options = replace(OPTIONS, network=Network("hosts", (host, "*.example.org")))
    box = await backend.open(SPEC, options=options)
    plain = await box.exec([*CURL, f"http://{host}/plain?a=1"], env=ASK)
    assert plain.stdout.decode() == f"/plain?a=1 of {host}", plain.stderr
    tunnelled = await box.exec([*CURL, "-p", f"http://{host}/tunnel"], env=ASK)
    assert tunnelled.stdout.decode() == f"/tunnel of {host}", tunnelled.stderr
    other = host.replace("127.0.0.1", "127.0.0.2")
    refused = await box.exec([*CURL, f"http://{other}/"], env=ASK)
    assert b"is not among the allowed hosts" in refused.stdout
    refused = await box.exec([*CURL, "-p", f"http://{other}/"], env=ASK)
    assert refused.exit_code != 0
    assert b"403" in refused.stderr
    assert (await box.exec([*CURL, "--noproxy", "*", f"http://{host}/"])).exit_code != 0
    program = (
        f"import urllib.request as u; print(u.urlopen('http://{host}/python', timeout=10).read().decode())"
    )
    python = await box.exec(["python3", "-c", program], env=ASK)
    assert python.stdout.decode().strip() == f"/python of {host}", python.stderr
    await box.close()


async def test_the_relay_outlives_its_backend(
    backend: DockerBackend, docker_daemon: Daemon, host: str, tmp_path: Path
) -> None:
    """Whoever attaches to a sandbox opens its way to the hosts anew."""
    options = replace(OPTIONS, network=Network("hosts", (host,)))
    folder = tmp_path / "way"
    first = DockerBackend(options, env=docker_daemon.env, folder=folder)
    box = await first.open(SPEC)
    for egress in first._egress.values():
        await egress.aclose()
    cut = await box.exec([*CURL, f"http://{host}/"], env=ASK)
    assert cut.exit_code != 0
    second = DockerBackend(options, env=docker_daemon.env, folder=folder)
    again = await second.attach(box.id, SPEC)
    assert again is not None
    done = await again.exec([*CURL, f"http://{host}/again"], env=ASK)
    assert done.stdout.decode() == f"/again of {host}", done.stderr
    elsewhere = DockerBackend(options, env=docker_daemon.env, folder=tmp_path / "other")
    with pytest.raises(StageError, match="way to the allowed hosts ended"):
        await elsewhere.attach(box.id, SPEC)
    await elsewhere.aclose()
    await second.aclose()
    await first.aclose()
