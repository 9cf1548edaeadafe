"""Parsing `POST /v1/continue`: what the service needs to know of a request before a worker gets it."""

from typing import Any, NamedTuple

from fansrec.serving.http.problems import Problem
from fansrec.serving.requests import ContinueRequest

# Cost of an answer with explanations, in answers without: a constant, and one for each input item that may be removed
# to see whether scores fall, of which there are at most as many as items in the answer. CPU time of one list in the
# hybrid model (12,000 and 60,000 items, random weights): 4 to 24 answers for k = 10 and 1 to 100 input items, 12 to 29
# for 20 input items and k = 50 or more, 45 to 51 for 50 and k = 50, 59 for 100 and k = 100, 77 to 86 for more of both.
EXPLAINED_COST = 4
MAX_REMOVED = 80


class ContinueFields(NamedTuple):
    """A valid request."""

    lists: Any  # list[list[str | int]], or bytes of JSON
    cost: int  # in tokens
    k: int
    rules: dict[str, Any]
    model: str | None
    client: str | None
    fallback: str
    explain: bool


def parse_continue(request_type: type[ContinueRequest], max_answer_items: int, body: bytes) -> ContinueFields:
    """Return the request in a body; raise a ValidationError or a Problem if it is not valid."""
    request = request_type.model_validate_json(body)
    _check_answer_size(request, max_answer_items)
    return ContinueFields(
        request.lists,
        _cost(request),
        request.k,
        request.rules,
        request.model,
        request.client,
        request.fallback,
        request.explain,
    )


def _check_answer_size(request: ContinueRequest, limit: int) -> None:
    """Refuse requests whose answer is much larger than the request: many short lists and a large k."""
    count = len(request.lists) * request.k
    if count > limit:
        lists = f"{len(request.lists)} lists times k = {request.k}"
        raise Problem(422, "answer-too-large", f"{lists} are {count} items, more than {limit}; split it.", limit=limit)


def _cost(request: ContinueRequest) -> int:
    """Return the cost in tokens: items given and requested; an item of a rule costs about half as much."""
    lists = sum(map(len, request.lists)) + len(request.lists) * request.k
    if request.explain:
        explained = min(request.k, len(request.allow or ()) or request.k)
        lists = sum((len(given) + request.k) * _answers(len(given), explained) for given in request.lists)
    rules = len(request.exclude) + len(request.allow or ()) + len(request.categories or ())
    return lists + rules // 2


def _answers(given: int, explained: int) -> int:
    """Return how many answers without explanations take as long as one with `explained` explanations."""
    return EXPLAINED_COST + min(given, explained, MAX_REMOVED)
