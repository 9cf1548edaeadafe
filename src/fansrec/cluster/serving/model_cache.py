"""The models in the memory of a replica: the current ones, the previous ones, and those that are prepared."""

import json
from typing import Any

from fansrec.cluster.serving.config import Specs, pin
from fansrec.errors import BadArtifact, BadSetting
from fansrec.serving.processes.loaded_model import LoadedModel
from fansrec.serving.processes.loading import describe, load_models


class ModelCache:
    def __init__(self, device: str, backend: str) -> None:
        self._device, self._backend = device, backend
        self._loaded: dict[str, dict[str, LoadedModel]] = {}
        self._current: Specs = []
        self._previous: Specs = []

    def load(self, specs: Specs) -> list[dict[str, Any]]:
        """Read models beside those that serve, unless they are in memory; return their descriptions."""
        models = self._loaded.get(_key(specs)) or self._read(specs)
        described = [describe(model) for model in models.values()]
        _refuse_overwritten(specs, described)
        self._loaded = self._loaded | {_key(pin(specs, described)): models}  # another thread may be iterating over it
        return described

    def serve(self, current: Specs, previous: Specs) -> None:
        """Answer with `current` from now on; of all others only `previous` stays in memory, to return to."""
        if _key(current) not in self._loaded:
            # If a folder was overwritten since, its present content is all there is.
            self._loaded = {_key(current): self._read(current)} | self._loaded
        self._current, self._previous = current, previous
        kept = {_key(current), _key(previous)}
        self._loaded = {key: models for key, models in self._loaded.items() if key in kept}

    def _read(self, specs: Specs) -> dict[str, LoadedModel]:
        fields = ("name", "run", "generation")
        models = load_models([{name: spec[name] for name in fields} for spec in specs], self._device, self._backend)
        for model in models.values():
            model.move_to_device()
        return models

    def __getitem__(self, name: str) -> LoadedModel:
        """Return the model of that name.

        While models change, every replica gets calls of fronts that know the new models and of fronts that know the
        old ones: all models in memory are found by their names, the current ones first.
        """
        for models in (self._loaded.get(_key(self._current), {}), *reversed(self._loaded.values())):
            if name in models:
                return models[name]
        if any(spec["name"] == name for spec in self._previous):
            self.load(self._previous)
            return self[name]
        raise BadSetting(f"the model {name} is no longer served")


def _refuse_overwritten(specs: Specs, described: list[dict[str, Any]]) -> None:
    """Raise BadArtifact if a spec is pinned to a hash that its folder no longer has."""
    for spec, model in zip(specs, described, strict=True):
        if spec.get("hash", model["hash"]) != model["hash"]:
            raise BadArtifact(f"{spec['run']} was overwritten since {spec['name']} was served from it; reload it")


def _key(specs: Specs) -> str:
    return json.dumps(specs, sort_keys=True)
