"""Whatever is sent, the server answers in a documented form and never with a 500."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from client.test_client import example
from server.running import Running, running
from sphynx.schema.operations import EXTENSIONS, OPERATIONS

ALL = {**OPERATIONS, **EXTENSIONS}
TEXTS = st.text(max_size=20) | st.sampled_from(["", "\0", "a/b", "../x", "%00", "' or 1=1", "é😀", "one"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, database_url: str | None
) -> Iterator[tuple[Running, httpx.Client]]:
    data = tmp_path_factory.mktemp("fuzz")
    with running(data, allow_local_sandbox=True, rate_limit=1_000_000, database_url=database_url) as told:
        headers = {"authorization": f"Bearer {told.key}"}
        with httpx.Client(base_url=told.url, headers=headers, timeout=30) as client:
            yield told, client


def mutated(value: Any, draw: Any) -> Any:
    """A value with one place in it replaced by anything."""
    if isinstance(value, dict) and value and draw(st.integers(0, 3)):
        key = draw(st.sampled_from(sorted(value)))
        return {**value, key: mutated(value[key], draw)}
    if isinstance(value, list) and value and draw(st.integers(0, 3)):
        return [mutated(value[0], draw), *value[1:]]
    return draw(VALUES)


@pytest.mark.parametrize("name", sorted(ALL))
def test_no_body_makes_it_fail(server: tuple[Running, httpx.Client], name: str) -> None:
    _, client = server
    operation = ALL[name]
    adapter: Any = TypeAdapter(operation.request) if operation.request is not None else None
    schema = adapter.json_schema(by_alias=True) if adapter else {"type": "object"}

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def check(data: st.DataObject) -> None:
        body = example(schema, schema.get("$defs", {}), data.draw)
        if data.draw(st.booleans()):
            body = mutated(body, data.draw)
        try:
            response = client.post(f"/v1/{name}", json=body)
        except UnicodeEncodeError:
            return
        assert response.status_code in (200, 204, 400, 403, 404, 409, 413), (body, response.text)
        if response.status_code >= 400:
            assert set(response.json()) - {"issues"} == {"_tag", "message"}
        elif operation.response is not None:
            model: Any = operation.response
            TypeAdapter(model).validate_python(response.json())

    check()
