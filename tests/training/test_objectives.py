"""Inputs and labels of the objectives, on lists small enough to check by hand."""

from typing import Any

import numpy as np
import pytest

from fansrec.models.alphabet import Alphabet, token_categories
from fansrec.training.masking import MaskingRates, sample_items
from fansrec.training.objectives import (
    MIDDLE_SHARE,
    OBJECTIVES,
    WHOLE_SHARE,
    LabeledTokens,
    Lists,
    MaskingContext,
    shuffle,
)

ALPHABET = Alphabet.of((0, 3, 6))
CATEGORIES = token_categories((0, 3, 6))
LISTS = Lists(np.array([3, 5]), np.array([0, 1, 2, 5, 4, 3, 2, 1]))
NOTHING = MaskingRates(hidden=0.0)
PAD, MASK, START = ALPHABET.pad, ALPHABET.mask, ALPHABET.cls


def build(objective: str, seed: int = 0, **changes: Any) -> LabeledTokens:
    context = MaskingContext(
        ALPHABET, CATEGORIES, changes.get("rates", MaskingRates()), ratio=changes.get("ratio", 1.0)
    )
    (made,) = OBJECTIVES[objective]([changes.get("lists", LISTS)], context, np.random.default_rng(seed))
    return made


def test_next_item_inputs_and_labels() -> None:
    made = build("next-item")
    assert made.inputs.items.tolist() == [[START, 0, 1, PAD, PAD], [START, 5, 4, 3, 2]]
    assert made.labels[made.labeled].tolist() == [0, 1, 2, 5, 4, 3, 2, 1]
    assert made.labeled.tolist() == made.inputs.real.tolist() == [[True] * 3 + [False] * 2, [True] * 5]


def test_next_item_categories() -> None:
    none = ALPHABET.no_category
    assert build("next-item").inputs.categories.tolist() == [[none, 0, 0, none, none], [none, 1, 1, 1, 0]]


def test_cloze_has_one_segment() -> None:
    made = build("cloze", rates=MaskingRates(hidden=0.0, masked=0.0, replaced=0.0))
    assert made.inputs.items.tolist() == [[0, 1, 2, PAD, PAD], [5, 4, 3, 2, 1]]
    assert not made.inputs.segments.any()


def batches(count: int, **changes: Any) -> list[LabeledTokens]:
    return [build("cloze", seed=seed, **changes) for seed in range(count)]


def test_cloze_masks_its_share_of_every_list_and_at_least_one_item() -> None:
    long = Lists(np.array([20, 2]), np.arange(22) % 6)
    counts = {tuple(made.labeled.sum(1).tolist()) for made in batches(50, lists=long, rates=MaskingRates(hidden=0.3))}
    assert counts == {(6, 1), (1, 1)}  # (1, 1): the batches that mask only the last item


def test_one_cloze_batch_of_ten_masks_only_the_last_item() -> None:
    # The other batches hide three of five items, so that they can be distinguished.
    made = batches(600, rates=MaskingRates(hidden=0.6, masked=0.8, replaced=0.1))
    last = [[False, False, True, False, False], [False] * 4 + [True]]
    only_last = [batch for batch in made if batch.labeled.tolist() == last]
    assert 0.06 < len(only_last) / len(made) < 0.14
    assert all(batch.inputs.items.numpy()[batch.labeled].tolist() == [MASK, MASK] for batch in only_last)


def test_cloze_labels_are_the_original_items() -> None:
    for made in batches(30):
        assert made.labels.tolist() == [[0, 1, 2, PAD, PAD], [5, 4, 3, 2, 1]]
        assert not made.labeled[0, 3:].any()


def test_categories_of_masked_and_replaced_items() -> None:
    for made in batches(30, rates=MaskingRates(hidden=0.6, masked=0.5, replaced=0.5)):
        shown = made.inputs.items.numpy()
        assert made.inputs.categories.numpy().tolist() == CATEGORIES[shown].tolist()
        assert CATEGORIES[MASK] == ALPHABET.no_category


@pytest.mark.parametrize("share", [0.0, 0.15, 0.5, 1.0])
def test_sample_items_depends_on_the_length_and_ignores_padding(share: float) -> None:
    real = np.arange(9) < np.array([[9], [4], [1]])
    chosen = sample_items(real, share, np.random.default_rng(1))
    assert chosen.sum(1).tolist() == [max(1, round(9 * share)), max(1, round(4 * share)), 1]
    assert not (chosen & ~real).any()


def test_continuation_is_hybrid_masking() -> None:
    made = build("continuation", rates=MaskingRates(hidden=0.0))
    sep = ALPHABET.sep
    assert made.inputs.items.tolist() == [
        [START, 0, sep, MASK, MASK, sep, PAD, PAD],
        [START, 5, 4, 3, sep, MASK, MASK, sep],
    ]
    assert made.labels[made.labeled].tolist() == [1, 2, 2, 1]


WALKS = Lists(np.array([1, 2, 5, 5, 4]), np.array([5, 0, 1, 0, 1, 2, 3, 4, 5, 4, 3, 2, 1, 4, 5, 0, 1]))


def completions(count: int = 60, **changes: Any) -> list[LabeledTokens]:
    return [build("completion", seed=seed, **{"lists": WALKS} | changes) for seed in range(count)]


def cuts(made: LabeledTokens) -> list[int]:
    """Return how many items of each list come before its first SEP."""
    return ((made.inputs.items == ALPHABET.sep).int().argmax(1) - 1).tolist()


