"""The configuration that Ray keeps of the application and gives every replica: which models are and were served."""

from typing import Any

from fansrec import errors
from fansrec.serving.processes.deployment_manager import Busy

Specs = list[dict[str, Any]]  # name, run, generation and, once it is known, hash of each model
# requested: Specs; current, previous: {"specs": Specs, "models": as in `GET /v1/models`} or None; scale: least and most
Config = dict[str, Any]

PREPARE_SECONDS = 600.0  # within which replicas must have read models


def next_config(requested: Specs, models: list[dict[str, Any]], old: Config | None) -> Config:
    """Return the configuration that serves the models found for `requested`, after those of `old`."""
    current = {"specs": pin(requested, models), "models": models}
    return {"requested": requested, "current": current, "previous": old["current"] if old else None}


def pin(specs: Specs, models: list[dict[str, Any]]) -> Specs:
    """Return the specs with the folder that a link led to and the hash found there, so that replicas read the same."""
    return [spec | {"run": model["folder"], "hash": model["hash"]} for spec, model in zip(specs, models, strict=True)]


def agree(prepared: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the models that all replicas found; raise the error of a replica that refuses them."""
    for found in prepared:
        if "refused" in found:
            raise getattr(errors, found["refused"])(found["detail"])
    hashes = [[model["hash"] for model in found["models"]] for found in prepared]
    if any(other != hashes[0] for other in hashes):
        raise Busy("replicas read different models; a folder is being written, or not all nodes see the same one")
    models: list[dict[str, Any]] = prepared[0]["models"]
    return models
