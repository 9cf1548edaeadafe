import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from fansrec.models.layers import cross_entropy
from fansrec.models.layers.cross_entropy import grouped_cross_entropy

ROWS, ITEMS, WIDTH = 11, 23, 5
GROUPS = [(slice(0, 4), slice(0, 9)), (slice(4, 5), slice(9, 10)), (slice(5, 11), slice(10, 23))]
SCALES = [0.5, 3.0, 0.125]


def example(dtype: torch.dtype = torch.float32, seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return hidden rows, weights and biases with gradients, and a label inside its group for every row."""
    random = torch.Generator().manual_seed(seed)
    shapes = ((ROWS, WIDTH), (ITEMS, WIDTH), (ITEMS,))
    hidden, weight, bias = (torch.randn(shape, generator=random, dtype=dtype).requires_grad_() for shape in shapes)
    labels = torch.empty(ROWS, dtype=torch.int64)
    for rows, items in GROUPS:
        labels[rows] = torch.randint(items.start, items.stop, (rows.stop - rows.start,), generator=random)
    return hidden, weight, bias, labels


def plain(hidden: Tensor, weight: Tensor, bias: Tensor, labels: Tensor) -> Tensor:
    """Return the same loss by torch's cross-entropy, group by group."""
    losses = [
        scale * F.cross_entropy(hidden[r] @ weight[i].T + bias[i], labels[r] - i.start, reduction="sum")
        for scale, (r, i) in zip(SCALES, GROUPS, strict=True)
    ]
    return torch.stack(losses).sum()


@pytest.mark.parametrize("at_once", [1, 14, 26, 1 << 20])
def test_values_and_gradients_equal_torch_for_any_chunk_size(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_entropy, "LOGITS_AT_ONCE", at_once)
    monkeypatch.setattr(cross_entropy, "ROWS_AT_ONCE", 1)
    hidden, weight, bias, labels = example()
    ours = grouped_cross_entropy(hidden, weight, bias, labels, GROUPS, torch.tensor(SCALES))
    theirs = plain(hidden, weight, bias, labels)
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)
    for got, expected in zip(
        torch.autograd.grad(2.5 * ours, (hidden, weight, bias)),
        torch.autograd.grad(2.5 * theirs, (hidden, weight, bias)),
        strict=True,
    ):
        torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)


def test_gradient_equals_finite_differences() -> None:
    hidden, weight, bias, labels = example()
    loss = grouped_cross_entropy(hidden, weight, bias, labels, GROUPS, torch.tensor(SCALES))
    gradients = torch.autograd.grad(loss, (hidden, weight, bias))
    doubles = [t.detach().double() for t in (hidden, weight, bias)]
    for which, gradient in enumerate(gradients):
        direction = torch.randn_like(doubles[which], generator=None)
        moved = [t + 1e-5 * direction if n == which else t for n, t in enumerate(doubles)]
        back = [t - 1e-5 * direction if n == which else t for n, t in enumerate(doubles)]
        slope = (plain(*moved, labels) - plain(*back, labels)) / 2e-5
        assert float((gradient * direction).sum()) == pytest.approx(float(slope), rel=1e-4, abs=1e-5)


def test_two_items_and_two_rows_by_hand() -> None:
    hidden = torch.tensor([[1.0], [2.0]], requires_grad=True)
    weight = torch.tensor([[0.0], [1.0]], requires_grad=True)
    bias = torch.zeros(2, requires_grad=True)
    everything = [(slice(0, 2), slice(0, 2))]
    loss = grouped_cross_entropy(hidden, weight, bias, torch.tensor([0, 1]), everything, torch.tensor([0.5]))
    # Logits (0, 1) and (0, 2); labels 0 and 1.
    p1, p2 = 1 / (1 + np.exp(-1)), 1 / (1 + np.exp(-2))
    assert loss.item() == pytest.approx(0.5 * (-np.log(1 - p1) - np.log(p2)), rel=1e-6)
    loss.backward()
    assert hidden.grad is not None and weight.grad is not None and bias.grad is not None
    np.testing.assert_allclose(hidden.grad.flatten(), [0.5 * p1, 0.5 * (p2 - 1)], rtol=1e-5)
    np.testing.assert_allclose(bias.grad, [0.5 * (-p1 + 1 - p2), 0.5 * (p1 + p2 - 1)], rtol=1e-4)
    np.testing.assert_allclose(
        weight.grad.flatten(), [0.5 * (-p1 + 2 * (1 - p2)), 0.5 * (p1 - 2 * (1 - p2))], rtol=1e-4
    )


