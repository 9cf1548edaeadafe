"""Requests to the service and its responses, all but the sending: how a call is encoded and a response decoded."""

import gzip
import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict
from urllib.parse import quote

from fansrec.api.answers import Answer, FoundItem
from fansrec.client.retries import TEMPORARY, Request, Response, Unavailable
from fansrec.errors import BadArtifact, BadInput, BadSetting, FansError, UnknownItems

MIN_COMPRESSED = 128 * 1024  # bytes; below that, compressing takes longer than sending
LIST_RULES = ("exclude", "allow", "categories")
ERRORS: dict[str, type[FansError]] = {
    "unknown-items": UnknownItems,
    "bad-artifact": BadArtifact,
    "bad-input": BadInput,
    "too-large": BadInput,
}


class NotAllowed(FansError):
    """The service needs a key, or another one."""


class Answers(list[Answer]):
    """One answer per list, with name and hash of the model and the time that the service took.

    Attributes:
        model: Name of the model that answered.
        hash: Hash of its folder.
        milliseconds: Time that the service took.
    """

    def __init__(self, answers: Iterable[Answer], model: str, hash: str, milliseconds: float) -> None:
        super().__init__(answers)
        self.model, self.hash, self.milliseconds = model, hash, milliseconds


class Rules(TypedDict, total=False):
    """Optional parts of a request (docs/reference/serving.md describes each)."""

    model: str | None  # default: the first model of the service, or by `client` the one of its split
    client: str | None  # key of the person or device; equal keys get the same model of a split
    exclude: Iterable[object]
    allow: Iterable[object] | None
    categories: Iterable[str] | None  # only these
    max_per_group: int | None
    keep_seen: bool
    min_score: float | None
    explain: bool  # each position gets an explanation
    diversity: float  # 0 to 1: items that differ
    popularity: float  # -1 to 1: niche or popular items
    freshness: float  # 0 to 1: items with a late date
    fallback: str  # "popular": a list of only unknown items gets popular items


def continue_request(lists: Sequence[Iterable[object]], k: int, rules: Rules) -> Request:
    """Return the request to continue lists; rules that are not given are not sent, so the service's defaults hold."""
    if unknown := rules.keys() - Rules.__annotations__.keys():
        raise BadSetting(f"there is no rule {min(unknown)!r}; the rules are {', '.join(Rules.__annotations__)}")
    content: dict[str, Any] = {"lists": [as_list(items) for items in lists], "k": k, **rules}
    content |= {name: as_list(content[name]) for name in LIST_RULES if content.get(name) is not None}
    return post_request("/v1/continue", content)


def events_request(events: Iterable[Mapping[str, Any]], batch: str | None) -> Request:
    """Return the request to store events; its key makes them count once, however often the request is sent."""
    return post_request("/v1/events", {"events": [*events], "batch": batch or secrets.token_hex(16)})


def post_request(path: str, content: Mapping[str, Any]) -> Request:
    """Return a request with JSON as its body, compressed if it is large."""
    try:
        body = json.dumps(content, default=_to_plain, allow_nan=False, ensure_ascii=False).encode()
    except ValueError as error:
        raise BadInput(f"the request cannot be written as JSON: {error}") from error
    headers = {"Content-Type": "application/json"}
    if len(body) >= MIN_COMPRESSED:
        body, headers["Content-Encoding"] = gzip.compress(body, compresslevel=1, mtime=0), "gzip"
    return Request("POST", path, headers=headers, body=body)


def search_request(text: str, limit: int, model: str | None) -> Request:
    params: dict[str, str | int] = {"search": text, "limit": limit}
    return Request("GET", "/v1/items", params | ({"model": model} if model else {}))


def similar_request(item: object, k: int, model: str | None) -> Request:
    """Return the request for the items that are similar to one."""
    return Request("GET", f"/v1/items/{in_path(item)}/similar", {"k": k} | ({"model": model} if model else {}))


def in_path(id: object) -> str:
    """Return an id as a part of a path; a dot is encoded too, since `..` would go up."""
    return quote(str(id), safe="").replace(".", "%2E")


def parse_similar(response: Response, item: object, alone: bool) -> Answer:
    """Return the similar items as an answer; that of an unknown item is empty, unless it was asked for alone."""
    try:
        value = parse_json(response)
    except UnknownItems as error:
        if alone:
            raise
        return Answer([], [item], str(error))
    try:
        return Answer.from_fields({"positions": value["items"], "unknown": [], "reason": value["reason"]})
    except (KeyError, TypeError) as error:
        raise _not_a_service(response) from error


def parse_answers(response: Response) -> Answers:
    value = parse_json(response)
    try:
        answers = [Answer.from_fields(answer) for answer in value["answers"]]
        return Answers(answers, value["model"]["name"], value["model"]["hash"], value["milliseconds"])
    except (KeyError, TypeError) as error:
        raise _not_a_service(response) from error


def parse_stored(response: Response, name: str = "stored") -> int:
    value = parse_json(response)
    try:
        return int(value[name])
    except (KeyError, TypeError, ValueError) as error:
        raise _not_a_service(response) from error


def parse_items(response: Response) -> list[FoundItem]:
    value = parse_json(response)
    try:
        return [FoundItem(one["item"], one["name"], one["group"], one["category"]) for one in value["items"]]
    except (KeyError, TypeError) as error:
        raise _not_a_service(response) from error


def parse_json(response: Response) -> dict[str, Any]:
    """Return the JSON object of a successful response; raise the error that another response stands for."""
    try:
        value = json.loads(response.body)
    except ValueError:
        value = None
    if response.status != 200:
        raise _error(response, value if isinstance(value, dict) else {})
    if not isinstance(value, dict):
        raise _not_a_service(response)
    return value


def _error(response: Response, problem: dict[str, Any]) -> FansError:
    detail = problem.get("detail") or f"the service answered with status {response.status} and no reason"
    errors, request_id = problem.get("errors"), problem.get("request_id")
    fields = [f"{one.get('where')}: {one.get('what')}" for one in errors or () if isinstance(one, dict)]
    message = " ".join(
        [str(detail), *[f"({field})" for field in fields], *([f"(request {request_id})"] if request_id else [])]
    )
    kind = str(problem.get("type")).rpartition(":")[2]
    if kind in ERRORS:
        return ERRORS[kind](message)
    if response.status in (401, 403):
        return NotAllowed(message)
    refused = 400 <= response.status < 500 and response.status not in TEMPORARY
    return BadSetting(message) if refused else Unavailable(message)


def _not_a_service(response: Response) -> Unavailable:
    size = f"{response.status}, {len(response.body)} bytes"
    return Unavailable(f"the response ({size}) is not from a fansrec service; check the address")


def as_list(items: Iterable[object]) -> list[object]:
    if isinstance(items, str):
        raise BadSetting(f"{items!r} is a string; give a list of items, such as [{items!r}]")
    return [*items]


def _to_plain(value: Any) -> Any:
    """Return numbers of numpy, pandas and polars as Python numbers, and times as text."""
    if isinstance(value, datetime):
        return value.isoformat()
    if hasattr(value, "item"):
        return value.item()
    raise BadInput(f"{value!r} is not an item; give item ids or names: strings or integers")
