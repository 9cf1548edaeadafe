import json

import pytest

from fansrec.serving.http.problems import Problem
from fansrec.serving.http.refusals import is_complete_request, overload_bytes

LINE = b"POST /v1/continue HTTP/1.1\r\n"


def request(*headers: bytes, body: bytes = b"{}", length: bytes | None = None) -> bytes:
    length = b"%d" % len(body) if length is None else length
    return LINE + b"".join(h + b"\r\n" for h in (b"Host: x", *headers, b"Content-Length: " + length)) + b"\r\n" + body


@pytest.mark.parametrize(
    "data",
    [
        request(),
        request(body=b""),
        request(b"Connection: keep-alive", b"Content-Type: application/json"),
        request(b"X: a\r\nY:b", body=b"\r\n\r\n" * 9),
    ],
)
def test_plain_request_is_recognized(data: bytes) -> None:
    assert is_complete_request(data, LINE)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        LINE,
        request()[:-1],
        request() + b"P",
        request() + request(),
        request().replace(b"/v1/continue", b"/v1/continued"),
        request().replace(b"POST", b"GET"),
        request().replace(b"1.1", b"1.0"),
        request(length=b"-2"),
        request(length=b"2, 2"),
        request(length=b"0x2"),
        request(length=b"999999999"),
        request(b"Content-Length: 2"),
        request(b"content-length : 5"),
        request(b"Transfer-Encoding: chunked"),
        request(b"Expect: 100-continue"),
        request(b"Connection: close"),
        request(b"Connection: keep-alive, Upgrade"),
        request(b"Upgrade: h2c"),
        request(b"traceparent: 00-1-2-3"),
        request(b"X-Request-Id: mine"),
        request(b"Origin: http://x"),
    ],
)
def test_other_requests_are_parsed(data: bytes) -> None:
    assert not is_complete_request(data, LINE)


def test_refusal_at_overload_is_complete_and_has_a_new_id_each_time() -> None:
    problem = Problem(429, "overload", "too much", retry_after=2)
    first, second = overload_bytes(problem), overload_bytes(problem)
    assert first != second and len(first) == len(second)
    head, body = first.split(b"\r\n\r\n")
    headers = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
    assert head.startswith(b"HTTP/1.1 429 ")
    assert int(headers[b"content-length"]) == len(body)
    assert headers[b"retry-after"] == b"2"
    assert json.loads(body)["request_id"] == headers[b"x-request-id"].decode()
