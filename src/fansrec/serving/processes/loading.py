"""Models as a service holds them: read, tried, and told about."""

import math
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from fansrec.api.continuer import Continuer
from fansrec.artifact import read_artifact, recipe_of
from fansrec.errors import BadArtifact
from fansrec.models.registry import command_name
from fansrec.serving.processes.answering import Job, Served
from fansrec.serving.processes.channel import Message
from fansrec.serving.search.index import key_of


def load_models(places: list[Message], device: str, backend: str) -> dict[str, Served]:
    """All models of a generation, ready to be forked with; one that is damaged refuses them all."""
    return {place["name"]: _load(place, device, backend) for place in places}


def _load(place: Message, device: str, backend: str) -> Served:
    artifact = read_artifact(Path(place["run"]).resolve())  # what a link leads to now, also when it moves on
    on_host = device == "cpu"  # a GPU's state does not survive a fork: each worker goes there by itself
    continuer = Continuer(artifact, "cpu", backend if on_host else "torch", place["generation"])
    served = Served(place["name"], continuer, None if on_host else (device, backend))
    _try_out(served)
    return served


def _try_out(served: Served) -> None:
    """Answer one request as a worker does, up to the JSON of the answer; raise BadArtifact where that fails.

    Whatever is made for the first answer is then there before users come.
    """
    try:
        served.continuer.vocabulary.group_indices  # noqa: B018
        _format_everything(served)
    except Exception as error:
        folder = served.continuer.artifact.folder
        raise BadArtifact(f"{folder}: the model cannot answer a request ({error}); train it again") from error


def _format_everything(served: Served) -> None:
    """Format an answer, the labels of every category and the description of the model."""
    vocabulary = served.continuer.vocabulary
    request = {"lists": [[vocabulary.ids[0]]], "k": 1}
    served.run([served.prepare(Job(0, served.name, to_json(request), 0.0, math.inf))], lambda: None)
    to_json([served.details(first) for first in vocabulary.starts[:-1].tolist()])
    to_json(described(served))


def described(served: Served) -> dict[str, Any]:
    """What `GET /v1/models` says of a model, and where its items can be indexed."""
    artifact, vocabulary, engine = served.continuer.artifact, served.continuer.vocabulary, served.continuer.engine
    sizes = (vocabulary.starts[1:] - vocabulary.starts[:-1]).tolist()
    return {
        "name": served.name,
        "hash": artifact.hash,
        "model": command_name(artifact.config["model"]),
        "title": artifact.model.title,
        "recipe": recipe_of(artifact.config),
        "items": len(vocabulary),
        "categories": [
            {"name": name, "items": size} for name, size in zip(vocabulary.category_names, sizes, strict=True)
        ],
        "groups": bool(vocabulary.groups),
        "names": bool(vocabulary.names),
        "generation": engine.generation,
        "backend": engine.backend if served.elsewhere is None else served.elsewhere[0],
        "longest": artifact.model.longest_sequence(),
        "folder": str(artifact.folder),
        "vocabulary": key_of(artifact.folder),
    }
