"""What may be asked and what is answered, as types; they are also the service's OpenAPI description."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, create_model

from fansrec.serving.settings import Settings

DEFAULT_K = 10
LONGEST_ID = 1000
INT64 = 2**63

Item = Annotated[
    Annotated[StrictStr, Field(max_length=LONGEST_ID)] | Annotated[StrictInt, Field(ge=-INT64, lt=INT64)],
    Field(union_mode="left_to_right"),
]
Score = Annotated[float, Field(strict=True, allow_inf_nan=False)]
EXAMPLE: dict[str, Any] = {"lists": [["s0001", "s0007", "s0042"]], "k": 5, "max_per_group": 2}


class ContinueRequest(BaseModel):
    """Lists to continue, and the rules for what they get."""

    model_config = ConfigDict(extra="forbid", title="ContinueRequest", json_schema_extra={"examples": [EXAMPLE]})

    lists: list[list[Item]] = Field(description="Lists of item ids, or names that only one item has")
    k: StrictInt = Field(DEFAULT_K, ge=1, description="How many items each list gets")
    model: StrictStr | None = Field(None, max_length=64, description="Which model answers; the first one unless given")
    exclude: list[Item] = Field(default_factory=list, description="Items never to give")
    allow: list[Item] | None = Field(None, description="Give only these")
    categories: list[StrictStr] | None = Field(None, description="Give only items of these")
    max_per_group: StrictInt | None = Field(None, ge=1, lt=INT64, description="At most so many of one group (artist)")
    keep_seen: StrictBool = Field(False, description="Whether items of the list may come again")
    min_score: Score | None = Field(None, description="Leave out items below this score")


def request_type(limits: Settings) -> type[ContinueRequest]:
    """The request with a service's own limits, which a client can read in /openapi.json."""
    # The first bad item ends the search for others: a message for each of a million would take the service's breath.
    bounded = Annotated[list[Item], Field(max_length=limits.max_items, fail_fast=True)]
    rule = Field(max_length=limits.max_rule_items, fail_fast=True)
    only = Field(min_length=1)  # to give nothing at all needs no service
    fields = ContinueRequest.model_fields
    return create_model(
        "ContinueRequest",
        __base__=ContinueRequest,
        lists=(
            Annotated[list[bounded], Field(min_length=1, max_length=limits.max_lists, fail_fast=True)],
            fields["lists"],
        ),
        k=(Annotated[StrictInt, Field(le=limits.max_k)], fields["k"]),
        exclude=(Annotated[list[Item], rule], fields["exclude"]),
        allow=(Annotated[list[Item], rule, only] | None, fields["allow"]),
        categories=(Annotated[list[StrictStr], rule, only] | None, fields["categories"]),
    )


class ModelName(BaseModel):
    name: str
    hash: str = Field(description="SHA-256 of everything the model is made of")


class FoundItem(BaseModel):
    item: str | int
    name: str | None
    group: str | None
    category: str


class AnsweredItem(FoundItem):
    score: float


class ListAnswer(BaseModel):
    positions: list[AnsweredItem]
    unknown: list[Item] = Field(description="Items of the list that the model does not know; they were skipped")
    reason: str | None = Field(description="Why there are fewer than k items, if there are")


class ContinueAnswer(BaseModel):
    model: ModelName
    milliseconds: float = Field(description="From arrival to answer, waiting included")
    answers: list[ListAnswer] = Field(description="One a list, in the order they were given")


class FoundItems(BaseModel):
    model: ModelName
    items: list[FoundItem]


class Category(BaseModel):
    name: str
    items: int


class ServedModel(ModelName):
    model: str = Field(description="Its kind, as `fans train --model` names it")
    title: str
    recipe: str
    items: int
    categories: list[Category]
    groups: bool = Field(description="Whether items have groups (artists), so that max_per_group works")
    names: bool
    generation: str = Field(description="one-pass, autoregressive or recall")
    backend: str
    longest: int | None = Field(description="Most items of a list and its continuation together")


class Limits(BaseModel):
    lists: int
    items: int
    k: int
    answer_items: int = Field(description="Most items asked for in a request: its lists times k")
    rule_items: int
    body_bytes: int
    timeout_ms: int


class ServedModels(BaseModel):
    default: str
    models: list[ServedModel]
    limits: Limits


class Changed(BaseModel):
    models: list[ModelName]
    changed: list[str]


class Health(BaseModel):
    status: str


class ProblemBody(BaseModel):
    """RFC 9457."""

    model_config = ConfigDict(title="Problem", extra="allow")
    type: str
    title: str
    status: int
    detail: str
    request_id: str
