"""The metrics of every held-out list, of the best items by the scores of a part or of a mixture."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.engine.decoding.limits import NONE
from fansrec.evaluation.protocol import MAX_CUTOFF, METRICS, EvaluationLists, list_metrics, protocol
from fansrec.models.contract import Inputs
from fansrec.models.hybrid.model import mix
from fansrec.models.threads import map_in_threads
from fansrec.training.hybrid.coordinate_search import Figures

PROTOCOL = protocol("standard")
LISTS_AT_ONCE = 64


def metrics_per_list(scores: Tensor, lists: EvaluationLists) -> Figures:
    """Return METRICS (lists, 4) of the best items by scores (lists, M), without the items of the input."""
    return metrics_of_mixture({"all": scores}, {"all": 1.0}, lists)


def metrics_of_mixture(parts: Mapping[str, Tensor], weights: Mapping[str, float], lists: EvaluationLists) -> Figures:
    """Return METRICS (lists, 4) of the weighted sum of the log scores (lists, M) of the parts."""
    answers = np.empty((len(lists.inputs), MAX_CUTOFF), dtype=np.int64)

    def answer(rows: slice) -> None:
        scores = mix({name: part[rows] for name, part in parts.items()}, weights)
        answers[rows] = best_items(scores, lists.inputs[rows])

    map_in_threads(answer, [*slices(len(answers))], next(iter(parts.values())).device.type)
    return metrics_of_answers(answers, lists)


def slices(count: int) -> Iterator[slice]:
    """Yield which of `count` lists are scored together."""
    # A few lists at a time stay in the cache, and take a quarter of the time and little memory.
    return (slice(first, first + LISTS_AT_ONCE) for first in range(0, count, LISTS_AT_ONCE))


def best_items(scores: Tensor, inputs: Inputs) -> NDArray[np.int64]:
    """Return the best items (lists, 10) by scores (lists, M), without those of the input, whose scores are overwritten.

    Answers of fewer items end with -1.
    """
    rows = np.repeat(np.arange(len(inputs)), [len(given) for given in inputs])
    given = torch.from_numpy(np.concatenate(inputs)).to(scores.device)
    scores[torch.from_numpy(rows).to(scores.device), given] = -torch.inf
    best = scores.topk(min(MAX_CUTOFF, scores.shape[1]), dim=1)
    answers = np.full((len(inputs), MAX_CUTOFF), NONE, dtype=np.int64)
    answers[:, : best.indices.shape[1]] = best.indices.masked_fill(best.values == -torch.inf, NONE).cpu().numpy()
    return answers


def best_in_threads(scores: Callable[[Inputs], Tensor], inputs: Inputs) -> NDArray[np.int64]:
    """Return the best items (lists, 10) by what `scores` returns for some inputs, (some, M)."""
    answers = np.empty((len(inputs), MAX_CUTOFF), dtype=np.int64)

    def answer(rows: slice) -> None:
        answers[rows] = best_items(scores(inputs[rows]), inputs[rows])

    map_in_threads(answer, [*slices(len(inputs))])
    return answers


def metrics_of_answers(answers: NDArray[np.int64], lists: EvaluationLists) -> Figures:
    """Return METRICS (lists, 4) of the answers (lists, 10)."""
    metrics = list_metrics(answers, lists, PROTOCOL)
    return np.stack([metrics[name] for name in METRICS], 1)
