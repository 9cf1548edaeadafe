"""What models are shown and must tell, on lists small enough to check by eye."""

from typing import Any

import numpy as np
import pytest

from fansrec.models.tokens import Alphabet, category_table
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


WALKS = Lists(np.array([1, 2, 5, 5, 4]), np.array([5, 0, 1, 0, 1, 2, 3, 4, 5, 4, 3, 2, 1, 4, 5, 0, 1]))


def completions(count: int = 60, **changes: Any) -> list[Lesson]:
    return [lesson("completion", seed=seed, **{"lists": WALKS} | changes) for seed in range(count)]


def cuts(made: Lesson) -> list[int]:
    """How many items of each list stand before its first SEP."""
    return ((made.shown.items == ALPHABET.sep).int().argmax(1) - 1).tolist()


def test_completion_cuts_every_list_so_that_something_is_told_and_something_given_if_there_is_anything_more() -> None:
    seen = np.array([cuts(made) for made in completions()])
    assert [sorted({*column.tolist()}) for column in seen.T] == [[0], [1], [1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3]]


def test_completion_tells_all_behind_the_cut_and_shows_nothing_of_it() -> None:
    lists = np.split(WALKS.items, np.cumsum(WALKS.lengths)[:-1])
    for made in completions():
        for row, (items, cut) in enumerate(zip(lists, cuts(made), strict=True)):
            assert made.items[row][made.places[row]].tolist() == items[cut:].tolist()
            behind = made.shown.items[row, cut + 2 : len(items) + 3].tolist()
            assert behind == [MASK] * (len(items) - cut) + [ALPHABET.sep]
            assert made.places[row].nonzero()[0].tolist() == list(range(cut + 2, len(items) + 2))


def test_completion_hides_some_of_the_input_which_need_not_be_told() -> None:
    lists = np.split(WALKS.items, np.cumsum(WALKS.lengths)[:-1])
    hidden = shown = 0
    for made in completions(rates=MaskingRates(hidden=0.3)):
        for row, (items, cut) in enumerate(zip(lists, cuts(made), strict=True)):
            given = made.shown.items[row, 1 : cut + 1].numpy()
            assert ((given == MASK) | (given == items[:cut])).all()
            assert not made.places[row, : cut + 2].any()
            hidden += int((given == MASK).sum())
            shown += cut
    assert 0.2 < hidden / shown < 0.4


def test_completion_gives_categories_to_what_is_shown_alone() -> None:
    for made in completions(20):
        assert made.shown.categories.numpy().tolist() == CATEGORIES[made.shown.items.numpy()].tolist()


def test_half_of_completions_lists_are_cut_in_the_middle_and_the_others_anywhere() -> None:
    many = Lists(np.full(4000, 21), np.zeros(4000 * 21, dtype=np.int64))
    (made,) = completions(1, lists=many)
    shares = np.bincount(cuts(made), minlength=22) / 4000
    assert shares[0] == shares[21] == 0
    assert 0.45 < shares[11] < 0.6  # 10 of 21 are the target; a twentieth of the others are cut there too
    others = np.delete(shares[1:21], 10)
    assert others.min() > 0.015 and others.max() < 0.04


def test_the_same_seed_makes_the_same_completion_and_another_one_another() -> None:
    one, again, other = (lesson("completion", seed=seed, lists=WALKS) for seed in (3, 3, 4))
    assert one.shown.items.tolist() == again.shown.items.tolist() and one.places.tolist() == again.places.tolist()
    assert one.shown.items.tolist() != other.shown.items.tolist()
