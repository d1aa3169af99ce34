"""Which server to talk to, and as whom."""

from __future__ import annotations

import pytest

from sphynx.settings import server


@pytest.mark.parametrize(("value", "key"), [("", None), ("  \n", None), (" anp_x ", "anp_x")])
def test_a_blank_key_is_none(value: str, key: str | None) -> None:
    """Blanks around a key do not count."""
    assert server.api_key({"SPHYNX_API_KEY": value}) == key
    assert server.api_key({}) is None


def test_addresses_of_the_server() -> None:
    """Links lead to the own server unless it is the hosted one or a web address is set."""
    assert server.base_url({}) == "https://api.sphynx.sh"
    assert server.web_url({}) == "https://www.sphynx.sh"
    own = {"SPHYNX_BASE_URL": "http://127.0.0.1:3003/"}
    assert server.base_url(own) == server.web_url(own) == "http://127.0.0.1:3003"
    assert server.web_url({**own, "SPHYNX_WEB_URL": "https://evals.acme.dev/"}) == "https://evals.acme.dev"
