"""A local run passes addresses on, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from case_data import case_id, load
from sphynx.settings.forwarding import forwarded, is_forwarded, looks_secret


@pytest.mark.parametrize("case", load("forwarding"), ids=case_id)
def test_worked_case(case: dict) -> None:
    """The worked cases of the contract."""
    assert is_forwarded(case["input"]["name"], case["input"]["value"]) == case["expected"]["forwarded"]


@pytest.mark.parametrize(
    ("name", "value", "passed"),
    [
        ("URL", "", True),
        ("API_BASE", "http://localhost:1234", True),
        ("API_BASE", "http://[::1]:80/x", True),
        ("API_ENDPOINT", "https://quay.test/v1?x=1", True),
        ("DB_PORT", "5432", True),
        ("DB_HOST", "db_internal", True),
        ("CURL", "http://localhost", False),
        ("API_BASES", "http://localhost", False),
        ("api_url", "http://localhost", False),
        ("API_URL", "ftp://quay.test", False),
        ("API_URL", "http://user:pw@quay.test", False),
        ("API_URL", "http://quay.test/p@th", False),
        ("API_URL", "http://quay.test/a b", False),
        ("DB_PORT", "123456x y", False),
        ("GREETING_HOST", "hello there", False),
        ("API_KEY", "http://localhost", False),
        ("SPHYNX_BASE_URL", "http://localhost:3003", False),
    ],
)
def test_name_and_value_must_both_be_an_address(name: str, value: str, passed: bool) -> None:
    """Credentials, other schemes, blanks, other names and our own names are withheld."""
    assert is_forwarded(name, value) is passed


def test_the_shell_wins_over_env_local_wins_over_env(tmp_path: Path) -> None:
    """Each name comes from the strongest place that has it; what is no address is left out everywhere."""
    (tmp_path / ".env").write_text(
        "A_URL=http://a1\nB_URL=http://b1\nC_URL='http://c1' # x\nSECRET_KEY=abc\n"
    )
    (tmp_path / ".env.local").write_text('export B_URL="http://b2"\nC_URL=http://c2\nBROKEN LINE\n')
    shell = {"C_URL": "http://c3", "HOME": "/home/me", "D_PORT": "80"}
    assert forwarded(tmp_path, shell) == {
        "A_URL": "http://a1",
        "B_URL": "http://b2",
        "C_URL": "http://c3",
        "D_PORT": "80",
    }


def test_a_shell_value_that_is_no_address_does_not_hide_the_files(tmp_path: Path) -> None:
    """The shell passes the same filter before it wins."""
    (tmp_path / ".env").write_text("A_URL=http://a1\n")
    assert forwarded(tmp_path, {"A_URL": "postgres://u:p@h/d"}) == {"A_URL": "http://a1"}


def test_files_that_cannot_be_read_add_nothing(tmp_path: Path) -> None:
    """No file, a folder of that name, or bytes that are no text."""
    assert forwarded(tmp_path, {}) == {}
    (tmp_path / ".env").mkdir()
    (tmp_path / ".env.local").write_bytes(b"\xef\xbb\xbfA_URL=http://a\n\xff\xfe=\x00\nB_PORT=1\n")
    assert forwarded(tmp_path, {})["A_URL"] == "http://a"


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("AUTH_URL", "http://localhost:3000", False),
        ("KEY_HOST", "localhost", False),
        ("AUTH_PORT", "8080", False),
        ("DB_HOST", "db", False),
        ("TOKEN_HOST", "hunter2hunter2", True),
        ("DB_HOST", "a1b2c3d4e5f6a7b8c9d0e1", True),
        ("DB_HOST", "", False),
    ],
)
def test_what_must_be_redacted_though_it_was_forwarded(name: str, value: str, secret: bool) -> None:
    """A plain address stays readable; a bare word under a secret name, or one like a token, does not."""
    assert looks_secret(name, value) is secret
