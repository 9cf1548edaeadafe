"""The exceptions of FastAPI become problems, which the middleware answers: `FastAPI(exception_handlers=…)`."""

from typing import Any, NoReturn

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from fansrec.serving.http.problems import Problem, cut, invalid_fields

FRAMEWORK_PROBLEMS = {
    404: ("not-found", "This path does not exist; /openapi.json lists all paths."),
    405: ("wrong-method", "This path takes other methods; the Allow header names them."),
}


async def raise_problem(request: Request, error: Exception) -> NoReturn:
    """Raise the problem for an exception of the framework; those of routes pass as they are."""
    match error:
        case HTTPException():
            kind, detail = FRAMEWORK_PROBLEMS.get(error.status_code, ("refused", cut(str(error.detail))))
            raise Problem(error.status_code, kind, detail, headers=error.headers)
        case RequestValidationError():
            raise invalid_fields(error.errors(), len(error.errors()))
    raise error


# Without a handler of all exceptions the framework would answer them itself.
ERROR_HANDLERS: dict[Any, Any] = dict.fromkeys((HTTPException, RequestValidationError, Exception), raise_problem)
