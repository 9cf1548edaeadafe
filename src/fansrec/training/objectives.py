"""Training objectives by name: which tokens of a list a model sees, and which items it must predict where.

- `continuation`: FANS. The end of the target and random items of the input are masked (paper, section 4.2).
- `completion`: the hybrid model. Lists are split before their last item, in the middle or anywhere; all that follows
  is predicted at masks, and the next item at every token of the input.
- `cloze`: BERT4Rec. Random items of the whole list are masked; in one batch of ten, only the last item.
- `next-item`: models that read from left to right. At every position, including the start, the next item.

All random draws of a batch come from one generator, chunk after chunk.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fansrec.data.corpus import target_lengths
from fansrec.models.alphabet import Alphabet
from fansrec.models.tokens import Layout, Tokens, fill, in_a_row, lay_out, tokens_of
from fansrec.training.masking import MaskingRates, hide, mask_input, sample_items, target_mask

Indices = NDArray[np.int64]

WHOLE_SHARE = 0.5  # of the lists of `completion`, which are read up to their last item
MIDDLE_SHARE = 0.25  # of them, which are split as in evaluation; the others are split anywhere
LAST_ITEM_SHARE = 0.1  # of the batches of `cloze` mask only the last item, as in evaluation


@dataclass(frozen=True)
class Lists:
    """Lists of similar length, concatenated."""

    lengths: Indices  # (B,)
    items: Indices  # (lengths.sum(),)


@dataclass(frozen=True)
class LabeledTokens:
    """The tokens that a model sees of some lists, and the items that it must predict."""

    inputs: Tokens  # (B, T)
    labeled: NDArray[np.bool_]  # (B, T): where an item must be predicted
    labels: Indices  # (B, T): the items to predict there


@dataclass(frozen=True)
class MaskingContext:
    """The parameters of an objective."""

    alphabet: Alphabet
    categories: Indices  # of every token of the alphabet
    rates: MaskingRates
    ratio: float  # the share of the target that is masked


Objective = Callable[[Sequence[Lists], MaskingContext, np.random.Generator], list[LabeledTokens]]


def continuation(lists: Lists, context: MaskingContext, random: np.random.Generator) -> LabeledTokens:
    """Mask the end of the target and random items of the input; a masked item loses its category too."""
    layout, items = _split(lists, target_lengths(lists.lengths), context.alphabet)
    shown, hidden = mask_input(items, layout, context.rates, context.alphabet, random)
    masked = target_mask(layout, context.ratio)
    inputs = np.where(masked, context.alphabet.mask, shown)
    return LabeledTokens(tokens_of(inputs, layout, context.categories), hidden | masked, items)


def completion(lists: Lists, context: MaskingContext, random: np.random.Generator) -> LabeledTokens:
    """Mask the whole target, and some items of the input; at each token of the input the next item is predicted."""
    if context.rates.shuffled:
        lists = shuffle(lists, context.rates.shuffled, random)
    anywhere = np.minimum(1 + (random.random(len(lists.lengths)) * (lists.lengths - 1)).astype(int), lists.lengths)
    draws = random.random(len(lists.lengths))
    targets = np.where(draws < WHOLE_SHARE + MIDDLE_SHARE, target_lengths(lists.lengths), anywhere)
    layout, items = _split(lists, np.where(draws < WHOLE_SHARE, 1, targets), context.alphabet)
    dropped = layout.in_input & (random.random(items.shape) < context.rates.hidden)
    inputs = np.where(layout.in_target | dropped, context.alphabet.mask, items)
    labels = np.where(layout.in_target, items, np.roll(items, -1, 1))
    last = np.arange(len(items)), layout.input_lengths[:, 0]
    labels[last] = items[last[0], last[1] + 2]  # SEP is between the last item of the input and the target
    labeled = layout.in_target | (layout.columns <= layout.input_lengths)
    return LabeledTokens(tokens_of(inputs, layout, context.categories), labeled, labels)


def shuffle(lists: Lists, share: float, random: np.random.Generator) -> Lists:
    """Return the lists with the items of a random `share` of them in random order."""
    list_of = np.repeat(np.arange(len(lists.lengths)), lists.lengths)
    ends = np.cumsum(lists.lengths)
    position = (np.arange(len(list_of)) - (ends - lists.lengths)[list_of]) / lists.lengths[list_of]
    shuffled = random.random(len(lists.lengths)) < share
    order = np.argsort(list_of + np.where(shuffled[list_of], random.random(len(list_of)), position), kind="stable")
    return Lists(lists.lengths, lists.items[order])


def _split(lists: Lists, targets: Indices, alphabet: Alphabet) -> tuple[Layout, Indices]:
    """Return the layout of lists with targets of these lengths (B,), and their tokens (B, T)."""
    layout = lay_out(lists.lengths - targets, targets)
    items = fill(layout, 0, 0, alphabet)
    items[layout.in_input | layout.in_target] = lists.items
    return layout, items


def cloze(chunks: Sequence[Lists], context: MaskingContext, random: np.random.Generator) -> list[LabeledTokens]:
    only_last = random.random() < LAST_ITEM_SHARE
    return [_cloze(lists, context, only_last, random) for lists in chunks]


def _cloze(lists: Lists, context: MaskingContext, only_last: bool, random: np.random.Generator) -> LabeledTokens:
    whole = in_a_row(lists.lengths, lists.items, context.categories, context.alphabet)
    items, real = whole.items.numpy(), whole.real.numpy()
    if only_last:
        labeled = np.arange(items.shape[1]) == lists.lengths[:, None] - 1
        hidden = np.where(labeled, context.alphabet.mask, items)
    else:
        labeled = sample_items(real, context.rates.hidden, random)
        hidden = hide(items, labeled, context.rates, context.alphabet, random)
    return LabeledTokens(in_a_row(lists.lengths, hidden[real], context.categories, context.alphabet), labeled, items)


def next_item(lists: Lists, context: MaskingContext, _: np.random.Generator) -> LabeledTokens:
    """Show CLS and all items but the last; predict the next item at each of them."""
    labels = in_a_row(lists.lengths, lists.items, context.categories, context.alphabet)
    items, labeled = labels.items.numpy(), labels.real.numpy()
    shifted = np.concatenate([np.full((len(items), 1), context.alphabet.cls), items[:, :-1]], 1)
    inputs = in_a_row(lists.lengths, shifted[labeled], context.categories, context.alphabet)
    return LabeledTokens(inputs, labeled, items)


def _for_each_chunk(objective: Callable[[Lists, MaskingContext, np.random.Generator], LabeledTokens]) -> Objective:
    return lambda chunks, context, random: [objective(lists, context, random) for lists in chunks]


OBJECTIVES: dict[str, Objective] = {
    "continuation": _for_each_chunk(continuation),
    "completion": _for_each_chunk(completion),
    "cloze": cloze,
    "next-item": _for_each_chunk(next_item),
}
