import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from fansrec.errors import BadSetting
from fansrec.files import write_json
from fansrec.models.hybrid.model import HybridFans
from fansrec.training.plan import make_plan, saved_plan
from worlds import corpus_of, vocabulary_of, walks

CORPUS = walks()


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        ({"classifier": "vanilla", "scheduler": "naive"}, "FANS_NAIVE"),
        ({"classifier": "vanilla", "scheduler": "step"}, "FANS_STEP"),
        ({"classifier": "two-stage", "scheduler": "naive"}, "FANS_TSC-NAIVE"),
        ({"classifier": "two-stage", "scheduler": "step"}, "FANS_TSC-STEP"),
        ({}, "FANS_TSC-STEP"),
        ({"use_categories": "false"}, "FANS_TSC-STEP*"),
    ],
)
def test_variants_have_the_names_of_the_paper(flags: dict[str, str], name: str) -> None:
    assert make_plan("fans", flags, CORPUS).variant == name


def test_variant_of_another_model_is_its_name() -> None:
    assert make_plan("popularity", {}, CORPUS).variant == "popularity"


def test_the_corpus_decides_categories_and_positions() -> None:
    config = make_plan("fans", {}, CORPUS).config
    assert list(config["category_starts"]) == [0, 15, 30, 45, 60]
    assert config["positions"] == 16 + 3  # the longest list, CLS, SEP and SEP


def test_plan_survives_writing_and_reading(tmp_path: Path) -> None:
    plan = make_plan("fans", {"epochs": 9, "width": 16, "dropout": 0.05}, CORPUS)
    write_json(tmp_path / "plan.json", asdict(plan))
    again = saved_plan(tmp_path / "plan.json", "fans", {}, CORPUS)
    assert json.loads(json.dumps(asdict(again))) == json.loads(json.dumps(asdict(plan)))
    assert again.build().config == plan.build().config


@pytest.mark.parametrize("values", [{}, {"epochs": 9}, {"epochs": "9", "width": "16"}])
def test_resuming_with_the_same_settings_or_none(tmp_path: Path, values: dict[str, Any]) -> None:
    write_json(tmp_path / "plan.json", asdict(make_plan("fans", {"epochs": 9, "width": 16}, CORPUS)))
    assert saved_plan(tmp_path / "plan.json", "fans", values, CORPUS).training.epochs == 9


@pytest.mark.parametrize(("model", "values", "message"), [
    ("fans", {"epochs": 10}, "started with epochs=9; resume without epochs=10"),
    ("fans", {"width": "32"}, "started with width=16; resume without width=32"),
    ("popularity", {}, "started with model=fans"),
    ("fans", {"epoch": 9}, "did you mean epochs"),
])  # fmt: skip
def test_resuming_with_other_settings_is_refused(
    tmp_path: Path, model: str, values: dict[str, Any], message: str
) -> None:
    write_json(tmp_path / "plan.json", asdict(make_plan("fans", {"epochs": 9, "width": 16}, CORPUS)))
    with pytest.raises(BadSetting, match=message):
        saved_plan(tmp_path / "plan.json", model, values, CORPUS)


def test_resuming_on_a_corpus_with_other_items_is_refused(tmp_path: Path) -> None:
    write_json(tmp_path / "plan.json", asdict(make_plan("fans", {}, CORPUS)))
    other = corpus_of([[0, 1, 2]], vocabulary_of([15] * 4, ids=[f"other{n}" for n in range(60)]))
    with pytest.raises(BadSetting, match="started on another corpus"):
        saved_plan(tmp_path / "plan.json", "fans", {}, other)


def test_resuming_on_other_lists_of_the_same_items_is_refused(tmp_path: Path) -> None:
    write_json(tmp_path / "plan.json", asdict(make_plan("fans", {}, CORPUS)))
    with pytest.raises(BadSetting, match="started on another corpus"):
        saved_plan(tmp_path / "plan.json", "fans", {}, walks(seed=1))


@pytest.mark.parametrize(
    ("name", "value"),
    [("heads", 0), ("layers", 0), ("width", 0), ("feedforward", -1), ("dropout", 1.0), ("dropout", -0.5)],
)
def test_a_model_that_cannot_be_built_is_refused(name: str, value: float) -> None:
    with pytest.raises(BadSetting, match=name):
        make_plan("fans", {name: value}, CORPUS)


def test_best_recipe_has_its_own_network_and_defaults() -> None:
    best, paper = make_plan("fans", {"recipe": "best"}, CORPUS), make_plan("fans", {}, CORPUS)
    assert isinstance(best.build(), HybridFans) and not isinstance(paper.build(), HybridFans)
    for name, value in HybridFans.defaults.items():
        assert getattr(best.training, name) == value
    assert (paper.training.average, paper.training.weight_decay) == (0.0, 0.0)
    assert best.training.curriculum_steps == 1


def test_variant_names_the_best_recipe() -> None:
    assert make_plan("fans", {"recipe": "best"}, CORPUS).variant == "FANS (best)"
    assert make_plan("fans", {"recipe": "best", "use_categories": False}, CORPUS).variant == "FANS* (best)"


def test_plan_stores_the_given_settings(tmp_path: Path) -> None:
    plan = make_plan("fans", {"recipe": "best", "memory_weight": "0", "epochs": "9"}, CORPUS)
    assert plan.given == ("epochs", "memory_weight", "recipe")
    write_json(tmp_path / "plan.json", asdict(plan))
    again = saved_plan(tmp_path / "plan.json", "fans", {"memory_weight": 0}, CORPUS)
    assert again.given == plan.given
    assert isinstance(again.build(), HybridFans) and again.build().config == plan.build().config


def test_resuming_with_another_recipe_is_refused(tmp_path: Path) -> None:
    write_json(tmp_path / "plan.json", asdict(make_plan("fans", {"recipe": "best"}, CORPUS)))
    with pytest.raises(BadSetting, match="started with recipe=best; resume without recipe=paper"):
        saved_plan(tmp_path / "plan.json", "fans", {"recipe": "paper"}, CORPUS)


def test_missing_best_recipe_is_refused() -> None:
    with pytest.raises(BadSetting, match="no recipe 'best' for sasrec"):
        make_plan("sasrec", {"recipe": "best"}, CORPUS)
