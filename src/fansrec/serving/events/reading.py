"""Reading the events that a service stored, also while it runs."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fansrec.errors import BadInput
from fansrec.serving.events.segments import FOLDER, PATTERN, segment_files
from fansrec.serving.writes.records import parse_line, raw_lines

MAX_BATCHES = 1_000_000  # whose keys are kept: a repetition comes soon after the first attempt

Event = dict[str, Any]


class EventLog:
    """The events in the files of a folder, or in one file; iterating it counts what it came across.

    An incomplete last record belongs to a request that was not acknowledged, or that is being written.
    """

    def __init__(self, path: Path) -> None:
        self._files = [path] if path.is_file() else segment_files(path / FOLDER) or segment_files(path)
        if not self._files:
            raise BadInput(
                f"{path} has no events ({PATTERN}); give the folder of `fans serve --writes FOLDER`, or a copy of it"
            )
        self.first: float | None = None  # when the first and the last events arrived, in seconds since 1970
        self.last: float | None = None
        self.repeated = self.damaged = 0  # requests that were sent again; lines that cannot be read
        self._batches: dict[str, None] = {}

    def __iter__(self) -> Iterator[Event]:
        for file in self._files:
            try:
                yield from self._events_of(file)
            except FileNotFoundError:  # the service has removed its oldest events
                continue

    def summary(self) -> dict[str, Any]:
        """Return what iterating came across, as JSON has it: the period in UTC, and lines that were left out."""
        period = [None if at is None else datetime.fromtimestamp(at, UTC).isoformat() for at in (self.first, self.last)]
        return {"period": period, "repeated_requests": self.repeated, "damaged_lines": self.damaged}

    def _events_of(self, file: Path) -> Iterator[Event]:
        for number, (line, _) in enumerate(raw_lines(file)):
            record = parse_line(line)
            if record is None or (number and not {"received", "events"} <= record.keys()):
                self.damaged += 1
            elif number and not self._is_repeated(record.get("batch")):
                self._note_time(record["received"])
                yield from record["events"]

    def _note_time(self, received: float) -> None:
        self.first = received if self.first is None else min(received, self.first)
        self.last = received if self.last is None else max(received, self.last)

    def _is_repeated(self, batch: str | None) -> bool:
        if batch is None:
            return False
        if batch in self._batches:
            self.repeated += 1
            return True
        self._batches[batch] = None
        if len(self._batches) > MAX_BATCHES:
            self._batches.pop(next(iter(self._batches)))
        return False
