"""Loading the models of a deployment, trying each of them once, and describing them."""

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
from pydantic_core import to_json

from fansrec.api.continuer import Continuer
from fansrec.artifact import Artifact, read_artifact, recipe_of
from fansrec.engine.native.item_ids import item_index
from fansrec.errors import BadArtifact
from fansrec.explaining.explainer import why_not
from fansrec.models.registry import command_name
from fansrec.serving.processes.jobs import Job
from fansrec.serving.processes.loaded_model import LoadedModel
from fansrec.serving.search.key import key_of

WARM_UP_REQUESTS, WARM_UP_SECONDS = 5, 0.02  # of one model


def load_models(specs: list[dict[str, Any]], device: str, backend: str) -> dict[str, LoadedModel]:
    """Return all models of a deployment, ready to fork workers with; a damaged model refuses them all."""
    return {spec["name"]: _load(spec, device, backend) for spec in specs}


def _load(spec: dict[str, Any], device: str, backend: str) -> LoadedModel:
    artifact = read_artifact(Path(spec["run"]).resolve())  # the folder that a link leads to now
    on_cpu = device == "cpu"  # a GPU's state does not survive a fork, so each worker moves there by itself
    continuer = Continuer(artifact, "cpu", backend if on_cpu else "torch", spec["generation"])
    model = LoadedModel(spec["name"], continuer, None if on_cpu else (device, backend))
    _try_out(model)
    return model


def open_model(before: LoadedModel, artifact: Artifact) -> LoadedModel:
    """Return a model that was updated, opened like the one before it."""
    engine = before.continuer.engine
    continuer = Continuer(artifact, "cpu", engine.backend, engine.generation)
    model = LoadedModel(before.name, continuer, before.target)
    _try_out(model)
    return model


def _try_out(model: LoadedModel) -> None:
    """Answer one request as a worker does, up to the JSON of the answer; raise BadArtifact where that fails.

    Everything that is computed for the first answer is then in memory before users send requests.
    """
    vocabulary = model.continuer.vocabulary
    try:
        vocabulary.group_indices  # noqa: B018
        vocabulary.prepare_lookups(item_index)
        if _explains(model.continuer):
            model.continuer.explanations.prepare()
        request = Job(0, model.name, [[vocabulary.ids[0]]], 1, {}, 0.0, math.inf)
        model.run([model.prepare(request)], lambda: None)
        to_json([model.continuer.details(first) for first in vocabulary.starts[:-1].tolist()])
        to_json(describe(model, "unknown"))
    except Exception as error:
        folder = model.continuer.artifact.folder
        raise BadArtifact(f"{folder}: the model cannot answer a request ({error}); train it again") from error


def warm_up(model: LoadedModel) -> None:
    """Answer a few requests in a process that was just forked: the first ones take several times as long."""
    end, ids = time.monotonic() + WARM_UP_SECONDS, model.continuer.vocabulary.ids
    for index in np.linspace(0, len(ids) - 1, WARM_UP_REQUESTS).astype(int).tolist():
        if time.monotonic() < end:
            request = Job(0, model.name, [[ids[index]]], 1, {}, 0.0, math.inf)
            model.run([model.prepare(request)], lambda: None)


def _explains(continuer: Continuer) -> bool:
    return why_not(continuer.artifact.stored, continuer.engine.generation) is None


def describe(model: LoadedModel, key: str | None = None) -> dict[str, Any]:
    """Return what `GET /v1/models` answers about a model, and the folder and the key of its search index."""
    artifact, vocabulary, engine = model.continuer.artifact, model.continuer.vocabulary, model.continuer.engine
    key = key or key_of(artifact.folder)
    sizes = (vocabulary.starts[1:] - vocabulary.starts[:-1]).tolist()
    return {
        "name": model.name,
        "hash": artifact.hash,
        "model": command_name(artifact.config["model"]),
        "title": artifact.stored.title,
        "recipe": recipe_of(artifact.config),
        "items": len(vocabulary),
        "categories": [
            {"name": name, "items": size} for name, size in zip(vocabulary.category_names, sizes, strict=True)
        ],
        "groups": bool(vocabulary.groups),
        "group_name": vocabulary.group_name if vocabulary.groups else None,
        "names": bool(vocabulary.names),
        "dates": model.continuer.traits.days is not None,
        "counts": model.continuer.traits.popularity is not None,
        "generation": engine.generation,
        "backend": engine.backend if model.target is None else model.target[0],
        "explains": _explains(model.continuer),
        "longest": artifact.stored.longest_sequence(),
        "score_scale": "log" if getattr(artifact.stored, "log_scores", True) else "linear",
        "folder": str(artifact.folder),
        "vocabulary": key,
        "catalog": key[:16],
        "seq": None,
    }
