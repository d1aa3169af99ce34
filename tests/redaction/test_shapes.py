"""Texts that look like credentials are replaced, whoever made them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from case_data import case_id, load
from sphynx.redaction import MARK, Redactor

PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    "MIIEowIBAAKCAQEA7bq1hQ0y9QJmXr3aXc1VtVxwAq8Zk0v5oXl1tqf0b5mF8i2K\n"
    "zW8Q6m1c2l9rT4uYxv7sB0nA5dKfJ3hGpL6eRoZiUwQyCtNbMvXsAqWe\n"
    "abcd==\n"
    "-----END RSA PRIVATE KEY-----"
)
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"


@pytest.mark.parametrize("case", load("redaction"), ids=case_id)
def test_worked_case(case: dict) -> None:
    """The worked cases of the contract."""
    redactor = Redactor(case["input"]["known"])
    assert redactor.text(case["input"]["text"]) == case["expected"]["text"]


@pytest.mark.parametrize(
    "key",
    [
        "sk-" + "proj-Ab1" * 4,
        "sk_" + "live_0123456789",
        "rk_" + "test_abcdefghij",
        "am_" + "sk_x",
        "anp_" + "0123456789abcdef",
        *(f"gh{kind}_" + "a1" * 10 for kind in "pousr"),
        "github" + "_pat_" + "A1_" * 7,
        *(f"xox{kind}-" + "1234567890" for kind in "abeoprs"),
        "AKIA" + "0123456789ABCDEF",
        "ASIA" + "0123456789ABCDEF",
        "AIza" + "x" * 35,
        JWT,
        PEM,
        PEM.replace("\n", "\\n"),
    ],
)
def test_each_shape_is_replaced_whole(key: str) -> None:
    """A key of a known shape leaves nothing but the mark, in a sentence, in quotes and at either end."""
    text = Redactor().text
    assert text(key) == MARK
    assert text(f"use {key} now") == f"use {MARK} now"
    assert text(f'{{"a":"{key}"}}') == f'{{"a":"{MARK}"}}'


@pytest.mark.parametrize(
    "text",
    [
        "task-list-for-the-1st-of-the-month",
        "sk-short1",
        "sk-lettersonlywithoutanydigitatall",
        "mask-abcdefghij0123456789abc",
        "my_" + "ghp_" + "a1" * 10,
        "ghp_tooshort1",
        "AKIA0123456789",
        "eyJ.short.parts",
        "http://localhost:3000/tide?x=1",
        "see http://localhost:3000?mail=a@b.example and ssh git@github.com:acme/api.git",
        '["http://a:8080","x@y"]',
        "the Bearer of the ring",
        "Bearer nodigitsinthislongword",
        "-----BEGIN CERTIFICATE-----\nMIIEowIBAAKCAQEA7bq1hQ0y9QJm\n-----END CERTIFICATE-----",
        "a file starts with -----BEGIN PRIVATE KEY----- and then some",
        "",
    ],
)
def test_what_is_no_credential_stays(text: str) -> None:
    """Text that only resembles a key is left alone, as the same object."""
    assert Redactor().text(text) is text


def test_what_stands_around_a_credential_stays() -> None:
    """The word Bearer, a URL's user and host, and quotes are no secrets."""
    text = Redactor().text
    assert text("bearer   abcdefghijklmno1==,") == f"bearer   {MARK},"
    assert text("postgres://app:p@ss@db:5432/x") == f"postgres://app:{MARK}@db:5432/x"
    compact = '{"u":"redis://app:hunter22@cache","mail":"a@b.example"}'
    assert text(compact) == compact.replace("hunter22", MARK)
    assert text("redis://app:hun'ter@cache") == f"redis://app:{MARK}@cache"
    assert text(r'{"u":"redis:\/\/:hunter22@cache\/0"}') == rf'{{"u":"redis:\/\/:{MARK}@cache\/0"}}'


def test_keys_that_touch_are_all_replaced() -> None:
    """Once a key is gone, what followed it directly would start a word: it goes too."""
    key = "AKIA" + "0123456789ABCDEF"
    joined = f"{PEM}sk-{'a1' * 12}.{key}"
    assert Redactor().text(joined) == f"{MARK}{MARK}.{MARK}"


def test_a_key_block_cut_short_loses_its_lines() -> None:
    """A private key whose end is missing does not show the part that is there."""
    head = PEM[:120]
    assert Redactor().text(f"$ cat key\n{head}") == f"$ cat key\n{MARK}"


def test_colour_codes_neither_hide_nor_make_a_word() -> None:
    """A key is found inside colour codes, though they end in a letter, and with codes in its middle."""
    key = "sk-" + "abcdefghij0123456789XY"
    text = Redactor().text
    assert text(f"\x1b[32m{key}\x1b[0m") == f"\x1b[32m{MARK}\x1b[0m"
    assert text(f"{key[:9]}\x1b[1;31m{key[9:]} end") == f"{MARK} end"
    assert text(f'{{"out":"\\u001b[32m{key}"}}') == f'{{"out":"\\u001b[32m{MARK}"}}'


KEYS = ["sk-" + "a1" * 12, "AKIA" + "0123456789ABCDEF", JWT, PEM, "anp_" + "a1" * 9, "ghp_" + "b2" * 12]
BETWEEN = ["Bearer ", "a1" * 9, "db://u:", "@h", "/", "x", " ", "\n", ".", "=", "\x1b[0m", "-----", "://"]
mixed = st.lists(st.sampled_from([*KEYS, *BETWEEN]), max_size=12).map("".join)


@given(mixed)
def test_mixed_keys_are_redacted_once_and_for_all(text: str) -> None:
    """However keys, colours and separators meet, a second pass finds nothing that the first one left."""
    once = Redactor().text(text)
    assert Redactor().text(once) == once


@pytest.mark.parametrize(
    "unit",
    [
        "sk-",
        ".sk-a",
        "eyJ.eyJ",
        "Bearer ",
        "://a:b",
        "-----BEGIN PRIVATE KEY-----\n",
        "\x1b[",
        "\x1b]",
        "a",
        "\\u001b[",
    ],
)
def test_no_text_takes_long(unit: str) -> None:
    """Time is linear: a megabyte made to trip the patterns takes no longer than a moment."""
    text = unit * (1_000_000 // len(unit))
    began = time.process_time()
    Redactor(["a-known-secret-value"]).text(text)
    assert time.process_time() - began < 3
