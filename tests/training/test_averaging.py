import pytest
import torch
from torch import nn

from fansrec.training.averaging import Average


def network() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(3, 2)


def state(net: nn.Module) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in net.state_dict().items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def moved(net: nn.Module, by: float) -> None:
    with torch.no_grad():
        for parameter in net.parameters():
            parameter += by


# What is left of the way to the new weights, computed by hand: a step keeps 1/10, 2/11, 3/12, 4/13, … of the average,
# but never more than `decay`.
LEFT = {0.5: (0.1, 0.2 / 11, 0.05 / 11, 0.2 / 143), 0.15: (0.1, 0.015, 0.00225, 0.0003375)}


@pytest.mark.parametrize("decay", LEFT)
def test_average_converges_to_constant_weights(decay: float) -> None:
    net = network()
    start = state(net)
    average = Average(net, decay)
    moved(net, 2.0)
    for step, left in enumerate(LEFT[decay]):
        average.follow(step)
        for name, weight in average.weights.items():
            torch.testing.assert_close(weight, start[name] + 2.0 - 2.0 * left)


def test_weights_that_never_moved_are_their_own_average() -> None:
    net = network()
    average = Average(net, 0.9)
    for step in range(5):
        average.follow(step)
    for name, weight in average.weights.items():
        torch.testing.assert_close(weight, net.state_dict()[name])


def test_a_step_takes_more_of_the_current_weights_at_first() -> None:
    net = network()
    average = Average(net, 0.99)
    taken = []
    for step in (0, 100, 10_000):
        average.load({name: torch.zeros_like(tensor) for name, tensor in net.state_dict().items()})
        average.follow(step)
        taken.append((average.weights["bias"] / net.bias).detach().mean().item())
    assert taken == pytest.approx([0.9, 9 / 110, 0.01], rel=1e-4)


def test_the_averaged_weights_are_in_use_inside_and_the_own_ones_again_after() -> None:
    net = network()
    average = Average(net, 0.9)
    moved(net, 1.0)
    own = state(net)
    with average.in_use():
        assert same(state(net), average.weights)
        assert not same(state(net), own)
    assert same(state(net), own)


def test_the_own_weights_come_back_also_after_an_error() -> None:
    net = network()
    average = Average(net, 0.9)
    moved(net, 1.0)
    own = state(net)
    with pytest.raises(KeyError), average.in_use():
        raise KeyError
    assert same(state(net), own)


def test_what_is_copied_inside_does_not_change_with_what_is_learned_after() -> None:
    net = network()
    average = Average(net, 0.9)
    with average.in_use():
        copied = state(net)
    before = {name: tensor.clone() for name, tensor in copied.items()}
    moved(net, 3.0)
    average.follow(0)
    assert same(copied, before)


def test_an_average_goes_on_from_what_was_saved() -> None:
    one, other = network(), network()
    whole, resumed = Average(one, 0.9), Average(other, 0.9)
    moved(one, 1.0)
    moved(other, 1.0)
    whole.follow(0)
    resumed.load({name: tensor.clone() for name, tensor in whole.weights.items()})
    whole.follow(1)
    resumed.follow(1)
    assert same(whole.weights, resumed.weights)


def test_a_decay_of_0_does_nothing() -> None:
    net = network()
    average = Average(net, 0.0)
    moved(net, 1.0)
    own = state(net)
    average.follow(0)
    assert average.weights == {}
    with average.in_use():
        assert same(state(net), own)
    assert same(state(net), own)
