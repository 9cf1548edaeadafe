"""Batch continuation on a cluster: Ray Data sends pieces of the input to actors that hold the engine."""

import json
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import ray
from ray.data import ActorPoolStrategy
from ray.util.annotations import RayDeprecationWarning

from fansrec.api.continuer import Continuer, load
from fansrec.api.many_lists import write_answers
from fansrec.artifact import check
from fansrec.cluster.batch_output import digest, finish, open_folder
from fansrec.cluster.batch_pieces import MAX_PIECES, SUFFIXES, Piece, open_batches, piece_bytes
from fansrec.cluster.errors import worker_storage_errors
from fansrec.cluster.storage import absolute_url, exists, join_url, list_files, open_file, write_file
from fansrec.engine.threads import use_one_thread
from fansrec.errors import BadArtifact, BadSetting

MAX_RESTARTS = 5  # of a worker: a piece that kills its worker must not be retried for ever


@dataclass(frozen=True)
class Batch:
    """What every worker needs to know; paths are the same on all machines."""

    run: str
    model: str  # the hash of the artifact
    output: str
    rules: dict[str, Any]
    device: str
    backend: str


Progress = Callable[[int, int, int], None]  # finished pieces, all pieces, lists so far


def continue_batch(batch: Batch, source: str, workers: int | None, progress: Progress) -> dict[str, Any]:
    """Continue all lists of `source` and return the summary; after a failure, finished pieces are not repeated."""
    started = time.monotonic()
    files = list_files(absolute_url(source), SUFFIXES)
    workers = workers or _default_workers(batch.device)
    pieces, finished = open_folder(batch.output, files, piece_bytes(files, workers), _about(batch))
    if finished is not None:
        return finished
    summary: dict[str, Any] = {"lists": 0, "pieces": len(pieces), "lists_without_answer": 0}
    for number, row in enumerate(_answers(batch, pieces, workers).iter_rows(), 1):
        summary["lists"] += row["lists"]
        summary["lists_without_answer"] += row["empty"]
        progress(number, len(pieces), summary["lists"])
    summary["seconds"] = round(time.monotonic() - started, 1)
    finish(batch.output, pieces, summary)
    return summary


def make_batch(run: Path, output: str, rules: dict[str, Any], device: str, backend: str) -> Batch:
    return Batch(str(run.absolute()), check(run), absolute_url(output), rules, device, backend)


def _about(batch: Batch) -> dict[str, Any]:
    """Return everything that determines the answers; lists of items as hashes, since they may be long."""
    long = {name: digest(list(items)) if (items := batch.rules[name]) else None for name in ("exclude", "allow")}
    return {"model": batch.model, "device": batch.device, "backend": batch.backend} | batch.rules | long


def _default_workers(device: str) -> int:
    """Return the number of cores or GPUs of the cluster."""
    kind = "CPU" if device == "cpu" else "GPU"
    found = int(ray.cluster_resources().get(kind, 0))
    if not found:
        raise BadSetting(
            f"no machine of the cluster has a {kind}; give --workers if one will join, or choose another --device"
        )
    return found


def _answers(batch: Batch, pieces: list[Piece], workers: int) -> Any:
    blocks = min(len(pieces), MAX_PIECES)
    rows = ray.data.from_items([asdict(piece) for piece in pieces], override_num_blocks=blocks)
    with warnings.catch_warnings():  # Ray 2.64 removes the last two options without a replacement
        warnings.simplefilter("ignore", RayDeprecationWarning)
        return rows.map(
            PieceWorker,
            fn_constructor_args=(batch,),
            compute=ActorPoolStrategy(size=min(workers, len(pieces))),
            num_cpus=1,
            num_gpus=None if batch.device == "cpu" else 1,
            max_restarts=MAX_RESTARTS,
            max_task_retries=-1,  # a retry would count even if the machine is gone and no actor took it
        )


class PieceWorker:
    """An actor that loads the model with its first piece, then answers one piece after another."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.continuer: Continuer | None = None

    def __call__(self, row: dict[str, Any]) -> dict[str, int]:
        piece = Piece(**row)
        target = join_url(self.batch.output, piece.name)
        with worker_storage_errors():
            if exists(target):  # from an earlier run, or from a worker that died before it returned
                return _count_answers(target)
            return self._answer(piece, target)

    def _answer(self, piece: Piece, target: str) -> dict[str, int]:
        continuer = self.continuer = self.continuer or self._load()
        with open_batches(piece) as batches:
            return write_file(target, lambda path: write_answers(path, batches, continuer, self.batch.rules))

    def _load(self) -> Continuer:
        use_one_thread()  # the workers run in parallel instead
        continuer = load(self.batch.run, self.batch.device, self.batch.backend)
        if continuer.artifact.hash != self.batch.model:
            raise BadArtifact(f"{self.batch.run} is not the same model on all machines; copy it again")
        return continuer


def _count_answers(target: str) -> dict[str, int]:
    lists = empty = 0
    with open_file(target) as file:
        for line in file:
            lists += 1
            empty += b'"items": []' in line and not json.loads(line)["items"]
    return {"lists": lists, "empty": empty}
