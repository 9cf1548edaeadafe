"""The application: a handler for each route, and the middleware around them."""

import asyncio
import socket
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi import Path as PathParameter
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from pydantic_core import to_json
from starlette.types import ASGIApp, Receive, Scope, Send

from fansrec import __version__
from fansrec.serving.continue_route import ContinueRoute
from fansrec.serving.events.route import add_events
from fansrec.serving.http import routes
from fansrec.serving.http.error_handlers import ERROR_HANDLERS
from fansrec.serving.http.hosts import Hosts
from fansrec.serving.http.middleware import ServiceMiddleware
from fansrec.serving.http.problems import Problem
from fansrec.serving.http.routes import is_continue
from fansrec.serving.json_requests import JSON
from fansrec.serving.processes.deployment_manager import Busy, NothingToRollBackTo
from fansrec.serving.registration import json_body, path_with_id, register, replies
from fansrec.serving.requests import (
    MAX_ID_LENGTH,
    ContinueAnswer,
    FoundItems,
    Health,
    ModelChange,
    ServedModels,
    SimilarItems,
)
from fansrec.serving.service import Service
from fansrec.serving.settings import Settings
from fansrec.serving.similar_route import similar_items
from fansrec.serving.waiting import TIMEOUT_HEADER
from fansrec.serving.writes.route import add_writes

PAGE_FOLDER = Path(__file__).parent / "page"
REVALIDATE = {"Cache-Control": "no-cache"}  # after an upgrade no browser may use files of the old page


def build_app(service: Service) -> ServiceMiddleware:
    """Return the whole application, which any ASGI server can run."""

    def refuse(scope: Scope) -> Problem | None:
        """Refuse requests at overload before anything of them is read."""
        return service.dispatcher.load.refusal() if is_continue(scope["path"], scope["method"]) else None

    settings = service.settings
    return ServiceMiddleware(
        build_routes(service),
        observe=service.metrics.observe_request,
        refuse=refuse,
        keys=service.keys,
        hosts=_hosts(settings),
        allow_origins=settings.allow_origins,
    )


def _hosts(settings: Settings) -> Hosts | None:
    """Return the names to answer to; None for any, if the service has keys and no `allowed_hosts`."""
    if settings.keys is not None and not settings.allowed_hosts:
        return None
    if settings.loopback:
        return Hosts(settings.allowed_hosts)
    return Hosts((*settings.allowed_hosts, settings.host, socket.gethostname()), addresses=True)


def build_routes(service: Service) -> ASGIApp:
    """Return all routes; requests to continue lists go around the framework, which takes longer than a short answer."""
    continue_route = ContinueRoute(service)
    framework = framework_app(service, continue_route)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and is_continue(scope["path"], scope["method"]):
            await continue_route(scope, receive, send)
        else:
            await framework(scope, receive, send)

    return app


def framework_app(service: Service, continue_route: ContinueRoute) -> FastAPI:
    """Return the application of the framework, which describes all routes and answers those that are not fast."""
    app = FastAPI(
        title="fansrec",
        summary="List continuation: the first part of a list in, the rest out.",
        version=__version__,
        openapi_url=routes.OPENAPI.path,
        docs_url=None,  # the usual page loads scripts from other sites; ours is page/docs
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers=ERROR_HANDLERS,
    )
    _add_continue(app, continue_route)
    _add_models(app, service)
    _add_items(app, service)
    _add_similar(app, service)
    add_events(app, service)
    add_writes(app, service)
    _add_monitoring(app, service)
    _add_page(app)
    return app


def _add_continue(app: FastAPI, continue_route: ContinueRoute) -> None:
    body = json_body(continue_route.request_type)

    @register(
        app,
        routes.CONTINUE,
        summary="Continue one or more lists",
        openapi_extra={"requestBody": body, "parameters": [TIMEOUT_HEADER]},
        responses=replies(ContinueAnswer, 400, 404, 408, 413, 415, 422, 429, 503, 504),
    )
    async def continue_lists(request: Request) -> Response:
        return Response(await continue_route.answer(request.scope, request.receive), media_type=JSON)


