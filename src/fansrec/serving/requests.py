"""The types of requests and answers, which are also the OpenAPI description of the service."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, create_model

from fansrec.serving.settings import Settings

MAX_ID_LENGTH = 1000
MAX_CLIENT_LENGTH = 200
NOT_RULES = {"lists", "k", "model", "client", "fallback", "explain"}  # fields of a request to continue lists
INT64 = 2**63

Item = Annotated[
    Annotated[StrictStr, Field(max_length=MAX_ID_LENGTH)] | Annotated[StrictInt, Field(ge=-INT64, lt=INT64)],
    Field(union_mode="left_to_right"),
]
Score = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Control = Annotated[float, Field(strict=True, allow_inf_nan=False)]
EXAMPLE: dict[str, Any] = {"lists": [["s0001", "s0007", "s0042"]], "k": 5, "max_per_group": 2}


class ContinueRequest(BaseModel):
    """Lists to continue, and the rules for their continuations."""

    model_config = ConfigDict(extra="forbid", title="ContinueRequest", json_schema_extra={"examples": [EXAMPLE]})

    lists: list[list[Item]] = Field(description="Lists of item ids, or names that only one item has (in any case)")
    k: StrictInt = Field(10, ge=1, description="Number of items for each list")
    model: StrictStr | None = Field(None, max_length=64, description="Name of the model; default: the first one")
    client: StrictStr | None = Field(
        None,
        min_length=1,
        max_length=MAX_CLIENT_LENGTH,
        description="Key of the person or device; where the service has a split, it chooses the model of a request "
        "that names none, always the same one",
    )
    exclude: list[Item] = Field(default_factory=list, description="Items that are never returned")
    allow: list[Item] | None = Field(None, description="Return only these items")
    categories: list[StrictStr] | None = Field(None, description="Return only items of these categories")
    max_per_group: StrictInt | None = Field(
        None, ge=1, lt=INT64, description="Maximum number of items of one group (artist)"
    )
    keep_seen: StrictBool = Field(False, description="Whether items of the list may be returned again")
    min_score: Score | None = Field(None, description="Minimum score of the returned items")
    diversity: Control = Field(0.0, ge=0, le=1, description="How much the items of an answer are to differ")
    popularity: Control = Field(0.0, ge=-1, le=1, description="Below 0 prefers niche items, above 0 popular ones")
    freshness: Control = Field(
        0.0, ge=0, le=1, description="How much items with a late date are preferred; needs dates of items"
    )
    fallback: Literal["none", "popular"] = Field(
        "none", description="What a list of only unknown items gets: nothing, or popular items"
    )
    explain: StrictBool = Field(False, description="Whether each item of the answer gets an explanation")

    @property
    def rules(self) -> dict[str, Any]:
        """The rules that were given; sorted by name, so that equal rules have equal keys in caches."""
        return {name: getattr(self, name) for name in sorted(self.model_fields_set - NOT_RULES)}


def request_type(limits: Settings) -> type[ContinueRequest]:
    """Return the request type with the limits of a service, which clients can read in /openapi.json."""
    # Validation stops at the first bad item: a message for each of a million would take too long.
    bounded = Annotated[list[Item], Field(max_length=limits.max_items, fail_fast=True)]
    rule = Field(max_length=limits.max_rule_items, fail_fast=True)
    not_empty = Field(min_length=1)  # an empty list would allow no item at all
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
        allow=(Annotated[list[Item], rule, not_empty] | None, fields["allow"]),
        categories=(Annotated[list[StrictStr], rule, not_empty] | None, fields["categories"]),
    )


class ModelName(BaseModel):
    name: str
    hash: str = Field(description="SHA-256 of the contents of the model")


class FoundItem(BaseModel):
    item: str | int
    name: str | None
    group: str | None
    category: str


class AnsweredItem(FoundItem):
    score: float


class Reason(BaseModel):
    item: str | int
    name: str | None
    weight: float = Field(description="Its share among the items of the input that speak for the item")


class SimilarList(BaseModel):
    id: str | None
    title: str | None
    similarity: float = Field(description="1: the most similar list that the model remembers")
    shared: int = Field(description="How many items of the input it contains")


class Explanation(BaseModel):
    parts: dict[str, float] = Field(
        description="Shares of network, memory and linear part in the score of the item, which sum to 1; popularity, "
        "or none, where no part adds anything to it"
    )
    because: list[Reason] = Field(description="Items of the input that speak for the item, the strongest first")
    lists: list[SimilarList] = Field(description="Remembered lists that contain the item, the most similar first")


class ContinuedItem(AnsweredItem):
    explanation: Explanation | None = Field(None, description="Why the item is in the answer, only with `explain`")


class ListAnswer(BaseModel):
    positions: list[ContinuedItem]
    unknown: list[Item] = Field(description="Items of the list that the model does not know; they are skipped")
    reason: str | None = Field(description="Why there are fewer than k items or only popular ones, or null")
    fallback: Literal["popular"] | None = Field(
        description="popular: no item of the list is known, and these are popular items"
    )


class ContinueAnswer(BaseModel):
    model: ModelName
    milliseconds: float = Field(description="Time from arrival to answer, including the time in the queue")
    answers: list[ListAnswer] = Field(description="One answer per list, in the order of the request")


class FoundItems(BaseModel):
    model: ModelName
    items: list[FoundItem]


class SimilarItems(BaseModel):
    model: ModelName
    item: FoundItem
    items: list[AnsweredItem] = Field(description="The most similar items; the score is their similarity")
    reason: str | None = Field(description="Why there are fewer than k items, or null")


class Category(BaseModel):
    name: str
    items: int


class ServedModel(ModelName):
    model: str = Field(description="The kind of model, as in `fans train --model`")
    title: str
    recipe: str
    items: int
    categories: list[Category]
    groups: bool = Field(description="Whether items have groups (artists), so that max_per_group works")
    group_name: str | None = Field(description="What a group is, such as artist; null if items have no groups")
    names: bool
    dates: bool = Field(description="Whether items have dates, so that freshness works")
    counts: bool = Field(description="Whether the training lists of items were counted, so that popularity works")
    generation: str = Field(description="one-pass, autoregressive or recall")
    backend: str
    explains: bool = Field(description="Whether answers can be explained")
    longest: int | None = Field(description="Maximum number of items of a list and its continuation together")
    score_scale: Literal["log", "linear"] = Field(
        description="Whether scores are logarithms, or sums of weights or counts from 0"
    )
    catalog: str = Field(description="Equal for models with the same items and categories")
    seq: int | None = Field(description="Number of the newest write in the model; null if it takes no writes")


class Limits(BaseModel):
    lists: int
    items: int
    k: int
    answer_items: int = Field(description="Maximum number of requested items: lists times k")
    rule_items: int
    events: int = Field(description="Maximum number of events in a request")
    changes: int = Field(description="Maximum number of lists or items in a request that writes them")
    body_bytes: int
    timeout_ms: int


class LogState(BaseModel):
    seq: int = Field(description="Number of the newest write")
    log: str = Field(description="Id of the log")
    bytes: int
    limit_bytes: int = Field(description="Size at which writes are refused")


class ServedModels(BaseModel):
    default: str
    models: list[ServedModel]
    split: dict[str, float] | None = Field(
        description="Shares of the models in requests that name no model but have a `client`; null: the default model"
    )
    events: bool = Field(description="Whether POST /v1/events is accepted")
    writes: LogState | None = Field(description="The log of written lists and items; null: writes are not accepted")
    limits: Limits


class ModelChange(BaseModel):
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
