"""The changes of a log, in order, and applied to an artifact in chunks."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fansrec.artifact import Artifact
from fansrec.errors import BadArtifact, BadInput
from fansrec.serving.writes.reader import LogReader
from fansrec.serving.writes.records import Record
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
        chunk += [(record["seq"], change) for change in _changes_of(record)]
        if len(chunk) >= MAX_CHANGES:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _changes_of(record: Record) -> list[Change]:
    """Return the changes of a record; raise BadArtifact if it does not have what a service writes."""
    changes = record.get("changes")
    try:
        if not isinstance(changes, list):
            raise BadInput(f"its changes are {changes!r:.80}, and should be an array")
        return [from_json(change) for change in changes]
    except BadInput as error:
        raise BadArtifact(
            f"record {record['seq']} of the log of writes is not one that fansrec writes: {error}; restore the log "
            "from a copy"
        ) from error


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
