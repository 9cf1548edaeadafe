"""The routes: each reads its request, asks the right part, and writes the answer."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel
from pydantic_core import to_json
from starlette.types import ASGIApp, Receive, Scope, Send

from fansrec import __version__
from fansrec.errors import FansError
from fansrec.serving.continuing import CONTINUE, JSON, TIMEOUT_HEADER, Continuing
from fansrec.serving.http.handlers import problem_handlers
from fansrec.serving.http.problems import Problem, problem_of
from fansrec.serving.processes.deployments import Busy
from fansrec.serving.requests import (
    Changed,
    ContinueAnswer,
    FoundItems,
    Health,
    ProblemBody,
    ServedModels,
)
from fansrec.serving.service import Service

STATIC = Path(__file__).parent / "page"
AS_SERVED_NOW = {"Cache-Control": "no-cache"}


def build_app(service: Service) -> ASGIApp:
    """All routes; the one that matters goes round the framework, which takes longer than a short answer."""
    continuing = Continuing(service)
    app = _described(service, continuing)

    async def routed(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == CONTINUE and scope["method"] == "POST":
            await continuing(scope, receive, send)
        else:
            await app(scope, receive, send)

    return routed


def _described(service: Service, continuing: Continuing) -> FastAPI:
    app = FastAPI(
        title="fansrec",
        summary="List continuation: the first part of a list in, the rest out.",
        version=__version__,
        docs_url=None,  # the usual pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers=problem_handlers(),
    )
    _add_continue(app, service, continuing)
    _add_models(app, service)
    _add_items(app, service)
    _add_watching(app, service)
    _add_page(app)
    return app


def _replies(answer: type[BaseModel], *refusals: int) -> dict[int | str, dict[str, Any]]:
    """What a route may reply, for /openapi.json."""
    content: dict[str, Any] = {"application/problem+json": {}}
    problem = {"model": ProblemBody, "description": "What is wrong, and what to do", "content": content}
    return {200: {"model": answer}, **dict.fromkeys(refusals, problem)}


def _add_continue(app: FastAPI, service: Service, continuing: Continuing) -> None:
    body = {"required": True, "content": {JSON: {"schema": continuing.accepted.model_json_schema()}}}

    @app.post(
        CONTINUE,
        summary="Continue one list or many",
        openapi_extra={"requestBody": body, "parameters": [TIMEOUT_HEADER]},
        responses=_replies(ContinueAnswer, 400, 404, 408, 413, 415, 422, 429, 503, 504),
    )
    async def continue_lists(request: Request) -> Response:
        return Response(await continuing.answer(request.scope, request.receive), media_type=JSON)


def _add_models(app: FastAPI, service: Service) -> None:
    @app.get("/v1/models", summary="The models and the limits", responses=_replies(ServedModels))
    async def models() -> Response:
        return Response(to_json(service.models()), media_type=JSON)

    admin = _replies(Changed, 401, 403, 409, 422)

    @app.post("/v1/models/reload", summary="Read the model folders again", responses=admin)
    async def reload() -> JSONResponse:
        return JSONResponse(await _change(service.generations.reload()))

    @app.post("/v1/models/rollback", summary="Return to the models before", responses=admin)
    async def rollback() -> JSONResponse:
        return JSONResponse(await _change(service.generations.roll_back()))

    async def _change(work: Any) -> dict[str, Any]:
        try:
            changed = await asyncio.shield(asyncio.ensure_future(work))  # it goes on if the client leaves
        except Busy as error:
            raise Problem(409, "busy", str(error)) from error
        except FansError as error:
            raise problem_of(error) from error
        return {"models": [{"name": m["name"], "hash": m["hash"]} for m in service.served], "changed": changed}


def _add_items(app: FastAPI, service: Service) -> None:
    @app.get(
        "/v1/items",
        summary="Items by name, or by id",
        responses=_replies(FoundItems, 404, 422, 503),
    )
    async def items(
        search: Annotated[str | None, Query(max_length=200, description="Part of a name, misspelt or not")] = None,
        id: Annotated[list[str] | None, Query(max_length=500, description="Exact ids")] = None,
        limit: Annotated[int, Query(ge=1, le=100)] = 10,
        model: Annotated[str | None, Query(max_length=64)] = None,
    ) -> Response:
        if (search is None) == (id is None):
            raise Problem(422, "invalid-request", "Give either `search` or one or more `id`.")
        served = service.named(model)
        found = await service.found_items(served, search, id or [], limit)
        who = {"name": served["name"], "hash": served["hash"]}
        return Response(to_json({"model": who, "items": found}), media_type=JSON)


def _add_watching(app: FastAPI, service: Service) -> None:
    @app.get("/health/live", summary="Whether the process works", responses=_replies(Health))
    async def live() -> JSONResponse:
        return JSONResponse({"status": "alive"})

    @app.get("/health/ready", summary="Whether requests are taken", responses=_replies(Health, 503))
    async def ready() -> JSONResponse:
        if not service.ready:
            raise Problem(503, "not-ready", service.why_not_ready, headers={"Retry-After": "1"})
        return JSONResponse({"status": "ready"})

    @app.get("/metrics", summary="Counts for Prometheus", response_class=Response)
    async def metrics() -> Response:
        return Response(await service.counts(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_page(app: FastAPI) -> None:
    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(STATIC / "index.html", headers=AS_SERVED_NOW)

    app.mount("/static", PageFiles(directory=STATIC), name="static")


class PageFiles(StaticFiles):
    """A browser asks each time whether a file is still the same: after an upgrade none may be of the old page."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers.update(AS_SERVED_NOW)
        return response
