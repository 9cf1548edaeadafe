"""What a model is trained to do, by name: which tokens of a list it is shown, and where it must tell which items.

- `continuation`: FANS. The end of the target and random items of the input are hidden (paper, section 4.2).
- `completion`: FANS by `--recipe best`. Lists are cut anywhere, half of them in the middle; all that follows is told.
- `cloze`: BERT4Rec. Random items of the whole list are hidden; in one batch of ten, only the last one.
- `next-item`: models that read from left to right. At every place, from the very start on, the item that comes next.

All draws of a batch come from one generator, chunk after chunk.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fansrec.data.halves import target_lengths
from fansrec.models.tokens import Alphabet, Tokens, fill, in_a_row, lay_out, tokens_of
from fansrec.training.masking import MaskingRates, hide, mask, some_of_each

Numbers = NDArray[np.int64]

IN_THE_MIDDLE = 0.5  # of completion's lists are cut where they will be cut when it counts
ONLY_LAST = 0.1  # of cloze's batches hide the last item alone, since that is what will be asked


@dataclass(frozen=True)
class Lists:
    """Lists of like length, one after the other."""

    lengths: Numbers  # (B,)
    items: Numbers  # (their sum,)


@dataclass(frozen=True)
class Lesson:
    """What a model is shown of some lists, and what it must tell where."""

    shown: Tokens  # (B, T)
    places: NDArray[np.bool_]  # (B, T)
    items: Numbers  # (B, T): to be told at these places


@dataclass(frozen=True)
class Terms:
    """All that an objective goes by, beside the lists."""

    alphabet: Alphabet
    categories: Numbers  # of every token of the alphabet
    rates: MaskingRates
    ratio: float  # the share of the target that is masked


Objective = Callable[[Sequence[Lists], Terms, np.random.Generator], list[Lesson]]


def continuation(chunks: Sequence[Lists], terms: Terms, random: np.random.Generator) -> list[Lesson]:
    return [_continuation(lists, terms, random) for lists in chunks]


def _continuation(lists: Lists, terms: Terms, random: np.random.Generator) -> Lesson:
    targets = target_lengths(lists.lengths)
    layout = lay_out(lists.lengths - targets, targets)
    items = fill(layout, 0, 0, terms.alphabet)
    items[layout.in_input | layout.in_target] = lists.items
    shown, to_tell = mask(items, layout, terms.ratio, terms.rates, terms.alphabet, random)
    return Lesson(tokens_of(shown, layout, terms.categories), to_tell, items)


def completion(chunks: Sequence[Lists], terms: Terms, random: np.random.Generator) -> list[Lesson]:
    return [_completion(lists, terms, random) for lists in chunks]


def _completion(lists: Lists, terms: Terms, random: np.random.Generator) -> Lesson:
    """The whole target is hidden, and of the input's items some, which need not be told."""
    anywhere = np.minimum(1 + (random.random(len(lists.lengths)) * (lists.lengths - 1)).astype(int), lists.lengths)
    middle = random.random(len(lists.lengths)) < IN_THE_MIDDLE
    targets = np.where(middle, target_lengths(lists.lengths), anywhere)
    layout = lay_out(lists.lengths - targets, targets)
    items = fill(layout, 0, 0, terms.alphabet)
    items[layout.in_input | layout.in_target] = lists.items
    dropped = layout.in_input & (random.random(items.shape) < terms.rates.hidden)
    shown = np.where(layout.in_target | dropped, terms.alphabet.mask, items)
    return Lesson(tokens_of(shown, layout, terms.categories), layout.in_target, items)


def cloze(chunks: Sequence[Lists], terms: Terms, random: np.random.Generator) -> list[Lesson]:
    only_last = random.random() < ONLY_LAST
    return [_cloze(lists, terms, only_last, random) for lists in chunks]


def _cloze(lists: Lists, terms: Terms, only_last: bool, random: np.random.Generator) -> Lesson:
    whole = in_a_row(lists.lengths, lists.items, terms.categories, terms.alphabet)
    items, real = whole.items.numpy(), whole.real.numpy()
    if only_last:
        chosen = np.arange(items.shape[1]) == lists.lengths[:, None] - 1
        hidden = np.where(chosen, terms.alphabet.mask, items)
    else:
        chosen = some_of_each(real, terms.rates.hidden, random)
        hidden = hide(items, chosen, terms.rates, terms.alphabet, random)
    return Lesson(in_a_row(lists.lengths, hidden[real], terms.categories, terms.alphabet), chosen, items)


def next_item(chunks: Sequence[Lists], terms: Terms, random: np.random.Generator) -> list[Lesson]:
    return [_next_item(lists, terms) for lists in chunks]


def _next_item(lists: Lists, terms: Terms) -> Lesson:
    """START and all items but the last are shown; each must tell the one behind it."""
    to_tell = in_a_row(lists.lengths, lists.items, terms.categories, terms.alphabet)
    items, places = to_tell.items.numpy(), to_tell.real.numpy()
    shifted = np.concatenate([np.full((len(items), 1), terms.alphabet.cls), items[:, :-1]], 1)
    return Lesson(in_a_row(lists.lengths, shifted[places], terms.categories, terms.alphabet), places, items)


OBJECTIVES: dict[str, Objective] = {
    "continuation": continuation,
    "completion": completion,
    "cloze": cloze,
    "next-item": next_item,
}
