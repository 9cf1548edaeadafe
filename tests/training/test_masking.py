import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fansrec.models.alphabet import Alphabet, token_categories
from fansrec.models.tokens import Batch, Layout, fill, lay_out, tokens_of
from fansrec.training.batches import BatchBuilder
from fansrec.training.curriculum import ratio
from fansrec.training.masking import MaskingRates, hidden_target, mask_input, target_mask
from fansrec.training.objectives import Lists, MaskingContext, continuation
from worlds import corpus_of, vocabulary_of

ALPHABET = Alphabet.of((0, 250, 500, 750, 1000))
CATEGORIES = token_categories((0, 250, 500, 750, 1000))


def tokens(lists: int, inputs: int, targets: int) -> tuple[np.ndarray, Layout]:
    """Return item tokens of many lists; the items count up from 0 and start again at 1000."""
    layout = lay_out(np.full(lists, inputs), np.full(lists, targets))
    items = np.arange(lists * (inputs + targets)).reshape(lists, -1) % ALPHABET.items
    return fill(layout, items[:, :inputs].ravel(), items[:, inputs:].ravel(), ALPHABET), layout


def masked_once(rates: MaskingRates) -> tuple[np.ndarray, np.ndarray, np.ndarray, Layout]:
    items, layout = tokens(lists=2000, inputs=50, targets=4)
    shown, to_predict = mask_input(items, layout, rates, ALPHABET, np.random.default_rng(0))
    return items, shown, to_predict, layout


def test_the_default_rates_are_those_of_the_paper() -> None:
    rates = MaskingRates()
    assert (rates.hidden, rates.masked, rates.replaced) == (0.15, 0.8, 0.1)


def test_15_of_100_input_items_are_hidden_and_8_1_1_of_them_masked_replaced_and_kept() -> None:
    items, shown, to_predict, layout = masked_once(MaskingRates())
    count = to_predict.sum()
    assert count / layout.in_input.sum() == pytest.approx(0.15, abs=0.005)  # 100,000 items: deviation 0.0011
    masked = to_predict & (shown == ALPHABET.mask)
    changed = to_predict & ~masked & (shown != items)
    kept = to_predict & (shown == items)
    assert masked.sum() / count == pytest.approx(0.8, abs=0.015)
    assert changed.sum() / count == pytest.approx(0.1, abs=0.012)
    assert kept.sum() / count == pytest.approx(0.1, abs=0.012)


def test_random_masking_affects_only_the_input() -> None:
    items, shown, to_predict, layout = masked_once(MaskingRates(hidden=1.0, masked=0.5, replaced=0.5))
    assert np.array_equal(to_predict, layout.in_input)
    assert np.array_equal(shown[~layout.in_input], items[~layout.in_input])


def test_other_items_are_unchanged() -> None:
    items, shown, to_predict, _ = masked_once(MaskingRates())
    assert np.array_equal(shown[~to_predict], items[~to_predict])


def test_replacement_is_any_item_but_not_a_special_token() -> None:
    _, shown, to_predict, _ = masked_once(MaskingRates(hidden=1.0, masked=0.0, replaced=1.0))
    replacements = np.bincount(shown[to_predict], minlength=ALPHABET.size)
    assert replacements[: ALPHABET.items].min() > 0
    assert replacements[ALPHABET.items :].sum() == 0
    assert replacements.max() < 160  # 100 expected of each


@pytest.mark.parametrize(("length", "steps", "expected"), [
    (1, 5, [1, 1, 1, 1, 1]),
    (2, 5, [1, 1, 1, 2, 2]),
    (5, 5, [1, 2, 3, 4, 5]),
    (7, 5, [1, 3, 4, 6, 7]),  # 1.4 2.8 4.2 5.6 7
    (10, 5, [2, 4, 6, 8, 10]),
    (30, 5, [6, 12, 18, 24, 30]),
    (5, 3, [2, 3, 5]),  # 1.67 3.33 5
    (5, 10, [1, 1, 2, 2, 2, 3, 4, 4, 4, 5]),  # halves go to the even number: 0.5 1 1.5 2 2.5 3 3.5 4 4.5 5
    (8, 1, [8]),
])  # fmt: skip
def test_masked_part_of_the_target_at_each_curriculum_step(length: int, steps: int, expected: list[int]) -> None:
    hidden = [int(hidden_target(np.array([length]), ratio(step, steps))[0]) for step in range(steps)]
    assert hidden == expected


