"""The classifier of the hybrid model against the products of probabilities that define it."""

from itertools import pairwise

import pytest
import torch
from torch import Tensor

from fansrec.models.hybrid.classifier import TiedClassifier
from fansrec.models.tokens import Batch

WIDTH = 6
STARTS = (0, 3, 4, 9)  # the second category has one item
ITEMS, CATEGORIES = STARTS[-1], len(STARTS) - 1
SIZES = torch.tensor([3, 1, 5])
CATEGORY_OF = torch.arange(CATEGORIES).repeat_interleave(SIZES)
COUNTS = torch.tensor([4, 0, 2, 7, 1, 1, 0, 3, 9])
EVERY_KIND = pytest.mark.parametrize("requested", [0, 1, 2, CATEGORIES])


def tied(requested: int = CATEGORIES, starts: tuple[int, ...] = STARTS, transform: bool = True) -> TiedClassifier:
    """Return a classifier with random weights, so that no probability is 0 or 1."""
    torch.manual_seed(0)
    classifier = TiedClassifier(WIDTH, starts, requested, transform)
    classifier.start(COUNTS[: starts[-1]])
    for parameter in classifier.parameters():
        parameter.data += 0.5 * torch.randn_like(parameter)
    return classifier.eval()


def vectors() -> Tensor:
    return torch.randn(ITEMS, WIDTH, generator=torch.Generator().manual_seed(1))


def hidden(*shape: int) -> Tensor:
    return torch.randn(*shape, WIDTH, generator=torch.Generator().manual_seed(2))


def batch(labels: list[int], positions: int | None = None) -> Batch:
    count = len(labels)
    return Batch([], torch.arange(count), torch.tensor(labels), lists=1, positions=positions or count)


def by_hand(classifier: TiedClassifier, hidden: Tensor, items: Tensor) -> Tensor:
    """Return p(category) * p(item | category), (..., M), or one softmax without categories."""
    hidden = classifier.transform(hidden)
    logits = classifier.scale * hidden @ items.T + classifier.bias
    if classifier.category is None:
        return logits.softmax(-1)
    inside = torch.cat([logits[..., start:end].softmax(-1) for start, end in pairwise(classifier.starts)], -1)
    return classifier.category(hidden).softmax(-1)[..., CATEGORY_OF] * inside


LABELS = [8, 0, 3, 5, 0, 2, 8]


@EVERY_KIND
def test_loss_is_negative_log_likelihood(requested: int) -> None:
    classifier, states, items = tied(requested), hidden(len(LABELS)), vectors()
    probable = by_hand(classifier, states, items)[range(len(LABELS)), LABELS]
    torch.testing.assert_close(classifier.loss(states, items, batch(LABELS)).total, -probable.log().mean())


@EVERY_KIND
def test_gradients_are_those_of_the_likelihood(requested: int) -> None:
    classifier = tied(requested)
    inputs = [hidden(len(LABELS)).requires_grad_(), vectors().requires_grad_(), *classifier.parameters()]
    own = torch.autograd.grad(classifier.loss(inputs[0], inputs[1], batch(LABELS)).total, inputs)
    probable = by_hand(classifier, inputs[0], inputs[1])[range(len(LABELS)), LABELS]
    for mine, slow in zip(own, torch.autograd.grad(-probable.log().mean(), inputs), strict=True):
        torch.testing.assert_close(mine, slow, rtol=1e-4, atol=1e-6)


def test_loss_is_divided_by_positions_of_all_processes() -> None:
    classifier, states, items = tied(), hidden(4), vectors()
    alone = classifier.loss(states, items, batch([1, 2, 3, 4])).total
    torch.testing.assert_close(classifier.loss(states, items, batch([1, 2, 3, 4], positions=16)).total, alone / 4)


