"""Metrics of the answers of a library, computed by fansrec's own code under the standard protocol."""

import numpy as np
from numpy.typing import NDArray

from fansrec.evaluation.protocol import MAX_CUTOFF, EvaluationLists, list_metrics, mean, protocol


class BadAnswers(Exception):
    """Answers that break the rules that all models are measured by."""


def judge(answers: NDArray[np.int64], lists: EvaluationLists) -> dict[str, float]:
    """Return NDCG and HR of answers, (lists, 10), -1 where an answer is shorter."""
    check(answers, lists)
    return {name: mean(values) for name, values in list_metrics(answers, lists, protocol("standard")).items()}


def check(answers: NDArray[np.int64], lists: EvaluationLists) -> None:
    """Raise BadAnswers for answers of another shape, with items of the input, or with an item twice."""
    if answers.shape != (len(lists.inputs), MAX_CUTOFF):
        raise BadAnswers(f"the answers have the shape {answers.shape}, not ({len(lists.inputs)}, {MAX_CUTOFF})")
    for number, (answer, given) in enumerate(zip(answers, lists.inputs, strict=True)):
        items = answer[answer >= 0]
        if np.isin(items, given).any():
            raise BadAnswers(f"the answer to list {number} contains items of its input")
        if len(np.unique(items)) < len(items):
            raise BadAnswers(f"the answer to list {number} contains an item twice")
