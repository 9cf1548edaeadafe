"""`POST /v1/continue`: validates a request, queues it and waits for its answer. Plain ASGI, since it must be fast."""

import time

from starlette.types import Receive, Scope, Send

from fansrec.serving.continue_request import ContinueFields
from fansrec.serving.json_requests import JSON, check_type, read_request
from fansrec.serving.processes.jobs import CONTINUE, Job
from fansrec.serving.requests import request_type
from fansrec.serving.service import Service
from fansrec.serving.waiting import read_timeout, wait_for_answer


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
        request: ContinueFields = await read_request(CONTINUE, scope, receive, self._service)
        model = self._service.model_for(request.model, request.client)["name"]
        job = continue_job(next(dispatcher.ids), model, request, since, deadline)
        return await wait_for_answer(dispatcher, dispatcher.submit(job, request.cost), receive)


def continue_job(number: int, model: str, request: ContinueFields, since: float, deadline: float) -> Job:
    """Return the job that continues the lists of a request with a model."""
    return Job(
        number,
        model,
        request.lists,
        request.k,
        request.rules,
        since,
        deadline,
        request.fallback,
        request.explain,
    )
