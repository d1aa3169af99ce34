"""A catalog as an HTTP API."""

from dataclasses import dataclass
from typing import Any

from fixtures.catalog import Item, NotFound, item

from sphynx.mocks.api import api, endpoint


@dataclass
class Params:
    id: str


@dataclass
class GetItem:
    params: Params


def get_item(request: GetItem) -> dict[str, Any]:
    if request.params.id != item.id:
        return {"status": 404, "body": NotFound("Item not found")}
    return {"status": 200, "body": item}


catalog = api(
    name="catalog",
    endpoints=[
        endpoint(
            method="GET",
            path="/items/:id",
            description="get an item by id",
            input_schema=GetItem,
            responses={200: Item, 404: NotFound},
            handler=get_item,
        ),
    ],
)
