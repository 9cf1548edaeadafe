from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from fansrec.errors import BadSetting
from fansrec.models.alphabet import token_categories
from fansrec.models.fans import Fans, FansConfig
from fansrec.models.layers.transformer import Dropout, rectangle
from fansrec.models.tokens import Batch, Tokens, with_masks
from fansrec.training.batches import BatchBuilder, Share, share_of
from fansrec.training.masking import MaskingRates
from worlds import walks

CORPUS = walks()
CONFIG = FansConfig(
    category_starts=(0, 15, 30, 45, 60), positions=19, width=16, layers=2, heads=4, feedforward=24, dropout=0.0
)
BOTH = pytest.mark.parametrize("classifier", ["two-stage", "vanilla"])


def fans(seed: int = 0, **changes: object) -> Fans:
    torch.manual_seed(seed)
    return Fans(replace(CONFIG, **changes))


def batch(lists: int = 12, share: Share = Share(), seed: int = 0) -> Batch:  # noqa: B008
    return BatchBuilder(CORPUS, CONFIG.alphabet, MaskingRates(hidden=0.4)).build(np.arange(lists), 0.6, [seed], share)


def test_unknown_classifier_is_refused() -> None:
    with pytest.raises(BadSetting, match="two-stage or vanilla"):
        replace(CONFIG, classifier="three-stage")


def test_width_must_be_a_multiple_of_heads() -> None:
    with pytest.raises(BadSetting, match="width 16 cannot be shared by 3 heads"):
        replace(CONFIG, heads=3)


def everywhere(model: Fans, chunks: Sequence[Tokens]) -> Tensor:
    """Return the hidden states at all tokens of all chunks, padding included."""
    return model.encode(chunks, torch.arange(sum(chunk.items.numel() for chunk in chunks)))


@BOTH
def test_masked_positions_are_encoded_as_with_all_positions(classifier: str) -> None:
    model, whole = fans(classifier=classifier), batch()
    x = torch.cat([model.embed(chunk) for chunk in whole.chunks])
    for layer in model.layers:
        x = layer(x, [rectangle(chunk) for chunk in whole.chunks])
    encoded = model.encode(whole.chunks, whole.label_positions)
    assert len(encoded) == len(whole.label_positions) < len(x)
    torch.testing.assert_close(encoded, x[whole.label_positions])
    expected = model.classifier.loss(x[whole.label_positions], whole, lambda counts: counts)
    torch.testing.assert_close(model(whole).total, expected.total)


def test_vanilla_loss_equals_torch_cross_entropy() -> None:
    model, whole = fans(classifier="vanilla"), batch()
    hidden = model.encode(whole.chunks, whole.label_positions)
    logits = model.classifier.items(model.classifier.transform(hidden))  # type: ignore[attr-defined]
    torch.testing.assert_close(model(whole).total, F.cross_entropy(logits, whole.labels))


def test_embedding_is_sum_of_item_category_position_and_segment() -> None:
    model = fans().eval()
    tokens = batch(1).chunks[0]
    embed = model.embed
    assert embed.categories is not None
    for place in range(tokens.items.shape[1]):
        x = (
            embed.items.weight[tokens.items[0, place]]
            + embed.categories.weight[tokens.categories[0, place]]
            + embed.positions.weight[place]
            + embed.segments.weight[tokens.segments[0, place]]
        )
        torch.testing.assert_close(embed(tokens)[place], embed.norm(x))


def test_category_tokens_do_not_matter_without_categories() -> None:
    model = fans(use_categories=False).eval()
    tokens = batch(1).chunks[0]
    other = replace(tokens, categories=torch.zeros_like(tokens.categories))
    assert torch.equal(everywhere(model, [tokens]), everywhere(model, [other]))
    assert not any("categories" in name for name in model.state_dict())


def test_category_tokens_matter_with_categories() -> None:
    model = fans().eval()
    tokens = batch(1).chunks[0]
    other = replace(tokens, categories=torch.zeros_like(tokens.categories))
    assert not torch.allclose(everywhere(model, [tokens]), everywhere(model, [other]), atol=1e-3)


