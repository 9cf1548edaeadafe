"""What is known of a model without torch is what its torch module says."""

from typing import Any

import numpy as np
import pytest
import torch

from artifacts import KINDS as FOLDERS
from artifacts import write_kind
from fansrec.artifact import read_artifact
from fansrec.engine.modes import generation_modes
from fansrec.models.hybrid.config import HybridConfig
from fansrec.models.module import outline_of
from fansrec.models.registry import MODELS, build, configured, entry
from fansrec.models.stored import KINDS, StoredModel, stored_model

SIZES: dict[str, Any] = {"category_starts": (0, 4, 7, 12), "positions": 9}
SMALL = SIZES | {"width": 8, "heads": 2, "layers": 2, "feedforward": 6}
NETWORK = {"width": 8, "heads": 2, "layers": 1, "feedforward": 6}
STARTS = {"category_starts": (0, 4, 7, 12)}
MODEL_SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("fans", SMALL),
    ("fans", SMALL | {"classifier": "vanilla", "use_categories": False}),
    ("bert4rec-nar", SMALL),
    ("bert4rec", SMALL),
    ("sasrec", SIZES | {"width": 8, "heads": 2, "layers": 2}),
    ("sasrec", SIZES | {"width": 8, "heads": 2, "layers": 1, "use_categories": False}),
    ("fans-hybrid", SIZES | {"network": NETWORK}),
    ("fans-hybrid", SIZES | {"network": NETWORK | {"classifier": "vanilla", "transform": False}}),
    ("fans-hybrid", SIZES | {"memory": {"lists": 3, "items": 11}, "linear": {"neighbors": 5}}),
    *[(name, STARTS) for name in ("item-knn", "ease", "rp3beta", "slist", "popularity")],
    ("ease", STARTS | {"dense_items": 3}),
    ("slist", STARTS | {"neighbours": 2}),  # words: keep
    ("vstan", STARTS | {"memory_lists": 3, "memory_items": 11}),
]


@pytest.mark.parametrize(("name", "settings"), MODEL_SETTINGS)
def test_outline_has_the_arrays_of_the_torch_module(name: str, settings: dict[str, Any]) -> None:
    kind, config = KINDS[name], configured(entry(name), settings)
    assert kind.outline(config) == outline_of(entry(name).model(config))


def test_every_stored_kind_is_compared() -> None:
    assert {name for name, _ in MODEL_SETTINGS} == KINDS.keys()


@pytest.mark.parametrize(("name", "settings"), MODEL_SETTINGS)
def test_names_modes_and_limits_are_those_of_the_torch_module(name: str, settings: dict[str, Any]) -> None:
    module = build(name, settings)
    stored = stored_model(module)
    for field in ("name", "title", "generation"):
        assert getattr(stored, field) == getattr(module, field)
    assert stored.kind is KINDS[name]
    assert generation_modes(stored) == generation_modes(module)
    assert stored.longest_sequence() == module.longest_sequence()


def test_stored_model_shares_its_arrays_with_the_module() -> None:
    module = build("popularity", STARTS)
    stored = stored_model(module)
    module.counts[3] = 7
    assert stored.arrays["counts"][3] == 7
    assert stored_model(stored) is stored


def test_module_of_a_stored_model_has_its_arrays() -> None:
    module = build("fans-hybrid", SIZES | {"network": NETWORK})
    again = StoredModel(KINDS["fans-hybrid"], module.config, stored_model(module).arrays).module
    assert isinstance(again.config, HybridConfig) and not again.training
    for name, tensor in module.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor)


@pytest.mark.parametrize("kind", FOLDERS)
def test_arrays_of_a_folder_are_mapped_and_its_file_is_never_written(kind: str, tmp_path: Any) -> None:
    folder = write_kind(tmp_path / kind, kind)
    artifact = read_artifact(folder)
    model = FOLDERS[kind][0]
    assert isinstance(artifact.stored, StoredModel) == (model in KINDS)
    if not isinstance(artifact.stored, StoredModel):
        assert model in MODELS and artifact.model is artifact.stored
        return
    before = (folder / "model.safetensors").read_bytes()
    for array in artifact.stored.arrays.values():
        assert not array.flags.owndata
        array[...] = np.zeros_like(array)
    assert (folder / "model.safetensors").read_bytes() == before
