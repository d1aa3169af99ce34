"""Where the project is, and which server to talk to."""

from __future__ import annotations

from pathlib import Path

import pytest

from sphynx.settings import paths


def test_the_project_root_is_the_nearest_marked_folder(tmp_path: Path) -> None:
    """``pyproject.toml`` anywhere above wins over ``.git``; without either it is where the command runs."""
    inner = tmp_path / "repo" / "pkg" / "evals"
    inner.mkdir(parents=True)
    (tmp_path / "repo" / "pkg" / ".git").mkdir()
    assert paths.project_root(inner) == tmp_path / "repo" / "pkg"
    (tmp_path / "repo" / "pyproject.toml").touch()
    assert paths.project_root(inner) == tmp_path / "repo"
    assert paths.batches_folder(inner) == tmp_path / "repo" / ".sphynx" / "batches"


@pytest.mark.parametrize(("value", "key"), [("", None), ("  \n", None), (" anp_x ", "anp_x")])
def test_a_blank_key_is_none(value: str, key: str | None) -> None:
    """Blanks around a key do not count."""
    assert paths.api_key({"SPHYNX_API_KEY": value}) == key
    assert paths.api_key({}) is None


def test_addresses_of_the_server() -> None:
    """Links lead to the own server unless it is the hosted one or a web address is set."""
    assert paths.base_url({}) == "https://api.sphynx.sh"
    assert paths.web_url({}) == "https://www.sphynx.sh"
    own = {"SPHYNX_BASE_URL": "http://127.0.0.1:3003/"}
    assert paths.base_url(own) == paths.web_url(own) == "http://127.0.0.1:3003"
    assert paths.web_url({**own, "SPHYNX_WEB_URL": "https://evals.acme.dev/"}) == "https://evals.acme.dev"
