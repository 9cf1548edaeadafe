"""Where the time of one pass goes: the encoder, or the classifier with the choice of distinct items."""

import time
from collections.abc import Callable, Sequence
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
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> list[Row]:
    """A row for each classifier and number of layers: mean milliseconds a list, one list at a time, random weights.

    The encoder's part is laying out the tokens, embedding them and all layers; the classifier's is the rest, up to the
    item numbers of the answer.
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
    for number, question in enumerate(questions):  # all take each list in turn: a busy moment hits them alike
        seconds[number] = [timed[kind].answer(question, depth) for kind, depth in arms]
        progress(number + 1, len(questions))
    return [
        {"classifier": kind, "layers": depth, "encoder_ms": encoder, "classifier_ms": classifier}
        | {"items": items, "categories": categories if kind == "two-stage" else 1, "device": device, "lists": lists}
        for (kind, depth), (encoder, classifier) in zip(arms, (seconds.mean(0) * 1000).tolist(), strict=True)
    ]


class TimedFans:
    """A deep model that can be asked through its first layers only, and says how long its encoder took."""

    def __init__(self, engine: TorchEngine) -> None:
        self.engine = engine
        self.model = cast(Any, engine.model)
        self.layers = self.model.layers
        self.encoding = 0.0
        self.score_positions = self.model.score_positions
        self.model.score_positions = self._timed  # the encoder has run when it returns; scores are made later

    def answer(self, question: Question, depth: int) -> tuple[float, float]:
        """Seconds in the encoder, and in all that comes after it."""
        self.model.layers = self.layers[:depth]
        began = self._now()
        self.engine.continue_lists([question.input], question.k, Rules(keep_seen=True))
        return self.encoding, self._now() - began - self.encoding

    def _timed(self, *question: Any) -> Any:
        began = self._now()
        scores = self.score_positions(*question)
        self.encoding = self._now() - began
        return scores

    def _now(self) -> float:
        """The time when all that was asked of the device is done."""
        if self.engine.device.type == "cuda":
            torch.cuda.synchronize(self.engine.device)
        return time.perf_counter()
