"""Requests that write lists and items to a service."""

from collections.abc import Iterable, Mapping
from typing import Any

from fansrec.client.requests import as_list, in_path, parse_stored, post_request
from fansrec.client.retries import Request, Response
from fansrec.errors import BadSetting

Object = Mapping[str, Any]


def lists_request(lists: Iterable[Object]) -> Request:
    """Return the request to add or replace lists; their items may be any iterable of ids."""
    found = [{**one, "items": as_list(one.get("items", ()))} for one in _objects(lists)]
    return post_request("/v1/lists", {"lists": found})


def items_request(items: Iterable[Object]) -> Request:
    """Return the request to add or describe items."""
    return post_request("/v1/items", {"items": _objects(items)})


def remove_request(id: str) -> Request:
    """Return the request to remove a list."""
    if not id:
        raise BadSetting("the id of the list to remove is empty; give the id that it was added with")
    return Request("DELETE", f"/v1/lists/{in_path(id)}")


def parse_written(response: Response) -> int:
    """Return the number of a write."""
    return parse_stored(response, "seq")


def _objects(values: Iterable[Object]) -> list[Object]:
    if isinstance(values, Mapping):
        raise BadSetting("a single object was given; give a list of them, such as [{'id': …}]")
    found = [*values]
    for value in found:
        if not isinstance(value, Mapping) or "id" not in value:
            raise BadSetting(f"{value!r:.80} is not an object with an id; give a dict such as {{'id': 'p81', …}}")
    return found
