"""Requests to providers: asked again while they are busy, their own words when they refuse."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from sphynx.providers.asking import ProviderError, post_json
from sphynx.providers.usage import chat_usage, responses_usage
from sphynx.testing.scripted_model import ScriptedModel, fail, say, silent

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def server(answers: Callable[[int], bytes]) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A bare HTTP server that sends what ``answers`` gives for each request."""
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answers(len(seen)))
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1/x", seen
    finally:
        listening.close()


def whole(status: str, body: bytes) -> bytes:
    return b"HTTP/1.1 %s\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s" % (
        status.encode(), len(body), body,
    )  # fmt: skip


async def ask(url: str, timeout_s: float = 10.0) -> tuple[dict, str]:
    return await post_json(url, {"a": 1}, key="sk-1", timeout_s=timeout_s)


async def test_a_busy_provider_is_asked_three_times() -> None:
    """It may recover; the key travels in the header only."""
    replies = {1: whole("429 Slow", b"{}"), 2: whole("503 Off", b"x"), 3: whole("200 OK", b'{"ok": 1}')}
    async with server(lambda count: replies[count]) as (url, seen):
        assert (await ask(url))[0] == {"ok": 1}
    assert len(seen) == 3 and b"authorization: Bearer sk-1" in seen[0].replace(
        b"Authorization", b"authorization"
    )


@pytest.mark.parametrize(
    ("reply", "words", "times"),
    [
        (whole("400 Bad", b'{"error": {"message": "no such model"}}'), "HTTP 400: no such model", 1),
        (whole("403 No", b'{"error": "blocked"}'), "HTTP 403: blocked", 1),
        (whole("404 No", b"<html>"), "HTTP 404", 1),
        (whole("302 Away", b""), "HTTP 302", 1),
        (whole("200 OK", b"<html>"), "did not answer with a JSON object", 1),
        (whole("200 OK", b"[]"), "did not answer with a JSON object", 1),
        (whole("200 OK", b"[" * 100_000), "did not answer with a JSON object", 1),
        (b"", "could not be reached", 3),
        (b"garbage\r\n\r\n", "could not be reached", 3),
    ],
)
async def test_what_is_no_answer_is_told_in_words(reply: bytes, words: str, times: int) -> None:
    """A refusal at once, a broken connection after three tries; what came is kept."""
    async with server(lambda count: reply) as (url, seen):
        with pytest.raises(ProviderError) as caught:
            await ask(url)
    assert words in caught.value.message and len(seen) == times
    assert caught.value.body in reply.decode()


async def test_an_endless_answer_is_cut_off() -> None:
    """At four megabytes; nothing fills the memory."""
    async with server(lambda count: whole("200 OK", b"x" * 4_100_000)) as (url, _):
        with pytest.raises(ProviderError, match="sent more than 4,000,000 bytes"):
            await ask(url)


async def test_the_time_limit_covers_all_tries() -> None:
    """A provider that never answers, or asks to wait for too long."""
    with ScriptedModel({"*": [silent()]}) as model:
        with pytest.raises(TimeoutError):
            await ask(f"{model.openai_url}/responses", 0.3)
        model.script("*", [fail(429, "later", headers={"retry-after": "15"}), say("x")])
        with pytest.raises(TimeoutError):
            await ask(f"{model.openai_url}/responses", 0.3)


async def test_nobody_there() -> None:
    """The address is named, without the login an address may carry."""
    with pytest.raises(ProviderError) as caught:
        await ask("http://user:secret@127.0.0.1:9/v1/x")
    assert caught.value.message.startswith("127.0.0.1:9 could not be reached")
    assert "secret" not in caught.value.message


@pytest.mark.parametrize("url", ["http://[::1", "ftp://127.0.0.1/x", "127.0.0.1/x", "http://a b/"])
async def test_an_address_that_is_none(url: str) -> None:
    """Told like any other failure, never a traceback."""
    with pytest.raises(ProviderError):
        await ask(url)


async def test_what_cannot_be_sent_as_it_is() -> None:
    """A key that no header can carry is refused; half of a surrogate pair becomes a question mark."""
    async with server(lambda count: whole("200 OK", b"{}")) as (url, seen):
        with pytest.raises(ProviderError, match="cannot be asked"):
            await post_json(url, {}, key="sk-\u00e9\u4e2d", timeout_s=5)
        assert await post_json(url, {"text": "\ud800"}, key="sk-1", timeout_s=5) == ({}, "{}")
    assert len(seen) == 1


def test_tokens_in_one_meaning() -> None:
    """Input without what came from or went to a cache; counters of other shapes are not known."""
    details = {"cached_tokens": 40, "cache_write_tokens": 10}
    chat = chat_usage(
        {"usage": {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": details}}
    )
    assert chat and (chat.input_tokens, chat.cache_read_tokens, chat.cache_write_tokens) == (50, 40, 10)
    assert chat.total == 105
    given = {"input_tokens": 7, "output_tokens": 1, "total_tokens": 9, "input_tokens_details": None}
    responses = responses_usage({"usage": given})
    assert responses and (responses.input_tokens, responses.total) == (7, 9)
    for usage in (None, 3, {}, {"prompt_tokens": "7"}, {"prompt_tokens": True}, {"prompt_tokens": -1}):
        assert chat_usage({"usage": usage}) is None
