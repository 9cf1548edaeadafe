"""`POST /v1/continue`: validates a request, queues it and waits for its answer. Plain ASGI, since it must be fast."""

import time

from pydantic import ValidationError
from starlette.types import Receive, Scope, Send

from fansrec.serving.http.bodies import declared_length, read_body
from fansrec.serving.http.problems import Problem, invalid_request
from fansrec.serving.processes.jobs import Job
from fansrec.serving.requests import ContinueRequest, request_type
from fansrec.serving.service import Service
from fansrec.serving.waiting import read_timeout, wait_for_answer

JSON = "application/json"


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
        _check_type(scope)
        deadline = since + read_timeout(scope, settings.timeout_ms)
        with dispatcher.load.body_bytes.reserve(declared_length(scope, settings.max_body_bytes)):
            content = await read_body(scope, receive, settings)
        try:
            request: ContinueRequest = self.request_type.model_validate_json(content)
        except ValidationError as error:
            raise invalid_request(error) from None
        self._check_answer_size(request)
        model = self._service.model_for(request.model, request.client)["name"]
        job = Job(
            next(dispatcher.ids), model, request.lists, request.k, request.rules, since, deadline, request.fallback
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
    lists = sum(map(len, request.lists)) + request.k * len(request.lists)
    rules = len(request.exclude) + len(request.allow or ()) + len(request.categories or ())
    return lists + rules // 2


def _check_type(scope: Scope) -> None:
    """Raise a Problem for a request that is not JSON."""
    types = [value for name, value in scope["headers"] if name == b"content-type"]
    if not types or types[0].partition(b";")[0].strip().lower() != JSON.encode():
        # A page of another site can send other types without a preflight request.
        raise Problem(415, "not-json", f"Send the request as JSON, with the header Content-Type: {JSON}.")
