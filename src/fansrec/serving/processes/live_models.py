"""The models of a model host, and the log whose writes they take: lists and items that clients have written."""

import gc
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fansrec.artifact import Artifact
from fansrec.errors import BadArtifact, BadSetting
from fansrec.serving.processes.loaded_model import LoadedModel
from fansrec.serving.processes.loading import describe, load_models, open_model
from fansrec.serving.search.key import key_of
from fansrec.serving.writes.applying import Updated, read_changes
from fansrec.serving.writes.position import position_of
from fansrec.serving.writes.reader import LogReader
from fansrec.updating.changes import Change
from fansrec.updating.update import check_updatable
from fansrec.vocabulary import Vocabulary


@dataclass
class LiveModel:
    """A model, and the number of the newest write in it."""

    loaded: LoadedModel
    key: str  # of its search index
    base: str  # its hash as it was read from its folder
    updated: Updated
    seq: int | None = None  # None: it does not take writes
    folded: int = 0  # the newest write that it contained when it was read

    def describe(self) -> dict[str, Any]:
        return describe(self.loaded, self.key) | {"base": self.base, "folded": self.folded, "seq": self.seq}

    def apply(self, changes: Sequence[Change]) -> None:
        """Update the model, and open it if there was anything that it could take."""
        before = self.updated.artifact
        self.updated.apply(changes)
        if self.updated.artifact is not before:
            self.updated.artifact = with_vocabulary(self.updated.artifact, before.vocabulary)
            self.loaded = open_model(self.loaded, self.updated.artifact)


class LiveModels:
    """All models of a deployment."""

    def __init__(self, order: dict[str, Any]) -> None:
        loaded = load_models(order["models"], order["device"], order["backend"])
        self._models = {name: _live_model(model) for name, model in loaded.items()}
        self._reader = self._open_log(Path(order["log"])) if order.get("log") else None
        self.version = 0  # increases with each state of the models
        self._check_end(last := order.get("last", 0))
        self.apply(last)

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
        for changes in read_changes(self._reader, last):
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

    def _open_log(self, path: Path) -> LogReader:
        """Return a reader of the writes that at least one of the models lacks."""
        reader = LogReader(path)
        for model in self._models.values():
            if _is_updatable(model.updated.artifact):
                model.seq = model.folded = position_of(model.updated.artifact, reader.id) or 0
        reader.seq = min([model.folded for model in self._live], default=reader.after)
        return reader

    def _check_end(self, last: int) -> None:
        """Raise BadArtifact if a model contains writes that the log does not have: it would ignore the next ones."""
        for model in self._live:
            if model.folded > last:
                raise BadArtifact(
                    f"{model.updated.artifact.folder} contains writes up to number {model.folded}, but the log ends at "
                    f"{last}; restore the newest copy of the log, or move it away to start another one"
                )


def _live_model(model: LoadedModel) -> LiveModel:
    artifact = model.continuer.artifact
    return LiveModel(model, key_of(artifact.folder), artifact.hash, Updated(artifact))


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
