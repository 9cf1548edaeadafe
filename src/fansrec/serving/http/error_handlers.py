"""Handlers that turn the exceptions of FastAPI and of the routes into problems: `FastAPI(exception_handlers=…)`."""

from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from fansrec.errors import FansError
from fansrec.serving.http.bodies import ClientDisconnected
from fansrec.serving.http.problems import Problem, cut, internal_problem, invalid_fields, problem_of

FRAMEWORK_PROBLEMS = {
    404: ("not-found", "This path does not exist; /openapi.json lists all paths."),
    405: ("wrong-method", "This path takes other methods; the Allow header names them."),
}


def error_handlers() -> dict[Any, Any]:
    """Return the handlers; they are coroutines, since the framework would run plain functions in a thread."""

    async def on_problem(request: Request, problem: Problem) -> Response:
        body = problem.body(_request_id(request))
        answer = Response(body, problem.status)
        answer.raw_headers = problem.raw_headers(len(body))
        return answer

    async def on_fans_error(request: Request, error: FansError) -> Response:
        return await on_problem(request, problem_of(error))

    async def on_http_exception(request: Request, error: HTTPException) -> Response:
        kind, detail = FRAMEWORK_PROBLEMS.get(error.status_code, ("refused", cut(str(error.detail))))
        return await on_problem(request, Problem(error.status_code, kind, detail, headers=error.headers))

    async def on_invalid_request(request: Request, error: RequestValidationError) -> Response:
        errors = error.errors()
        return await on_problem(request, invalid_fields(errors, len(errors)))

    async def on_disconnect(request: Request, error: ClientDisconnected) -> Response:
        return Response(status_code=499)  # there is no client to read it

    async def on_exception(request: Request, error: Exception) -> Response:
        return await on_problem(request, internal_problem(_request_id(request)))

    return {
        Problem: on_problem,
        FansError: on_fans_error,
        HTTPException: on_http_exception,
        RequestValidationError: on_invalid_request,
        ClientDisconnected: on_disconnect,
        Exception: on_exception,
    }


def _request_id(request: Request) -> str:
    return str(request.scope.get("state", {}).get("request_id", ""))
