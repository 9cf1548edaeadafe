"""Asking the service, all but the sending: what a question is as a request, and what a reply means."""

import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from fansrec.api.answers import Answer, Item
from fansrec.client.retrying import PASSING, Call, Reply, Unavailable
from fansrec.errors import BadArtifact, BadInput, BadSetting, FansError, UnknownItems

COMPRESS_FROM = 128 * 1024  # bytes; below that, compressing takes longer than sending
LISTED = ("exclude", "allow", "categories")
KINDS: dict[str, type[FansError]] = {
    "unknown-items": UnknownItems,
    "bad-artifact": BadArtifact,
    "bad-input": BadInput,
    "too-large": BadInput,
}


class NotAllowed(FansError):
    """The service wants a key, or another one."""


@dataclass(frozen=True)
class FoundItem:
    """An item that a search found."""

    item: Item
    name: str | None
    group: str | None
    category: str


class Answers(list[Answer]):
    """One answer a list; and which model gave them, in how much of the service's time."""

    def __init__(self, answers: Iterable[Answer], model: str, hash: str, milliseconds: float) -> None:
        super().__init__(answers)
        self.model, self.hash, self.milliseconds = model, hash, milliseconds


class Rules(TypedDict, total=False):
    """What may be asked beside lists and k; the service knows more of each (docs/reference/serving.md)."""

    model: str | None  # default: the first one served
    exclude: Iterable[object]
    allow: Iterable[object] | None
    categories: Iterable[str] | None  # only these
    max_per_group: int | None
    keep_seen: bool
    min_score: float | None


def continue_call(lists: Sequence[Iterable[object]], k: int, rules: Rules) -> Call:
    """What is not given is not sent, so that the service's own defaults hold."""
    if strange := rules.keys() - Rules.__annotations__.keys():
        raise BadSetting(f"there is no rule {min(strange)!r}; there are {', '.join(Rules.__annotations__)}")
    question: dict[str, Any] = {"lists": [_items_of(items) for items in lists], "k": k, **rules}
    question |= {name: _items_of(question[name]) for name in LISTED if question.get(name) is not None}
    try:
        body = json.dumps(question, default=_plain, allow_nan=False, ensure_ascii=False).encode()
    except ValueError as error:
        raise BadInput(f"the question cannot be written as JSON: {error}") from error
    headers = {"Content-Type": "application/json"}
    if len(body) >= COMPRESS_FROM:
        body, headers["Content-Encoding"] = gzip.compress(body, compresslevel=1, mtime=0), "gzip"
    return Call("POST", "/v1/continue", headers=headers, body=body)


def search_call(text: str, limit: int, model: str | None) -> Call:
    params: dict[str, str | int] = {"search": text, "limit": limit}
    return Call("GET", "/v1/items", params | ({"model": model} if model else {}))


def answers_of(reply: Reply) -> Answers:
    value = value_of(reply)
    try:
        answers = [Answer.from_fields(answer) for answer in value["answers"]]
        return Answers(answers, value["model"]["name"], value["model"]["hash"], value["milliseconds"])
    except (KeyError, TypeError) as error:
        raise _stranger(reply) from error


def found_items(reply: Reply) -> list[FoundItem]:
    value = value_of(reply)
    try:
        return [FoundItem(one["item"], one["name"], one["group"], one["category"]) for one in value["items"]]
    except (KeyError, TypeError) as error:
        raise _stranger(reply) from error


def value_of(reply: Reply) -> dict[str, Any]:
    """What a good reply holds; a bad one is raised as the kind of error it is."""
    value = _object(reply)
    if reply.status != 200:
        raise _error(reply, value or {})
    if value is None:
        raise _stranger(reply)
    return value


def _error(reply: Reply, problem: dict[str, Any]) -> FansError:
    detail = problem.get("detail") or f"the service answered with status {reply.status} and no reason"
    errors, request = problem.get("errors"), problem.get("request_id")
    fields = [f"{one.get('where')}: {one.get('what')}" for one in errors or () if isinstance(one, dict)]
    message = " ".join(
        [str(detail), *[f"({field})" for field in fields], *([f"(request {request})"] if request else [])]
    )
    slug = str(problem.get("type")).rpartition(":")[2]
    if slug in KINDS:
        return KINDS[slug](message)
    if reply.status in (401, 403):
        return NotAllowed(message)
    return BadSetting(message) if 400 <= reply.status < 500 and reply.status not in PASSING else Unavailable(message)


def _stranger(reply: Reply) -> Unavailable:
    return Unavailable(
        f"what answered ({reply.status}, {len(reply.body)} bytes) is no fansrec service; check the address"
    )


def _object(reply: Reply) -> dict[str, Any] | None:
    try:
        value = json.loads(reply.body)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _items_of(items: Iterable[object]) -> list[object]:
    if isinstance(items, str):
        raise BadSetting(f"{items!r} is a text; give a list of items, such as [{items!r}]")
    return [*items]


def _plain(value: Any) -> Any:
    """Numbers of numpy, pandas and polars as Python's own."""
    if hasattr(value, "item"):
        return value.item()
    raise BadInput(f"{value!r} is no item; give item ids or names: texts or whole numbers")
