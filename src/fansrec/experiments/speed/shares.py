"""The shares of one pass: the encoder, and the classifier with the selection of distinct items."""

import time
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch

from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.experiments.speed.random_models import random_engine
from fansrec.experiments.speed.workloads import Question, questions_of, sequence_length

CLASSIFIERS = ("vanilla", "two-stage")
WARM_UP = 2  # answers

Row = dict[str, Any]


def encoder_and_classifier(
    items: int,
    layers: Sequence[int],
    device: str,
    lists: int,
    seed: int = 0,
    *,
    workload: str = "spotify",
    categories: int = 10,
) -> list[Row]:
    """Return a row per classifier and number of layers: mean milliseconds, one list at a time, random weights.

    The encoder's share includes the token sequence, the embeddings and all layers; the classifier's is the rest, up to
    the item indices of the answer.
    """
    questions = questions_of(workload, items, lists, seed)
    sizes = (items, categories, sequence_length(questions), device, seed)
    timed = {
        kind: TimedFans(random_engine("fans", *sizes, classifier=kind, layers=max(layers))) for kind in CLASSIFIERS
    }
    arms = [(kind, depth) for kind in CLASSIFIERS for depth in layers]
    for kind, depth in arms * WARM_UP:
        timed[kind].answer(questions[0], depth)
    seconds = np.empty((len(questions), len(arms), 2))
    for number, question in enumerate(questions):  # all answer each list in turn: a busy moment affects them equally
        seconds[number] = [timed[kind].answer(question, depth) for kind, depth in arms]
    return [
        {"classifier": kind, "layers": depth, "encoder_ms": encoder, "classifier_ms": classifier}
        | {"items": items, "categories": categories if kind == "two-stage" else 1, "device": device, "lists": lists}
        for (kind, depth), (encoder, classifier) in zip(arms, (seconds.mean(0) * 1000).tolist(), strict=True)
    ]


class TimedFans:
    """A deep FANS model that can be run with its first layers only, and measures the time of its encoder."""

    def __init__(self, engine: TorchEngine) -> None:
        self.engine = engine
        self.model = cast(Any, engine.model)
        self.layers = self.model.layers
        self.encoding = 0.0
        self.score_positions = self.model.score_positions
        self.model.score_positions = self._timed  # the encoder has run when it returns; scores are computed later

    def answer(self, question: Question, depth: int) -> tuple[float, float]:
        """Return the seconds in the encoder, and in everything after it."""
        self.model.layers = self.layers[:depth]
        started = self._now()
        self.engine.continue_lists([question.input], question.k, Rules(keep_seen=True))
        return self.encoding, self._now() - started - self.encoding

    def _timed(self, *arguments: Any) -> Any:
        started = self._now()
        scores = self.score_positions(*arguments)
        self.encoding = self._now() - started
        return scores

    def _now(self) -> float:
        """Return the time once the device has finished all its work."""
        if self.engine.device.startswith("cuda"):
            torch.cuda.synchronize(self.engine.device)
        return time.perf_counter()
