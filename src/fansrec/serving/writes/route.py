"""`POST /v1/lists`, `DELETE /v1/lists/{id}` and `POST /v1/items`: changes that are on the disk when acknowledged."""

from typing import Annotated, Any

from fastapi import FastAPI, Request
from fastapi import Path as PathParameter
from fastapi.responses import Response
from pydantic_core import to_json

from fansrec.serving.http import routes
from fansrec.serving.http.rate import Rate
from fansrec.serving.json_requests import JSON, read_request
from fansrec.serving.registration import json_body, path_with_id, register, replies
from fansrec.serving.requests import MAX_ID_LENGTH
from fansrec.serving.service import Service
from fansrec.serving.validation.parsers import ITEMS, LISTS
from fansrec.serving.writes.folder import no_model_takes_writes, writes_are_off
from fansrec.serving.writes.requests import WriteFields, Written, fields_of, items_type, lists_type
from fansrec.serving.writes.store import WriteStore
from fansrec.updating.changes import RemoveList

REFUSALS = (400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 503, 507)


def add_writes(app: FastAPI, service: Service) -> None:
    """Add the routes that write lists and items."""
    settings = service.settings
    rate = Rate(settings.max_changes_per_s, burst=settings.max_changes)
    list_request, item_request = lists_type(settings), items_type(settings)
    answers = replies(Written, *REFUSALS)

    def described(request_type: Any) -> dict[str, Any]:
        return {"openapi_extra": {"requestBody": json_body(request_type)}, "responses": answers}

    def check() -> WriteStore:
        if service.writes is None:
            raise writes_are_off()
        if not service.takes_writes:
            raise no_model_takes_writes()
        return service.writes

    async def write(kind: str, parser: str, request: Request) -> Response:
        check()
        return await store(kind, await read_request(parser, request.scope, request.receive, service))

    async def store(kind: str, write: WriteFields) -> Response:
        writes = check()
        rate.take(write.total)
        seq = await writes.store(write.changes)
        service.metrics.writes.labels(kind).inc(write.total)
        return Response(to_json({"seq": seq}), media_type=JSON)

    @register(app, routes.LISTS, summary="Add or replace lists", **described(list_request))
    async def write_lists(request: Request) -> Response:
        return await write("list", LISTS, request)

    @register(app, routes.NEW_ITEMS, summary="Add or describe items", **described(item_request))
    async def write_items(request: Request) -> Response:
        return await write("item", ITEMS, request)

    @app.delete(path_with_id(routes.LIST), summary="Remove a list", responses=answers)
    async def remove_list(
        id: Annotated[str, PathParameter(min_length=1, max_length=MAX_ID_LENGTH, description="Id of the list")],
    ) -> Response:
        return await store("remove", fields_of([RemoveList(id)]))
