"""Writing log lines without making a request wait for whoever reads them."""

import logging
import threading
import time
from collections import deque
from typing import TextIO

MOST_WAITING = 10_000  # lines; more are dropped and counted, since memory is not for a reader that has gone
GATHERING_S = 0.05  # lines of this long are written together: the thread wakes 20 times a second at most
PATIENCE_S = 1.0  # for the last lines when the process ends


class LineWriter(logging.Handler):
    def __init__(self, stream: TextIO, background: bool) -> None:
        super().__init__()
        self.stream = stream
        self.waiting: deque[str] = deque()
        self.dropped = 0
        self._wake = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._write_on, name="log", daemon=True) if background else None
        if self._thread is not None:
            self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record)
        except Exception:  # a line that cannot be made must not break what wanted to tell it
            line = f"a log line of {record.name} could not be made"
        self.put(line)

    def put(self, line: str) -> None:
        if self._thread is None:
            self._write([line])
        elif len(self.waiting) >= MOST_WAITING:
            self.dropped += 1
        else:
            self.waiting.append(line)
            self._wake.set()

    def flush(self) -> None:
        """Wait for what is waiting, but not for ever."""
        deadline = time.monotonic() + PATIENCE_S
        while self._thread is not None and self.waiting and time.monotonic() < deadline:
            time.sleep(GATHERING_S / 10)

    def close(self) -> None:
        self.flush()
        self._closed = True
        self._wake.set()
        super().close()

    def _write_on(self) -> None:
        while not self._closed:
            self._wake.wait()
            self._wake.clear()
            time.sleep(GATHERING_S)
            self._write_waiting()

    def _write_waiting(self) -> None:
        lines = list(self.waiting)
        count = len(lines)
        if self.dropped:
            lines.append(f"{self.dropped} log lines dropped: they were not read fast enough")
            self.dropped = 0
        if lines:
            self._write(lines)
        for _ in range(count):  # only now: `flush` waits until none is left
            self.waiting.popleft()

    def _write(self, lines: list[str]) -> None:
        try:
            self.stream.write("\n".join(lines) + "\n")
            self.stream.flush()
        except (OSError, ValueError):  # nobody reads any more
            pass
