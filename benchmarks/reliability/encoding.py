"""Encode requests as bytes before anything is measured."""

import json
from collections.abc import Mapping
from typing import Any

CONTINUE = "/v1/continue"


def encoded(
    path: str = CONTINUE,
    body: Any = None,
    method: str | None = None,
    headers: Mapping[str, str] | None = None,
    host: str = "127.0.0.1",
) -> bytes:
    """Return an HTTP request; a body that is not bytes is encoded as JSON."""
    content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    fields = {"Host": host}
    if body is not None:
        fields |= {"Content-Type": "application/json", "Content-Length": str(len(content))}
    elif method == "POST":
        fields |= {"Content-Length": "0"}
    fields |= headers or {}
    head = f"{method or ('GET' if body is None else 'POST')} {path} HTTP/1.1\r\n"
    return (head + "".join(f"{name}: {value}\r\n" for name, value in fields.items()) + "\r\n").encode() + content
