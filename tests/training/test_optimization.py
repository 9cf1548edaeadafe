import pytest
import torch
from torch import nn

from fansrec.training.optimization import WeightAverage, learning_rate, learning_rate_factor
from fansrec.training.settings import TrainSettings


def test_learning_rate_has_linear_warmup_and_decay() -> None:
    factors = [learning_rate_factor(step, warmup=4, total=12) for step in range(13)]
    assert factors[:4] == pytest.approx([0.25, 0.5, 0.75, 1.0])
    assert factors[4:] == pytest.approx([1.0, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8, 0.0])


def test_learning_rate_without_warmup_starts_full() -> None:
    assert [learning_rate_factor(step, warmup=0, total=4) for step in range(5)] == pytest.approx(
        [1.0, 0.75, 0.5, 0.25, 0.0]
    )


def test_warmup_longer_than_training() -> None:
    factors = [learning_rate_factor(step, warmup=100, total=10) for step in range(10)]
    assert factors == pytest.approx([0.01 * (step + 1) for step in range(10)])


def test_warmup_is_at_most_a_fifth_of_all_steps() -> None:
    settings = TrainSettings(learning_rate=0.1, warmup=600, epochs=10)  # 40 steps in all
    rates = [learning_rate(settings, step, batches=4) for step in (0, 7, 8, 24)]
    assert rates == pytest.approx([0.1 / 8, 0.1, 0.1, 0.05])


def network() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(3, 2)


def state(net: nn.Module) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in net.state_dict().items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def shift(net: nn.Module, by: float) -> None:
    with torch.no_grad():
        for parameter in net.parameters():
            parameter += by


# The remaining distance to the new weights, computed by hand: a step keeps 1/10, 2/11, 3/12, 4/13, … of the average,
# but never more than `decay`.
LEFT = {0.5: (0.1, 0.2 / 11, 0.05 / 11, 0.2 / 143), 0.15: (0.1, 0.015, 0.00225, 0.0003375)}


@pytest.mark.parametrize("decay", LEFT)
def test_average_converges_to_constant_weights(decay: float) -> None:
    net = network()
    start = state(net)
    average = WeightAverage(net, decay)
    shift(net, 2.0)
    for step, left in enumerate(LEFT[decay]):
        average.update(step)
        for name, weight in average.weights.items():
            torch.testing.assert_close(weight, start[name] + 2.0 - 2.0 * left)


def test_average_of_constant_weights_is_constant() -> None:
    net = network()
    average = WeightAverage(net, 0.9)
    for step in range(5):
        average.update(step)
    for name, weight in average.weights.items():
        torch.testing.assert_close(weight, net.state_dict()[name])


def test_first_steps_add_a_larger_share() -> None:
    net = network()
    average = WeightAverage(net, 0.99)
    taken = []
    for step in (0, 100, 10_000):
        average.load({name: torch.zeros_like(tensor) for name, tensor in net.state_dict().items()})
        average.update(step)
        taken.append((average.weights["bias"] / net.bias).detach().mean().item())
    assert taken == pytest.approx([0.9, 9 / 110, 0.01], rel=1e-4)


def test_averaged_weights_are_applied_inside_the_block_only() -> None:
    net = network()
    average = WeightAverage(net, 0.9)
    shift(net, 1.0)
    own = state(net)
    with average.applied():
        assert same(state(net), average.weights)
        assert not same(state(net), own)
    assert same(state(net), own)


def test_own_weights_are_restored_after_an_error() -> None:
    net = network()
    average = WeightAverage(net, 0.9)
    shift(net, 1.0)
    own = state(net)
    with pytest.raises(KeyError), average.applied():
        raise KeyError
    assert same(state(net), own)


def test_copied_weights_do_not_change_later() -> None:
    net = network()
    average = WeightAverage(net, 0.9)
    with average.applied():
        copied = state(net)
    before = {name: tensor.clone() for name, tensor in copied.items()}
    shift(net, 3.0)
    average.update(0)
    assert same(copied, before)


def test_average_is_resumed_from_saved_weights() -> None:
    one, other = network(), network()
    whole, resumed = WeightAverage(one, 0.9), WeightAverage(other, 0.9)
    shift(one, 1.0)
    shift(other, 1.0)
    whole.update(0)
    resumed.load({name: tensor.clone() for name, tensor in whole.weights.items()})
    whole.update(1)
    resumed.update(1)
    assert same(whole.weights, resumed.weights)


def test_decay_of_0_does_nothing() -> None:
    net = network()
    average = WeightAverage(net, 0.0)
    shift(net, 1.0)
    own = state(net)
    average.update(0)
    assert average.weights == {}
    with average.applied():
        assert same(state(net), own)
    assert same(state(net), own)
