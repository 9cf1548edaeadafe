"""The types of `POST /v1/events`, which are also its OpenAPI description."""

from collections import Counter
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StrictInt, StrictStr, create_model, model_validator
from pydantic_core import to_json

from fansrec.serving.requests import MAX_CLIENT_LENGTH, Item
from fansrec.serving.settings import Settings

MAX_BATCH_LENGTH = 64
CLIENT = "u-81c2"
EXAMPLE: dict[str, Any] = {
    "events": [
        {"type": "shown", "model": "fans", "count": 5, "client": CLIENT},
        {"type": "accepted", "model": "fans", "item": "s0004", "position": 2, "client": CLIENT},
    ]
}


class Event(BaseModel):
    """What a person saw or did."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["shown", "accepted", "skipped", "played"]
    model: StrictStr = Field(max_length=64, description="Name of the model in the answer")
    item: Item | None = Field(None, description="Item that was accepted, skipped or played")
    position: StrictInt | None = Field(None, ge=1, description="Its position in the answer, from 1")
    count: StrictInt | None = Field(None, ge=1, description="Of `shown`: the positions 1 to this one were visible")
    client: StrictStr | None = Field(
        None, min_length=1, max_length=MAX_CLIENT_LENGTH, description="The same key as in POST /v1/continue"
    )
    time: AwareDatetime | None = Field(None, description="When it happened, with a time zone")

    @model_validator(mode="after")
    def _check_fields(self) -> "Event":
        if self.type == "shown":
            if self.count is None or self.item is not None or self.position is not None:
                raise ValueError("`shown` needs `count`, and takes no `item` and no `position`")
        elif self.item is None or self.count is not None:
            raise ValueError(f"`{self.type}` needs `item`, and takes no `count`")
        return self


class SendEvents(BaseModel):
    """Events to store."""

    model_config = ConfigDict(extra="forbid", title="SendEvents", json_schema_extra={"examples": [EXAMPLE]})

    events: list[Event] = Field(description="Events, oldest first")
    batch: StrictStr | None = Field(
        None,
        min_length=1,
        max_length=MAX_BATCH_LENGTH,
        description="Random key of this request: if it is sent again, its events count once",
    )


class EventFields(NamedTuple):
    """A valid request."""

    events: bytes  # as the log has them: a JSON array
    total: int  # number of events
    batch: str | None
    counts: list[tuple[str, str, int]]  # of each type and model


class StoredEvents(BaseModel):
    stored: int = Field(description="Number of events, which are on the disk")


def events_type(limits: Settings) -> type[SendEvents]:
    """Return the request type with the limits of a service."""
    position: Any = Annotated[StrictInt | None, Field(ge=1, le=limits.max_k)]
    fields = Event.model_fields
    event: Any = create_model(
        "Event", __base__=Event, position=(position, fields["position"]), count=(position, fields["count"])
    )
    events: Any = Annotated[list[event], Field(min_length=1, max_length=limits.max_events, fail_fast=True)]
    return create_model("SendEvents", __base__=SendEvents, events=(events, SendEvents.model_fields["events"]))


def parse_events(request_type: type[SendEvents], body: bytes) -> EventFields:
    """Return the request in a body; raise a ValidationError if it is not valid."""
    sent = request_type.model_validate_json(body)
    counts = Counter((event.type, event.model) for event in sent.events)
    events = to_json([event.model_dump(mode="json", exclude_none=True) for event in sent.events])
    return EventFields(events, len(sent.events), sent.batch, [(*key, count) for key, count in counts.items()])
