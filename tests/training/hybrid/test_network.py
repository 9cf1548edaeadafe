"""The network of the hybrid model is trained again, with the validation lists, for as many epochs as were best."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fansrec.data.corpus import PARTS, Corpus
from fansrec.models.hybrid.model import HybridFans
from fansrec.training import checkpoint
from fansrec.training.hybrid import training
from fansrec.training.hybrid.network import AGAIN, train_again
from fansrec.training.hybrid.part_search import MEMORY_GRID
from fansrec.training.hybrid.training import train_hybrid
from fansrec.training.plan import Plan, make_plan
from fansrec.training.reporting import Reporter
from training_runs import Recorder
from worlds import walks

WALKS = walks()
GIVEN = {name: values[0] for name, values in MEMORY_GRID.items()} | {"linear_weight": 0.2, "memory_weight": 1.0}
SMALL = {"width": 8, "heads": 2, "layers": 1, "feedforward": 8, "batch_size": 48, "epochs": 3, "recipe": "best"}


def plan_of(corpus: Corpus = WALKS, **given: Any) -> Plan:
    return make_plan("fans", SMALL | GIVEN | given, corpus)


def relabeled(part: str) -> Corpus:
    """Return the corpus with the validation lists in another part."""
    valid = PARTS.index("valid") == WALKS.parts
    return replace(WALKS, parts=np.where(valid, PARTS.index(part), WALKS.parts).astype(np.uint8))


def vectors(corpus: Corpus, folder: Path, epochs: int = 2) -> torch.Tensor:
    return train_again(plan_of(), corpus, folder, Reporter(), epochs).vectors.detach()


def test_validation_lists_are_training_lists(tmp_path: Path) -> None:
    own = vectors(WALKS, tmp_path / "own")
    assert torch.equal(own, vectors(relabeled("train"), tmp_path / "train"))
    assert not torch.equal(own, vectors(relabeled("test"), tmp_path / "test"))


def test_it_stops_after_the_given_epochs_of_the_same_schedule(tmp_path: Path) -> None:
    seen: list[int] = []

    class Epochs(Reporter):
        def batch(self, epoch: int, batch: int, loss: float, category_accuracy: float | None) -> None:
            seen.append(epoch)

        def epoch(self, row: dict[str, Any]) -> None:
            raise AssertionError("there are no validation figures to report")

    train_again(plan_of(), WALKS, tmp_path, Epochs(), 2)
    assert set(seen) == {1, 2}
    assert not torch.equal(vectors(WALKS, tmp_path / "1", 1), vectors(WALKS, tmp_path / "3", 3))


def test_first_epochs_are_the_same_however_many_follow(tmp_path: Path) -> None:
    train_again(plan_of(), WALKS, tmp_path, Reporter(), 1)
    resumed = vectors(WALKS, tmp_path, 2)  # from the checkpoint of the first epoch
    assert (tmp_path / checkpoint.FOLDER / AGAIN / checkpoint.FOLDER / checkpoint.FILE).is_file()
    assert torch.equal(resumed, vectors(WALKS, tmp_path / "whole", 2))


@pytest.mark.parametrize("best", [1, 3])
def test_epochs_are_those_of_the_best_network(best: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, recorder = training.train_network, Recorder()

    def with_best(*arguments: Any) -> tuple[HybridFans, Any, Any]:
        network, history, figures = real(*arguments)
        return network, history, figures | {"epoch": best}

    monkeypatch.setattr(training, "train_network", with_best)
    (tmp_path / checkpoint.FOLDER).mkdir()
    train_hybrid(plan_of(), WALKS, tmp_path, recorder)
    begin = f"training the network again, with the validation lists; epochs: {best}, about "
    assert any(message.startswith(begin) and message.endswith(" s") for message in recorder.messages)


@pytest.mark.parametrize("given", [{"network_weight": 0.0}, {}], ids=["no network", "no validation lists"])
def test_nothing_is_trained_again_without_need(given: dict[str, Any], tmp_path: Path) -> None:
    corpus = WALKS if given else relabeled("train")
    recorder = Recorder()
    (tmp_path / checkpoint.FOLDER).mkdir()
    train_hybrid(plan_of(corpus, **given), corpus, tmp_path, recorder)
    assert not any("again" in message for message in recorder.messages)


def test_network_that_gets_no_weight_is_not_trained_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, recorder = training.search_weights, Recorder()

    def without_network(*arguments: Any) -> Any:
        weights, figures, tried = real(*arguments)
        return weights | {"network_weight": 0.0}, figures, tried

    monkeypatch.setattr(training, "search_weights", without_network)
    (tmp_path / checkpoint.FOLDER).mkdir()
    train_hybrid(plan_of(), WALKS, tmp_path, recorder)
    assert not any("again" in message for message in recorder.messages)
