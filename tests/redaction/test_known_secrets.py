"""A value the trial knows to be secret is found in every form it may take on its way."""

from __future__ import annotations

import base64
import html
import json
import os
import re
import shlex
import subprocess
from urllib.parse import quote, quote_plus
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sphynx.redaction import MARK, Redactor

SECRET = 'p@ss/w0rd+"quoted"\'&é'

secrets = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Zs", "Zl", "Zp")), min_size=8, max_size=40
).filter(lambda text: text.strip() == text and text not in MARK)
words = st.text(st.sampled_from("abc xyz\n.,"), max_size=30)


def disguises(secret: str) -> dict[str, str]:
    data = secret.encode()
    return {
        "bare": secret,
        "json": json.dumps(secret),
        "json unescaped": json.dumps(secret, ensure_ascii=False),
        "json in json": json.dumps(json.dumps({"key": secret})),
        "json thrice": json.dumps(json.dumps(json.dumps(secret))),
        "xml attribute": quoteattr(secret + "'"),
        "url path": quote(secret),
        "url part": quote(secret, safe=""),
        "url query": quote_plus(secret),
        "url lower": "".join(
            f"%{piece[:2].lower()}{piece[2:]}" if at else piece
            for at, piece in enumerate(quote(secret, safe="").split("%"))
        ),
        "html": html.escape(secret),
        "shell": shlex.quote(secret),
        "double quotes of a shell": re.sub(r'([\\"$`])', r"\\\1", secret),
        "python": repr(secret),
        "python ascii": ascii(secret),
        "python bytes": repr(data),
        "python in a list": str([secret + "'"]),
        "sql": secret.replace("'", "''"),
        "csv": secret.replace('"', '""'),
        "hex": data.hex(),
        "hex upper": data.hex().upper(),
        "base64": base64.b64encode(data).decode(),
        "base64 url": base64.urlsafe_b64encode(data).decode(),
        "basic auth": base64.b64encode(b"user:" + data).decode(),
        "base64 with newline": base64.b64encode(data + b"\n").decode(),
        "base64 wrapped": base64.encodebytes(b"x" * 50 + data + b"y" * 50).decode(),
        "coloured": "\x1b[31m".join(secret),
        "titled": secret[:4] + "\x1b]0;title\x07" + secret[4:],
        "wrapped": secret[:5] + "\n" + secret[5:],
        "utf-16 as bytes": "\0".join(secret),
    }


def shown(secret: str, text: str) -> bool:
    """Whether a reader who knows how programs write things could still read the secret."""
    plain = Redactor([secret])
    return any(form in text for form in plain.forms)


@pytest.mark.parametrize("form", disguises(SECRET))
def test_a_disguise_is_found(form: str) -> None:
    """Bare, escaped, encoded, wrapped or coloured: nothing of the secret is left, the rest stays."""
    clean = Redactor([SECRET]).text(f"before {disguises(SECRET)[form]} after")
    assert MARK in clean
    assert not shown(SECRET, clean)
    assert clean.startswith("before ")
    assert clean.endswith(" after")


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@pytest.mark.parametrize("secret", [SECRET, "a'b\"c$d`e\\f!g h~i*j{k}", "'start#x;y|z<>", "x\ty\"z12345'é"])
def test_what_bash_prints_of_a_variable_is_found(secret: str, locale: str) -> None:
    """``export -p``, ``declare -p``, ``set`` and ``printf %q``, by bash itself."""
    ways = (
        "export -p | grep -a ' T='",
        "declare -p T",
        "set | grep -a ^T=",
        'printf %q "$T"',
        'echo "${T@Q}"',
    )
    env = {"PATH": os.environ["PATH"], "T": secret, "LC_ALL": locale}
    for way in ways:
        done = subprocess.run(["bash", "-c", way], env=env, capture_output=True, check=True)
        clean = Redactor([secret]).text(done.stdout.decode("utf-8", "surrogateescape"))
        assert MARK in clean, way
        assert len(clean) < len("declare -x T=$''") + len(MARK) + 4, (way, clean)


@given(secret=secrets, before=words, after=words, form=st.sampled_from(sorted(disguises("x" * 8))))
def test_no_secret_survives(secret: str, before: str, after: str, form: str) -> None:
    """Any secret in any disguise, in any surroundings."""
    redactor = Redactor([secret])
    clean = redactor.text(before + disguises(secret)[form] + after)
    assert secret not in clean
    if form in ("bare", "coloured", "base64", "url part"):
        assert not any(known in clean for known in redactor.forms if known not in before + after)


@given(secret=secrets, text=st.text(max_size=200))
def test_redacting_twice_changes_nothing(secret: str, text: str) -> None:
    """A redacted text is the same after another pass."""
    redactor = Redactor([secret])
    once = redactor.text(text + secret + text)
    assert redactor.text(once) == once


@given(secret=secrets, text=st.text(st.sampled_from('abcdefgh 0123\n\t{}[]",:'), max_size=200))
def test_text_without_secrets_is_unchanged(secret: str, text: str) -> None:
    """What holds no secret comes back as it was, the same object."""
    redactor = Redactor([secret])
    assume(not any(form in text.replace("\n", "") for form in redactor.forms))
    assert redactor.text(text) is text


def test_short_values_and_parts_of_the_mark_are_not_looked_for() -> None:
    """A value under eight characters would hit ordinary words; the mark itself must stay whole."""
    redactor = Redactor(["tiny", "1234567", "redacted", "[redacted]", "  short  "])
    assert redactor.forms == ()
    assert redactor.text("tiny 1234567 redacted") == "tiny 1234567 redacted"


def test_overlapping_secrets_leave_no_piece() -> None:
    """Where two secrets share characters both go, and none of either stays."""
    redactor = Redactor(["abcdefghXYZ", "XYZ12345"])
    assert redactor.text("<abcdefghXYZ12345>") == f"<{MARK}>"


def test_the_longest_secret_wins() -> None:
    """A secret that contains another is replaced as one."""
    redactor = Redactor(["hunter2hunter2", "hunter2hunter2-and-more"])
    assert redactor.text("x hunter2hunter2-and-more y") == f"x {MARK} y"


def test_blanks_around_a_value_do_not_count() -> None:
    """A secret read from a file with its line break is found without it."""
    assert Redactor(["s3cret-value\n"]).text("the s3cret-value.") == f"the {MARK}."


def test_lines_of_a_long_secret_are_known() -> None:
    """Of a key of several lines each long line is a secret of its own."""
    key = "-----BEGIN X-----\nAbCdEfGhIjKlMnOpQrStUvWxYz012345\nshort\n-----END X-----"
    assert Redactor([key]).text("got AbCdEfGhIjKlMnOpQrStUvWxYz012345 here") == f"got {MARK} here"


def test_a_value_that_is_not_utf8_is_found() -> None:
    """Bytes that Python keeps as surrogates are secrets like others."""
    value = b"s3cr\xe9t-value".decode("utf-8", "surrogateescape")
    assert Redactor([value]).text(f"a {value} b") == f"a {MARK} b"


def test_a_secret_may_be_added_later() -> None:
    """What is learnt on the way, such as a token in a clone URL, is redacted from then on."""
    redactor = Redactor()
    assert redactor.text("late-secret-1") == "late-secret-1"
    redactor.add("late-secret-1")
    assert redactor.text("late-secret-1") == MARK