def _add_models(app: FastAPI, service: Service) -> None:
    @register(app, routes.MODELS, summary="List the models and the limits", responses=replies(ServedModels))
    async def models() -> Response:
        return Response(to_json(service.describe()), media_type=JSON)

    refusals = replies(ModelChange, 401, 403, 409, 422)

    @register(app, routes.RELOAD, summary="Read the model folders again", responses=refusals)
    async def reload() -> JSONResponse:
        return JSONResponse(await change(service.deployments.reload()))

    @register(app, routes.ROLLBACK, summary="Return to the previous models", responses=refusals)
    async def rollback() -> JSONResponse:
        return JSONResponse(await change(service.deployments.roll_back()))

    async def change(work: Any) -> dict[str, Any]:
        try:
            changed = await asyncio.shield(asyncio.ensure_future(work))  # it continues if the client disconnects
        except Busy as error:
            kind = "nothing-to-roll-back-to" if isinstance(error, NothingToRollBackTo) else "busy"
            raise Problem(409, kind, str(error)) from error
        return {"models": [{"name": m["name"], "hash": m["hash"]} for m in service.models], "changed": changed}


def _add_items(app: FastAPI, service: Service) -> None:
    @register(app, routes.ITEMS, summary="Find items by name or by id", responses=replies(FoundItems, 404, 422, 503))
    async def items(
        search: Annotated[str | None, Query(max_length=200, description="Part of a name, possibly misspelled")] = None,
        id: Annotated[list[str] | None, Query(max_length=500, description="Exact ids")] = None,
        limit: Annotated[int, Query(ge=1, le=100)] = 10,
        model: Annotated[str | None, Query(max_length=64)] = None,
        category: Annotated[str | None, Query(max_length=4096, description="Find only items of this category")] = None,
    ) -> Response:
        if (search is None) == (id is None):
            raise Problem(422, "invalid-request", "Give either `search` or one or more `id`.")
        if category is not None and search is None:
            raise Problem(422, "invalid-request", "`category` limits a search; give it with `search`.")
        served = service.model_named(model)
        found = await service.find_items(served, search, id or [], limit, category)
        name = {"name": served["name"], "hash": served["hash"]}
        return Response(to_json({"model": name, "items": found}), media_type=JSON)


def _add_similar(app: FastAPI, service: Service) -> None:
    @app.get(
        path_with_id(routes.SIMILAR),
        summary="Find the items that are similar to one",
        openapi_extra={"parameters": [TIMEOUT_HEADER]},
        responses=replies(SimilarItems, 400, 404, 422, 429, 503, 504),
    )
    async def similar(
        request: Request,
        id: Annotated[str, PathParameter(max_length=MAX_ID_LENGTH, description="Id, or name that only one item has")],
        k: Annotated[int, Query(ge=1, le=service.settings.max_k, description="Number of items")] = 10,
        model: Annotated[str | None, Query(max_length=64)] = None,
    ) -> Response:
        return Response(await similar_items(service, request.scope, request.receive, id, k, model), media_type=JSON)


def _add_monitoring(app: FastAPI, service: Service) -> None:
    @register(app, routes.LIVE, summary="Whether the process works", responses=replies(Health))
    async def live() -> JSONResponse:
        return JSONResponse({"status": "alive"})

    @register(app, routes.READY, summary="Whether requests are accepted", responses=replies(Health, 503))
    async def ready() -> JSONResponse:
        if not service.ready:
            raise Problem(503, "not-ready", service.not_ready_reason, headers={"Retry-After": "1"})
        return JSONResponse({"status": "ready"})

    @register(app, routes.METRICS, summary="Metrics for Prometheus", response_class=Response)
    async def metrics() -> Response:
        return Response(await service.metrics_text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_page(app: FastAPI) -> None:
    @register(app, routes.PAGE, include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(PAGE_FOLDER / "index.html", headers=REVALIDATE)

    @register(app, routes.DOCS, include_in_schema=False)
    @register(app, routes.DOCS_WITH_SLASH, include_in_schema=False)
    async def docs() -> FileResponse:
        return FileResponse(PAGE_FOLDER / "docs" / "index.html", headers=REVALIDATE)

    app.mount("/static", PageFiles(directory=PAGE_FOLDER), name="static")


class PageFiles(StaticFiles):
    """Files of the page, for which a browser asks each time whether they have changed."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers.update(REVALIDATE)
        return response
