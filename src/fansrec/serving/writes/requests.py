"""The types of the routes that write lists and items, which are also their OpenAPI description."""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, StrictStr, create_model
from pydantic_core import to_json as json_bytes

from fansrec.serving.requests import MAX_ID_LENGTH, Item
from fansrec.serving.settings import Settings
from fansrec.updating.changes import Change, SetItem, SetList
from fansrec.updating.records import to_json

LIST_EXAMPLE: dict[str, Any] = {"lists": [{"id": "p81", "items": ["s0001", "s0007", "s0042"], "title": "morning"}]}
ITEM_EXAMPLE: dict[str, Any] = {
    "items": [{"id": "s9001", "name": "A new song", "group": "artist 3", "category": "c1", "date": "2026-11-01"}]
}
Text = Annotated[StrictStr, Field(max_length=MAX_ID_LENGTH)]


class WrittenList(BaseModel):
    """A list that is added, or replaces the one with the same id."""

    model_config = ConfigDict(extra="forbid")

    id: StrictStr = Field(min_length=1, max_length=MAX_ID_LENGTH, description="Id of the list")
    items: list[Item] = Field(min_length=1, description="Item ids in their order; unknown ones become new items")
    title: Text | None = Field(None, description="Title of the list")

    @property
    def change(self) -> SetList:
        return SetList(self.id, tuple(self.items), self.title)


class WrittenItem(BaseModel):
    """An item that is added, or described again; what is left out stays as it is."""

    model_config = ConfigDict(extra="forbid")

    id: Item = Field(description="Id of the item")
    name: Text | None = Field(None, description="Name of the item")
    group: Text | None = Field(None, description="Its group, such as an artist")
    category: Text | None = Field(None, description="One of the model's categories; of new items only")
    date: Text | None = Field(None, description="Date in ISO 8601, such as 2026-01-31")

    @property
    def change(self) -> SetItem:
        return SetItem(**self.model_dump())


class WriteLists(BaseModel):
    """Lists to add or replace."""

    model_config = ConfigDict(extra="forbid", title="WriteLists", json_schema_extra={"examples": [LIST_EXAMPLE]})

    lists: list[WrittenList] = Field(description="Lists, the oldest first")


class WriteItems(BaseModel):
    """Items to add or describe."""

    model_config = ConfigDict(extra="forbid", title="WriteItems", json_schema_extra={"examples": [ITEM_EXAMPLE]})

    items: list[WrittenItem] = Field(description="Items")


class WriteFields(NamedTuple):
    """A valid request."""

    changes: bytes  # as the log has them: a JSON array
    total: int  # number of changes


class Written(BaseModel):
    seq: int = Field(description="Number of the write, which is on the disk: later writes have higher numbers")


def lists_type(limits: Settings) -> type[WriteLists]:
    """Return the type of `POST /v1/lists` with the limits of a service."""
    items: Any = Annotated[list[Item], Field(min_length=1, max_length=limits.max_items, fail_fast=True)]
    one: Any = create_model("WrittenList", __base__=WrittenList, items=(items, WrittenList.model_fields["items"]))
    lists: Any = Annotated[list[one], Field(min_length=1, max_length=limits.max_changes, fail_fast=True)]
    return create_model("WriteLists", __base__=WriteLists, lists=(lists, WriteLists.model_fields["lists"]))


def items_type(limits: Settings) -> type[WriteItems]:
    """Return the type of `POST /v1/items` with the limits of a service."""
    items: Any = Annotated[list[WrittenItem], Field(min_length=1, max_length=limits.max_changes, fail_fast=True)]
    return create_model("WriteItems", __base__=WriteItems, items=(items, WriteItems.model_fields["items"]))


def parse_lists(request_type: type[WriteLists], body: bytes) -> WriteFields:
    """Return the request in a body of `POST /v1/lists`; raise a ValidationError or BadInput if it is not valid."""
    return fields_of([one.change for one in request_type.model_validate_json(body).lists])


def parse_items(request_type: type[WriteItems], body: bytes) -> WriteFields:
    """Return the request in a body of `POST /v1/items`; raise a ValidationError or BadInput if it is not valid."""
    return fields_of([one.change for one in request_type.model_validate_json(body).items])


def fields_of(changes: Sequence[Change]) -> WriteFields:
    return WriteFields(json_bytes([to_json(change) for change in changes]), len(changes))
