"""`fans train --start`: training that continues from a trained model on a corpus that has grown."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fansrec
from artifacts import write_kind
from fansrec.artifact import read_artifact
from fansrec.data.corpus import Corpus, write_corpus
from fansrec.errors import BadArtifact, BadSetting
from fansrec.training import trainer
from fansrec.training.hybrid.part_search import MEMORY_GRID
from fansrec.training.reporting import Reporter
from worlds import SMALL, corpus_of, vocabulary_of, walks

SIZES = {
    "width": 8,
    "heads": 2,
    "layers": 1,
    "feedforward": 8,
    "batch_size": 48,
    "dropout": 0.1,
    "checkpoint_seconds": 0,
}
GIVEN = {name: values[0] for name, values in MEMORY_GRID.items()}  # so that none is searched


def grown_walks() -> Corpus:
    """Return more walks, around larger categories: every fourth item of each is new."""
    corpus = walks(lists=150, seed=1)
    lists = [(corpus.list(index) // 15 * 20 + corpus.list(index) % 15).tolist() for index in range(len(corpus))]
    for index, items in enumerate(lists):
        items.insert(1, items[0] // 20 * 20 + 15 + index % 5)
    old = [f"i{number}" for number in range(60)]
    ids = [id_ for one in range(4) for id_ in [*old[15 * one : 15 * one + 15], *(f"n{one}{n}" for n in range(5))]]
    return corpus_of(lists, vocabulary_of([20] * 4, ids), corpus.parts.tolist())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("start")
    write_corpus(folder / "corpus", walks())
    values = SIZES | GIVEN | {"epochs": 20, "linear_weight": 0.3, "memory_weight": 1.0, "next_share": 0.0}
    trainer.train(folder / "corpus", folder / "run", None, values, Reporter(), compare=False)
    return folder / "run"


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grown") / "corpus"
    write_corpus(folder, grown_walks())
    return folder


def start(run: Path, grown: Path, out: Path, reporter: Reporter | None = None, **values: Any) -> dict[str, Any]:
    """Start a training run from `run` and return its configuration."""
    trainer.train(grown, out, None, values, reporter or Reporter(), start=run)
    return dict(json.loads((out / "config.json").read_text()))


@pytest.fixture(scope="module")
def started(run: Path, grown: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("started") / "run"
    start(run, grown, out)
    return out


def config(run: Path) -> dict[str, Any]:
    return dict(json.loads((run / "config.json").read_text()))


def test_started_run_keeps_the_settings_and_takes_fewer_epochs(run: Path, started: Path) -> None:
    old, new = config(run), config(started)
    assert new["config"]["network"] == old["config"]["network"]
    assert new["config"]["memory"]["sharpness"] == GIVEN["sharpness"]
    assert new["linear_model"] == old["linear_model"]
    assert (old["training"]["epochs"], new["training"]["epochs"]) == (20, 4)
    assert new["training"]["learning_rate"] < old["training"]["learning_rate"]
    assert "comparison" not in new and "search" in new


def test_started_run_says_where_it_started(run: Path, started: Path) -> None:
    assert "start" not in config(run)
    found = config(started)["start"]
    assert found["run"] == "run" and found["sha256"] == read_artifact(run).hash and found["new_items"] == 20


def test_started_model_answers_new_items(started: Path) -> None:
    model = fansrec.load(started)
    (answer,) = model.continue_lists([["n00", "i1", "i2"]], k=60)
    assert len(answer.positions) == 60
    assert any(str(position.item).startswith("n") for position in answer.positions)


def test_run_that_starts_from_a_started_one_is_not_shorter_still(started: Path, grown: Path, tmp_path: Path) -> None:
    again = start(started, grown, tmp_path / "again")
    assert again["training"] == config(started)["training"]
    assert again["start"]["new_items"] == 0


class Killed(Exception):
    """Stands for a killed process."""


class KilledAt(Reporter):
    """Ends the run at one of its epochs, or when the network is trained again."""

    def __init__(self, moment: int | str) -> None:
        self.moment = moment

    def epoch(self, row: dict[str, Any]) -> None:
        if row["epoch"] == self.moment:
            raise Killed

    def message(self, text: str) -> None:
        if isinstance(self.moment, str) and self.moment in text:
            raise Killed


@pytest.mark.parametrize("moment", [1, "again"])
def test_killed_started_run_is_resumed_without_the_model_it_started_from(
    run: Path, grown: Path, started: Path, tmp_path: Path, moment: int | str
) -> None:
    copy, out = shutil.copytree(run, tmp_path / "run"), tmp_path / "out"
    with pytest.raises(Killed):
        start(copy, grown, out, KilledAt(moment))
    shutil.rmtree(copy)
    trainer.train(grown, out, None, {}, Reporter(), resume=True)
    assert (out / "model.safetensors").read_bytes() == (started / "model.safetensors").read_bytes()
    assert not (out / "checkpoints").exists()


def test_given_settings_replace_those_of_the_model(run: Path, grown: Path, tmp_path: Path) -> None:
    found = start(run, grown, tmp_path / "out", epochs=1, sharpness=2.5, network_weight=0.7)
    assert found["training"]["epochs"] == 1
    assert found["config"]["memory"]["sharpness"] == 2.5 and found["config"]["weights"]["network"] == 0.7
    assert {"epochs", "sharpness", "network_weight"} <= {*found["given"]}


@pytest.mark.parametrize(
    ("model", "values", "message"),
    [
        (None, {"width": 16}, "width is 16, and the weights of .* are those of width=8; leave width out"),
        (None, {"classifier": "vanilla"}, "classifier is vanilla, and the weights"),
        (None, {"recipe": "paper"}, "recipe is paper, and the weights of .* are those of recipe=best"),
        ("sasrec", {}, "model is sasrec, and the weights of .* are those of model=fans"),
        (None, {"warp": 1}, "has no setting 'warp'"),
    ],
)
def test_settings_that_contradict_the_weights_are_refused(
    run: Path, grown: Path, tmp_path: Path, model: str | None, values: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadSetting, match=message):
        trainer.train(grown, tmp_path / "out", model, values, Reporter(), start=run)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["popularity", "ease", "vstan"])
def test_models_in_closed_form_are_refused(grown: Path, tmp_path: Path, kind: str) -> None:
    with pytest.raises(BadSetting, match="not trained by gradient.*fans update"):
        trainer.train(grown, tmp_path / "out", None, {}, Reporter(), start=write_kind(tmp_path / "run", kind))


def test_folder_without_a_model_is_refused(grown: Path, tmp_path: Path) -> None:
    with pytest.raises(BadArtifact, match="is not a trained model"):
        trainer.train(grown, tmp_path / "out", None, {}, Reporter(), start=tmp_path / "nothing")


def test_resumed_run_may_name_the_model_it_started_from_and_no_other(
    run: Path, started: Path, grown: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with pytest.raises(Killed):
        start(run, grown, out, KilledAt(1))
    with pytest.raises(BadSetting, match="another model .* without start"):
        trainer.train(grown, out, None, {}, Reporter(), resume=True, start=started)
    trainer.train(grown, out, None, {}, Reporter(), resume=True, start=run)
    assert (out / "model.safetensors").read_bytes() == (started / "model.safetensors").read_bytes()


@pytest.mark.parametrize("kind", ["fans", "bert4rec", "bert4rec-nar", "sasrec", "gru4rec", "caser", "car"])
def test_other_models_that_are_trained_by_gradient_can_be_started(grown: Path, tmp_path: Path, kind: str) -> None:
    folder = write_kind(tmp_path / "run", kind)
    found = start(folder, grown, tmp_path / "out", epochs=1, batch_size=48)
    assert found["model"] == kind and found["training"]["steps"] == 1
    assert found["config"]["width"] == SMALL["width"]
    read_artifact(tmp_path / "out")


def test_started_network_is_better_after_an_epoch_than_one_from_scratch(run: Path, grown: Path, tmp_path: Path) -> None:
    one = {"epochs": 1, "learning_rate": 0.004}
    first = start(run, grown, tmp_path / "started", **one)["validation"]
    values = SIZES | GIVEN | one | {"linear_weight": 0.3, "memory_weight": 1.0, "next_share": 0.0}
    trainer.train(grown, tmp_path / "scratch", None, values, Reporter(), compare=False)
    history = [np.genfromtxt(folder / "metrics.csv", delimiter=",", names=True)["loss"] for folder in
               (tmp_path / "started", tmp_path / "scratch")]  # fmt: skip
    assert history[0] < history[1]
    assert first["epoch"] == 1
