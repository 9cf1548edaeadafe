"""Arrays that a correctly sealed folder may hold and that no engine may use."""

from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from artifacts import KINDS, change_weights
from fansrec.api.continuer import load
from fansrec.artifact import read_artifact
from fansrec.engine.sharded.loading import in_process
from fansrec.errors import BadArtifact
from fansrec.models.limits import LIST_LENGTH
from fansrec.models.validation import check_tensor
from worlds import CATEGORIES, ITEMS_PER_CATEGORY

Copy = Callable[[str], Path]
ITEMS = CATEGORIES * ITEMS_PER_CATEGORY
OTHER_TYPES = {
    torch.float32: cycle([torch.float16, torch.float64, torch.int32, torch.bfloat16]),
    torch.int32: cycle([torch.int64, torch.float32]),
    torch.int64: cycle([torch.int32, torch.float64]),
}
OTHER_SHAPES = cycle([lambda t: t.flatten()[1:], lambda t: t[None], lambda t: torch.stack([t, t])])


def tensors(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def put(folder: Path, name: str, place: int, value: float) -> None:
    def change(weights: dict[str, torch.Tensor]) -> None:
        weights[name].view(-1)[place] = value

    change_weights(folder, change)


@pytest.mark.parametrize("kind", KINDS)
def test_unchanged_folder_of_every_kind_answers(copy_of: Copy, kind: str) -> None:
    (answer,) = load(copy_of(kind)).continue_lists([["i3", "i4"]], k=4)
    assert len(set(answer.items)) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_number_that_is_not_finite_is_refused_in_every_tensor(copy_of: Copy, kind: str) -> None:
    floats = [name for name, tensor in tensors(copy_of(kind)).items() if tensor.is_floating_point()]
    for name, value in zip(floats, cycle([np.nan, np.inf, -np.inf])):
        folder = copy_of(kind)
        put(folder, name, -1, value)
        with pytest.raises(BadArtifact, match=f"{name} has numbers that are not finite"):
            read_artifact(folder)


def test_sum_that_overflows_is_not_mistaken_for_infinity() -> None:
    check_tensor("large", torch.full((8,), 3e38))
    with pytest.raises(BadArtifact, match="large has numbers that are not finite"):
        check_tensor("large", torch.tensor([3e38, 3e38, torch.nan]))


@pytest.mark.parametrize("kind", KINDS)
def test_tensor_of_another_type_is_refused(copy_of: Copy, kind: str) -> None:
    for name, tensor in tensors(copy_of(kind)).items():
        other = tensor.to(next(OTHER_TYPES[tensor.dtype]))
        folder = copy_of(kind)
        change_weights(folder, lambda weights, n=name, t=other: weights.update({n: t}))
        with pytest.raises(BadArtifact, match=f"{name} in model.safetensors is .* and must be"):
            read_artifact(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_tensor_of_another_shape_is_refused(copy_of: Copy, kind: str) -> None:
    for name, tensor in tensors(copy_of(kind)).items():
        other = next(OTHER_SHAPES)(tensor)
        folder = copy_of(kind)
        change_weights(folder, lambda weights, n=name, t=other: weights.update({n: t}))
        with pytest.raises(BadArtifact, match=f"{name} in model.safetensors is .* and must be"):
            read_artifact(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_missing_and_additional_tensors_are_refused(copy_of: Copy, kind: str) -> None:
    name = next(iter(tensors(folder := copy_of(kind))))
    change_weights(folder, lambda weights: weights.pop(name))
    with pytest.raises(BadArtifact, match=f"does not have the tensor '{name}'"):
        read_artifact(folder)
    change_weights(folder := copy_of(kind), lambda weights: weights.update(more=torch.zeros(1)))
    with pytest.raises(BadArtifact, match="has a tensor 'more' that the model does not have"):
        read_artifact(folder)


MEMORY = [("items", ITEMS), ("lists", 40), ("places", LIST_LENGTH), ("list_places", 16)]  # no list is longer than 16
INDICES = [
    *[("best", f"memory.{name}", end) for name, end in MEMORY],
    ("best", "linear.items", ITEMS),
    *[("vstan", f"memory.{name}", end) for name, end in MEMORY],
    ("markov", "followers", ITEMS),
    ("ease-pruned", "weights.items", ITEMS),
]


@pytest.mark.parametrize(("kind", "name", "end"), INDICES)
def test_index_out_of_range_is_refused(copy_of: Copy, kind: str, name: str, end: int) -> None:
    for value, place in ((-1, 0), (end, -1), (2**31 - 1, 0), (-(2**31), -1)):
        folder = copy_of(kind)
        put(folder, name, place, value)
        with pytest.raises(BadArtifact, match=rf"{name} has an index outside 0 to \d"):
            read_artifact(folder)


def test_every_integer_tensor_of_every_kind_is_covered(originals: Copy) -> None:
    covered = {(kind, name) for kind, name, _ in INDICES}
    covered |= {(kind, f"memory.{name}") for kind in ("best", "vstan") for name in ("starts", "list_starts")}
    for kind in KINDS:
        found = {(kind, name) for name, t in tensors(originals(kind)).items() if not t.is_floating_point()}
        assert found <= covered


@pytest.mark.parametrize("kind", ["best", "vstan"])
@pytest.mark.parametrize("name", ["memory.starts", "memory.list_starts"])
@pytest.mark.parametrize(("place", "value"), [(0, 1), (0, -1), (3, -1), (3, 2**62), (-1, 0), (-1, 2**40)])
def test_offsets_that_do_not_rise_from_0_to_the_length_are_refused(
    copy_of: Copy, kind: str, name: str, place: int, value: int
) -> None:
    folder = copy_of(kind)
    put(folder, name, place, value)
    with pytest.raises(BadArtifact, match=rf"{name} does not increase from 0 to \d+, the length of the array"):
        read_artifact(folder)


def test_offsets_that_end_before_the_length_are_refused(copy_of: Copy) -> None:
    folder = copy_of("best")
    change_weights(folder, lambda weights: weights["memory.starts"].clamp_(max=9))
    with pytest.raises(BadArtifact, match="memory.starts does not increase"):
        read_artifact(folder)


def test_negative_prior_is_refused(copy_of: Copy) -> None:
    folder = copy_of("best")
    put(folder, "tied.prior", 2, -0.5)
    with pytest.raises(BadArtifact, match="tied.prior has a probability below 0"):
        read_artifact(folder)


@pytest.mark.parametrize("name", ["embed.items.weight", "classifier.items.bias", "classifier.category.weight"])
def test_shards_refuse_what_a_whole_model_refuses(copy_of: Copy, name: str) -> None:
    folder = copy_of("fans")
    put(folder, name, 0, np.nan)
    with pytest.raises(BadArtifact, match=f"{name} has numbers that are not finite"):
        in_process(folder, ["cpu", "cpu"])
    folder = copy_of("fans")
    change_weights(folder, lambda weights: weights.update({name: weights[name].half()}))
    with pytest.raises(BadArtifact, match=f"{name} in model.safetensors is F16"):
        in_process(folder, ["cpu", "cpu"])
