"""Handlers that write log lines: at once, or in the background, so that no request waits for the reader of the log."""

import logging
import queue
import time
from contextlib import suppress
from logging.handlers import QueueHandler, QueueListener
from typing import Any, TextIO

MAX_QUEUED = 10_000  # lines; further ones are dropped and counted, since a reader that has gone must not cost memory
INTERVAL_S = 0.05  # lines of this time are written together, so that the thread wakes at most 20 times a second
FLUSH_S = 1.0  # for the last lines when the process ends


class DirectWriter(logging.Handler):
    """Writes each line in the calling thread: for processes that fork, which may not have threads."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream

    def emit(self, record: logging.LogRecord) -> None:
        self.put(_format(self, record))

    def put(self, line: str) -> None:
        _write(self._stream, [line])


class BackgroundWriter(QueueHandler):
    """Formats lines in the calling thread and lets a QueueListener write them; never blocks the caller."""

    def __init__(self, stream: TextIO) -> None:
        self.lines: queue.Queue[str | None] = queue.Queue()
        super().__init__(self.lines)
        self.dropped = 0
        self._listener = LineListener(self, stream)
        self._listener.start()

    def prepare(self, record: logging.LogRecord) -> str:
        return _format(self, record)

    def enqueue(self, line: Any) -> None:
        self.put(line)

    def put(self, line: str) -> None:
        if self.lines.unfinished_tasks >= MAX_QUEUED:  # queued, or being written
            self.dropped += 1
        else:
            self.lines.put_nowait(line)

    def flush(self) -> None:
        """Wait until all lines are written, at most FLUSH_S."""
        deadline = time.monotonic() + FLUSH_S
        while self.lines.unfinished_tasks and time.monotonic() < deadline:
            time.sleep(INTERVAL_S / 10)

    def close(self) -> None:
        self.flush()
        self._listener.enqueue_sentinel()  # not `stop`, which would wait for a reader that has gone
        super().close()


class LineListener(QueueListener):
    """Writes the lines of a BackgroundWriter, all that are there at once, from a thread of its own."""

    def __init__(self, writer: BackgroundWriter, stream: TextIO) -> None:
        super().__init__(writer.lines)
        self._writer, self._lines, self._stream = writer, writer.lines, stream

    def handle(self, line: Any) -> None:
        time.sleep(INTERVAL_S)
        lines = [line, *self._waiting()]
        written = len(lines)
        if dropped := self._writer.dropped:
            self._writer.dropped = 0
            lines.append(f"{dropped} log lines dropped: they were not read fast enough")
        _write(self._stream, lines)
        for _ in range(written - 1):  # only now, since `flush` waits for it; the base class marks the first line
            self._lines.task_done()

    def _waiting(self) -> list[str]:
        lines: list[str] = []
        with suppress(queue.Empty):
            while (line := self._lines.get_nowait()) is not None:  # None is the sentinel
                lines.append(line)
            self._lines.task_done()
            self.enqueue_sentinel()
        return lines


def _format(handler: logging.Handler, record: logging.LogRecord) -> str:
    try:
        return handler.format(record)
    except Exception:  # a line that cannot be formatted must not break the code that logs it
        return f"a log line of {record.name} could not be formatted"


def _write(stream: TextIO, lines: list[str]) -> None:
    with suppress(OSError, ValueError):  # the reader has gone
        stream.write("\n".join(lines) + "\n")
        stream.flush()
