"""The models in a replica's memory: those it serves, those before them, and those about to take their place."""

import json
from typing import Any

from fansrec.cluster.serving.config import Places, pinned
from fansrec.errors import BadArtifact, BadSetting
from fansrec.serving.processes.answering import Served
from fansrec.serving.processes.loading import described, load_models


class Holding:
    def __init__(self, device: str, backend: str) -> None:
        self._device, self._backend = device, backend
        self._held: dict[str, dict[str, Served]] = {}
        self._now: Places = []
        self._before: Places = []

    def load(self, places: Places) -> list[dict[str, Any]]:
        """Read models beside those that serve, unless they are here; gives what `GET /v1/models` says of them."""
        models = self._held.get(_key(places)) or self._read(places)
        told = [described(served) for served in models.values()]
        _refuse_others(places, told)
        self._held = self._held | {_key(pinned(places, told)): models}  # another thread may be looking through it
        return told

    def serve(self, now: Places, before: Places) -> None:
        """Answer with these from now on; of all others only those before stay, to return to."""
        if _key(now) not in self._held:
            # Where a folder was written over since, what lies there is all there is.
            self._held = {_key(now): self._read(now)} | self._held
        self._now, self._before = now, before
        kept = {_key(now), _key(before)}
        self._held = {key: models for key, models in self._held.items() if key in kept}

    def _read(self, places: Places) -> dict[str, Served]:
        models = load_models([_plain(place) for place in places], self._device, self._backend)
        for served in models.values():
            served.settle()
        return models

    def __getitem__(self, name: str) -> Served:
        """The model of that name. While models change, fronts that know the new ones and such that know the old ones
        ask every replica: all that are in memory answer to their names, those served first."""
        for models in (self._held.get(_key(self._now), {}), *reversed(self._held.values())):
            if name in models:
                return models[name]
        if any(place["name"] == name for place in self._before):
            self.load(self._before)
            return self[name]
        raise BadSetting(f"the model {name} is served no longer")


def _refuse_others(places: Places, told: list[dict[str, Any]]) -> None:
    """Where it is known which model is meant, another one would answer in its name."""
    for place, model in zip(places, told, strict=True):
        if place.get("hash", model["hash"]) != model["hash"]:
            raise BadArtifact(f"{place['run']} was written over since {place['name']} was served from it; reload it")


def _plain(place: dict[str, Any]) -> dict[str, Any]:
    return {name: place[name] for name in ("name", "run", "generation")}


def _key(places: Places) -> str:
    return json.dumps(places, sort_keys=True)
