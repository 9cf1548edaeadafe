"""The lists that judge settings: folds, what is fitted and what is judged, and the figures of a list."""

from dataclasses import replace
from math import log2

import numpy as np
import pytest
import torch

from fansrec.data.corpus import Corpus, FlatLists
from fansrec.evaluation.protocol import EvaluationLists
from fansrec.training.hybrid import evidence
from fansrec.training.hybrid.evidence import (
    FOLDS,
    LISTS_AT_ONCE,
    Fold,
    join,
    lists_in_memory,
    make_folds,
    metrics_of_mixture,
    metrics_per_list,
)
from worlds import corpus_of, vocabulary_of

LISTS = 60


def corpus(length: int = 4, groups: np.ndarray | None = None) -> Corpus:
    """Return lists that begin with the index of the list, split 8:1:1."""
    lists = [[(n + step) % LISTS for step in range(length)] for n in range(LISTS)]
    parts = [(0, 0, 0, 0, 0, 0, 0, 0, 1, 2)[n % 10] for n in range(LISTS)]
    return replace(corpus_of(lists, vocabulary_of([LISTS]), parts), groups=groups)


def fitted(lists: FlatLists) -> set[int]:
    items, offsets = lists
    return {*items[offsets[:-1]].tolist()}


def judged(fold: Fold) -> set[int]:
    return {int(given[0]) for given in fold.judged.inputs}


def indices(*parts: str) -> set[int]:
    return {int(index) for part in parts for index in corpus().part(part)}


def test_one_fold_is_fitted_to_training_lists_and_judged_on_validation_lists() -> None:
    (fold,) = make_folds(corpus(), 1)
    assert fitted(fold.lists) == indices("train")
    assert judged(fold) == indices("valid")
    assert fold.judged.inputs[0].tolist() == [8, 9] and fold.judged.targets[0].tolist() == [10, 11]


def test_folds_are_judged_on_lists_that_they_were_not_fitted_to() -> None:
    folds = make_folds(corpus(), FOLDS)
    for fold in folds:
        assert not fitted(fold.lists) & judged(fold)
        assert fitted(fold.lists) | judged(fold) == indices("train", "valid")


def test_every_training_and_validation_list_is_judged_once() -> None:
    folds = make_folds(corpus(), FOLDS)
    assert len(folds) == FOLDS and all(judged(fold) for fold in folds)
    together = [int(given[0]) for given in join(folds).inputs]
    assert len(together) == len(set(together)) and set(together) == indices("train", "valid")


def test_lists_of_a_group_are_in_the_same_fold() -> None:
    groups = np.arange(LISTS) % 7
    for fold in make_folds(corpus(groups=groups), 3):
        assert judged(fold)
        assert not {n % 7 for n in fitted(fold.lists)} & {n % 7 for n in judged(fold)}


def test_folds_of_single_lists_and_of_groups_are_even() -> None:
    known = len(indices("train", "valid"))
    assert {len(judged(fold)) for fold in make_folds(corpus(), 3)} == {known // 3}
    # Test lists have groups of their own, which do not take the place of others in the folds.
    groups = np.where(corpus().parts == 2, 100 + np.arange(LISTS), np.arange(LISTS) % 9)
    sizes = [len(judged(fold)) for fold in make_folds(corpus(groups=groups), 3)]
    assert sum(sizes) == known and max(sizes) - min(sizes) <= 3


def test_folds_do_not_change_from_call_to_call() -> None:
    first, second = ([judged(fold) for fold in make_folds(corpus(), FOLDS)] for _ in range(2))
    assert first == second


@pytest.mark.parametrize(("preparation", "groups", "needed"), [
    ({}, None, True),
    ({"split": "random"}, None, True),
    ({"split": "file-order"}, None, False),  # a list must not be judged by parts that know its future
    ({"split_by": "venue"}, None, False),  # the groups are not known
    ({"split_by": "venue"}, np.arange(LISTS) % 7, True),
    ({"split_by": "venue"}, np.arange(LISTS) % (FOLDS - 1), False),  # too few groups
])  # fmt: skip
def test_folds_need_known_groups_and_no_order(
    preparation: dict[str, str], groups: np.ndarray | None, needed: bool
) -> None:
    made = replace(corpus(groups=groups), summary={"preparation": preparation})
    assert evidence.needs_folds(made) == needed


def test_folds_are_needed_if_validation_lists_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "ENOUGH", 7)
    assert evidence.needs_folds(corpus())  # it has 6
    monkeypatch.setattr(evidence, "ENOUGH", 6)
    assert not evidence.needs_folds(corpus())


