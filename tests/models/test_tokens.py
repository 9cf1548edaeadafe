import numpy as np

from fansrec.models.alphabet import Alphabet, token_categories
from fansrec.models.tokens import fill, lay_out, tokens_of

ALPHABET = Alphabet.of((0, 2, 5))
CATEGORIES = token_categories((0, 2, 5))
PAD, MASK, CLS, SEP = 5, 6, 7, 8


def test_special_tokens_follow_the_items() -> None:
    assert (ALPHABET.pad, ALPHABET.mask, ALPHABET.cls, ALPHABET.sep, ALPHABET.size) == (PAD, MASK, CLS, SEP, 9)
    assert ALPHABET.no_category == 2


def test_only_items_have_a_category() -> None:
    assert CATEGORIES.tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 2]


def test_layout_and_padding_of_two_lists() -> None:
    layout = lay_out(np.array([2, 0]), np.array([2, 1]))
    items = fill(layout, np.array([0, 1]), np.array([2, 3, 4]), ALPHABET)
    assert items.tolist() == [[CLS, 0, 1, SEP, 2, 3, SEP], [CLS, SEP, 4, SEP, PAD, PAD, PAD]]
    tokens = tokens_of(items, layout, CATEGORIES)
    assert tokens.categories.tolist() == [[2, 0, 0, 2, 1, 1, 2], [2, 2, 1, 2, 2, 2, 2]]
    assert tokens.segments.tolist()[0] == [0, 0, 0, 0, 1, 1, 1]
    assert tokens.segments.tolist()[1][:4] == [0, 0, 1, 1]
    assert tokens.real.tolist() == [[True] * 7, [True] * 4 + [False] * 3]


def test_mask_tokens_fill_the_target() -> None:
    layout = lay_out(np.array([1]), np.array([3]))
    items = fill(layout, np.array([4]), ALPHABET.mask, ALPHABET)
    assert items.tolist() == [[CLS, 4, SEP, MASK, MASK, MASK, SEP]]
    assert tokens_of(items, layout, CATEGORIES).categories.tolist() == [[2, 1, 2, 2, 2, 2, 2]]


def test_rows_of_tokens_are_selected() -> None:
    layout = lay_out(np.array([1, 1, 1]), np.array([1, 1, 1]))
    tokens = tokens_of(fill(layout, np.array([0, 1, 2]), np.array([3, 4, 0]), ALPHABET), layout, CATEGORIES)
    assert tokens.rows(np.array([False, True, False])).items.tolist() == [[CLS, 1, SEP, 4, SEP]]
