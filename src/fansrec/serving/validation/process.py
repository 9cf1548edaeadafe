"""The process that validates large bodies, since that would hold the event loop of the front process.

Its first message are the settings of the service. It answers one body after another, and exits when the front process
closes the connection, which is its standard input.
"""

import contextlib
import os
import signal
import socket
import sys
from typing import Any

from pydantic_core import to_json

from fansrec.serving.http.problems import Problem
from fansrec.serving.processes.channel import Message, pack, receive, receive_frame
from fansrec.serving.settings import Settings
from fansrec.serving.validation.parsers import Parser, make_parsers

NICENESS = 5  # as that of workers: the front process comes first


def main() -> None:
    for ignored in (signal.SIGINT, signal.SIGTERM):  # a terminal signals the whole group; only the front decides
        signal.signal(ignored, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    with socket.socket(fileno=sys.stdin.fileno()) as front, contextlib.suppress(BrokenPipeError):
        settings = receive(front)
        if settings is None:
            return
        parsers = make_parsers(Settings.model_validate(settings))
        while (frame := receive_frame(front)) is not None:
            message, body = frame
            front.sendall(pack(*answer(message, parsers[message["parser"]], body)))


def answer(message: Message, parser: Parser, body: bytes) -> tuple[Message, bytes]:
    """Return the fields of a request but the first one, which is large and JSON by itself; or the problem."""
    reply: Message = {"id": message["id"]}
    try:
        large, *fields = parser(body)
    except Problem as problem:
        return reply | {"problem": as_json(problem)}, b""
    return reply | {"fields": fields}, large if isinstance(large, bytes) else to_json(large)


def as_json(problem: Problem) -> dict[str, Any]:
    return {
        "status": problem.status,
        "kind": problem.kind,
        "detail": problem.detail,
        "headers": problem.headers,
        "members": problem.members,
    }


if __name__ == "__main__":
    main()
