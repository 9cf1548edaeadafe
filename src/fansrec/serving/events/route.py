"""`POST /v1/events`: events that are on the disk when they are acknowledged."""

from fastapi import FastAPI, Request
from fastapi.responses import Response
from pydantic_core import to_json

from fansrec.serving.events.requests import EventFields, StoredEvents, events_type
from fansrec.serving.http import routes
from fansrec.serving.http.rate import Rate
from fansrec.serving.json_requests import JSON, read_request
from fansrec.serving.registration import json_body, register, replies
from fansrec.serving.service import Service
from fansrec.serving.validation.parsers import EVENTS
from fansrec.serving.writes.folder import writes_are_off

UNSERVED = "other"  # label of models that are not served, so that clients cannot create labels


def add_events(app: FastAPI, service: Service) -> None:
    settings = service.settings
    request_type = events_type(settings)
    served = {spec.name for spec in settings.models}
    rate = Rate(settings.max_events_per_s, burst=settings.max_events)

    @register(
        app,
        routes.EVENTS,
        summary="Report what people were shown and accepted",
        openapi_extra={"requestBody": json_body(request_type)},
        responses=replies(StoredEvents, 400, 404, 408, 413, 415, 422, 429, 503, 507),
    )
    async def send_events(request: Request) -> Response:
        if service.events is None:
            raise writes_are_off()
        sent: EventFields = await read_request(EVENTS, request.scope, request.receive, service)
        rate.take(sent.total)
        await service.events.store(sent.events, sent.batch)
        for type_, model, count in sent.counts:
            service.metrics.events.labels(type_, model if model in served else UNSERVED).inc(count)
        return Response(to_json({"stored": sent.total}), media_type=JSON)
