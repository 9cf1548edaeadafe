"""Hybrid item masking (paper, section 4.2): random items of the input and the end of the target are masked."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fansrec.models.alphabet import Alphabet
from fansrec.models.tokens import Layout


@dataclass(frozen=True)
class MaskingRates:
    hidden: float = 0.15  # rho_r: the share of the input's items to be predicted
    masked: float = 0.8  # beta_m: of those, the share that becomes MASK
    replaced: float = 0.1  # beta_r: the share that becomes a random item; the rest stays as it is
    shuffled: float = 0.0  # the share of lists that are read in random order; not in the paper


def hidden_target(lengths: NDArray[np.int64], ratio: float) -> NDArray[np.int64]:
    """Return how many trailing items of targets of these lengths are masked at curriculum `ratio`: at least one."""
    return np.asarray(np.maximum(1, np.rint(lengths * ratio).astype(np.int64)))


def target_mask(layout: Layout, ratio: float) -> NDArray[np.bool_]:
    """Return which tokens are masked at the end of the targets at curriculum `ratio`, shape (B, T)."""
    first = layout.target_lengths - hidden_target(layout.target_lengths, ratio)
    return layout.in_target & (layout.target_column >= first)


def hide(
    items: NDArray[np.int64],
    chosen: NDArray[np.bool_],
    rates: MaskingRates,
    alphabet: Alphabet,
    random: np.random.Generator,
) -> NDArray[np.int64]:
    """Return the tokens (B, T) with the chosen ones hidden as in BERT: as MASK, a random item, or unchanged."""
    draws = random.random(items.shape)
    random_items = random.integers(alphabet.items, size=items.shape)
    masked = chosen & (draws < rates.masked)
    replaced = chosen & ~masked & (draws < rates.masked + rates.replaced)
    return np.where(masked, alphabet.mask, np.where(replaced, random_items, items))


def mask_input(
    items: NDArray[np.int64], layout: Layout, rates: MaskingRates, alphabet: Alphabet, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the tokens with random items of the input hidden, and which tokens those are, both (B, T)."""
    chosen = layout.in_input & (random.random(items.shape) < rates.hidden)
    return hide(items, chosen, rates, alphabet, random), chosen


def sample_items(real: NDArray[np.bool_], share: float, random: np.random.Generator) -> NDArray[np.bool_]:
    """Return a random `share` of the items of every list, at least one, (B, T); `real` is False for padding."""
    draws = np.where(real, random.random(real.shape), np.inf)
    counts = np.maximum(1, np.rint(real.sum(1) * share))
    return np.asarray((draws.argsort(1).argsort(1) < counts[:, None]) & real)
