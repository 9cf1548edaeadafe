import csv
import json
import math
import re
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fansrec.artifact import read_artifact
from fansrec.data.corpus import read_corpus
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadArtifact, BadSetting, FansError
from fansrec.training.model_card import applying_settings
from fansrec.training.plan import make_plan
from fansrec.training.reporting import Epoch, PlainReporter, Reporter
from training_runs import train
from worlds import MINUTE, SHORT, SMALL, walks, write_walks

PARTS = {
    "config.json",
    "model.safetensors",
    "items.jsonl",
    "categories.json",
    "README.md",
    "manifest.json",
    "metrics.csv",
}


def rows(run: Path) -> list[dict[str, str]]:
    with (run / "metrics.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def learned(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run long enough to learn the walks."""
    out = tmp_path_factory.mktemp("learned") / "run"
    train(corpus, out, "fans", SMALL | {"epochs": 30, "steps": 3, "dropout": 0.0})
    return out


def test_unknown_recipe_is_refused(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="recipe is 'bset'; it must be paper or best"):
        train(corpus, tmp_path / "run", "fans", recipe="bset")


def test_training_leaves_a_complete_artifact_and_no_checkpoints(learned: Path) -> None:
    names = {path.name for path in learned.iterdir()}
    assert names >= PARTS and "checkpoints" not in names
    assert not list(learned.rglob(".*"))
    read_artifact(learned)


def test_the_loss_falls_and_the_walks_are_learned(learned: Path) -> None:
    history = rows(learned)
    last_step = [row for row in history if row["curriculum_step"] == "2"]
    assert float(last_step[-1]["loss"]) < 0.8 * float(history[0]["loss"])  # though three times as much is masked
    assert float(last_step[-1]["category_accuracy"]) > 0.9
    assert max(float(row["valid HR@5"]) for row in last_step) > 0.7


def test_a_trained_model_continues_the_walk(learned: Path) -> None:
    model = read_artifact(learned).model
    (answer,) = TorchEngine(model, 60).continue_lists([np.arange(15, 22)], 5, Rules())
    assert set(answer.items.tolist()) <= set(range(22, 30))  # it stays in its category and never goes back


def test_history_contains_every_epoch(learned: Path) -> None:
    history = rows(learned)
    assert [int(row["epoch"]) for row in history] == list(range(1, 31))
    assert [int(row["curriculum_step"]) for row in history] == [0] * 10 + [1] * 10 + [2] * 10
    shares = [float(row["masked_share"]) for row in history]
    assert shares == pytest.approx([1 / 3] * 10 + [2 / 3] * 10 + [1.0] * 10)


def test_the_learning_rate_rises_and_then_falls_to_zero(learned: Path) -> None:
    rates = [float(row["learning_rate"]) for row in rows(learned)]
    assert max(rates) <= 0.01 and rates[0] > 0.009 and rates[-1] == pytest.approx(0, abs=1e-4)
    assert all(later <= earlier for earlier, later in pairwise(rates[1:]))


def test_configuration_is_stored(learned: Path) -> None:
    config = json.loads((learned / "config.json").read_text())
    assert config["model"] == "fans" and config["variant"] == "FANS_TSC-STEP"
    assert config["config"]["width"] == 16 and config["config"]["category_starts"] == [0, 15, 30, 45, 60]
    assert config["training"]["epochs"] == 30 and config["training"]["seed"] == 0
    assert config["corpus"]["lists"] == 120
    assert set(config["validation"]) == {"valid HR@5", "valid NDCG@5", "epoch"}


def test_model_card(learned: Path) -> None:
    card = (learned / "README.md").read_text()
    assert card.startswith("# FANS_TSC-STEP") and "| lists | 120 |" in card and "| width | 16 |" in card
    assert not re.search(r"\d\.\d{5}", card)  # numbers are rounded


@pytest.mark.parametrize(
    ("model", "values", "without"),
    [
        ("item-knn", {}, {"epochs", "learning_rate", "scheduler", "precision", "category_starts"}),
        ("sasrec", {"epochs": 1, "width": 8}, {"scheduler", "steps"}),
    ],
)
def test_model_card_has_no_settings_without_effect(
    corpus: Path, tmp_path: Path, model: str, values: dict[str, Any], without: set[str]
) -> None:
    train(corpus, tmp_path / "run", model, values)
    settings = re.findall(r"^\| (\w+) \|", (tmp_path / "run" / "README.md").read_text(), re.MULTILINE)
    assert {"recipe", "seed"} <= set(settings) and not without & set(settings)


def test_model_card_has_no_settings_of_parts_without_weight(corpus: Path) -> None:
    both = make_plan("fans", {"recipe": "best", "network_weight": 0, "linear_weight": 1}, read_corpus(corpus))
    assert "sharpness" in applying_settings(both)
    assert not {"width", "epochs", "learning_rate"} & applying_settings(both).keys()
    linear = make_plan("fans", {"recipe": "best", "memory_weight": 0, "linear_weight": 0}, read_corpus(corpus))
    assert "width" in applying_settings(linear)
    assert not {"sharpness", "linear_decay"} & applying_settings(linear).keys()


def test_the_weights_are_the_best_of_the_last_curriculum_step(learned: Path) -> None:
    config = json.loads((learned / "config.json").read_text())
    last = [row for row in rows(learned) if row["curriculum_step"] == "2"]
    figure = f"valid {config['training']['watch']}"
    best = max(float(row[figure]) for row in last)
    assert config["validation"][figure] == best
    assert float(last[config["validation"]["epoch"] - 21][figure]) == best


def test_the_same_seed_gives_the_same_bytes(corpus: Path, tmp_path: Path, weights: Callable[..., bytes]) -> None:
    torch.manual_seed(12345)  # earlier random draws must not matter
    train(corpus, tmp_path / "again", "fans", SHORT)
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == weights()


def test_another_seed_gives_other_weights(weights: Callable[..., bytes]) -> None:
    assert weights(seed=1) != weights()


@pytest.mark.parametrize("classifier", ["two-stage", "vanilla"])
@pytest.mark.parametrize("scheduler", ["step", "naive"])
def test_all_four_variants_of_the_paper(corpus: Path, tmp_path: Path, classifier: str, scheduler: str) -> None:
    variant = {"classifier": classifier, "scheduler": scheduler}
    plan = train(corpus, tmp_path / "run", "fans", MINUTE | variant)
    names = {"two-stage": "TSC-", "vanilla": "", "step": "STEP", "naive": "NAIVE"}
    assert plan.variant == f"FANS_{names[classifier]}{names[scheduler]}"
    artifact = read_artifact(tmp_path / "run")
    assert artifact.config["variant"] == plan.variant
    assert artifact.model.ranks == (4 if classifier == "two-stage" else 1)
    shares = [float(row["masked_share"]) for row in rows(tmp_path / "run")]
    assert shares == ([0.5, 1.0] if scheduler == "step" else [1.0, 1.0])
    assert all((row["category_accuracy"] != "") == (classifier == "two-stage") for row in rows(tmp_path / "run"))


def test_next_step_starts_when_patience_runs_out(corpus: Path, tmp_path: Path) -> None:
    hopeless = MINUTE | {"epochs": 40, "steps": 2, "patience": 1, "learning_rate": 1e-9}
    train(corpus, tmp_path / "run", "fans", hopeless)
    assert [row["curriculum_step"] for row in rows(tmp_path / "run")] == ["0", "0", "1", "1"]


def test_popularity_counts_the_training_lists(corpus: Path, tmp_path: Path) -> None:
    train(corpus, tmp_path / "run", "popularity", {})
    artifact = read_artifact(tmp_path / "run")
    world = walks()
    counts = np.zeros(60)
    for number in world.part("train"):
        counts[np.unique(world.list(number))] += 1
    assert artifact.model.counts.tolist() == counts.tolist()
    assert not (tmp_path / "run" / "checkpoints").exists()


def test_every_batch_and_epoch_is_reported(corpus: Path, tmp_path: Path) -> None:
    calls: list[Any] = []

    class RecordingReporter(Reporter):
        def start(self, epochs: int, batches: int) -> None:
            calls.append((epochs, batches))

        def batch(self, epoch: int, batch: int, loss: float, category_accuracy: float | None) -> None:
            assert loss > 0 and category_accuracy is not None and 0 <= category_accuracy <= 1
            calls.append((epoch, batch))

        def epoch(self, row: dict[str, Any]) -> None:
            calls.append(row["epoch"])

    train(corpus, tmp_path / "run", "fans", MINUTE, RecordingReporter())
    assert calls == [(2, 2), (1, 1), (1, 2), 1, (2, 1), (2, 2), 2]


def test_plain_reporter_prints_a_line_per_epoch(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(corpus, tmp_path / "run", "fans", MINUTE, PlainReporter())
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "training: at most 2 epochs of 2 batches"
    assert re.fullmatch(r"epoch 1 of at most 2   50% masked  loss .* NDCG@5 .* s, at most \d+ s left", lines[1])
    assert re.fullmatch(r"epoch 2 of at most 2  100% masked  loss .* NDCG@5 .* s", lines[2])


def test_callbacks_get_every_epoch(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    epochs: list[Epoch] = []
    train(corpus, tmp_path / "run", "fans", MINUTE, callbacks=[epochs.append])
    history = rows(tmp_path / "run")
    assert [(epoch.number, epoch.epochs) for epoch in epochs] == [(1, 2), (2, 2)]
    assert [epoch.loss for epoch in epochs] == [float(row["loss"]) for row in history]
    assert [epoch.validation["NDCG@5"] for epoch in epochs] == [float(row["valid NDCG@5"]) for row in history]
    assert capsys.readouterr().out == ""  # no progress where there is neither a terminal nor a notebook


def test_exception_of_a_callback_ends_training_and_it_can_be_resumed(corpus: Path, tmp_path: Path) -> None:
    def stop(epoch: Epoch) -> None:
        raise RuntimeError(f"enough after epoch {epoch.number}")

    with pytest.raises(RuntimeError, match="enough after epoch 1"):
        train(corpus, tmp_path / "run", "fans", MINUTE | {"checkpoint_seconds": 0}, callbacks=[stop])
    train(corpus, tmp_path / "run", resume=True)
    assert len(rows(tmp_path / "run")) == 2


def test_progress_is_shown_in_a_terminal(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    train(corpus, tmp_path / "run", "fans", MINUTE)
    *lines, end = capsys.readouterr().out.split("\n")
    assert any("epoch 1 of at most 2   50%" in part for part in lines[1].split("\r"))
    assert lines[-1].split("\x1b[K")[-1].startswith("epoch 2 of at most 2  100% masked  loss ") and end == ""


def test_plot_of_the_history_is_in_the_manifest(corpus: Path, tmp_path: Path) -> None:
    def draw(history: list[dict[str, Any]], folder: Path) -> None:
        (folder / "curves.txt").write_text(str(len(history)))

    train(corpus, tmp_path / "run", "fans", MINUTE, Reporter(), draw=draw)
    assert (tmp_path / "run" / "curves.txt").read_text() == "2"
    (tmp_path / "run" / "curves.txt").write_text("3")
    with pytest.raises(BadArtifact, match=r"curves.txt was changed"):
        read_artifact(tmp_path / "run")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epoch": 3}, "no setting 'epoch'; did you mean epochs?"),
        ({"epochs": "many"}, "epochs is 'many'; it must be of type int"),
        ({"classifier": "three-stage"}, "it must be two-stage or vanilla"),
        ({"width": 10, "heads": 4}, "width 10 cannot be shared by 4 heads"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_written(
    corpus: Path, tmp_path: Path, values: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadSetting, match=message):
        train(corpus, tmp_path / "run", "fans", values)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_model_is_refused(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="there is no model 'fanz'"):
        train(corpus, tmp_path / "run", "fanz", {})
    assert list(tmp_path.iterdir()) == []


def test_existing_output_is_refused_and_unchanged(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine").write_text("mine")
    with pytest.raises(BadSetting, match="exists and is not the model of an earlier run; choose another path"):
        train(corpus, tmp_path / "run", "fans", MINUTE)
    assert [path.name for path in (tmp_path / "run").rglob("*")] == ["mine"]


def test_output_that_cannot_be_written_is_refused(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(FansError, match="run"):
        train(corpus, tmp_path / "file" / "run", "fans", MINUTE)


def test_folder_without_a_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadArtifact, match="is not a prepared corpus"):
        train(tmp_path, tmp_path / "run", "fans", MINUTE)
    assert not (tmp_path / "run").exists()


def test_lists_too_short_for_the_watched_figure_still_choose_a_best_epoch(tmp_path: Path) -> None:
    write_walks(tmp_path / "corpus", shortest=5, longest=8)
    train(tmp_path / "corpus", tmp_path / "run", "fans", MINUTE | {"epochs": 12, "steps": 1, "patience": 3})
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert not any(isinstance(value, float) and math.isnan(value) for value in config["validation"].values())
    assert config["validation"]["epoch"] > 0
