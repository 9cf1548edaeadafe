"""The formulas of both classifiers, worked out with numpy."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from fansrec.models.fans import EPSILON, LocalTransforms, TwoStageClassifier
from fansrec.models.layers.classifiers import VanillaClassifier
from fansrec.models.tokens import Batch

STARTS = (0, 2, 5)  # two categories: items 0 and 1, items 2 to 4


def alone(counts: Tensor) -> Tensor:
    return counts


def batch(labels: list[int], lists: int, positions: int | None = None) -> Batch:
    """Return the parts of a batch that a classifier reads: the labels and the divisors."""
    return Batch([], torch.arange(len(labels)), torch.tensor(labels), lists, positions or len(labels))


def minus_log_softmax(logits: list[float], right: int) -> float:
    return math.log(sum(math.exp(logit) for logit in logits)) - logits[right]


class Untransformed(LocalTransforms):
    """Local classifiers without a transform, so that logits can be set by hand."""

    def forward(self, hidden: Tensor, rows: list[slice], categories: list[int]) -> Tensor:
        return torch.cat([hidden[r] for r in rows])


def by_hand() -> TwoStageClassifier:
    """Return a classifier whose hidden vector is the two category logits: item 1 adds the first, 3 and 4 the second."""
    classifier = TwoStageClassifier(2, STARTS)
    classifier.transform, classifier.local = nn.Identity(), Untransformed(2, 2)  # type: ignore[assignment]
    with torch.no_grad():
        classifier.category.weight.copy_(torch.eye(2))
        classifier.category.bias.zero_()
        classifier.items.weight.copy_(torch.tensor([[0, 0], [1, 0], [0, 0], [0, 1], [0, 2]]))
        classifier.items.bias.zero_()
    return classifier


def test_vanilla_loss_is_mean_over_masked_positions() -> None:
    classifier = VanillaClassifier(2, 3)
    classifier.transform = nn.Identity()  # type: ignore[assignment]
    with torch.no_grad():
        classifier.items.weight.copy_(torch.tensor([[0, 0], [1, 0], [0, 1]]))
        classifier.items.bias.zero_()
    loss = classifier.loss(torch.tensor([[1.0, 2.0], [0.0, -1.0]]), batch([2, 0], lists=1), alone)
    expected = (minus_log_softmax([0, 1, 2], 2) + minus_log_softmax([0, 0, -1], 0)) / 2
    assert loss.total.item() == pytest.approx(expected, rel=1e-6)


def test_vanilla_loss_is_divided_by_positions_of_all_processes() -> None:
    classifier = VanillaClassifier(4, 3)
    hidden = torch.randn(2, 4, generator=torch.Generator().manual_seed(0))
    own = classifier.loss(hidden, batch([0, 2], lists=1), alone).total
    share = classifier.loss(hidden, batch([0, 2], lists=1, positions=8), alone).total
    torch.testing.assert_close(share, own / 4)


def test_two_stage_loss_with_a_wrong_and_an_empty_category() -> None:
    # Position 1: item 0, category 0, predicted 0. Position 2: item 3, category 1, predicted 0: wrong.
    # Position 3: item 1, category 0, predicted 0. So category 1 has a sample, but none with a right category.
    hidden = torch.tensor([[2.0, 0.0], [1.0, 0.5], [3.0, 1.0]])
    loss = by_hand().loss(hidden, batch([0, 3, 1], lists=2), alone)
    category = (minus_log_softmax([2, 0], 0) + minus_log_softmax([1, 0.5], 1) + minus_log_softmax([3, 1], 0)) / 2
    local = (minus_log_softmax([0, 2], 0) + minus_log_softmax([0, 3], 1)) / (2 + EPSILON)
    assert loss.total.item() == pytest.approx(category + local / 2, rel=1e-6)
    assert loss.category_hits.item() == 2


def test_categories_count_equally_for_any_number_of_samples() -> None:
    hidden = torch.tensor([[2.0, 0.0], [0.0, 2.0], [1.0, 0.0], [4.0, 1.0]])
    loss = by_hand().loss(hidden, batch([0, 4, 1, 1], lists=4), alone)
    category = sum(
        minus_log_softmax(row, right) for row, right in zip(hidden.tolist(), [0, 1, 0, 0], strict=True)
    ) / 4  # fmt: skip
    first = (minus_log_softmax([0, 2], 0) + minus_log_softmax([0, 1], 1) + minus_log_softmax([0, 4], 1)) / (3 + EPSILON)
    second = minus_log_softmax([0, 2, 4], 2) / (1 + EPSILON)
    assert loss.total.item() == pytest.approx(category + (first + second) / 2, rel=1e-6)


def test_category_without_samples_adds_no_loss() -> None:
    hidden = torch.tensor([[2.0, 0.0]])
    loss = by_hand().loss(hidden, batch([1], lists=1), alone)
    local = minus_log_softmax([0, 2], 1) / (1 + EPSILON)
    assert loss.total.item() == pytest.approx(minus_log_softmax([2, 0], 0) + local / 2, rel=1e-6)


def test_epsilon_does_not_matter_with_samples() -> None:
    assert 0 < EPSILON <= 1e-5


def test_loss_is_category_loss_if_all_categories_are_wrong() -> None:
    hidden = torch.tensor([[0.0, 2.0], [1.0, 0.0]])
    loss = by_hand().loss(hidden, batch([0, 2], lists=1), alone)
    expected = minus_log_softmax([0, 2], 0) + minus_log_softmax([1, 0], 1)
    assert loss.total.item() == pytest.approx(expected, rel=1e-6)
    assert loss.category_hits.item() == 0


def test_category_loss_is_sum_over_positions_divided_by_lists() -> None:
    hidden = torch.tensor([[0.0, 2.0]] * 6)
    three, six = (by_hand().loss(hidden, batch([0] * 6, lists), alone).total.item() for lists in (3, 6))
    assert three == pytest.approx(2 * minus_log_softmax([0, 2], 0), rel=1e-6)
    assert six == pytest.approx(minus_log_softmax([0, 2], 0), rel=1e-6)


def test_wrong_category_gives_its_local_classifier_no_gradient() -> None:
    torch.manual_seed(0)
    classifier = TwoStageClassifier(4, STARTS)
    hidden = torch.randn(6, 4)
    guesses = classifier.category(classifier.transform(hidden)).argmax(1)
    hidden = hidden[guesses == 0]  # category 0 is predicted everywhere, so every sample of category 1 is wrong
    assert len(hidden) >= 2
    labels = [3] * (len(hidden) - 1) + [0]
    classifier.loss(hidden, batch(labels, lists=1), alone).total.backward()
    assert classifier.local.weight.grad is not None and classifier.items.weight.grad is not None
    assert classifier.items.bias.grad is not None
    for parameter in classifier.local.parameters():
        assert parameter.grad is not None and parameter.grad[1].count_nonzero() == 0
    assert classifier.local.weight.grad[0].count_nonzero() > 0
    assert classifier.items.weight.grad[2:].count_nonzero() == 0
    assert classifier.items.bias.grad[2:].count_nonzero() == 0
    assert classifier.items.weight.grad[:2].count_nonzero() > 0


def test_all_weights_have_gradients_without_a_right_category() -> None:
    classifier = by_hand()
    classifier.local = LocalTransforms(2, 2)
    classifier.loss(torch.tensor([[0.0, 2.0]]), batch([0], lists=1), alone).total.backward()
    assert all(parameter.grad is not None for parameter in classifier.parameters())
    assert all(parameter.grad.count_nonzero() == 0 for parameter in classifier.local.parameters())  # type: ignore[union-attr]


def numpy_transform(x: np.ndarray, weight: Tensor, bias: Tensor, scale: Tensor, shift: Tensor) -> np.ndarray:
    """Return linear layer, GELU and layer norm of one vector in double precision."""
    w, b, s, m = (t.detach().double().numpy() for t in (weight, bias, scale, shift))
    y = w @ x + b
    y = np.array([0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in y])
    return (y - y.mean()) / np.sqrt(y.var() + 1e-5) * s + m


def log_softmax(logits: np.ndarray) -> np.ndarray:
    return logits - np.log(np.exp(logits).sum())


def random_classifier(seed: int) -> tuple[TwoStageClassifier, Tensor, list[int]]:
    torch.manual_seed(seed)
    classifier = TwoStageClassifier(6, (0, 3, 4, 9, 11))
    for parameter in classifier.parameters():
        nn.init.normal_(parameter)
    return classifier, torch.randn(40, 6), torch.randint(0, 11, (40,)).tolist()


def numpy_probabilities(classifier: TwoStageClassifier, x: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return category log-probabilities of a hidden vector, and item log-probabilities inside each category."""
    t, local = classifier.transform, classifier.local
    y = numpy_transform(x, t.linear.weight, t.linear.bias, t.norm.weight, t.norm.bias)
    by_category = classifier.category.weight.detach().double().numpy() @ y + classifier.category.bias.tolist()
    inside = []
    for c, (start, end) in enumerate(zip(classifier.starts[:-1], classifier.starts[1:], strict=True)):
        z = numpy_transform(x, local.weight[c], local.bias[c], local.norm_weight[c], local.norm_bias[c])
        weight = classifier.items.weight[start:end].detach().double().numpy()
        inside.append(log_softmax(weight @ z + classifier.items.bias[start:end].tolist()))
    return log_softmax(by_category), inside


