import asyncio
import io
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fansrec.serving.http import log_writers, logs
from fansrec.serving.http.logs import current_trace, log_access, log_refusal, setup_logs
from fansrec.serving.http.tracing import trace_of
from serving.service import until

KEY = "fans_" + "aB3-_" * 8 + "xyz"
Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def restore_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers = []
    yield
    root.handlers, root.level = handlers, level
    logs._refusals.clear()


def capture(format: str = "json", level: str = "info", *, background: bool = False) -> io.StringIO:
    stream = io.StringIO()
    setup_logs(format, level, background=background, stream=stream)
    return stream


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_request_is_one_json_line() -> None:
    stream = capture()
    current_trace.set(trace_of(b"r-1", b"00-" + b"a" * 32 + b"-" + b"b" * 16 + b"-01", None))
    log_access("/v1/continue", "POST", 200, 0.00125, key="web")
    current_trace.set(None)
    [line] = lines(stream)
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "info",
        "message": "request",
        "request_id": "r-1",
        "trace_id": "a" * 32,
        "method": "POST",
        "route": "/v1/continue",
        "status": 200,
        "milliseconds": 1.25,
        "key": "web",
    }


def test_request_is_one_text_line() -> None:
    stream = capture("text")
    log_access("other", "GET", 404, 0.001)
    assert stream.getvalue().endswith("info request method=GET route=other status=404 milliseconds=1.0\n")


@pytest.mark.parametrize("format", ["json", "text"])
def test_message_cannot_add_a_line_to_the_log(format: str) -> None:
    stream = capture(format)
    logging.getLogger("x").info("one\nlevel=error two", extra={"fields": {"who": "a\nb c"}})
    assert stream.getvalue().count("\n") == 1


@pytest.mark.parametrize("format", ["json", "text"])
def test_key_is_never_logged(format: str) -> None:
    stream = capture(format)
    logging.getLogger("x").warning("given %s", KEY, extra={"fields": {"given": KEY}})
    try:
        raise ValueError(KEY)
    except ValueError:
        logging.getLogger("x").exception("failed")
    assert KEY not in stream.getvalue() and stream.getvalue().count("fans_…") == 3


def test_exception_is_logged_with_its_traceback() -> None:
    stream = capture()
    try:
        raise ValueError("what happened")
    except ValueError:
        logging.getLogger("x").exception("failed")
    [line] = lines(stream)
    assert line["level"] == "error" and "Traceback" in line["exception"] and "what happened" in line["exception"]


def test_successful_health_checks_are_logged_at_debug_level() -> None:
    stream = capture()
    log_access("/health/ready", "GET", 200, 0.0)
    assert not stream.getvalue()
    log_access("/health/ready", "GET", 503, 0.0)
    assert lines(stream)[0]["status"] == 503
    stream = capture(level="debug")
    log_access("/health/ready", "GET", 200, 0.0)
    assert lines(stream)[0]["status"] == 200


def test_lower_levels_are_not_logged() -> None:
    stream = capture(level="warning")
    log_access("/", "GET", 200, 0.0)
    assert not stream.getvalue()


def test_values_that_cannot_be_formatted_do_not_raise() -> None:
    stream = capture()
    logging.getLogger("x").info("odd %s", "\ud800", extra={"fields": {"thing": object(), "number": float("nan")}})
    logging.getLogger("x").info("%d", "no number")
    assert "odd" in stream.getvalue() and "could not be formatted" in stream.getvalue()


def test_refusals_are_logged_once_a_second_with_their_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "WINDOW_S", 0.05)
    stream = capture()

    async def overload() -> None:
        for _ in range(3):
            for _ in range(500):
                log_refusal("overload")
            log_refusal("bad-http")
            await asyncio.sleep(0.08)

    asyncio.run(overload())
    counts = [(line["kind"], line["count"]) for line in lines(stream)]
    assert counts == [("overload", 500), ("bad-http", 1)] * 3


def test_refusals_are_logged_after_their_event_loop_has_ended() -> None:
    async def once() -> None:
        log_refusal("overload")

    stream = capture()
    asyncio.run(once())  # ends before its line is logged
    log_refusal("overload")
    assert lines(stream)[0]["count"] == 2


def test_background_lines_arrive_in_order() -> None:
    stream = capture(background=True)
    for number in range(1000):
        log_access("/", "GET", 200, number / 1000)
    logging.getLogger().handlers[0].flush()
    assert [line["milliseconds"] for line in lines(stream)] == list(range(1000))


def test_unread_pipe_does_not_block_and_drops_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_writers, "MAX_QUEUED", 2000)
    monkeypatch.setattr(log_writers, "FLUSH_S", 0.1)
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream:
        setup_logs("json", "info", stream=stream)
        for _ in range(5000):  # does not block, though the pipe is not read
            log_access("/", "GET", 200, 0.0)
        handler = logging.getLogger().handlers[0]
        assert isinstance(handler, log_writers.BackgroundWriter)
        assert handler.dropped > 0 and handler.lines.unfinished_tasks <= 2000
        text = _read_until(reading, b"dropped")
        assert b"log lines dropped" in text
        handler.flush()
    os.close(reading)


def _read_until(reading: int, end: bytes) -> bytes:
    text = b""
    while end not in text:
        text += os.read(reading, 65536)
    return text


def test_closed_pipe_is_not_an_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    stream = os.fdopen(writing, "w")
    setup_logs("json", "info", background=False, stream=stream)
    log_access("/", "GET", 200, 0.0)
    with pytest.raises(BrokenPipeError):
        stream.close()


def test_second_setup_leaves_one_handler_and_one_thread() -> None:
    before = threading.active_count()
    capture(background=True)
    capture(background=True)
    assert len(logging.getLogger().handlers) == 1
    assert until(lambda: threading.active_count() <= before + 1)


HOSTILE = "\x1b[31ma\n2026-01-01T00:00:00Z info forged\r\x9b2J\x7f\u202eb\u2028\udcff"


@pytest.mark.parametrize("format", ["json", "text"])
def test_logs_escape_hostile_text_in_messages_fields_and_exceptions(format: str) -> None:
    stream = capture(format)
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        logging.getLogger("x").exception("failed: %s", HOSTILE, extra={"fields": {"item": HOSTILE}})
    written = stream.getvalue()
    assert "\\u202e" in written and "forged" in written
    assert [c for c in written if c != "\n" and not c.isprintable()] == []
    assert not [line for line in written.splitlines() if line.startswith("2026-01-01T00:00:00Z info")]
    written.encode()  # a stream that is a file would refuse a lone surrogate
