"""What stands in Ray's proxies, in front of an application that dies as often as a test wants."""

import asyncio
import json
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from fansrec.cluster.serving.again import MOST_BYTES, MOST_TRIES, Again

Answered = tuple[int, bytes, Any]  # status, body, headers


class Proxied:
    """Serve's proxy: it answers the first times with what it says when a replica died."""

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


def ask(app: Proxied, path: str = "/v1/continue", body: bytes = b"question", **headers: bytes) -> Answered:
    pieces = [{"type": "http.request", "body": body[:4], "more_body": True}, {"type": "http.request", "body": body[4:]}]
    sent: list[Message] = []

    async def receive() -> Message:
        return pieces.pop(0) if pieces else await asyncio.Future()

    async def send(message: Message) -> None:
        sent.append(message)

    given = [(name.replace("_", "-").encode(), value) for name, value in headers.items()]
    asyncio.run(Again(app)({"type": "http", "path": path, "method": "POST", "headers": given}, receive, send))
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    return sent[0]["status"], sent[1]["body"], sent[0]["headers"]


def test_a_request_whose_front_died_is_asked_again_with_the_same_body() -> None:
    app = Proxied(deaths=2)
    assert ask(app)[:2] == (200, b"answer")
    assert app.read == [b"question"] * 3


def test_after_some_tries_the_client_is_told_to_come_back() -> None:
    app = Proxied(deaths=99)
    status, body, headers = ask(app)
    assert (status, json.loads(body)["type"], len(app.read)) == (503, "urn:fansrec:no-replica", MOST_TRIES)
    assert (b"retry-after", b"1") in headers


def test_a_change_of_models_is_never_asked_twice() -> None:
    app = Proxied(deaths=1)
    assert ask(app, "/v1/models/reload")[0] == 503
    assert len(app.read) == 1


def test_other_applications_of_the_cluster_are_left_alone() -> None:
    app = Proxied(deaths=1)
    assert ask(app, "/elsewhere")[:2] == (500, b"the actor died")


def test_a_body_too_large_to_keep_is_sent_once() -> None:
    app = Proxied(deaths=1)
    assert ask(app, body=b"x" * (MOST_BYTES + 1))[0] == 503
    assert len(app.read) == 1


def test_a_proxy_that_is_full_refuses_as_the_service_does() -> None:
    app = Proxied(deaths=1, status=429)
    status, body, _ = ask(app)
    assert (status, json.loads(body)["type"]) == (429, "urn:fansrec:overload")
    assert len(app.read) == 1  # asked again, it would be fuller still


def test_an_answer_has_one_request_id() -> None:
    headers = ask(Proxied(deaths=0))[2]
    assert [value for name, value in headers if name == b"x-request-id"] == [b"one"]


def test_clients_give_serve_no_orders() -> None:
    app = Proxied(deaths=0)
    ask(app, x_request_timeout_seconds=b"0.001", serve_multiplexed_model_id=b"x", x_request_id=b"\xff", accept=b"*/*")
    assert app.headers == [{b"accept": b"*/*", b"x-request-disconnect-disabled": b"?1"}]
