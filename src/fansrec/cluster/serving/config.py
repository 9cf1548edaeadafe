"""What Ray keeps of an application and gives every replica: where models are asked for, which these are, and were."""

from typing import Any

from fansrec import errors
from fansrec.serving.processes.deployments import Busy

Places = list[dict[str, Any]]  # name, run, generation and, once it is known, hash of each model
# asked: Places; now, before: {"places": Places, "models": what `GET /v1/models` says} or None; scale: least and most
Config = dict[str, Any]

PREPARE_SECONDS = 600.0  # in which replicas must have read models


def following(asked: Places, told: list[dict[str, Any]], old: Config | None) -> Config:
    """The models found where they were asked for, after the old ones."""
    now = {"places": pinned(asked, told), "models": told}
    return {"asked": asked, "now": now, "before": old["now"] if old else None}


def pinned(places: Places, told: list[dict[str, Any]]) -> Places:
    """The folders that links led to and what was found there, so that every replica reads the same."""
    return [place | {"run": model["folder"], "hash": model["hash"]} for place, model in zip(places, told, strict=True)]


def agreed(prepared: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What all replicas found; one that refuses refuses for all."""
    for found in prepared:
        if "refused" in found:
            raise getattr(errors, found["refused"])(found["detail"])
    hashes = [[model["hash"] for model in found["models"]] for found in prepared]
    if any(other != hashes[0] for other in hashes):
        raise Busy("replicas read different models; a folder is being written, or not all nodes see the same one")
    models: list[dict[str, Any]] = prepared[0]["models"]
    return models
