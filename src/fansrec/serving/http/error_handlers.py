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

    async def on_error(request: Request, error: Exception) -> Response:
        request_id = str(request.scope.get("state", {}).get("request_id", ""))
        problem = _problem(error, request_id)
        body = problem.body(request_id)
        answer = Response(body, problem.status)
        answer.raw_headers = problem.raw_headers(len(body))
        return answer

    async def on_disconnect(request: Request, error: ClientDisconnected) -> Response:
        return Response(status_code=499)  # there is no client to read it

    kinds = (Problem, FansError, HTTPException, RequestValidationError, Exception)
    return {ClientDisconnected: on_disconnect, **dict.fromkeys(kinds, on_error)}


def _problem(error: Exception, request_id: str) -> Problem:
    match error:
        case Problem():
            return error
        case FansError():
            return problem_of(error)
        case HTTPException():
            kind, detail = FRAMEWORK_PROBLEMS.get(error.status_code, ("refused", cut(str(error.detail))))
            return Problem(error.status_code, kind, detail, headers=error.headers)
        case RequestValidationError():
            return invalid_fields(error.errors(), len(error.errors()))
    return internal_problem(request_id)
