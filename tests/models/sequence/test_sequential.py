"""Models that read from left to right: what they read, and how they differ."""

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from fansrec.models.registry import build
from fansrec.models.sequence.car import GatedLayer, running_means
from fansrec.training.batches import BatchBuilder
from fansrec.training.masking import MaskingRates
from fansrec.training.plan import make_plan
from worlds import walks

CORPUS = walks()
READERS = ["sasrec", "car", "gru4rec", "caser"]


def made(name: str, **settings: Any) -> Any:
    torch.manual_seed(0)
    small = (
        {"width": 16} | ({} if name == "caser" else {"layers": 2}) | ({"heads": 2} if name in ("sasrec", "car") else {})
    )
    return make_plan(name, small | settings, CORPUS).build().eval()


@pytest.mark.parametrize("name", READERS)
@torch.inference_mode()
def test_later_items_do_not_change_earlier_states(name: str) -> None:
    model = made(name)
    one, other = (model.tokens([np.array([3, 4, 5, last])])[0] for last in (6, 40))
    known = [model.read([tokens]).view(5, -1) for tokens in (one, other)]
    torch.testing.assert_close(known[0][:4], known[1][:4])
    assert not torch.allclose(known[0][4], known[1][4])


@pytest.mark.parametrize("name", READERS)
@torch.inference_mode()
def test_order_of_items_matters(name: str) -> None:
    model = made(name)
    there, back = model.score_next([np.array([3, 40, 20]), np.array([40, 3, 20])])
    assert not torch.allclose(there, back)


@torch.inference_mode()
def test_caser_reads_the_last_five_items_only() -> None:
    model = made("caser")
    same, other = np.array([9, 1, 2, 3, 4, 5]), np.array([8, 7, 1, 2, 3, 4, 5])
    scores = model.score_next([same, other, np.array([0, 2, 3, 4, 5])])
    torch.testing.assert_close(scores[0], scores[1])
    assert not torch.allclose(scores[0], scores[2])


@pytest.mark.parametrize("name", READERS)
def test_loss_equals_torch_cross_entropy_of_next_items(name: str) -> None:
    model = made(name)
    batch = BatchBuilder(CORPUS, model.config.alphabet, MaskingRates(), "next-item").build(np.arange(6), 1.0, [0])
    with torch.no_grad():
        loss = model(batch).total
        weight, bias = model.projection()
        logits = model.read(batch.chunks)[batch.label_positions] @ weight.T + bias
    torch.testing.assert_close(loss, F.cross_entropy(logits, batch.labels), rtol=1e-4, atol=1e-5)
    assert len(batch.labels) == int(CORPUS.lengths[:6].sum())


@pytest.mark.parametrize("name", READERS)
def test_lists_of_a_batch_do_not_affect_each_other(name: str) -> None:
    model = made(name)
    builder = BatchBuilder(CORPUS, model.config.alphabet, MaskingRates(), "next-item")
    with torch.no_grad():
        together = model(builder.build(np.arange(8), 1.0, [0])).total * float(CORPUS.lengths[:8].sum())
        alone = [model(builder.build(np.array([i]), 1.0, [0])).total * float(CORPUS.lengths[i]) for i in range(8)]
    torch.testing.assert_close(together, torch.stack(alone).sum(), rtol=1e-4, atol=1e-3)


def test_sasrec_and_car_score_items_by_their_embeddings() -> None:
    for name in ("sasrec", "car"):
        model = made(name)
        assert model.projection()[0].data_ptr() == model.embed.items.weight.data_ptr()


def test_running_mean_covers_an_item_and_those_before() -> None:
    x = torch.tensor([[2.0], [4.0], [6.0], [10.0], [0.0], [2.0]])
    assert running_means(x, [(1, 3), (1, 3)]).flatten().tolist() == [2, 3, 4, 10, 5, 4]


def test_gate_of_car_mixes_attention_and_last_item() -> None:
    config = made("car").config
    layer = GatedLayer(config).eval()
    with torch.no_grad():
        layer.gate.weight.zero_()
        layer.gate.bias.copy_(torch.tensor([-50.0, 50.0]))  # the last item alone
        x = torch.randn(4, config.width)
        out = layer(x, [(1, 4)])
        alone = torch.cat([layer(row[None], [(1, 1)]) for row in x])
    torch.testing.assert_close(out, alone)  # earlier items have no effect
    with torch.no_grad():
        layer.gate.bias.copy_(torch.tensor([50.0, -50.0]))
        assert not torch.allclose(layer(x, [(1, 4)])[1:], alone[1:])


def test_gate_of_car_reads_the_distance_from_the_mean() -> None:
    """The gate reads the distance of an item from the mean: other items before the same last one, other weights."""
    layer = GatedLayer(made("car").config).eval()
    calm, wild = torch.ones(3, 16), torch.stack([torch.full((16,), 5.0), torch.full((16,), -4.0), torch.ones(16)])
    seen: list[torch.Tensor] = []
    layer.gate.register_forward_hook(lambda module, given, out: seen.append(given[0]))
    with torch.no_grad():
        layer(calm, [(1, 3)])
        layer(wild, [(1, 3)])
    off_mean = [given[-1, 16:] for given in seen]
    assert off_mean[0].tolist() == [0.0] * 16
    torch.testing.assert_close(off_mean[1], torch.full((16,), 1 - 2 / 3))


def test_invalid_sizes_are_refused() -> None:
    from fansrec.errors import BadSetting

    starts = {"category_starts": [0, 4], "positions": 9}
    with pytest.raises(BadSetting, match="width 10 cannot be shared by 8 heads"):
        build("sasrec", starts | {"width": 10})
    with pytest.raises(BadSetting, match="window is 0"):
        build("caser", {"category_starts": [0, 4], "window": 0})
    with pytest.raises(BadSetting, match="dropout is 1.0"):
        build("gru4rec", starts | {"dropout": 1.0})
