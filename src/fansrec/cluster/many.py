"""Many lists on a cluster: Ray Data hands pieces of the input to actors that hold the engine."""

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
from fansrec.api.many_lists import ENCODING_ERRORS, answer_rows
from fansrec.artifact import check
from fansrec.cluster.many_folder import digest, finish, finished, open_folder
from fansrec.cluster.many_pieces import ENDINGS, MOST_PIECES, Piece, batches_of, piece_bytes
from fansrec.cluster.storage import everywhere, exists, inside, listed, opened, write_whole
from fansrec.cluster.troubles import said_by_worker
from fansrec.errors import BadArtifact, BadSetting

RESTARTS = 5  # of a worker; a piece that kills whoever takes it up must not go on for ever


@dataclass(frozen=True)
class Work:
    """What every worker must know; paths are the same on all machines."""

    run: str
    model: str  # the hash of the artifact
    output: str
    rules: dict[str, Any]
    device: str
    backend: str


Tell = Callable[[int, int, int], None]  # pieces done, pieces in all, lists so far


def continue_many(work: Work, source: str, workers: int | None, tell: Tell) -> dict[str, Any]:
    """Answer all lists of `source`; run again after a failure, it goes on where it was. Returns the summary."""
    began = time.monotonic()
    files = listed(everywhere(source), ENDINGS)
    workers = workers or _room(work.device)
    about = _about(work)
    if done := finished(work.output, files, about):
        return done
    pieces = open_folder(work.output, files, piece_bytes(files, workers), about)
    summary: dict[str, Any] = {"lists": 0, "pieces": len(pieces), "lists_without_answer": 0}
    for number, row in enumerate(_answers(work, pieces, workers).iter_rows(), 1):
        summary["lists"] += row["lists"]
        summary["lists_without_answer"] += row["empty"]
        tell(number, len(pieces), summary["lists"])
    summary["seconds"] = round(time.monotonic() - began, 1)
    finish(work.output, pieces, summary)
    return summary


def work_of(run: Path, output: str, rules: dict[str, Any], device: str, backend: str) -> Work:
    return Work(str(run.absolute()), check(run), everywhere(output), rules, device, backend)


def _about(work: Work) -> dict[str, Any]:
    """What makes the answers what they are; long lists of items by their hash."""
    long = {name: digest(list(items)) if (items := work.rules[name]) else None for name in ("exclude", "allow")}
    return {"model": work.model, "device": work.device, "backend": work.backend} | work.rules | long


def _room(device: str) -> int:
    """As many workers as the cluster has cores, or GPUs."""
    kind = "CPU" if device == "cpu" else "GPU"
    found = int(ray.cluster_resources().get(kind, 0))
    if not found:
        raise BadSetting(
            f"no machine of the cluster has a {kind}; give --workers if one is to come, or another --device"
        )
    return found


def _answers(work: Work, pieces: list[Piece], workers: int) -> Any:
    blocks = min(len(pieces), MOST_PIECES)
    rows = ray.data.from_items([asdict(piece) for piece in pieces], override_num_blocks=blocks)
    with warnings.catch_warnings():  # Ray 2.64 takes these two away, and has nothing yet in their place
        warnings.simplefilter("ignore", RayDeprecationWarning)
        return rows.map(
            PieceWorker,
            fn_constructor_args=(work,),
            compute=ActorPoolStrategy(size=min(workers, len(pieces))),
            num_cpus=1,
            num_gpus=None if work.device == "cpu" else 1,
            max_restarts=RESTARTS,
            max_task_retries=-1,  # a try counts even when its machine is gone and nobody was there to take it
        )


class PieceWorker:
    """One process: loads the model with its first piece, then answers one piece after another."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.continuer: Continuer | None = None

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        piece = Piece(**row)
        target = inside(self.work.output, piece.name)
        with said_by_worker():
            if exists(target):  # from a run before, or a worker that died before it could say so
                return _counts(target)
            return self._answer(piece, target)

    def _answer(self, piece: Piece, target: str) -> dict[str, Any]:
        continuer = self.continuer = self.continuer or self._load()
        lists = empty = 0

        def write(path: Path) -> None:
            nonlocal lists, empty
            with batches_of(piece) as batches, path.open("w", encoding="utf-8", errors=ENCODING_ERRORS) as out:
                for rows in batches:
                    answer = answer_rows(rows, continuer, self.work.rules)
                    out.writelines(answer.lines)
                    lists, empty = lists + len(rows), empty + answer.empty

        write_whole(target, write)
        return {"lists": lists, "empty": empty}

    def _load(self) -> Continuer:
        import torch

        torch.set_num_threads(1)
        continuer = load(self.work.run, self.work.device, self.work.backend)
        if continuer.artifact.hash != self.work.model:
            raise BadArtifact(f"{self.work.run} is not the same model on all machines; copy it anew")
        return continuer


def _counts(target: str) -> dict[str, Any]:
    lists = empty = 0
    with opened(target) as file:
        for line in file:
            lists += 1
            empty += b'"items": []' in line and not json.loads(line)["items"]
    return {"lists": lists, "empty": empty}
