"""How the handler of a route is registered with the framework, with its replies for /openapi.json."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.types import DecoratedCallable
from pydantic import BaseModel
from starlette.convertors import Convertor, register_url_convertor

from fansrec.serving.http.routes import Route
from fansrec.serving.json_requests import JSON
from fansrec.serving.requests import ProblemBody


class IdConvertor(Convertor[str]):
    """An id in a path. It has any characters: also slashes and line breaks, which other parameters cannot have."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("id", IdConvertor())


def path_with_id(route: Route) -> str:
    """Return the path of a route for the framework, whose parameter `id` has any characters."""
    return route.path.replace("{id}", "{id:id}")


def register(app: FastAPI, route: Route, **options: Any) -> Callable[[DecoratedCallable], DecoratedCallable]:
    """Return the decorator that registers the handler of a route."""
    return app.api_route(route.path, methods=[*route.methods], **options)


def replies(answer: type[BaseModel], *refusals: int) -> dict[int | str, dict[str, Any]]:
    """Return the replies of a route: its answer, and a problem for each status of a refusal."""
    content: dict[str, Any] = {"application/problem+json": {}}
    problem = {"model": ProblemBody, "content": content}
    described: dict[int | str, dict[str, Any]] = {200: {"model": answer}}
    return described | {status: problem | {"description": HTTPStatus(status).phrase} for status in refusals}


def json_body(request: type[BaseModel]) -> dict[str, Any]:
    """Return the description of a body that a handler reads by itself."""
    return {"required": True, "content": {JSON: {"schema": request.model_json_schema()}}}
