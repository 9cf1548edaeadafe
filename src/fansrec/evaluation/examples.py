"""Example continuations: a few lists with the items that a model returned for them, by name."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.evaluation.metrics import hits
from fansrec.evaluation.protocol import EvaluationLists, evenly_spaced
from fansrec.vocabulary import Vocabulary

Example = dict[str, Any]  # plain values for JSON


def examples_part(
    answers: NDArray[np.int64], lists: EvaluationLists, vocabulary: Vocabulary, count: int
) -> list[Example]:
    """Return `count` evenly spaced lists with their answers; every model gets the same ones, whatever its answers.

    `list` is the number of the list within its part, from 0. Items are names, or ids if they have none.
    """
    hit = hits(answers, lists.targets)
    chosen = evenly_spaced(np.arange(len(answers)), count) if count else ()
    return [
        {
            "list": int(i),
            "input": _names(lists.inputs[i], vocabulary),
            "target": _names(lists.targets[i], vocabulary),
            "answer": _names(answers[i][answers[i] >= 0], vocabulary),
            "hits": hit[i][answers[i] >= 0].tolist(),
            "found": np.isin(lists.targets[i], answers[i]).tolist(),  # of the target's items
        }
        for i in chosen
    ]


def _names(items: NDArray[Any], vocabulary: Vocabulary) -> list[str]:
    return [vocabulary.label(index) for index in items.tolist()]
