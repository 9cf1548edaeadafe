"""Logs on stderr: one JSON object a line, or text. No line ever has a key, nor at info level what users listed."""

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
from fansrec.serving.http.log_lines import LineWriter
from fansrec.serving.http.tracing import Trace

current: ContextVar[Trace | None] = ContextVar("current", default=None)  # the request that the running code serves

WINDOW_S = 1.0
QUIET = ("/health/live", "/health/ready")  # asked every few seconds by machines: at debug level while all is well
KEY = re.compile(r"fans_[A-Za-z0-9_-]{43}")
ACCESS = logging.getLogger("fansrec.access")
TO_JSON = json.JSONEncoder(default=repr).encode
_refusals: Counter[str] = Counter()
_due: asyncio.AbstractEventLoop | None = None  # on which a line will tell them


def setup_logs(format: str, level: str, *, background: bool = True, stream: TextIO | None = None) -> None:
    """Send all logging of this process to stderr.

    `background`: a thread does the writing, so that a pipe nobody reads holds up no request. A process that forks,
    and so may have no threads, does without.
    """
    global _out, _line
    _out, _line = LineWriter(stream or sys.stderr, background), json_line if format == "json" else text_line
    _out.setFormatter(Lines())
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
        old.close()
    root.addHandler(_out)
    root.setLevel(level.upper())


def access(route: str, method: str, status: int, seconds: float, key: str | None = None) -> None:
    """One line for one request: its route as the service names it, never its path or query."""
    level = logging.DEBUG if route in QUIET and status < 400 else logging.INFO
    if _out is None or not ACCESS.isEnabledFor(level):
        return
    fields = _of_request()
    fields |= {"method": method, "route": route, "status": status, "milliseconds": round(seconds * 1000, 3)}
    if key is not None:
        fields["key"] = key
    # Past the logging module, whose records cost more than all the rest of the way through the gate.
    _out.put(_line(time.time(), logging.getLevelName(level).lower(), "request", fields))


def refused(kind: str) -> None:
    """Count a refusal; once a second a line tells how many there were, since one each would add to the overload."""
    global _due
    _refusals[kind] += 1
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # nothing could tell it later
        tell_refusals()
        return
    if _due is not loop:
        _due = loop
        loop.call_later(WINDOW_S, tell_refusals)


def tell_refusals() -> None:
    global _due
    _due = None
    for kind, count in _refusals.items():
        ACCESS.warning("refused %d: %s", count, kind, extra={"fields": {"kind": kind, "count": count}})
    _refusals.clear()


class Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = _of_request()
        fields["logger"] = record.name
        fields |= getattr(record, "fields", {})
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return _line(record.created, record.levelname.lower(), record.getMessage(), fields)


def json_line(when: float, level: str, message: str, fields: dict[str, Any]) -> str:
    return KEY.sub("fans_…", TO_JSON({"time": _time(when), "level": level, "message": message, **fields}))


def text_line(when: float, level: str, message: str, fields: dict[str, Any]) -> str:
    exception = fields.pop("exception", None)
    shown = "".join(f" {name}={_shown(value)}" for name, value in fields.items())
    line = f"{_time(when)} {level} {printable(message)}{shown}"
    return KEY.sub("fans_…", f"{line}\n  {printable_lines(exception)}" if exception else line)


def _time(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _of_request() -> dict[str, Any]:
    trace = current.get()
    return {} if trace is None else {"request_id": trace.request_id, "trace_id": trace.trace_id}


def _shown(value: Any) -> str:
    text = str(value)
    return text if text.isprintable() and " " not in text and text else json.dumps(text)


_out: LineWriter | None = None
_line = json_line
