"""What FastAPI says where it refuses or fails, in the service's one shape: `FastAPI(exception_handlers=…)`."""

from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from fansrec.errors import FansError
from fansrec.serving.http.bodies import ClientLeft
from fansrec.serving.http.problems import Problem, cut, invalid_fields, our_fault, problem_of

WORDS = {
    404: ("not-found", "There is nothing here; /openapi.json lists all there is."),
    405: ("wrong-method", "This path takes other methods; the Allow header names them."),
}


def problem_handlers() -> dict[Any, Any]:
    """Handlers are coroutines: the framework would send plain functions to a thread."""

    async def told(request: Request, problem: Problem) -> Response:
        body = problem.body(_request_id(request))
        answer = Response(body, problem.status)
        answer.raw_headers = problem.raw_headers(len(body))
        return answer

    async def refused(request: Request, error: FansError) -> Response:
        return await told(request, problem_of(error))

    async def framework(request: Request, error: HTTPException) -> Response:
        kind, words = WORDS.get(error.status_code, ("refused", cut(str(error.detail))))
        return await told(request, Problem(error.status_code, kind, words, headers=error.headers))

    async def unfit(request: Request, error: RequestValidationError) -> Response:
        errors = error.errors()
        return await told(request, invalid_fields(errors, len(errors)))

    async def left(request: Request, error: ClientLeft) -> Response:
        return Response(status_code=499)  # nobody is there to read it

    async def failed(request: Request, error: Exception) -> Response:
        return await told(request, our_fault(_request_id(request)))

    return {
        Problem: told,
        FansError: refused,
        HTTPException: framework,
        RequestValidationError: unfit,
        ClientLeft: left,
        Exception: failed,
    }


def _request_id(request: Request) -> str:
    return str(request.scope.get("state", {}).get("request_id", ""))
