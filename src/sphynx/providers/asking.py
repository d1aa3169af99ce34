"""One JSON request to a provider: asked again when it is busy, its own words when it refuses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio

if TYPE_CHECKING:  # slow to import, and most evals ask nobody
    import httpx

RETRIES = 2
CONNECT_S = 15.0
_FIRST_WAIT_S = 0.25
_LONGEST_WAIT_S = 20.0
_BUSY = (408, 409, 429, 500, 502, 503, 504, 529)
_MOST_BYTES = 4_000_000


class ProviderError(Exception):
    """A provider did not answer. ``message`` is for people, ``body`` what it said, as it said it."""

    def __init__(self, message: str, body: str = "", status: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.body = body
        self.status = status


async def post_json(
    url: str, body: Mapping[str, Any], *, key: str, timeout_s: float
) -> tuple[dict[str, Any], str]:
    """The answer as an object, and its text.

    Asked up to three times while the provider is busy or cannot be reached, all within ``timeout_s``.
    ``ProviderError`` says what went wrong; ``TimeoutError`` that the time is over.
    """
    import httpx

    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    # Halves of surrogate pairs, which agents print now and then, become question marks.
    data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    with anyio.fail_after(timeout_s):
        async with httpx.AsyncClient(timeout=httpx.Timeout(None, connect=CONNECT_S)) as client:
            for attempt in range(RETRIES + 1):
                try:
                    answer, text = await _once(client, url, data, headers)
                except (httpx.InvalidURL, UnicodeError) as error:
                    raise ProviderError(f"cannot be asked: {_words(error)}") from None
                except httpx.HTTPError as error:
                    problem = ProviderError(f"{_host(url)} could not be reached: {_words(error)}")
                    wait = _FIRST_WAIT_S * 4**attempt
                else:
                    if answer.status_code < 300:
                        return _object(text, url), text
                    problem = ProviderError(_refusal(answer.status_code, text), text, answer.status_code)
                    if answer.status_code not in _BUSY:
                        raise problem
                    wait = _wait_s(answer, attempt)
                if attempt == RETRIES:
                    raise problem
                await anyio.sleep(wait)
    raise AssertionError("unreachable")


async def _once(
    client: httpx.AsyncClient, url: str, data: bytes, headers: Mapping[str, str]
) -> tuple[httpx.Response, str]:
    async with client.stream("POST", url, content=data, headers=headers) as answer:
        got = bytearray()
        async for part in answer.aiter_bytes():
            got += part
            if len(got) > _MOST_BYTES:
                raise ProviderError(f"{_host(url)} sent more than {_MOST_BYTES:,} bytes")
    return answer, got.decode("utf-8", "replace")


def _object(text: str, url: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ProviderError(f"{_host(url)} did not answer with a JSON object", text)
    return value


def _wait_s(answer: httpx.Response, attempt: int) -> float:
    try:
        named = float(answer.headers.get("retry-after", ""))
    except ValueError:
        named = 0.0
    return min(max(named, _FIRST_WAIT_S * 4**attempt), _LONGEST_WAIT_S)


def _refusal(status: int, text: str) -> str:
    """``HTTP 401: incorrect API key``: what the body's error says, when it is one."""
    said = ""
    try:
        error = json.loads(text).get("error")
        said = str(error.get("message") or "") if isinstance(error, dict) else str(error or "")
    except (ValueError, AttributeError, RecursionError):
        pass
    return f"HTTP {status}: {said}" if said else f"HTTP {status}"


def _host(url: str) -> str:
    import httpx

    return httpx.URL(url).netloc.decode("ascii", "replace")


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
