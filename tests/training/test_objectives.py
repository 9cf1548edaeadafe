"""What models are shown and must tell, on lists small enough to check by eye."""

from typing import Any

import numpy as np
import pytest

from fansrec.tokens import Alphabet, category_table
from fansrec.training.masking import MaskingRates, some_of_each
from fansrec.training.objectives import OBJECTIVES, Lesson, Lists, Terms

ALPHABET = Alphabet(items=6, categories=2)
CATEGORIES = category_table(np.array([0, 0, 0, 1, 1, 1]), ALPHABET)
LISTS = Lists(np.array([3, 5]), np.array([0, 1, 2, 5, 4, 3, 2, 1]))
PAD, MASK, START = ALPHABET.pad, ALPHABET.mask, ALPHABET.cls


def lesson(objective: str, seed: int = 0, **changes: Any) -> Lesson:
    terms = Terms(ALPHABET, CATEGORIES, changes.get("rates", MaskingRates()), ratio=changes.get("ratio", 1.0))
    (made,) = OBJECTIVES[objective]([changes.get("lists", LISTS)], terms, np.random.default_rng(seed))
    return made


def test_next_item_shows_all_but_the_last_behind_a_start_and_tells_every_item() -> None:
    made = lesson("next-item")
    assert made.shown.items.tolist() == [[START, 0, 1, PAD, PAD], [START, 5, 4, 3, 2]]
    assert made.items[made.places].tolist() == [0, 1, 2, 5, 4, 3, 2, 1]
    assert made.places.tolist() == made.shown.real.tolist() == [[True] * 3 + [False] * 2, [True] * 5]


def test_next_item_gives_every_item_its_category_and_start_none() -> None:
    none = ALPHABET.no_category
    assert lesson("next-item").shown.categories.tolist() == [[none, 0, 0, none, none], [none, 1, 1, 1, 0]]


def test_cloze_reads_the_whole_list_as_one_without_parts() -> None:
    made = lesson("cloze", rates=MaskingRates(hidden=0.0, masked=0.0, replaced=0.0))
    assert made.shown.items.tolist() == [[0, 1, 2, PAD, PAD], [5, 4, 3, 2, 1]]
    assert not made.shown.segments.any()


def batches(count: int, **changes: Any) -> list[Lesson]:
    return [lesson("cloze", seed=seed, **changes) for seed in range(count)]


def test_cloze_hides_its_share_of_every_list_and_at_least_one_item() -> None:
    long = Lists(np.array([20, 2]), np.arange(22) % 6)
    counts = {tuple(made.places.sum(1).tolist()) for made in batches(50, lists=long, rates=MaskingRates(hidden=0.3))}
    assert counts == {(6, 1), (1, 1)}  # (1, 1): the batches that hide the last item alone


def test_one_batch_of_ten_hides_only_the_last_item_and_always_behind_a_mask() -> None:
    # Three of five items are hidden otherwise, so that these batches cannot be mistaken for them.
    made = batches(600, rates=MaskingRates(hidden=0.6, masked=0.8, replaced=0.1))
    last = [[False, False, True, False, False], [False] * 4 + [True]]
    only_last = [batch for batch in made if batch.places.tolist() == last]
    assert 0.06 < len(only_last) / len(made) < 0.14
    assert all(batch.shown.items.numpy()[batch.places].tolist() == [MASK, MASK] for batch in only_last)


def test_what_cloze_must_tell_is_what_stood_there() -> None:
    for made in batches(30):
        assert made.items.tolist() == [[0, 1, 2, PAD, PAD], [5, 4, 3, 2, 1]]
        assert not made.places[0, 3:].any()


def test_a_masked_item_loses_its_category_and_a_replaced_one_takes_that_of_its_stranger() -> None:
    for made in batches(30, rates=MaskingRates(hidden=0.6, masked=0.5, replaced=0.5)):
        shown = made.shown.items.numpy()
        assert made.shown.categories.numpy().tolist() == CATEGORIES[shown].tolist()
        assert CATEGORIES[MASK] == ALPHABET.no_category


@pytest.mark.parametrize("share", [0.0, 0.15, 0.5, 1.0])
def test_some_of_each_takes_the_same_number_from_lists_of_one_length_and_never_padding(share: float) -> None:
    real = np.arange(9) < np.array([[9], [4], [1]])
    chosen = some_of_each(real, share, np.random.default_rng(1))
    assert chosen.sum(1).tolist() == [max(1, round(9 * share)), max(1, round(4 * share)), 1]
    assert not (chosen & ~real).any()


def test_continuation_is_hybrid_masking_over_both_halves() -> None:
    made = lesson("continuation", rates=MaskingRates(hidden=0.0))
    sep = ALPHABET.sep
    assert made.shown.items.tolist() == [
        [START, 0, sep, MASK, MASK, sep, PAD, PAD],
        [START, 5, 4, 3, sep, MASK, MASK, sep],
    ]
    assert made.items[made.places].tolist() == [1, 2, 2, 1]
