"""The changes of a log, in order, and applied to an artifact in chunks."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fansrec.artifact import Artifact
from fansrec.errors import BadInput
from fansrec.serving.writes.reader import LogReader
from fansrec.updating.changes import Change
from fansrec.updating.records import from_json
from fansrec.updating.update import update

log = logging.getLogger("fansrec.serving")

MAX_CHANGES = 20_000  # that are applied at once, so that a long log does not take much memory

Numbered = tuple[int, Change]  # a change and the number of its write


def read_changes(reader: LogReader, last: int) -> Iterator[list[Numbered]]:
    """Yield the changes that follow, up to the write `last`, in chunks of whole writes."""
    chunk: list[Numbered] = []
    for record in reader.read(last):
        chunk += [(record["seq"], from_json(change)) for change in record["changes"]]
        if len(chunk) >= MAX_CHANGES:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


@dataclass
class Updated:
    """An artifact that takes changes, and those that it cannot take before later ones."""

    artifact: Artifact
    pending: list[Change] = field(default_factory=list)

    def apply(self, changes: Sequence[Change]) -> None:
        """Update the artifact; changes that cannot be applied alone, such as the removal of all lists, are kept."""
        self.pending = [*self.pending, *changes]
        try:
            self.artifact, self.pending = update(self.artifact, self.pending)[0], []
        except BadInput as error:
            log.warning("%d changes wait for later ones: %s", len(self.pending), error)
