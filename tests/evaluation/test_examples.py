"""Example continuations by name."""

import numpy as np

from fansrec.evaluation.examples import examples_part
from fansrec.evaluation.protocol import EvaluationLists
from fansrec.vocabulary import Vocabulary

VOCABULARY = Vocabulary(["i0", "i1", "i2", "i3"], np.array([0, 4]), ["Zero", None, "Two", "Three"], None, ["all"])


def test_example_has_names_and_marks_what_is_in_both() -> None:
    lists = EvaluationLists([np.array([0, 1])], [np.array([3, 2, 3], dtype=np.int32)])
    (found,) = examples_part(np.array([[1, 3, -1]]), lists, VOCABULARY, 3)
    assert found == {
        "list": 0,
        "input": ["Zero", "i1"],
        "target": ["Three", "Two", "Three"],
        "answer": ["i1", "Three"],
        "hits": [False, True],
        "found": [True, False, True],
    }


def test_examples_are_evenly_spaced_whatever_the_answers() -> None:
    lists = EvaluationLists([np.array([0])] * 9, [np.array([1], dtype=np.int32)] * 9)
    for answers in (np.zeros((9, 2), dtype=np.int64), np.ones((9, 2), dtype=np.int64)):
        assert [one["list"] for one in examples_part(answers, lists, VOCABULARY, 3)] == [0, 4, 8]
    assert examples_part(answers, lists, VOCABULARY, 0) == []