def test_item_trains_its_category_even_if_another_was_predicted() -> None:
    classifier, items = tied(), vectors().requires_grad_()
    assert classifier.category is not None
    classifier.category.weight.data.zero_()
    classifier.category.bias.data = torch.tensor([50.0, 0.0, 0.0])  # category 0 is always predicted
    loss = classifier.loss(hidden(2), items, batch([4, 7]))
    loss.total.backward()
    assert int(loss.category_hits) == 0
    assert items.grad is not None and classifier.bias.grad is not None
    assert (items.grad[4:].abs().sum(1) > 0).all() and (classifier.bias.grad[4:] != 0).all()
    assert not items.grad[:4].any() and not classifier.bias.grad[:4].any()  # items outside the labels' categories


def test_right_categories_are_counted() -> None:
    classifier, states = tied(), hidden(len(LABELS))
    assert classifier.category is not None
    predicted = classifier.category(classifier.transform(states)).argmax(1)
    hits = int((predicted == CATEGORY_OF[LABELS]).sum())
    assert int(classifier.loss(states, vectors(), batch(LABELS)).category_hits) == hits


def mean_by_hand(classifier: TiedClassifier, states: Tensor, items: Tensor) -> Tensor:
    """Return the mean (B, M) over all positions."""
    return by_hand(classifier, states, items).mean(1)


def even_shares(lists: int, positions: int) -> Tensor:
    return torch.full((lists, positions), 1 / positions)


@torch.inference_mode()
@pytest.mark.parametrize("requested", [0, CATEGORIES, CATEGORIES + 5])
def test_probabilities_are_means_over_positions_with_all_categories(requested: int) -> None:
    classifier, states, items = tied(requested), hidden(3, 4), vectors()
    probable = classifier.probabilities(states, even_shares(3, 4), items)
    torch.testing.assert_close(probable, mean_by_hand(classifier, states, items))
    torch.testing.assert_close(probable.sum(1), torch.ones(3))


@torch.inference_mode()
@pytest.mark.parametrize("requested", [1, 2])
def test_other_categories_divide_their_probability_by_the_prior(requested: int) -> None:
    classifier, states, items = tied(requested), 3 * hidden(5, 4), vectors()
    assert classifier.category is not None
    probable = classifier.probabilities(states, even_shares(5, 4), items)
    by_category = classifier.category(classifier.transform(states)).softmax(2).mean(1)  # (B, N)
    smooth = COUNTS + 1
    prior = smooth / torch.tensor([smooth[category == CATEGORY_OF].sum() for category in CATEGORY_OF])
    exact = mean_by_hand(classifier, states, items)
    for row in range(5):
        looked_into = by_category[row].topk(requested).indices
        for item in range(ITEMS):
            category = CATEGORY_OF[item]
            spread = by_category[row, category] * prior[item]
            torch.testing.assert_close(probable[row, item], exact[row, item] if category in looked_into else spread)
    torch.testing.assert_close(probable.sum(1), torch.ones(5))


@torch.inference_mode()
@EVERY_KIND
def test_lists_of_different_lengths_do_not_affect_each_other(requested: int) -> None:
    classifier, states, items = tied(requested), hidden(3, 5), vectors()
    lengths = [5, 1, 3]
    shares = torch.stack([(torch.arange(5) < length) / length for length in lengths])
    together = classifier.probabilities(states, shares, items)
    for row, length in enumerate(lengths):
        alone = classifier.probabilities(states[row : row + 1, :length], even_shares(1, length), items)
        torch.testing.assert_close(together[row], alone[0])


@torch.inference_mode()
def test_start_scores_items_by_popularity() -> None:
    torch.manual_seed(0)
    classifier = TiedClassifier(WIDTH, STARTS, 1, transform=True)
    classifier.start(COUNTS)
    probable = classifier.probabilities(torch.zeros(1, 1, WIDTH), torch.ones(1, 1), torch.zeros(ITEMS, WIDTH))[0]
    for start, end in pairwise(STARTS):  # inside every category, scored or not
        torch.testing.assert_close(probable[start:end] / probable[start:end].sum(), classifier.prior[start:end])
        smooth = COUNTS[start:end] + 1
        torch.testing.assert_close(classifier.prior[start:end], smooth / smooth.sum())