@BOTH
def test_pad_stays_zero_while_mask_is_trained(classifier: str) -> None:
    model, alphabet = fans(classifier=classifier, dropout=0.1), CONFIG.alphabet
    assert model.embed.categories is not None
    before = model.embed.items.weight[alphabet.mask].clone()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        model(batch(seed=step)).total.backward()
        optimizer.step()
    assert model.embed.items.weight[alphabet.pad].count_nonzero() == 0
    assert model.embed.categories.weight[alphabet.no_category].count_nonzero() == 0
    assert not torch.allclose(model.embed.items.weight[alphabet.mask], before, atol=0.01)


def laid_out(*lists: int) -> Tokens:
    """Return lists of these lengths with items 0, 1, 2, …, the last two of them masked."""
    inputs = [np.arange(length - 2) for length in lists]
    return with_masks(inputs, [2] * len(lists), token_categories(CONFIG.category_starts), CONFIG.alphabet)


def test_padding_does_not_change_hidden_states() -> None:
    model = fans().eval()
    alone, padded = laid_out(6), laid_out(6, 16)
    short = alone.items.shape[1]
    assert padded.items.shape[1] > short and torch.equal(padded.items[0, :short], alone.items[0])
    torch.testing.assert_close(everywhere(model, [padded])[:short], everywhere(model, [alone]), rtol=1e-5, atol=1e-5)


def test_lists_of_a_batch_do_not_attend_to_each_other() -> None:
    model = fans().eval()
    chunks = batch(12).chunks
    together = everywhere(model, chunks).split([chunk.items.numel() for chunk in chunks])
    for chunk, encoded in zip(chunks, together, strict=True):
        columns = chunk.items.shape[1]
        for row in range(len(chunk.items)):
            alone = everywhere(model, [chunk.rows(np.arange(len(chunk.items)) == row)])
            mine = encoded[row * columns : (row + 1) * columns]
            real = chunk.real[row]
            torch.testing.assert_close(mine[real], alone[real], rtol=1e-5, atol=1e-5)


def losses_of_shares(model: Fans, lists: int, processes: int) -> Tensor:
    """Return the sum of the losses of several processes that reduce their counts."""
    shares = [batch(lists, share_of(np.arange(lists), rank, processes)) for rank in range(processes)]
    counts: list[Tensor] = []

    def remember(own: Tensor) -> Tensor:
        counts.append(own)
        return own

    with torch.no_grad():
        for share in shares:
            model(share, remember)
    everyone = torch.stack(counts).sum(0) if counts else None
    return torch.stack(
        [model(share, lambda own: own if everyone is None else everyone).total for share in shares]
    ).sum()


@BOTH
@pytest.mark.parametrize("processes", [2, 3])
def test_losses_of_all_processes_add_up_to_that_of_one(classifier: str, processes: int) -> None:
    model = fans(classifier=classifier)
    parameters = list(model.parameters())
    one = model(batch(48)).total
    several = losses_of_shares(model, 48, processes)
    assert several.item() == pytest.approx(one.item(), abs=1e-5)
    for a, b in zip(torch.autograd.grad(one, parameters), torch.autograd.grad(several, parameters), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@BOTH
@pytest.mark.parametrize("lists", [1, 2, 5])
def test_process_without_a_list_of_a_chunk_adds_nothing(classifier: str, lists: int) -> None:
    model = fans(classifier=classifier)
    several = losses_of_shares(model, lists, 2)
    assert several.item() == pytest.approx(model(batch(lists)).total.item(), abs=1e-5)


def test_longest_sequence_is_a_multiple_of_the_trained_one() -> None:
    assert fans().longest_sequence() == 1024 - 3
    assert fans(positions=303).longest_sequence() == 4 * 303 - 3


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5])
def test_dropout_drops_its_share_and_keeps_the_mean(share: float) -> None:
    torch.manual_seed(0)
    dropped = Dropout(share)(torch.ones(300, 333))
    assert (dropped == 0).float().mean().item() == pytest.approx(share, abs=0.006)
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.01)
    assert dropped.unique().numel() == 2


def test_dropout_is_identity_in_evaluation_or_at_zero() -> None:
    x = torch.randn(5, 7)
    assert torch.equal(Dropout(0.5).eval()(x), x)
    assert torch.equal(Dropout(0.0)(x), x)


def test_dropout_follows_the_seed() -> None:
    def drawn(seed: int) -> Tensor:
        torch.manual_seed(seed)
        return Dropout(0.3)(torch.ones(100))

    assert torch.equal(drawn(1), drawn(1)) and not torch.equal(drawn(1), drawn(2))
