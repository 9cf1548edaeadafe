"""The middleware of Ray's proxies, in front of an application whose first replicas die."""

import asyncio
import json
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from fansrec.cluster.serving.retry_middleware import MAX_ATTEMPTS, MAX_BODY_BYTES, RetryMiddleware

Answered = tuple[int, bytes, Any]  # status, body, headers


class Proxied:
    """Ray Serve's proxy: its first answers say that a replica died."""

    def __init__(self, deaths: int, status: int = 500) -> None:
        self.deaths, self.status, self.read, self.headers = deaths, status, list[bytes](), list[dict[bytes, bytes]]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        self.read.append(body)
        self.headers.append(dict(scope["headers"]))
        dies = len(self.read) <= self.deaths
        headers = [(b"content-type", b"text/plain" if dies else b"application/json"), (b"x-request-id", b"one")]
        if not dies:
            headers.append((b"x-request-id", b"two"))
        await send({"type": "http.response.start", "status": self.status if dies else 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"the actor died" if dies else b"answer"})


def post(app: Proxied, path: str = "/v1/continue", body: bytes = b"request", **headers: bytes) -> Answered:
    pieces = [{"type": "http.request", "body": body[:4], "more_body": True}, {"type": "http.request", "body": body[4:]}]
    sent: list[Message] = []

    async def receive() -> Message:
        return pieces.pop(0) if pieces else await asyncio.Future()

    async def send(message: Message) -> None:
        sent.append(message)

    given = [(name.replace("_", "-").encode(), value) for name, value in headers.items()]
    asyncio.run(RetryMiddleware(app)({"type": "http", "path": path, "method": "POST", "headers": given}, receive, send))
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    return sent[0]["status"], sent[1]["body"], sent[0]["headers"]


def test_request_whose_front_died_is_sent_again_with_the_same_body() -> None:
    app = Proxied(deaths=2)
    assert post(app)[:2] == (200, b"answer")
    assert app.read == [b"request"] * 3


def test_client_gets_503_after_the_last_attempt() -> None:
    app = Proxied(deaths=99)
    status, body, headers = post(app)
    assert (status, json.loads(body)["type"], len(app.read)) == (503, "urn:fansrec:no-replica", MAX_ATTEMPTS)
    assert (b"retry-after", b"1") in headers


def test_change_of_models_is_never_sent_twice() -> None:
    app = Proxied(deaths=1)
    assert post(app, "/v1/models/reload")[0] == 503
    assert len(app.read) == 1


def test_other_applications_are_not_affected() -> None:
    app = Proxied(deaths=1)
    assert post(app, "/elsewhere")[:2] == (500, b"the actor died")


def test_body_too_large_to_record_is_sent_once() -> None:
    app = Proxied(deaths=1)
    assert post(app, body=b"x" * (MAX_BODY_BYTES + 1))[0] == 503
    assert len(app.read) == 1


def test_overloaded_proxy_refuses_like_the_service() -> None:
    app = Proxied(deaths=1, status=429)
    status, body, _ = post(app)
    assert (status, json.loads(body)["type"]) == (429, "urn:fansrec:overload")
    assert len(app.read) == 1  # a retry would add to the overload


def test_answer_has_one_request_id() -> None:
    headers = post(Proxied(deaths=0))[2]
    assert [value for name, value in headers if name == b"x-request-id"] == [b"one"]


def test_headers_for_ray_serve_are_removed() -> None:
    app = Proxied(deaths=0)
    post(app, x_request_timeout_seconds=b"0.001", serve_multiplexed_model_id=b"x", x_request_id=b"\xff", accept=b"*/*")
    assert app.headers == [{b"accept": b"*/*", b"x-request-disconnect-disabled": b"?1"}]