@torch.inference_mode()
def test_one_category_equals_no_categories() -> None:
    one, none = tied(1, (0, ITEMS)), tied(0, (0, ITEMS))
    one.load_state_dict(none.state_dict(), strict=False)
    states, items = hidden(2, 3), vectors()
    shares = even_shares(2, 3)
    torch.testing.assert_close(one.probabilities(states, shares, items), none.probabilities(states, shares, items))
    loss = none.loss(states[0], items, batch([1, 5, 8])).total
    torch.testing.assert_close(one.loss(states[0], items, batch([1, 5, 8])).total, loss)


@torch.inference_mode()
@EVERY_KIND
def test_expected_position_follows_the_scores(requested: int) -> None:
    classifier, states, items = tied(requested), hidden(2, 4), vectors()
    chosen = torch.tensor([[8, 0, 3], [1, 2, 7]])
    transformed = classifier.transform(states)
    affinity = classifier.scale * transformed @ items.T  # the bias is the same at all positions
    if classifier.category is not None:
        affinity += classifier.category(transformed).log_softmax(2)[..., CATEGORY_OF]
    positions = (affinity.softmax(1) * torch.arange(4)[:, None]).sum(1)  # (B, M)
    found = classifier.expected_positions(states, even_shares(2, 4), items[chosen], classifier.categories[chosen])
    torch.testing.assert_close(found, positions.gather(1, chosen))


@torch.inference_mode()
@EVERY_KIND
def test_expected_positions_are_inside_the_list(requested: int) -> None:
    classifier, states, items = tied(requested), hidden(2, 5), vectors()
    shares = torch.stack([(torch.arange(5) < length) / length for length in (5, 2)])
    chosen = torch.tensor([[8, 0, 3], [1, 2, 7]])
    given = items[chosen], classifier.categories[chosen]
    together = classifier.expected_positions(states, shares, *given)
    alone = classifier.expected_positions(states[1:, :2], even_shares(1, 2), *(part[1:] for part in given))
    torch.testing.assert_close(together[1], alone[0])
    assert (together[1] < 1).all() and (together >= 0).all()


@torch.inference_mode()
@EVERY_KIND
def test_chunks_of_lists_give_the_same_probabilities(requested: int, monkeypatch: pytest.MonkeyPatch) -> None:
    classifier, states, items = tied(requested), hidden(5, 3), vectors()
    at_once = classifier.probabilities(states, even_shares(5, 3), items)
    monkeypatch.setattr("fansrec.models.hybrid.category_items.LOGITS_AT_ONCE", 2 * 3 * ITEMS)
    torch.testing.assert_close(classifier.probabilities(states, even_shares(5, 3), items), at_once)


@torch.inference_mode()
@EVERY_KIND
def test_without_a_transform_hidden_states_are_scored_as_they_are(requested: int) -> None:
    classifier, states, items = tied(requested, transform=False), hidden(3, 4), vectors()
    assert not any(name.startswith("transform") for name in classifier.state_dict())
    logits = classifier.scale * states @ items.T + classifier.bias
    probable = by_hand(classifier, states, items)  # (B, K, M)
    for start, end in pairwise(STARTS) if requested else [(0, ITEMS)]:
        within = probable[..., start:end] / probable[..., start:end].sum(-1, keepdim=True)
        torch.testing.assert_close(within, logits[..., start:end].softmax(-1))
    if requested in (0, CATEGORIES):  # otherwise some categories are not scored
        torch.testing.assert_close(classifier.probabilities(states, even_shares(3, 4), items), probable.mean(1))
    expected = -probable[0, range(4), LABELS[:4]].log().mean()
    torch.testing.assert_close(classifier.loss(states[0], items, batch(LABELS[:4])).total, expected)


@torch.inference_mode()
def test_shares_weight_the_positions() -> None:
    classifier, states, items = tied(), hidden(1, 3), vectors()
    by_position = by_hand(classifier, states, items)[0]
    expected = 0.5 * by_position[0] + 0.3 * by_position[1] + 0.2 * by_position[2]
    probable = classifier.probabilities(states, torch.tensor([[0.5, 0.3, 0.2]]), items)
    torch.testing.assert_close(probable[0], expected)
