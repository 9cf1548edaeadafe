"""Hybrid item masking (paper, section 4.2): random items of the input and the end of the target are hidden."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fansrec.models.tokens import Alphabet, Layout


@dataclass(frozen=True)
class MaskingRates:
    hidden: float = 0.15  # rho_r: the share of the input's items to be predicted
    masked: float = 0.8  # beta_m: of those, the share that becomes MASK
    replaced: float = 0.1  # beta_r: the share that becomes a random item; the rest stays as it is


def hidden_target(lengths: NDArray[np.int64], ratio: float) -> NDArray[np.int64]:
    """How many items at the end of targets of these lengths are masked at curriculum `ratio`; at least one."""
    return np.asarray(np.maximum(1, np.rint(lengths * ratio).astype(np.int64)))


def target_to_hide(layout: Layout, ratio: float) -> NDArray[np.bool_]:
    """The last `ratio` of every target."""
    first = layout.target_lengths - hidden_target(layout.target_lengths, ratio)
    return layout.in_target & (layout.target_column >= first)


def hide(
    items: NDArray[np.int64],
    chosen: NDArray[np.bool_],
    rates: MaskingRates,
    alphabet: Alphabet,
    random: np.random.Generator,
) -> NDArray[np.int64]:
    """The item tokens with the chosen ones hidden as in BERT: MASK, a random item, or left as they are."""
    lot = random.random(items.shape)
    strangers = random.integers(alphabet.items, size=items.shape)
    masked = chosen & (lot < rates.masked)
    replaced = chosen & ~masked & (lot < rates.masked + rates.replaced)
    return np.where(masked, alphabet.mask, np.where(replaced, strangers, items))


def hide_input(
    items: NDArray[np.int64], layout: Layout, rates: MaskingRates, alphabet: Alphabet, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The item tokens with some of the input hidden, and which tokens are to be told."""
    chosen = layout.in_input & (random.random(items.shape) < rates.hidden)
    return hide(items, chosen, rates, alphabet, random), chosen


def some_of_each(real: NDArray[np.bool_], share: float, random: np.random.Generator) -> NDArray[np.bool_]:
    """A random `share` of the items of every list, at least one; padding is not real."""
    lots = np.where(real, random.random(real.shape), np.inf)
    wanted = np.maximum(1, np.rint(real.sum(1) * share))
    return np.asarray((lots.argsort(1).argsort(1) < wanted[:, None]) & real)


def mask(
    items: NDArray[np.int64],
    layout: Layout,
    ratio: float,
    rates: MaskingRates,
    alphabet: Alphabet,
    random: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Both halves of hybrid masking; categories follow the tokens, so a masked item loses its category too."""
    hidden, chosen = hide_input(items, layout, rates, alphabet, random)
    at_end = target_to_hide(layout, ratio)
    return np.where(at_end, alphabet.mask, hidden), chosen | at_end