@given(st.integers(1, 300), st.integers(1, 12))
def test_masked_part_is_rounded_and_ends_with_the_whole_target(length: int, steps: int) -> None:
    hidden = [int(hidden_target(np.array([length]), ratio(step, steps))[0]) for step in range(steps)]
    assert hidden == [max(1, round(length * ratio(step, steps))) for step in range(steps)]
    assert hidden == sorted(hidden) and hidden[-1] == length


def test_the_end_of_each_target_is_masked() -> None:
    layout = lay_out(np.array([1, 3]), np.array([4, 1]))
    assert target_mask(layout, 0.5).astype(int).tolist() == [
        [0, 0, 0, 0, 0, 1, 1, 0],  # CLS x SEP y y y y SEP: the last two of four
        [0, 0, 0, 0, 0, 1, 0, 0],  # CLS x x x SEP y SEP PAD: at least one
    ]
    assert target_mask(layout, 1.0).sum(1).tolist() == [4, 1]


def test_masked_target_items_are_always_mask_tokens() -> None:
    items, layout = tokens(lists=300, inputs=10, targets=10)
    context = MaskingContext(ALPHABET, CATEGORIES, MaskingRates(hidden=0.5, masked=0.0, replaced=0.5), ratio=0.4)
    lists = Lists(np.full(300, 20), items[layout.in_input | layout.in_target])
    made = continuation(lists, context, np.random.default_rng(0))
    shown, to_predict = made.inputs.items.numpy(), made.labeled
    assert np.all(shown[to_predict & layout.in_target] == ALPHABET.mask)
    assert (to_predict & layout.in_target).sum(1).tolist() == [4] * 300
    assert np.array_equal(shown[layout.in_target & ~to_predict], items[layout.in_target & ~to_predict])


@pytest.mark.parametrize(
    ("rates", "category"),
    [
        (MaskingRates(hidden=1.0, masked=1.0, replaced=0.0), "none"),
        (MaskingRates(hidden=1.0, masked=0.0, replaced=1.0), "of the replacing item"),
        (MaskingRates(hidden=1.0, masked=0.0, replaced=0.0), "its own"),
    ],
)
def test_the_category_of_a_masked_replaced_and_kept_item(rates: MaskingRates, category: str) -> None:
    items, layout = tokens(lists=200, inputs=10, targets=1)
    shown, to_predict = mask_input(items, layout, rates, ALPHABET, np.random.default_rng(0))
    categories = tokens_of(shown, layout, CATEGORIES).categories.numpy()[to_predict]
    before = items[to_predict] // 250
    if category == "none":
        assert np.all(categories == ALPHABET.no_category)
    elif category == "of the replacing item":
        assert np.array_equal(categories, shown[to_predict] // 250)
        assert np.mean(categories != before) == pytest.approx(0.75, abs=0.05)
    else:
        assert np.array_equal(shown[to_predict], items[to_predict])
        assert np.array_equal(categories, before)


def built(rates: MaskingRates) -> Batch:
    """Return a batch of one list, 0 1 2 3 4 5, with two categories of three items each."""
    corpus = corpus_of([[0, 1, 2, 3, 4, 5]], vocabulary_of([3, 3]))
    return BatchBuilder(corpus, Alphabet.of((0, 3, 6)), rates).build(np.array([0]), 1 / 3, [0])


def test_masked_batch_computed_by_hand() -> None:
    batch = built(MaskingRates(hidden=1.0, masked=1.0, replaced=0.0))
    pad, mask_, cls, sep = 6, 7, 8, 9
    assert batch.chunks[0].items.tolist() == [[cls, mask_, mask_, mask_, sep, 3, 4, mask_, sep]]
    assert batch.chunks[0].categories.tolist() == [[2, 2, 2, 2, 2, 1, 1, 2, 2]]
    assert batch.label_positions.tolist() == [1, 2, 3, 7]
    assert batch.labels.tolist() == [0, 1, 2, 5]
    assert pad not in batch.chunks[0].items


def test_labels_are_the_original_items() -> None:
    batch = built(MaskingRates(hidden=1.0, masked=0.0, replaced=1.0))
    assert batch.labels.tolist() == [0, 1, 2, 5]
    shown = batch.chunks[0].items.flatten()[batch.label_positions]
    assert batch.chunks[0].categories.flatten()[batch.label_positions].tolist() == [
        *(int(i) // 3 for i in shown[:3]),
        2,
    ]
