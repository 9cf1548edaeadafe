"""The models of a model host, and the log whose writes they take: lists and items that clients have written."""

import gc
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fansrec.artifact import Artifact
from fansrec.errors import BadInput, BadSetting
from fansrec.serving.processes.loaded_model import LoadedModel
from fansrec.serving.processes.loading import describe, load_models, open_model
from fansrec.serving.search.key import key_of
from fansrec.serving.writes.reader import LogReader
from fansrec.updating.changes import Change
from fansrec.updating.records import from_json
from fansrec.updating.update import check_updatable, update
from fansrec.vocabulary import Vocabulary

log = logging.getLogger("fansrec.serving")

POSITION = "writes"  # section of config.json: the log and the number of its newest write that an artifact contains
MAX_CHANGES = 20_000  # that are applied at once, so that a long log does not take much memory


@dataclass
class LiveModel:
    """A model, and the number of the newest write in it."""

    loaded: LoadedModel
    key: str  # of its search index
    base: str  # its hash as it was read from its folder
    seq: int | None = None  # None: it does not take writes
    pending: list[Change] = field(default_factory=list)  # changes that cannot be applied before later ones

    def describe(self) -> dict[str, Any]:
        return describe(self.loaded, self.key) | {"base": self.base, "seq": self.seq}

    def apply(self, changes: Sequence[Change]) -> None:
        artifact, pending = self.loaded.continuer.artifact, [*self.pending, *changes]
        try:
            updated, _ = update(artifact, pending)
        except BadInput as error:  # such as the removal of all lists
            log.warning("%s does not take %d changes yet: %s", self.loaded.name, len(pending), error)
            self.pending = pending
            return
        self.loaded, self.pending = open_model(self.loaded, with_vocabulary(updated, artifact.vocabulary)), []


class LiveModels:
    """All models of a deployment."""

    def __init__(self, order: dict[str, Any]) -> None:
        loaded = load_models(order["models"], order["device"], order["backend"])
        self._models = {name: _live_model(model) for name, model in loaded.items()}
        self._reader = self._open_log(Path(order["log"])) if order.get("log") else None
        self.version = 0  # increases with each state of the models
        self.apply(order.get("last", 0))

    @property
    def loaded(self) -> dict[str, LoadedModel]:
        return {name: model.loaded for name, model in self._models.items()}

    def describe(self) -> dict[str, Any]:
        """Return the message for the front about the models."""
        return {"version": self.version, "models": [model.describe() for model in self._models.values()]}

    def apply(self, last: int) -> None:
        """Apply the writes up to number `last` to all models that take writes."""
        if self._reader is None or (last <= self._reader.seq and self.version):
            return
        for changes in _in_chunks(self._read(self._reader, last)):
            for model in self._live:
                new = [change for seq, change in changes if seq > (model.seq or 0)]
                if new:
                    model.apply(new)
        for model in self._live:
            model.seq = max(model.seq or 0, self._reader.seq)
        self.version += 1
        gc.unfreeze()
        gc.collect()
        gc.freeze()  # memory that the collector does not touch stays shared with the workers

    @property
    def _live(self) -> list[LiveModel]:
        return [model for model in self._models.values() if model.seq is not None]

    def _read(self, reader: LogReader, last: int) -> Iterator[tuple[int, Change]]:
        for record in reader.read(last):
            for change in record["changes"]:
                yield record["seq"], from_json(change)

    def _open_log(self, path: Path) -> LogReader:
        """Return a reader of the writes that at least one of the models lacks."""
        reader = LogReader(path)
        for model in self._models.values():
            if _is_updatable(model.loaded.continuer.artifact):
                model.seq = self._position(model, reader)
        reader.seq = min([model.seq or 0 for model in self._live], default=reader.after)
        return reader

    def _position(self, model: LiveModel, reader: LogReader) -> int:
        artifact = model.loaded.continuer.artifact
        position = artifact.config.get(POSITION)
        if isinstance(position, dict) and position.get("log") == reader.id and type(position.get("seq")) is int:
            return int(position["seq"])
        if reader.after:
            message = "%s does not say which writes it contains; those up to %d were removed from the log"
            log.warning(message, artifact.folder, reader.after)
        return reader.after


def _live_model(model: LoadedModel) -> LiveModel:
    artifact = model.continuer.artifact
    return LiveModel(model, key_of(artifact.folder), artifact.hash)


def with_vocabulary(updated: Artifact, before: Vocabulary) -> Artifact:
    """Return the artifact with the vocabulary from before if it has the same items, since that has its lookups."""
    after = updated.vocabulary
    same = all(getattr(before, name) == getattr(after, name) for name in ("names", "groups", "dates", "integer_ids"))
    same = same and before.ids == after.ids and before.starts.tolist() == after.starts.tolist()
    return replace(updated, vocabulary=before) if same else updated


def _is_updatable(artifact: Artifact) -> bool:
    try:
        check_updatable(artifact)
    except BadSetting:
        return False
    return True


def _in_chunks(changes: Iterator[tuple[int, Change]]) -> Iterator[list[tuple[int, Change]]]:
    """Yield the changes in order, at most MAX_CHANGES at once."""
    chunk: list[tuple[int, Change]] = []
    for change in changes:
        chunk.append(change)
        if len(chunk) >= MAX_CHANGES:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
