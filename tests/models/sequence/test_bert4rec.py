"""BERT4Rec: training, generation modes, and its two variants of the paper."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fansrec.artifact import read_artifact
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadSetting
from fansrec.training.plan import make_plan
from training_runs import train
from worlds import MINUTE, SMALL, walks, write_walks

CORPUS = walks()
ITEMS = len(CORPUS.vocabulary)
INPUTS = [np.array([3, 4, 5]), np.array([20, 21, 22, 23])]


def made() -> Any:
    torch.manual_seed(0)
    sizes = {name: SMALL[name] for name in ("width", "layers", "heads", "feedforward")}
    return make_plan("bert4rec", sizes, CORPUS).build().eval()


@torch.inference_mode()
def test_next_item_is_predicted_at_a_mask_at_the_end() -> None:
    model = made()
    seen: list[torch.Tensor] = []
    model.embed.register_forward_hook(lambda module, given, out: seen.append(given[0].items))
    model.score_next(INPUTS)
    alphabet = model.config.alphabet
    assert seen[0].tolist() == [[3, 4, 5, alphabet.mask, alphabet.pad], [20, 21, 22, 23, alphabet.mask]]


@torch.inference_mode()
def test_generated_item_is_appended_with_its_category() -> None:
    model = made()
    seen: list[Any] = []
    model.embed.register_forward_hook(lambda module, given, out: seen.append(given[0]))
    (answer,) = TorchEngine(model, ITEMS).continue_lists([INPUTS[0]], 3, Rules())
    assert len(seen) == 3  # one pass per item
    last = seen[-1]
    assert last.items[0, 3:5].tolist() == answer.items[:2].tolist()
    assert last.categories[0, 3:5].tolist() == CORPUS.vocabulary.categories[answer.items[:2]].tolist()
    assert last.categories[0, 5] == model.config.alphabet.no_category  # of the MASK


def test_logits_are_computed_at_the_mask_only() -> None:
    model = made()
    rows: list[int] = []
    model.classifier.items.register_forward_hook(lambda module, given, out: rows.append(len(given[0])))
    TorchEngine(model, ITEMS).continue_lists([INPUTS[0]], 4, Rules())
    assert rows == [1, 1, 1, 1]


def test_recall_takes_one_prediction() -> None:
    model = made()
    passes: list[int] = []
    model.embed.register_forward_hook(lambda module, given, out: passes.append(1))
    (recalled,) = TorchEngine(model, ITEMS, generation="recall").continue_lists([INPUTS[0]], 4, Rules())
    assert len(passes) == 1
    (one_by_one,) = TorchEngine(model, ITEMS).continue_lists([INPUTS[0]], 4, Rules())
    assert recalled.items[0] == one_by_one.items[0]  # the same weights and first prediction


def test_bert4rec_nar_is_fans_with_the_vanilla_classifier_and_the_naive_scheduler(tmp_path: Path) -> None:
    corpus = write_walks(tmp_path / "corpus")
    settings = {name: value for name, value in MINUTE.items() if name != "steps"}
    plan = train(corpus, tmp_path / "nar", "bert4rec-nar", settings)
    train(corpus, tmp_path / "fans", "fans", settings | {"classifier": "vanilla", "scheduler": "naive"})
    weights = [(tmp_path / run / "model.safetensors").read_bytes() for run in ("nar", "fans")]
    assert weights[0] == weights[1]
    assert plan.variant == "BERT4Rec_NAR"
    nar, fans = (TorchEngine(read_artifact(tmp_path / run).model, ITEMS) for run in ("nar", "fans"))
    for one, other in zip(*(engine.continue_lists(INPUTS, 5, Rules()) for engine in (nar, fans)), strict=True):
        assert one.items.tolist() == other.items.tolist()
    assert nar.generation == "one-pass"


@pytest.mark.parametrize("share", [-0.1, 0, 1.5])
def test_invalid_hidden_share_is_refused(share: float) -> None:
    with pytest.raises(BadSetting, match="hidden_share is .*; it must be above 0 and at most 1"):
        make_plan("bert4rec", {"hidden_share": share}, CORPUS)
