import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from fansrec.cli.train import MODELS as HELP_MODELS
from fansrec.cli.train import train as train_command
from fansrec.models.registry import names
from fansrec.training import tracking
from fansrec.training.settings import known_names
from worlds import MINUTE, write_walks

Fans = Callable[..., tuple[int, str, str]]
SETTINGS = ["--set", *(f"{name}={value}" for name, value in MINUTE.items())]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_walks(tmp_path_factory.mktemp("train") / "corpus")


@pytest.mark.parametrize(
    ("flags", "variant"),
    [
        ("--classifier vanilla --scheduler naive", "FANS_NAIVE"),
        ("--classifier vanilla --scheduler step", "FANS_STEP"),
        ("--classifier two-stage --scheduler naive", "FANS_TSC-NAIVE"),
        ("--classifier two-stage", "FANS_TSC-STEP"),
    ],
)
def test_options_select_the_four_variants_of_the_paper(
    fans: Fans, corpus: Path, tmp_path: Path, flags: str, variant: str
) -> None:
    code, out, _ = fans("train", corpus, "--out", tmp_path / "run", *flags.split(), *SETTINGS)
    assert code == 0
    assert variant in out
    assert json.loads((tmp_path / "run" / "config.json").read_text())["variant"] == variant
    assert (tmp_path / "run" / "curves.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture(scope="module")
def quick() -> list[object]:
    return ["--epochs", 1, "--set", "width=8", "feedforward=8", "layers=1"]


def kept(run: Path) -> dict[str, Any]:
    return dict(json.loads((run / "config.json").read_text()))


def test_default_is_the_best_recipe_with_a_comparison_at_the_end(
    fans: Fans, corpus: Path, tmp_path: Path, quick: list[object]
) -> None:
    code, out, err = fans("train", corpus, "--out", tmp_path / "run", *quick)
    assert (code, err) == (0, "")
    made = kept(tmp_path / "run")
    assert made["training"]["recipe"] == "best" and made["variant"] == "FANS (best)"
    ours = made["comparison"]["rows"][-1]
    assert [line.split()[2:] for line in out.splitlines() if line.startswith("FANS (best)  ")] == [
        [f"{ours[metric]:.4f}" for metric in ("NDCG@5", "HR@5", "NDCG@10", "HR@10")]
    ]


def test_comparison_can_be_left_out(fans: Fans, corpus: Path, tmp_path: Path, quick: list[object]) -> None:
    code, out, _ = fans("train", corpus, "--out", tmp_path / "run", *quick, "sharpness=3", "--no-compare")
    assert code == 0
    made = kept(tmp_path / "run")
    assert made["config"]["memory"]["sharpness"] == 3
    assert "comparison" not in made and "EASE" not in out


@pytest.mark.parametrize(("flags", "recipe"), [("", "best"), ("--set regularization=3", "paper")])
def test_setting_that_best_searches_selects_the_paper_recipe(
    fans: Fans, corpus: Path, tmp_path: Path, flags: str, recipe: str
) -> None:
    code, _, _ = fans("train", corpus, "--model", "ease", "--out", tmp_path / "run", *flags.split())
    assert code == 0
    assert kept(tmp_path / "run")["training"]["recipe"] == recipe


def test_resumed_training_keeps_its_recipe(
    fans: Fans, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr("fansrec.training.trainer.write_artifact", Mock(side_effect=OSError("the disk is full")))
        code, _, err = fans("train", corpus, "--out", tmp_path / "run", *SETTINGS)
    assert code == 2 and "--resume" in err
    code, _, err = fans("train", corpus, "--out", tmp_path / "run", "--resume")
    assert (code, err) == (0, "")
    assert kept(tmp_path / "run")["variant"] == "FANS_TSC-STEP"


def test_options_override_the_file_and_are_kept_in_the_artifact(fans: Fans, corpus: Path, tmp_path: Path) -> None:
    lines = [f"{name} = {json.dumps(value)}" for name, value in MINUTE.items()] + ["seed = 3", "learning_rate = 0.02"]
    (tmp_path / "settings.toml").write_text("\n".join(lines))
    code, _, _ = fans("train", corpus, "--out", tmp_path / "run", "--config", tmp_path / "settings.toml", "--seed", 4)
    assert code == 0
    kept = json.loads((tmp_path / "run" / "config.json").read_text())
    assert kept["training"]["seed"] == 4
    assert kept["training"]["learning_rate"] == 0.02
    assert kept["config"]["width"] == MINUTE["width"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--set widht=8", "did you mean width?"),
        ("--set width=wide", "must be of type int"),
        ("--set width", "NAME=VALUE"),
        ("--set classifier=cube", "two-stage or vanilla"),
        ("--set width=10", "cannot be shared by 4 heads"),
        ("--recipe paper --set width=10", "cannot be shared by 8 heads"),
        ("--set sharpnes=3", "did you mean sharpness?"),
        ("--recipe paper --set sharpness=3", "sharpness is a setting of --recipe best and not of paper"),
        ("--recipe best --scheduler naive", "scheduler is a setting of --recipe paper and not of best"),
        ("--model ease --recipe best --set regularization=3", "chooses regularization itself"),
        ("--set precision=bf16 --epochs 1 --steps 1", "needs a GPU"),
        ("--set learning_rate=1e300 batch_size=16 warmup=0", "lower learning_rate"),
        ("--model oracle", "choose one of"),
        ("--model popularity --classifier vanilla", "no setting 'classifier'"),
        ("--resume", "does not contain an interrupted training run"),
    ],
)
def test_invalid_options_are_refused_in_one_line(
    fans: Fans, corpus: Path, tmp_path: Path, arguments: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    code, _, err = fans("train", corpus, "--out", tmp_path / "run", *arguments.split())
    assert code == 2
    assert message in err and err.count("\n") == 1


def test_config_file_with_sections_is_refused(fans: Fans, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text("[training]\nseed = 1\n")
    code, _, err = fans("train", corpus, "--out", tmp_path / "run", "--config", tmp_path / "settings.toml")
    assert code == 2
    assert "without sections" in err
    assert not (tmp_path / "run").exists()


def test_folder_without_a_corpus_is_refused(fans: Fans, tmp_path: Path) -> None:
    code, _, err = fans("train", tmp_path, "--out", tmp_path / "run")
    assert code == 2
    assert "fans prepare" in err


def test_lists_too_short_for_the_paper_protocol_can_be_trained_on(fans: Fans, tmp_path: Path) -> None:
    write_walks(tmp_path / "corpus", shortest=4, longest=8)  # no target has 5 items
    code, _, _ = fans("train", tmp_path / "corpus", "--out", tmp_path / "run", *SETTINGS)
    assert code == 0
    kept = json.loads((tmp_path / "run" / "config.json").read_text())
    assert 0 <= kept["validation"]["valid NDCG@5"] <= 1


def test_help_names_every_model() -> None:
    """The help text does not use the registry, which would import torch."""
    assert {*HELP_MODELS.split(", ")} >= {*names()}


@pytest.mark.parametrize("recipe", ["best", "paper"])
def test_help_names_every_setting_of_fans(recipe: str) -> None:
    named = {word.strip("`.,;:=") for word in str(train_command.__doc__).split()} | {"recipe"}
    assert named >= {*known_names("fans", recipe)}


def test_missing_file_of_settings_is_reported(fans: Fans, corpus: Path, tmp_path: Path) -> None:
    code, _, err = fans("train", corpus, "--out", tmp_path / "run", "--config", tmp_path / "mine.toml")
    assert code == 2
    assert err == f"fans: there is no file {tmp_path / 'mine.toml'}; correct --config, or leave it out\n"


def test_trackers_of_the_command_line_are_used(
    fans: Fans, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = Mock(start=Mock(return_value="run-1"))
    monkeypatch.setitem(tracking.TRACKERS, "mlflow", lambda: mlflow)
    monkeypatch.setitem(sys.modules, "mlflow", Mock())
    code, _, _ = fans("train", corpus, "--out", tmp_path / "run", "--model", "popularity", "--track", "mlflow")
    assert code == 0
    assert mlflow.start.call_args.args[1]["model"] == "popularity"
    assert mlflow.end.call_args.args[1] is True


def test_unknown_tracker_is_refused(fans: Fans, corpus: Path, tmp_path: Path) -> None:
    code, _, err = fans("train", corpus, "--out", tmp_path / "run", "--track", "guild")
    assert code == 2 and err == "fans: --track is 'guild'; it can be tensorboard, mlflow, wandb\n"
    assert not (tmp_path / "run").exists()
