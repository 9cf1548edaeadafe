"""Reading a request whose body is JSON, within the limits of the service."""

from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.types import Receive, Scope

from fansrec.serving.http.bodies import declared_length, read_body
from fansrec.serving.http.problems import Problem, invalid_request
from fansrec.serving.processes.load_limits import Budget
from fansrec.serving.settings import Settings

R = TypeVar("R", bound=BaseModel)

JSON = "application/json"


def check_type(scope: Scope) -> None:
    """Raise a Problem for a request that is not JSON."""
    types = [value for name, value in scope["headers"] if name == b"content-type"]
    if not types or types[0].partition(b";")[0].strip().lower() != JSON.encode():
        # A page of another site can send other types without a preflight request.
        raise Problem(415, "not-json", f"Send the request as JSON, with the header Content-Type: {JSON}.")


async def read_request(request_type: type[R], scope: Scope, receive: Receive, settings: Settings, memory: Budget) -> R:
    """Return the request in a body; raise a Problem if it is not valid. `memory` limits the bodies being received."""
    check_type(scope)
    with memory.reserve(declared_length(scope, settings.max_body_bytes)):
        content = await read_body(scope, receive, settings)
    try:
        return request_type.model_validate_json(content)
    except ValidationError as error:
        raise invalid_request(error) from None
