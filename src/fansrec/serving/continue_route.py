"""`POST /v1/continue`: validates a request, queues it and waits for its answer. Plain ASGI, since it must be fast."""

import time

from starlette.types import Receive, Scope, Send

from fansrec.serving.http.problems import Problem
from fansrec.serving.json_requests import JSON, check_type, read_request
from fansrec.serving.processes.jobs import Job
from fansrec.serving.requests import ContinueRequest, request_type
from fansrec.serving.service import Service
from fansrec.serving.waiting import read_timeout, wait_for_answer

# Cost of an answer with explanations, in answers without: a constant, and one for each input item that may be removed
# to see whether scores fall, of which there are at most as many as items in the answer. CPU time of one list in the
# hybrid model (12,000 and 60,000 items, random weights): 4 to 24 answers for k = 10 and 1 to 100 input items, 12 to 29
# for 20 input items and k = 50 or more, 45 to 51 for 50 and k = 50, 59 for 100 and k = 100, 77 to 86 for more of both.
EXPLAINED_COST = 4
MAX_REMOVED = 80


class ContinueRoute:
    def __init__(self, service: Service) -> None:
        self._service = service
        self.request_type = request_type(service.settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await self.answer(scope, receive)
        headers = [(b"content-type", JSON.encode()), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def answer(self, scope: Scope, receive: Receive) -> bytes:
        """Return the body of the answer; raise a Problem if there is none."""
        since = time.monotonic()
        settings, dispatcher = self._service.settings, self._service.dispatcher
        check_type(scope)
        deadline = since + read_timeout(scope, settings.timeout_ms)
        request = await read_request(self.request_type, scope, receive, settings, dispatcher.load.body_bytes)
        self._check_answer_size(request)
        model = self._service.model_for(request.model, request.client)["name"]
        job = Job(
            next(dispatcher.ids),
            model,
            request.lists,
            request.k,
            request.rules,
            since,
            deadline,
            request.fallback,
            request.explain,
        )
        return await wait_for_answer(dispatcher, dispatcher.submit(job, _cost(request)), receive)

    def _check_answer_size(self, request: ContinueRequest) -> None:
        """Refuse requests whose answer is much larger than the request: many short lists and a large k."""
        limit, count = self._service.settings.max_answer_items, len(request.lists) * request.k
        if count > limit:
            lists = f"{len(request.lists)} lists times k = {request.k}"
            raise Problem(
                422, "answer-too-large", f"{lists} are {count} items, more than {limit}; split it.", limit=limit
            )


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
