"""Changes as plain values for JSON: one object for each change, as the log of a service and the API have them."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from fansrec.errors import BadInput
from fansrec.updating.changes import Change, RemoveList, SetItem, SetList

LIST, ITEM, REMOVE = "list", "item", "remove"
KINDS: dict[str, type[SetList] | type[SetItem]] = {LIST: SetList, ITEM: SetItem}


def to_json(change: Change) -> dict[str, Any]:
    """Return a change as an object with one key: list, item or remove; what is None is left out."""
    if isinstance(change, RemoveList):
        return {REMOVE: change.id}
    given = {one.name: getattr(change, one.name) for one in fields(change)}
    values = {name: list(value) if name == "items" else value for name, value in given.items() if value is not None}
    return {LIST if isinstance(change, SetList) else ITEM: values}


def from_json(record: Any) -> Change:
    """Return the change of an object as `to_json` makes it; raise BadInput if it is not one."""
    if not isinstance(record, Mapping) or len(record) != 1 or not {*record} <= {LIST, ITEM, REMOVE}:
        raise BadInput(f"{record!r:.80} is not a change; give an object with the key {LIST}, {ITEM} or {REMOVE}")
    ((key, value),) = record.items()
    if key == REMOVE:
        return RemoveList(_text("the id of a list", value))
    if not isinstance(value, Mapping):
        raise BadInput(f"the {key} of a change is {value!r:.80}; give an object")
    kind = KINDS[key]
    if unknown := sorted(map(str, value.keys() - {one.name for one in fields(kind)})):
        raise BadInput(f"the {key} of a change has the key {unknown[0]!r:.80}, which is not known; leave it out")
    return _list(value) if kind is SetList else _item(value)


def _list(value: Mapping[str, Any]) -> SetList:
    items = value.get("items")
    if not isinstance(items, list | tuple):
        raise BadInput(f"the items of a list are {items!r:.80}; give an array of item ids")
    id_, title = (_optional(f"the {name} of a list", value.get(name)) for name in ("id", "title"))
    return SetList(id_, tuple(_id(f"an item of list {id_!r:.80}", item) for item in items), title)


def _item(value: Mapping[str, Any]) -> SetItem:
    id_ = _id("the id of an item", value.get("id"))
    texts = {
        name: _optional(f"the {name} of item {id_!r:.80}", value.get(name))
        for name in ("name", "group", "category", "date")
    }
    return SetItem(id_, **texts)


def _id(what: str, value: Any) -> str | int:
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise BadInput(f"{what} is {value!r:.80}; give text or a whole number")
    return value


def _optional(what: str, value: Any) -> str | None:
    return None if value is None else _text(what, value)


def _text(what: str, value: Any) -> str:
    if not isinstance(value, str):
        raise BadInput(f"{what} is {value!r:.80}; give text")
    return value
