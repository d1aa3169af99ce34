"""The page behind a batch's link: after a key, for its organization, with nothing that runs."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from server.running import Running, running
from server.test_api import finished, local


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
        cookie = browser.cookies["sphynx_session"]
        assert key not in cookie
        foreign = server.post("runner.start", local(), key=server.new_org("other")).json()["id"]
        assert browser.get(f"/evals/{foreign}").status_code == 404
    told, _, mark = cookie.rpartition(".")
    for forged in (f"{told}.{mark[::-1]}", f"org_other.9999999999.{mark}", told, "", "é"):
        header = {"cookie": f"sphynx_session={forged}".encode()}
        assert "API key" in httpx.get(f"{server.url}{path}", headers=header).text