def test_number_of_judged_lists_is_limited_by_the_number_of_items() -> None:
    assert lists_in_memory(1 << 10) == 1 << 16
    assert lists_in_memory(1 << 20) == 64
    assert lists_in_memory(1 << 40) == 1


def test_limit_holds_for_all_folds_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "MAX_LISTS", 10)
    assert [len(fold.judged.inputs) for fold in make_folds(corpus(), FOLDS)] == [2] * FOLDS
    monkeypatch.setattr(evidence, "MAX_LISTS", 3)
    (fold,) = make_folds(corpus(), 1)
    assert judged(fold) == {8, 28, 58}  # evenly spread over 8, 18, …, 58


@pytest.mark.parametrize("count", [1, FOLDS])
def test_lists_of_one_item_are_fitted_but_not_judged(count: int) -> None:
    folds = make_folds(corpus(length=1), count)
    assert join(folds) == EvaluationLists([], [])
    assert all(fitted(fold.lists) for fold in folds)
    mixed = corpus_of([[n] if n % 2 else [n, 0] for n in range(40)], vocabulary_of([40]), [0, 1] * 20)
    assert all(not n % 2 for fold in make_folds(mixed, FOLDS) for n in judged(fold))


def test_joined_lists_are_in_the_order_of_the_folds() -> None:
    folds = make_folds(corpus(), 3)
    together = join(folds)
    expected = [given.tolist() for fold in folds for given in fold.judged.inputs]
    assert [given.tolist() for given in together.inputs] == expected
    assert all(target[0] == (given[0] + 2) % LISTS for given, target in zip(*vars(together).values(), strict=True))


def one_list(given: list[int], target: list[int]) -> EvaluationLists:
    return EvaluationLists([np.array(given)], [np.array(target, dtype=np.int32)])


@pytest.mark.parametrize(("target", "figures"), [
    ([1], [1, 1, 1, 1]),
    ([2], [1 / log2(3), 1, 1 / log2(3), 1]),
    ([6], [0, 0, 1 / log2(7), 1]),
    ([11], [0, 0, 0, 0]),
], ids=["first", "second", "sixth", "eleventh"])  # fmt: skip
def test_figures_of_one_target_by_hand(target: list[int], figures: list[float]) -> None:
    falling = -torch.arange(13.0)[None]  # item 0 is that of the input, so that item n is at rank n
    assert metrics_per_list(falling, one_list([0], target))[0] == pytest.approx(figures)


def test_figures_leave_out_items_of_the_input() -> None:
    scores = torch.tensor([[9.0, 8, 7, 6, 5, 4, 3, 2, 1, 0, -1, -2, -3]])
    assert metrics_per_list(scores, one_list([0, 1], [3, 2])).tolist() == [[1.0, 1.0, 1.0, 1.0]]
    assert scores[0, 0] == 9  # the scores are not changed


def test_items_of_the_input_are_left_out_of_a_tiny_catalog() -> None:
    assert metrics_per_list(torch.tensor([[3.0, 2, 1]]), one_list([0, 1], [1])).tolist() == [[0.0, 0.0, 0.0, 0.0]]


def test_no_lists_have_no_figures() -> None:
    assert metrics_per_list(torch.zeros(0, 13), EvaluationLists([], [])).shape == (0, 4)


def test_figures_of_many_lists_are_those_of_each() -> None:
    count = 2 * LISTS_AT_ONCE + 3
    scores = torch.eye(count + 1)[1:]  # item i + 1 is the best one for list i
    targets = [np.array([n + 1 if n % 2 else 0], dtype=np.int32) for n in range(count)]
    figures = metrics_per_list(scores, EvaluationLists([np.array([0])] * count, targets))
    assert figures[:, 0].tolist() == [n % 2 for n in range(count)]


def test_figures_of_a_mixture_are_those_of_the_weighted_sum() -> None:
    parts = {"one": torch.tensor([[0.0, 3, 2, 0]]), "other": torch.tensor([[0.0, 0, 2, 3]])}  # item 3 is the target
    first = [
        metrics_of_mixture(parts, {"one": 1.0, "other": weight}, one_list([0], [3]))[0, 0] for weight in (0, 1.5, 9)
    ]
    assert first == pytest.approx([1 / log2(4), 1 / log2(3), 1])
