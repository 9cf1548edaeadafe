"""Which tokens see which in the encoder, by changing one token and looking at the hidden states of the others."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from fansrec.models.alphabet import token_categories
from fansrec.models.config import from_settings
from fansrec.models.fans import FansConfig
from fansrec.models.layers import transformer
from fansrec.models.layers.encoder import Encoder
from fansrec.models.layers.transformer import rectangle
from fansrec.models.tokens import Tokens, with_masks

CONFIG = from_settings(
    FansConfig,
    {"category_starts": (0, 4, 9), "positions": 12, "width": 8, "layers": 2, "heads": 2, "feedforward": 12},
)
GIVEN, MASKS = [3, 1, 7, 5], 2
LENGTH = len(GIVEN) + MASKS + 3  # CLS, 4 items, SEP, 2 masks, SEP


def encoder(causal: bool) -> Encoder:
    torch.manual_seed(0)
    made = Encoder(CONFIG, CONFIG, causal)
    made.init_weights(1.0, 1.0)
    return made.eval()


def tokens_of(*inputs: list[int], counts: list[int] | None = None) -> Tokens:
    given = [np.array(items, dtype=np.int64) for items in inputs]
    return with_masks(given, counts or [MASKS] * len(given), token_categories((0, 4, 9)), CONFIG.alphabet)


@torch.inference_mode()
def hidden(model: Encoder, tokens: Tokens) -> Tensor:
    """Return the hidden states (B, T, D) of all tokens."""
    return model.encode([tokens], torch.arange(tokens.items.numel())).view(*tokens.items.shape, -1)


def changed_columns(causal: bool, place: int) -> list[int]:
    """Return the columns whose hidden states change with the item at a place of the input."""
    other = [*GIVEN[:place], 8, *GIVEN[place + 1 :]]
    model = encoder(causal)
    before, after = (hidden(model, tokens_of(items))[0] for items in (GIVEN, other))
    return [column for column in range(LENGTH) if not torch.allclose(before[column], after[column], atol=1e-6)]


@pytest.mark.parametrize("place", range(len(GIVEN)))
def test_causal_input_tokens_do_not_see_later_ones(place: int) -> None:
    assert changed_columns(True, place) == list(range(place + 1, LENGTH))  # CLS is column 0; masks see everything


@pytest.mark.parametrize("place", range(len(GIVEN)))
def test_bidirectional_tokens_see_all(place: int) -> None:
    assert changed_columns(False, place) == list(range(LENGTH))


def test_causal_input_tokens_do_not_depend_on_the_number_of_masks() -> None:
    model = encoder(causal=True)
    few, many = (hidden(model, tokens_of(GIVEN, counts=[count]))[0] for count in (1, 5))
    torch.testing.assert_close(few[: len(GIVEN) + 2], many[: len(GIVEN) + 2])
    assert not torch.allclose(few[len(GIVEN) + 2], many[len(GIVEN) + 2])


def test_every_mask_sees_the_others() -> None:
    model, tokens = encoder(causal=True), tokens_of(GIVEN)
    items = tokens.items.clone()
    items[0, len(GIVEN) + 3] = 8  # an item in place of the second mask
    before, after = hidden(model, tokens)[0], hidden(model, replace(tokens, items=items))[0]
    assert not torch.allclose(before[len(GIVEN) + 2], after[len(GIVEN) + 2])


@pytest.mark.parametrize("causal", [False, True])
def test_padding_does_not_matter(causal: bool) -> None:
    model = encoder(causal)
    together = hidden(model, tokens_of(GIVEN, [6], [], counts=[3, 1, 5]))
    for row, (items, count) in enumerate([(GIVEN, 3), ([6], 1), ([], 5)]):
        alone = hidden(model, tokens_of(items, counts=[count]))[0]
        torch.testing.assert_close(together[row, : len(alone)], alone, rtol=1e-4, atol=1e-5)


def test_attention_mask_by_hand() -> None:
    tokens = tokens_of([2], [3, 4], counts=[1, 1])  # the first has a column of padding
    seen = rectangle(tokens, causal=True).seen
    assert seen is not None and seen.shape == (2, 1, 6, 6)
    everything = [1, 1, 1, 1, 1, 0]
    assert seen[0, 0].int().tolist()[:5] == [
        [1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [1, 1, 1, 0, 0, 0],
        everything,
        everything,
    ]
    assert seen[1, 0].int().tolist()[3:] == [[1, 1, 1, 1, 0, 0], [1] * 6, [1] * 6]


@pytest.mark.parametrize(("inputs", "counts"), [
    ([GIVEN, [6], []], [3, 1, 5]),
    ([GIVEN, GIVEN[::-1]], [2, 2]),
    ([GIVEN], [2]),
], ids=["different lengths", "equal lengths", "one list"])  # fmt: skip
def test_large_causal_masks_are_avoided_with_equal_results(
    inputs: list[list[int]], counts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokens = encoder(causal=True), tokens_of(*inputs, counts=counts)
    found = []
    for cells in (transformer.MASK_CELLS, 0):
        monkeypatch.setattr(transformer, "MASK_CELLS", cells)
        model.zero_grad()
        states = model.encode([tokens], tokens.real.flatten().nonzero()[:, 0])
        (states**3).sum().backward()
        found.append((states, [parameter.grad for parameter in model.parameters()]))
    (masked, gradients), (by_segment, other_gradients) = found
    torch.testing.assert_close(by_segment, masked)
    torch.testing.assert_close(other_gradients, gradients, rtol=1e-4, atol=1e-4)


def test_mask_of_long_lists_does_not_grow_with_the_square_of_their_length() -> None:
    seen = rectangle(tokens_of([1] * 3000, *[[1] * 2900] * 3), causal=True).seen
    assert seen is not None and seen.shape == (4, 1, 1, 3005)


def test_there_is_no_mask_without_padding_unless_causal() -> None:
    tokens = tokens_of(GIVEN)
    assert rectangle(tokens).seen is None and rectangle(tokens, causal=True).seen is not None
