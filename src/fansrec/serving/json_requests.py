"""Reading a request whose body is JSON, within the limits of the service."""

from typing import Any

from starlette.types import Receive, Scope

from fansrec.serving.http.bodies import declared_length, read_body
from fansrec.serving.http.problems import Problem
from fansrec.serving.service import Service
from fansrec.serving.waiting import read_timeout

JSON = "application/json"


def check_type(scope: Scope) -> None:
    """Raise a Problem for a request that is not JSON."""
    types = [value for name, value in scope["headers"] if name == b"content-type"]
    if not types or types[0].partition(b";")[0].strip().lower() != JSON.encode():
        # A page of another site can send other types without a preflight request.
        raise Problem(415, "not-json", f"Send the request as JSON, with the header Content-Type: {JSON}.")


async def read_request(kind: str, scope: Scope, receive: Receive, service: Service) -> Any:
    """Return the fields of a request of a kind in `validation.parsers`; raise a Problem if its body is not valid."""
    check_type(scope)
    settings = service.settings
    with service.dispatcher.load.body_bytes.reserve(declared_length(scope, settings.max_body_bytes)):
        content = await read_body(scope, receive, settings)
    return await service.validator.parse(kind, content, read_timeout(scope, settings.timeout_ms))