@pytest.mark.parametrize("seed", range(5))
def test_two_stage_loss_is_the_formula_of_the_paper(seed: int) -> None:
    classifier, hidden, labels = random_classifier(seed)
    starts = np.array(classifier.starts)
    category_loss, sums, counts = 0.0, np.zeros(4), np.zeros(4)
    for x, item in zip(hidden.double().numpy(), labels, strict=True):
        category = int(np.searchsorted(starts, item, side="right")) - 1
        by_category, inside = numpy_probabilities(classifier, x)
        category_loss -= by_category[category]
        if by_category.argmax() == category:
            sums[category] -= inside[category][item - starts[category]]
            counts[category] += 1
    assert 0 < counts.sum() < len(labels)  # some are right and some wrong
    expected = category_loss / 5 + (sums / (counts + EPSILON)).sum() / 4
    loss = classifier.loss(hidden, batch(labels, lists=5), alone)
    assert loss.total.item() == pytest.approx(expected, rel=1e-5)
    assert loss.category_hits.item() == counts.sum()


def test_scores_of_a_rank_are_log_probabilities_inside_its_category() -> None:
    classifier, hidden, _ = random_classifier(0)
    for rank in range(4):
        scores = classifier.scores(hidden, rank).detach().numpy()
        for x, row in zip(hidden.double().numpy(), scores, strict=True):
            by_category, inside = numpy_probabilities(classifier, x)
            category = int(np.argsort(-by_category)[rank])
            items = slice(classifier.starts[category], classifier.starts[category + 1])
            np.testing.assert_allclose(row[items], by_category[category] + inside[category], rtol=1e-4, atol=1e-4)
            assert np.all(np.delete(row, np.r_[items]) == -np.inf)


def test_ranks_score_every_item_once_and_sum_to_1() -> None:
    classifier, hidden, _ = random_classifier(1)
    scores = torch.stack([classifier.scores(hidden, rank) for rank in range(classifier.ranks)])
    assert torch.all((scores > -torch.inf).sum(0) == 1)
    torch.testing.assert_close(scores.exp().sum((0, 2)), torch.ones(len(hidden)))


def test_vanilla_scores_are_log_probabilities() -> None:
    classifier = VanillaClassifier(4, 7)
    scores = classifier.scores(torch.randn(3, 4), 0)
    assert scores.shape == (3, 7)
    torch.testing.assert_close(scores.exp().sum(1), torch.ones(3))


def test_category_of_every_item() -> None:
    assert TwoStageClassifier(2, (0, 1, 4, 5)).category_of(torch.arange(5)).tolist() == [0, 1, 1, 1, 2]


def test_equal_categories_are_ranked_in_order() -> None:
    classifier = by_hand()
    first, second = (classifier.scores(torch.zeros(1, 2), rank) > -torch.inf for rank in range(2))
    assert first.tolist() == [[True, True, False, False, False]]
    assert second.tolist() == [[False, False, True, True, True]]