def test_completion_splits_lists_into_non_empty_parts() -> None:
    seen = np.array([cuts(made) for made in completions()])
    assert [sorted({*column.tolist()}) for column in seen.T] == [[0], [1], [1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3]]


def test_completion_by_hand() -> None:
    # Split before the last item: the next item at CLS and at each token of the input, the last item at SEP's neighbors.
    sep, lists = ALPHABET.sep, Lists(np.array([1, 4]), np.array([3, 5, 4, 2, 0]))
    seeds = (seed for seed in range(100) if cuts(build("completion", seed=seed, lists=lists, rates=NOTHING)) == [0, 3])
    made = build("completion", seed=next(seeds), lists=lists, rates=NOTHING)
    assert made.inputs.items.tolist() == [
        [START, sep, MASK, sep, PAD, PAD, PAD],
        [START, 5, 4, 2, sep, MASK, sep],
    ]
    assert np.where(made.labeled, made.labels, -1).tolist() == [
        [3, -1, 3, -1, -1, -1, -1],
        [5, 4, 2, 0, -1, 0, -1],
    ]


def test_completion_labels_of_a_longer_target() -> None:
    lists = Lists(np.array([5]), np.array([5, 4, 3, 2, 1]))
    seeds = (seed for seed in range(100) if cuts(build("completion", seed=seed, lists=lists)) == [2])
    made = build("completion", seed=next(seeds), lists=lists, rates=NOTHING)
    assert made.inputs.items.tolist() == [[START, 5, 4, ALPHABET.sep, MASK, MASK, MASK, ALPHABET.sep]]
    assert np.where(made.labeled, made.labels, -1).tolist() == [[5, 4, 3, -1, 3, 2, 1, -1]]


def test_completion_masks_and_predicts_the_whole_target() -> None:
    lists = np.split(WALKS.items, np.cumsum(WALKS.lengths)[:-1])
    for made in completions():
        for row, (items, cut) in enumerate(zip(lists, cuts(made), strict=True)):
            behind = made.inputs.items[row, cut + 2 : len(items) + 3].tolist()
            assert behind == [MASK] * (len(items) - cut) + [ALPHABET.sep]
            assert made.labeled[row].nonzero()[0].tolist() == [*range(cut + 1), *range(cut + 2, len(items) + 2)]
            assert made.labels[row, cut + 2 : len(items) + 2].tolist() == items[cut:].tolist()


def test_completion_predicts_the_next_item_also_at_masked_input_items() -> None:
    lists = np.split(WALKS.items, np.cumsum(WALKS.lengths)[:-1])
    masked = shown = 0
    for made in completions(rates=MaskingRates(hidden=0.3)):
        for row, (items, cut) in enumerate(zip(lists, cuts(made), strict=True)):
            given = made.inputs.items[row, 1 : cut + 1].numpy()
            assert ((given == MASK) | (given == items[:cut])).all()
            assert made.labeled[row, : cut + 1].all() and not made.labeled[row, cut + 1]
            assert made.labels[row, : cut + 1].tolist() == items[: cut + 1].tolist()
            masked += int((given == MASK).sum())
            shown += cut
    assert 0.2 < masked / shown < 0.4


def test_completion_categories() -> None:
    for made in completions(20):
        assert made.inputs.categories.numpy().tolist() == CATEGORIES[made.inputs.items.numpy()].tolist()


def test_completion_splits_before_the_last_item_in_the_middle_or_anywhere() -> None:
    many = Lists(np.full(4000, 21), np.zeros(4000 * 21, dtype=np.int64))
    (made,) = completions(1, lists=many)
    shares = np.bincount(cuts(made), minlength=22) / 4000
    anywhere = (1 - WHOLE_SHARE - MIDDLE_SHARE) / 20  # of the lists, at each of 20 places
    assert shares[0] == shares[21] == 0
    assert shares[20] == pytest.approx(WHOLE_SHARE + anywhere, abs=0.03)
    assert shares[11] == pytest.approx(MIDDLE_SHARE + anywhere, abs=0.03)  # 10 of 21 are the target
    others = np.delete(shares[1:20], 10)
    assert others == pytest.approx(np.full(18, anywhere), abs=0.008)


def test_completion_depends_on_the_seed() -> None:
    one, again, other = (build("completion", seed=seed, lists=WALKS) for seed in (3, 3, 4))
    assert one.inputs.items.tolist() == again.inputs.items.tolist() and one.labeled.tolist() == again.labeled.tolist()
    assert one.inputs.items.tolist() != other.inputs.items.tolist()


def test_shuffled_lists_keep_their_items() -> None:
    lists = Lists(np.array([6, 1, 5]), np.arange(12))
    made = shuffle(lists, 1.0, np.random.default_rng(0)).items
    assert made.tolist() != list(range(12)) and [sorted(made[:6]), made[6], sorted(made[7:])] == [
        list(range(6)),
        6,
        list(range(7, 12)),
    ]


def test_only_a_share_of_lists_is_shuffled() -> None:
    lists = Lists(np.full(1000, 8), np.tile(np.arange(8), 1000))
    made = shuffle(lists, 0.3, np.random.default_rng(0)).items.reshape(1000, 8)
    kept = (made == np.arange(8)).all(1)
    assert 0.65 < kept.mean() < 0.75
    assert np.abs(made[~kept].mean(0) - 3.5).max() < 0.5  # every place gets every item
