"""Logs on stderr: one JSON object per line, or text. No line contains a key, nor at info level the items of users."""

import asyncio
import json
import logging
import re
import sys
import time
from collections import Counter
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TextIO

from fansrec.printable import printable, printable_lines
from fansrec.serving.http.log_writers import BackgroundWriter, DirectWriter
from fansrec.serving.http.routes import LIVE, READY
from fansrec.serving.http.tracing import Trace

current_trace: ContextVar[Trace | None] = ContextVar("current_trace", default=None)  # of the request being handled

WINDOW_S = 1.0
HEALTH = (LIVE.path, READY.path)  # requested every few seconds: logged at debug level while all is well
KEY = re.compile(r"fans_[A-Za-z0-9_-]{43}")
ACCESS = logging.getLogger("fansrec.access")
TO_JSON = json.JSONEncoder(default=repr).encode
_refusals: Counter[str] = Counter()
_scheduled: asyncio.AbstractEventLoop | None = None  # the loop that will log them


def setup_logs(format: str, level: str, *, background: bool = True, stream: TextIO | None = None) -> None:
    """Send all logging of this process to `stream`, by default stderr.

    `background`: a thread writes the lines, so that a pipe that is not read cannot block a request. A process that
    forks may not have threads and writes them directly.
    """
    global _writer, _format_line
    _writer = (BackgroundWriter if background else DirectWriter)(stream or sys.stderr)
    _format_line = format_json if format == "json" else format_text
    _writer.setFormatter(LineFormatter())
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
        old.close()
    root.addHandler(_writer)
    root.setLevel(level.upper())


def log_access(
    route: str, method: str, status: int, seconds: float, key: str | None = None, trace: Trace | None = None
) -> None:
    """Log one line for a request: its route as the service names it, never its path or query."""
    level = logging.DEBUG if route in HEALTH and status < 400 else logging.INFO
    if _writer is None or not ACCESS.isEnabledFor(level):
        return
    fields = _trace_fields(trace or current_trace.get())
    fields |= {"method": method, "route": route, "status": status, "milliseconds": round(seconds * 1000, 3)}
    if key is not None:
        fields["key"] = key
    # Without a LogRecord, which would cost more than the rest of the middleware.
    _writer.put(_format_line(time.time(), logging.getLevelName(level).lower(), "request", fields))


def log_refusal(kind: str) -> None:
    """Count a refusal; the counts are logged once a second, since a line for each would add to the overload."""
    global _scheduled
    _refusals[kind] += 1
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # nothing could log it later
        log_refusal_counts()
        return
    if _scheduled is not loop:
        _scheduled = loop
        loop.call_later(WINDOW_S, log_refusal_counts)


def log_refusal_counts() -> None:
    global _scheduled
    _scheduled = None
    for kind, count in _refusals.items():
        ACCESS.warning("refused %d: %s", count, kind, extra={"fields": {"kind": kind, "count": count}})
    _refusals.clear()


class LineFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = _trace_fields(current_trace.get())
        fields["logger"] = record.name
        fields |= getattr(record, "fields", {})
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return _format_line(record.created, record.levelname.lower(), record.getMessage(), fields)


def format_json(when: float, level: str, message: str, fields: dict[str, Any]) -> str:
    return KEY.sub("fans_…", TO_JSON({"time": _format_time(when), "level": level, "message": message, **fields}))


def format_text(when: float, level: str, message: str, fields: dict[str, Any]) -> str:
    exception = fields.pop("exception", None)
    pairs = "".join(f" {name}={_format_value(value)}" for name, value in fields.items())
    line = f"{_format_time(when)} {level} {printable(message)}{pairs}"
    return KEY.sub("fans_…", f"{line}\n  {printable_lines(exception)}" if exception else line)


def _format_time(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _format_value(value: Any) -> str:
    text = str(value)
    return text if text.isprintable() and " " not in text and text else json.dumps(text)


def _trace_fields(trace: Trace | None) -> dict[str, Any]:
    return {} if trace is None else {"request_id": trace.request_id, "trace_id": trace.trace_id}


_writer: BackgroundWriter | DirectWriter | None = None
_format_line = format_json