def test_group_without_rows_adds_no_loss_and_no_gradient() -> None:
    hidden, weight, bias, labels = example()
    groups = [(slice(0, 4), slice(0, 9)), (slice(4, 4), slice(9, 23))]
    loss = grouped_cross_entropy(hidden[:4], weight, bias, labels[:4], groups, torch.tensor([1.0, 1e6]))
    expected = F.cross_entropy(hidden[:4] @ weight[:9].T + bias[:9], labels[:4], reduction="sum")
    torch.testing.assert_close(loss, expected)
    assert torch.autograd.grad(loss, weight)[0][9:].count_nonzero() == 0


def test_no_rows_give_zero_loss_and_gradients() -> None:
    hidden, weight, bias, labels = example()
    loss = grouped_cross_entropy(
        hidden[:0], weight, bias, labels[:0], [(slice(0, 0), slice(0, ITEMS))], torch.tensor([1.0])
    )
    gradients = torch.autograd.grad(loss, (hidden, weight, bias))
    assert loss.item() == 0.0 and all(gradient.count_nonzero() == 0 for gradient in gradients)


def test_large_logits_do_not_overflow() -> None:
    hidden = torch.tensor([[1000.0]])
    weight = torch.tensor([[1.0], [-1.0]])
    everything = [(slice(0, 1), slice(0, 2))]
    loss = grouped_cross_entropy(hidden, weight, torch.zeros(2), torch.tensor([1]), everything, torch.ones(1))
    assert loss.item() == pytest.approx(2000.0)


def sizes_of_chunks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which the number of logits of every chunk is appended."""
    sizes: list[int] = []
    linear = F.linear

    def watched(*arguments: Tensor) -> Tensor:
        logits = linear(*arguments)
        sizes.append(logits.numel())
        return logits

    monkeypatch.setattr(F, "linear", watched)
    return sizes


def test_large_vocabulary_is_processed_in_chunks_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = sizes_of_chunks(monkeypatch)
    rows, items = 1000, 50_000
    everything = [(slice(0, rows), slice(0, items))]
    labels = torch.arange(rows)
    loss = grouped_cross_entropy(
        torch.zeros(rows, 1), torch.zeros(items, 1), torch.zeros(items), labels, everything, torch.tensor([1 / rows])
    )
    assert loss.item() == pytest.approx(np.log(items), rel=1e-5)
    assert sum(sizes) == rows * items and max(sizes) <= rows * items / 7


@pytest.mark.parametrize("at_once", [26, 52])
def test_logits_are_never_all_in_memory(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_entropy, "LOGITS_AT_ONCE", at_once)
    monkeypatch.setattr(cross_entropy, "ROWS_AT_ONCE", 1)
    sizes = sizes_of_chunks(monkeypatch)
    hidden, weight, bias, labels = example()
    grouped_cross_entropy(hidden, weight, bias, labels, GROUPS, torch.tensor(SCALES))
    assert len(sizes) > len(GROUPS)
    assert max(sizes) <= at_once
    assert sum(sizes) == 4 * 9 + 1 * 1 + 6 * 13  # each logit once


EVERYTHING = [(slice(0, ROWS), slice(0, ITEMS))]
CATEGORIES = torch.repeat_interleave(torch.arange(3), torch.tensor([9, 1, 13]))  # those of GROUPS


@pytest.mark.parametrize("at_once", [1, 46, 1 << 20])
@pytest.mark.parametrize("shuffled", [False, True])
def test_one_softmax_by_categories_equals_groups(at_once: int, shuffled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_entropy, "LOGITS_AT_ONCE", at_once)
    monkeypatch.setattr(cross_entropy, "ROWS_AT_ONCE", 1)
    hidden, weight, bias, labels = example()
    parameters = (hidden, weight, bias)
    grouped = grouped_cross_entropy(*parameters, labels, GROUPS, torch.full((3,), 0.25))
    order = torch.randperm(ROWS) if shuffled else torch.arange(ROWS)  # the rows of a category need not be adjacent
    masked = grouped_cross_entropy(
        hidden[order], weight, bias, labels[order], EVERYTHING, torch.tensor([0.25]), CATEGORIES
    )
    torch.testing.assert_close(masked, grouped)
    for own, other in zip(
        torch.autograd.grad(masked, parameters), torch.autograd.grad(grouped, parameters), strict=True
    ):
        torch.testing.assert_close(own, other)
