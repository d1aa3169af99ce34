"""How containers are asked for, which hosts are let through, and where a daemon is looked for."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from sphynx.errors import UsageError
from sphynx.sandboxes.docker import daemon, options
from sphynx.sandboxes.docker.egress import allowed
from sphynx.sandboxes.docker.frames import HEAD, OUT, RESULT, Frames, frame


@pytest.mark.parametrize(
    ("text", "size"),
    [("512m", 2**29), ("4g", 2**32), ("1.5 GiB", 3 * 2**29), ("0", None), ("67108864", 2**26)],
)
def test_memory(text: str, size: int | None) -> None:
    assert options.memory(text) == size


@pytest.mark.parametrize("text", ["", "much", "-1g", "4t", "1m"])
def test_memory_that_is_none(text: str) -> None:
    with pytest.raises(UsageError):
        options.memory(text)


def test_networks() -> None:
    """The words, a network's name, hosts with and without port; nonsense is named."""
    assert options.network("open") == options.Network("open")
    assert options.network("none") == options.Network("none")
    assert options.network("network:mine") == options.Network("mine")
    hosts = ("api.openai.com", "*.debian.org", "git.acme.dev:8443")
    assert options.network(" API.openai.com, *.debian.org,git.acme.dev:8443") == options.Network(
        "hosts", hosts
    )
    for text in ("", ",", "https://a.b", "a b", "*", "*.*", "a:b"):
        with pytest.raises(UsageError):
            options.network(text)


def test_options_survive_json() -> None:
    """A worker gets them as its server had them."""
    given = options.ContainerOptions(image="mine", memory=None, network=options.Network("hosts", ("a.b",)))
    assert options.from_json(json.loads(json.dumps(asdict(given)))) == given
    assert options.from_json(None) is None


@pytest.mark.parametrize(
    ("host", "port", "passes"),
    [
        ("api.openai.com", 443, True),
        ("API.OpenAI.com.", 80, True),
        ("api.openai.com", 22, False),
        ("evil-api.openai.com", 443, False),
        ("deb.debian.org", 443, True),
        ("a.b.debian.org", 443, True),
        ("debian.org", 443, False),
        ("notdebian.org", 443, False),
        ("git.acme.dev", 8443, True),
        ("git.acme.dev", 443, False),
        ("", 443, False),
    ],
)
def test_which_hosts_pass(host: str, port: int, passes: bool) -> None:
    listed = ("api.openai.com", "*.debian.org", "git.acme.dev:8443")
    assert allowed(host, port, listed) is passes


def test_frames_come_whole_however_they_are_cut() -> None:
    data = frame(OUT, b"one") + frame(OUT, b"") + frame(RESULT, b"{}")
    for size in (1, 2, HEAD.size, len(data)):
        frames = Frames()
        found = [
            one for start in range(0, len(data), size) for one in frames.feed(data[start : start + size])
        ]
        assert found == [(OUT, b"one"), (OUT, b""), (RESULT, b"{}")]


def test_where_a_daemon_is_looked_for(tmp_path: Path) -> None:
    """``DOCKER_HOST`` comes first; one that does not answer is named with the reason."""
    there = f"unix://{tmp_path}/none.sock"
    assert daemon.address({"DOCKER_HOST": there}) == there
    assert there in daemon.why_not({"DOCKER_HOST": there})
