"""Redaction of text in pieces: where the pieces are split shows nothing."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sphynx.redaction import MARK, Redactor
from sphynx.redaction.stream import HOLD

SECRET = "hunter2/hunter2+x"
SPACED = "correct horse battery staple"
KEY = "sk-" + "ant-0123456789abcdefghijAB"
PEM = (
    "-----BEGIN PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEA7bq1hQ0y9QJm\n" * 5 + "abc=\n-----END PRIVATE KEY-----"
)
pieces = st.sampled_from(
    [
        SECRET,
        SPACED,
        KEY,
        PEM,
        "\x1b[31m".join(SECRET),
        "\n".join((SECRET[:9], SECRET[9:])),
        f"Bearer {'a1' * 10}",
        f"db://app:{SECRET[:7]}@h",
        "plain words",
        "a\nb\n",
        " ",
        "\n",
        "\x1b[0m",
        "\x1b[0 q",
        "task-",
        "Bearer ",
        "-----BEGIN ",
        "correct horse",
        "hunter",
    ]
)


def streamed(redactor: Redactor, text: str, cuts: list[int]) -> str:
    stream = redactor.stream()
    ends = sorted({cut % (len(text) + 1) for cut in cuts} | {len(text)})
    shown, at = "", 0
    for end in ends:
        shown += stream.feed(text[at:end])
        at = end
    return shown + stream.flush()


@given(parts=st.lists(pieces, max_size=8), cuts=st.lists(st.integers(0, 2000), max_size=30))
def test_no_split_shows_a_secret(parts: list[str], cuts: list[int]) -> None:
    """Whatever the pieces, no secret, no key and no line of a private key comes through."""
    redactor = Redactor([SECRET, SPACED])
    shown = streamed(redactor, " ".join(parts), cuts)
    plain = shown.replace("\x1b[31m", "").replace("\n", "")
    for secret in (SECRET, SPACED, KEY[8:], "MIIEowIBAAKCAQEA7bq1hQ0y9QJm", "a1" * 10):
        assert secret not in plain


@given(
    text=st.text(st.sampled_from("hunter2/ \nab-:@.\x1b[0m"), max_size=300),
    cuts=st.lists(st.integers(0, 300), max_size=20),
)
def test_text_without_secrets_comes_through_unchanged(text: str, cuts: list[int]) -> None:
    """Nothing is lost, added or reordered."""
    redactor = Redactor(["another-secret-value"])
    if redactor.text(text) == text:
        assert streamed(redactor, text, cuts) == text


@pytest.mark.parametrize("secret", [SECRET, SPACED, KEY, PEM, f"Bearer {'a1' * 10}"])
def test_one_character_at_a_time(secret: str) -> None:
    """A secret that arrives byte by byte is one mark."""
    text = f"start {secret} end\n"
    redactor = Redactor([SECRET, SPACED])
    assert streamed(redactor, text, list(range(len(text)))) == redactor.text(text)


def test_whole_lines_are_shown_at_once() -> None:
    """Output is live: a finished line is not held back for the next one."""
    stream = Redactor([SECRET, KEY]).stream()
    assert stream.feed("Installing packages\n") == "Installing packages\n"
    assert stream.feed("half a li") == "half a "
    assert stream.feed("ne\n") == "line\n"


def test_a_key_block_in_prose_does_not_stop_the_output() -> None:
    """A mere mention of a private key's head is not waited on."""
    stream = Redactor().stream()
    text = "grep for -----BEGIN PRIVATE KEY----- in the logs\n"
    assert stream.feed(text) == text


def test_an_endless_word_is_let_go_in_bounded_pieces() -> None:
    """Memory is bounded: a word without an end is shown bit by bit, and nothing of it is lost."""
    redactor = Redactor([SECRET])
    stream = redactor.stream()
    shown = held = 0
    for _ in range(200):
        shown += len(stream.feed("x" * 1000))
        held = max(held, 1000 * (_ + 1) - shown)
    assert held <= 2 * HOLD
    assert shown + len(stream.flush()) == 200_000


def test_a_secret_in_an_endless_word_is_found() -> None:
    """Also where the word is let go piece by piece."""
    redactor = Redactor([SECRET])
    text = ("x" * 3001 + SECRET) * 30
    shown = streamed(redactor, text, list(range(0, len(text), 777)))
    assert SECRET not in shown
    assert shown.count(MARK) == 30


def test_an_endless_key_is_one_mark() -> None:
    """A key longer than what is held is swallowed to its end."""
    stream = Redactor().stream()
    shown = stream.feed("key sk-a1")
    for _ in range(100):
        shown += stream.feed("b2" * 500)
    shown += stream.feed(" and on\n") + stream.flush()
    assert shown == f"key {MARK} and on\n"


def test_a_long_line_in_chunks_is_fast() -> None:
    """Five megabytes without a line break, in chunks as they are read."""
    stream = Redactor([SECRET, SPACED]).stream()
    chunk = "lorem ipsum dolor " * 3640
    began = time.process_time()
    for _ in range(80):
        stream.feed(chunk)
    assert time.process_time() - began < 4
