"""Secrets at rest open only with their key and only where they were put."""

from __future__ import annotations

import base64
import secrets
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sphynx.errors import SphynxError, UsageError
from sphynx.server.vault import Vault, add_key, keep_first, open_vault, place


@given(st.text(max_size=200))
def test_what_is_sealed_opens_again_at_its_place_only(text: str) -> None:
    vault = Vault([b"k" * 32])
    here = place("org", "organization", "NAME")
    sealed = vault.seal(text, here)
    assert vault.open(sealed, here) == text
    assert vault.seal(text, here) != sealed
    with pytest.raises(SphynxError, match="changed or moved"):
        vault.open(sealed, place("other", "organization", "NAME"))
    with pytest.raises(SphynxError, match="does not have"):
        Vault([b"x" * 32]).open(sealed, here)


def test_a_changed_byte_does_not_open() -> None:
    vault = Vault([b"k" * 32])
    sealed = vault.seal("text", "p")
    with pytest.raises(SphynxError):
        vault.open(sealed[:-1] + bytes([sealed[-1] ^ 1]), "p")


def test_the_key_file_is_made_once_for_its_owner_only(tmp_path: Path) -> None:
    first = open_vault(tmp_path, {})
    path = tmp_path / "master.key"
    assert path.stat().st_mode & 0o777 == 0o600
    assert open_vault(tmp_path, {}).open(first.seal("t", "p"), "p") == "t"
    path.chmod(0o644)
    with pytest.raises(UsageError, match="read by others"):
        open_vault(tmp_path, {})


def test_a_rotated_key_opens_old_secrets_until_they_are_sealed_anew(tmp_path: Path) -> None:
    old = open_vault(tmp_path, {}).seal("t", "p")
    both = add_key(tmp_path, {})
    assert both.open(old, "p") == "t"
    assert not both.is_current(old)
    new = both.seal("t", "p")
    keep_first(tmp_path)
    after = open_vault(tmp_path, {})
    assert after.open(new, "p") == "t"
    with pytest.raises(SphynxError):
        after.open(old, "p")


def test_the_variable_wins_over_the_file_and_must_hold_a_key(tmp_path: Path) -> None:
    key = base64.b64encode(secrets.token_bytes(32)).decode()
    sealed = open_vault(tmp_path, {"SPHYNX_MASTER_KEY": key}).seal("t", "p")
    assert not (tmp_path / "master.key").exists()
    other = base64.b64encode(secrets.token_bytes(32)).decode()
    assert open_vault(tmp_path, {"SPHYNX_MASTER_KEY": f"{other},{key}"}).open(sealed, "p") == "t"
    with pytest.raises(UsageError, match="does not hold a master key") as caught:
        open_vault(tmp_path, {"SPHYNX_MASTER_KEY": "c2hvcnQ="})
    assert "c2hvcnQ=" not in caught.value.message
