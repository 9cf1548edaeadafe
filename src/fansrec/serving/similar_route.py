"""`GET /v1/items/{id}/similar`: a job for a worker, which holds the item vectors, like a list to continue."""

import time

from starlette.types import Receive, Scope

from fansrec.serving.http.problems import Problem
from fansrec.serving.processes.jobs import SIMILAR, Job
from fansrec.serving.service import Service
from fansrec.serving.waiting import read_timeout, wait_for_answer

ITEMS_PER_TOKEN = 1000  # whose comparison takes about as long as a token of a list
MAX_TOKENS = 1000


async def similar_items(
    service: Service, scope: Scope, receive: Receive, item: str, k: int, model: str | None
) -> bytes:
    """Return the body of the answer; raise a Problem if there is none, of status 404 if no item has that id or name."""
    since = time.monotonic()
    dispatcher, served = service.dispatcher, service.model_named(model)
    deadline = since + read_timeout(scope, service.settings.timeout_ms)
    job = Job(next(dispatcher.ids), served["name"], [[item]], k, {}, since, deadline, kind=SIMILAR)
    try:
        return await wait_for_answer(dispatcher, dispatcher.submit(job, _cost(served["items"], k)), receive)
    except Problem as problem:
        if problem.kind == "unknown-items":
            raise Problem(404, problem.kind, problem.detail) from problem
        raise


def _cost(items: int, k: int) -> int:
    """Return the cost in tokens, so that the expected time in the queue stays right: all items are compared."""
    return 1 + k + min(MAX_TOKENS, items // ITEMS_PER_TOKEN)
