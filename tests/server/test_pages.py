"""The page behind a batch's link: after a key or by a signed link, and with nothing that runs."""

from __future__ import annotations

import io
import logging
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from server.running import Running, revoke_keys, running
from server.test_api import finished, local
from sphynx.cli.out import Out
from sphynx.cli.server_eval import shown_link
from sphynx.server.api.signing import Signer
from sphynx.server.vault import open_vault


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("pages")) as told:
        yield told


def test_a_link_asks_for_a_key_and_then_shows_the_batch(server: Running) -> None:
    key = server.new_org("pages")
    request = local()
    request["cases"][0]["name"] = "<script>alert(1)</script>"
    batch = finished(server, key, request)
    with httpx.Client(base_url=server.url, follow_redirects=True) as browser:
        path = f"/evals/{batch['id']}"
        assert "API key" in browser.get(path).text
        assert browser.post(path, data={"key": "anp_wrong"}).status_code == 401
        shown = browser.post(path, data={"key": key})
        assert "✓ passed" in shown.text
        assert "<script>" not in shown.text
        assert "default-src 'none'" in shown.headers["content-security-policy"]
        set_cookie = shown.history[0].headers["set-cookie"].lower()
        assert "httponly" in set_cookie and "samesite=lax" in set_cookie and "path=/evals/" in set_cookie
        cookie = browser.cookies["sphynx_session"]
        assert key not in cookie
        foreign = server.post("runner.start", local(), key=server.new_org("other")).json()["id"]
        assert browser.get(f"/evals/{foreign}").status_code == 404
        revoke_keys(server, "pages")
        assert "API key" in browser.get(path).text
    told, _, mark = cookie.rpartition(".")
    org, key_id, until = told.split(".")
    later = f"{org}.{key_id}.{int(until) + 1}.{mark}"
    for forged in (f"{told}.{mark[::-1]}", later, f"org_other.{key_id}.{until}.{mark}", told, "", "é", "..."):
        header = {"cookie": f"sphynx_session={forged}".encode()}
        assert "API key" in httpx.get(f"{server.url}{path}", headers=header).text


@pytest.mark.parametrize(
    "headers",
    [{"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}],
)
def test_a_form_from_another_site_signs_nobody_in(server: Running, headers: dict[str, str]) -> None:
    response = httpx.post(f"{server.url}/evals/x", data={"key": server.key}, headers=headers)
    assert (response.status_code, "set-cookie" in response.headers) == (403, False)


def test_a_form_of_our_own_page_and_a_body_beyond_its_limit(server: Running) -> None:
    own = {"origin": server.url, "sec-fetch-site": "same-origin"}
    response = httpx.post(f"{server.url}/evals/x", data={"key": server.key}, headers=own)
    assert (response.status_code, response.headers["location"]) == (303, "/evals/x")
    assert httpx.post(f"{server.url}/evals/x", data={"key": "x" * 5_000}).status_code == 413


def test_a_key_without_the_permission_to_read_evals_shows_nothing(server: Running) -> None:
    key = server.new_org("no-evals", ["prompts:read"])
    assert httpx.post(f"{server.url}/evals/x", data={"key": key}).status_code == 403


def test_a_signed_link_shows_one_batch_without_a_key(server: Running) -> None:
    key = server.new_org("linked")
    batch, second = finished(server, key)["id"], finished(server, key)["id"]
    with server.client(key) as client:
        link = client.evals.batches.link(batch)
    assert link.path.startswith(f"/evals/{batch}?link=")
    assert 6 * 86_400 < link.expires_at.timestamp() - time.time() <= 7 * 86_400
    assert key not in link.path
    shown = httpx.get(f"{server.url}{link.path}")
    assert "✓ passed" in shown.text
    assert "set-cookie" not in shown.headers
    assert (shown.headers["referrer-policy"], shown.headers["cache-control"]) == ("no-referrer", "no-store")
    told = link.path.rpartition("=")[2]
    until, _, mark = told.partition(".")
    for path in (
        f"/evals/{second}?link={told}",
        f"/evals/{batch}?link={int(until) + 1}.{mark}",
        f"/evals/{batch}?link={until}.{mark[::-1]}",
        f"/evals/{batch}?link={until}",
        f"/evals/{batch}?link=",
    ):
        assert "API key" in httpx.get(f"{server.url}{path}").text


def test_a_link_ends_and_one_of_another_server_opens_nothing(server: Running, tmp_path: Path) -> None:
    key = server.new_org("ended")
    batch = finished(server, key)["id"]
    signer = Signer(open_vault(server.data, {}))
    ended = signer._signed("link", f"{batch}.{int(time.time()) - 1}").removeprefix(f"{batch}.")
    elsewhere, _ = Signer(open_vault(tmp_path, {})).link(batch)
    session = signer.session("org", "key").rpartition(".")[2]
    good, _ = signer.link(batch)
    assert "✓ passed" in httpx.get(f"{server.url}/evals/{batch}?link={good}").text
    for link in (ended, elsewhere, session):
        assert "API key" in httpx.get(f"{server.url}/evals/{batch}?link={link}").text


def test_neither_keys_nor_links_are_logged(tmp_path: Path) -> None:
    told = io.StringIO()
    handler = logging.StreamHandler(told)
    # The client of this test logs the addresses it asks for; the promise is the server's.
    handler.addFilter(lambda record: not record.name.startswith(("httpx", "httpcore")))
    logging.getLogger().addHandler(handler)
    level = logging.getLogger().level
    logging.getLogger().setLevel(logging.DEBUG)
    try:
        with running(tmp_path) as server:
            batch = finished(server, server.key)["id"]
            with server.client() as client:
                path = client.evals.batches.link(batch).path
            assert httpx.get(f"{server.url}{path}").status_code == 200
            cookie = httpx.post(f"{server.url}/evals/x", data={"key": server.key}).cookies["sphynx_session"]
    finally:
        logging.getLogger().setLevel(level)
        logging.getLogger().removeHandler(handler)
    text = told.getvalue()
    assert "link=" not in text
    assert server.key not in text
    assert cookie not in text


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_the_command_line_shows_a_signed_link_to_a_person_and_a_plain_one_in_logs(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPHYNX_BASE_URL", server.url)
    key = server.new_org("shown")
    batch = finished(server, key)["id"]
    with server.client(key) as client:
        signed = shown_link(client, batch, Out(Terminal()))
        plain = shown_link(client, batch, Out(io.StringIO()))
    assert "✓ passed" in httpx.get(signed).text
    assert plain == f"{server.url}/evals/{batch}"
    readers = server.new_org("shown", ["prompts:read"])
    with server.client(readers) as client:
        assert shown_link(client, batch, Out(Terminal())) == plain
