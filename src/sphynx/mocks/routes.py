"""Which endpoint of an API mock a request is for."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import parse_qsl, unquote

from sphynx.mocks.api import Endpoint


class Routes:
    """The endpoints of one API, ready to be asked."""

    __slots__ = ("_routes",)

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        found = [(endpoint.method, endpoint.path.split("/"), endpoint) for endpoint in endpoints]
        # A literal part is meant before a named one: /items/new before /items/:id.
        found.sort(key=lambda route: [part.startswith(":") for part in route[1]])
        self._routes = found

    def find(self, method: str, path: str) -> tuple[Endpoint, dict[str, str]] | None:
        """The endpoint and the values of its named parts."""
        parts = path.split("/")
        for wanted, pattern, endpoint in self._routes:
            if wanted != method or len(pattern) != len(parts):
                continue
            pairs = list(zip(pattern, parts, strict=True))
            if all(there if asked.startswith(":") else asked == unquote(there) for asked, there in pairs):
                return endpoint, {
                    asked[1:]: unquote(there) for asked, there in pairs if asked.startswith(":")
                }
        return None


def query_of(text: str) -> dict[str, str | list[str]]:
    """The values of a query; one that is repeated is a list."""
    found: dict[str, str | list[str]] = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        there = found.get(name)
        if there is None:
            found[name] = value
        elif isinstance(there, list):
            there.append(value)
        else:
            found[name] = [there, value]
    return found
