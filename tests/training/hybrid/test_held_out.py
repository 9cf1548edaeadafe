"""The lists that decide between settings: folds, what is fitted and what is held out, and the figures of a list."""

from dataclasses import replace

import numpy as np
import pytest

from fansrec.data.corpus import Corpus, FlatLists
from fansrec.evaluation.protocol import EvaluationLists
from fansrec.training.hybrid import held_out
from fansrec.training.hybrid.held_out import FOLDS, Fold, join, lists_in_memory, make_folds
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


def held_out_lists(fold: Fold) -> set[int]:
    return {int(given[0]) for given in fold.held_out.inputs}


def indices(*parts: str) -> set[int]:
    return {int(index) for part in parts for index in corpus().part(part)}


def test_one_fold_is_fitted_to_training_lists_and_evaluated_on_validation_lists() -> None:
    (fold,) = make_folds(corpus(), 1)
    assert fitted(fold.lists) == indices("train")
    assert held_out_lists(fold) == indices("valid")
    assert fold.held_out.inputs[0].tolist() == [8, 9] and fold.held_out.targets[0].tolist() == [10, 11]


def test_folds_are_evaluated_on_lists_that_they_were_not_fitted_to() -> None:
    folds = make_folds(corpus(), FOLDS)
    for fold in folds:
        assert not fitted(fold.lists) & held_out_lists(fold)
        assert fitted(fold.lists) | held_out_lists(fold) == indices("train", "valid")


def test_every_training_and_validation_list_is_evaluated_once() -> None:
    folds = make_folds(corpus(), FOLDS)
    assert len(folds) == FOLDS and all(held_out_lists(fold) for fold in folds)
    together = [int(given[0]) for given in join(folds).inputs]
    assert len(together) == len(set(together)) and set(together) == indices("train", "valid")


def test_lists_of_a_group_are_in_the_same_fold() -> None:
    groups = np.arange(LISTS) % 7
    for fold in make_folds(corpus(groups=groups), 3):
        assert held_out_lists(fold)
        assert not {n % 7 for n in fitted(fold.lists)} & {n % 7 for n in held_out_lists(fold)}


def test_folds_of_single_lists_and_of_groups_are_even() -> None:
    known = len(indices("train", "valid"))
    assert {len(held_out_lists(fold)) for fold in make_folds(corpus(), 3)} == {known // 3}
    # Test lists have groups of their own, which do not take the place of others in the folds.
    groups = np.where(corpus().parts == 2, 100 + np.arange(LISTS), np.arange(LISTS) % 9)
    sizes = [len(held_out_lists(fold)) for fold in make_folds(corpus(groups=groups), 3)]
    assert sum(sizes) == known and max(sizes) - min(sizes) <= 3


def test_folds_do_not_change_from_call_to_call() -> None:
    first, second = ([held_out_lists(fold) for fold in make_folds(corpus(), FOLDS)] for _ in range(2))
    assert first == second


@pytest.mark.parametrize(("preparation", "groups", "needed"), [
    ({}, None, True),
    ({"split": "random"}, None, True),
    ({"split": "file-order"}, None, False),  # parts must not be evaluated on lists older than their own
    ({"split_by": "venue"}, None, False),  # the groups are not known
    ({"split_by": "venue"}, np.arange(LISTS) % 7, True),
    ({"split_by": "venue"}, np.arange(LISTS) % (FOLDS - 1), False),  # too few groups
])  # fmt: skip
def test_folds_need_known_groups_and_no_order(
    preparation: dict[str, str], groups: np.ndarray | None, needed: bool
) -> None:
    made = replace(corpus(groups=groups), summary={"preparation": preparation})
    assert held_out.needs_folds(made) == needed


def test_folds_are_needed_if_validation_lists_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_out, "ENOUGH", 7)
    assert held_out.needs_folds(corpus())  # it has 6
    monkeypatch.setattr(held_out, "ENOUGH", 6)
    assert not held_out.needs_folds(corpus())


def test_number_of_held_out_lists_is_limited_by_the_number_of_items() -> None:
    assert lists_in_memory(1 << 10) == 1 << 16
    assert lists_in_memory(1 << 20) == 64
    assert lists_in_memory(1 << 40) == 1


def test_limit_holds_for_all_folds_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_out, "MAX_LISTS", 10)
    assert [len(fold.held_out.inputs) for fold in make_folds(corpus(), FOLDS)] == [2] * FOLDS
    monkeypatch.setattr(held_out, "MAX_LISTS", 3)
    (fold,) = make_folds(corpus(), 1)
    assert held_out_lists(fold) == {8, 28, 58}  # evenly spread over 8, 18, …, 58


@pytest.mark.parametrize("count", [1, FOLDS])
def test_lists_of_one_item_are_fitted_but_not_evaluated(count: int) -> None:
    folds = make_folds(corpus(length=1), count)
    assert join(folds) == EvaluationLists([], [])
    assert all(fitted(fold.lists) for fold in folds)
    mixed = corpus_of([[n] if n % 2 else [n, 0] for n in range(40)], vocabulary_of([40]), [0, 1] * 20)
    assert all(not n % 2 for fold in make_folds(mixed, FOLDS) for n in held_out_lists(fold))


def test_joined_lists_are_in_the_order_of_the_folds() -> None:
    folds = make_folds(corpus(), 3)
    together = join(folds)
    expected = [given.tolist() for fold in folds for given in fold.held_out.inputs]
    assert [given.tolist() for given in together.inputs] == expected
    assert all(target[0] == (given[0] + 2) % LISTS for given, target in zip(*vars(together).values(), strict=True))
