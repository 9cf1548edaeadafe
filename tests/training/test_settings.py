from typing import Any

import pytest

from fansrec.errors import BadSetting
from fansrec.training.settings import TrainSettings, default_recipe, known_names, parse, split


def test_the_defaults_are_those_of_the_papers_appendix() -> None:
    training = TrainSettings()
    assert training.learning_rate == 0.01
    assert training.batch_size == 256
    assert (training.epochs, training.patience) == (200, 3)
    assert (training.scheduler, training.steps) == ("step", 5)


def test_texts_are_converted_to_the_types_of_the_settings() -> None:
    texts = {"epochs": "7", "learning_rate": "1e-3", "use_categories": "False", "classifier": "vanilla"}
    assert parse("fans", texts) == {
        "epochs": 7,
        "learning_rate": 0.001,
        "use_categories": False,
        "classifier": "vanilla",
    }


def test_values_of_the_right_type_stay_as_they_are() -> None:
    values = {"epochs": 7, "learning_rate": 0.5, "use_categories": True, "watch": "HR@5"}
    assert parse("fans", values) == values


def test_an_unknown_setting_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(BadSetting, match="fans has no setting 'epoch'; did you mean epochs?"):
        parse("fans", {"epoch": 3})


def test_unknown_setting_without_a_similar_name_is_refused_with_all_names() -> None:
    with pytest.raises(BadSetting, match="no setting 'qqqq'; settings are .*batch_size.*width"):
        parse("fans", {"qqqq": 3})


def test_a_setting_of_another_model_is_refused() -> None:
    with pytest.raises(BadSetting, match="popularity has no setting 'width'"):
        parse("popularity", {"width": 8})


@pytest.mark.parametrize("name", ["category_starts", "positions"])
def test_settings_from_the_corpus_cannot_be_given(name: str) -> None:
    with pytest.raises(BadSetting, match="no setting"):
        parse("fans", {name: 3})


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("epochs", "many", "of type int"),
        ("epochs", "2.5", "of type int"),
        ("learning_rate", "fast", "of type float"),
        ("use_categories", "maybe", "true or false"),
        ("use_categories", 2, "true or false"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(name: str, value: Any, expected: str) -> None:
    with pytest.raises(BadSetting, match=f"{name} is .*; it must be {expected}"):
        parse("fans", {name: value})


@pytest.mark.parametrize(
    ("name", "value"), [("scheduler", "steps"), ("classifier", "three-stage"), ("precision", "fp8"), ("watch", "HR@10")]
)
def test_unknown_choice_is_refused(name: str, value: str) -> None:
    with pytest.raises(BadSetting, match=f"{name} is '{value}'; it must be .* or "):
        parse("fans", {name: value})


@pytest.mark.parametrize("name", ["steps", "epochs", "patience", "batch_size", "learning_rate", "validation_lists"])
@pytest.mark.parametrize("value", [0, -1])
def test_values_must_be_above_zero(name: str, value: int) -> None:
    with pytest.raises(BadSetting, match=f"{name} is {value}.*; it must be above 0"):
        split({name: value})


def test_there_are_no_more_curriculum_steps_than_epochs() -> None:
    assert TrainSettings(epochs=4).curriculum_steps == 4
    assert TrainSettings(epochs=9).curriculum_steps == 5
    assert TrainSettings(epochs=9, scheduler="naive").curriculum_steps == 1


def test_settings_are_split_into_those_of_training_and_of_the_model() -> None:
    training, model = split({"epochs": 9, "width": 32})
    assert training == TrainSettings(epochs=9)
    assert model == {"width": 32}


def test_every_setting_has_a_plain_type() -> None:
    assert set(known_names("fans").values()) <= {int, float, bool, str}


BAD_VALUES = [
    ("batch_size", 2.5),  # would be 2
    ("batch_size", None),
    ("learning_rate", "nan"),
    ("learning_rate", "inf"),
    ("checkpoint_seconds", "nan"),
    ("warmup", -1),
    ("seed", -1),
]


@pytest.mark.parametrize(("name", "value"), BAD_VALUES)
def test_invalid_number_is_refused(name: str, value: Any) -> None:
    with pytest.raises(BadSetting, match=name):
        split(parse("fans", {name: value}))


def test_default_recipe_of_fans_is_best() -> None:
    assert default_recipe("fans", {}) == "best"
    assert default_recipe("fans", {"epochs": 3, "width": 8, "memory_weight": 0.0}) == "best"


@pytest.mark.parametrize("values", [{"scheduler": "naive"}, {"steps": 3}, {"epochs": 3, "steps": 3}])
def test_setting_of_the_paper_recipe_selects_it(values: dict[str, Any]) -> None:
    assert default_recipe("fans", values) == "paper"


@pytest.mark.parametrize("model", ["popularity", "sasrec", "bert4rec", "bert4rec-nar", "markov"])
def test_default_recipe_of_models_without_a_best_recipe(model: str) -> None:
    assert default_recipe(model, {}) == "paper"


@pytest.mark.parametrize("recipe", ["paper", "best"])
def test_given_recipe_is_used(recipe: str) -> None:
    assert default_recipe("fans", {"recipe": recipe, "epochs": 3}) == recipe
    assert default_recipe("fans", {"recipe": recipe, "steps": 3}) == recipe


@pytest.mark.parametrize("name", ["scheduler", "steps"])
def test_the_best_recipe_has_no_curriculum(name: str) -> None:
    with pytest.raises(BadSetting, match=f"{name} is a setting of recipe paper and not of best"):
        parse("fans", {"recipe": "best", name: 3})


@pytest.mark.parametrize("name", ["memory_lists", "memory_items", "linear_neighbours"])
def test_sizes_of_the_best_recipe_cannot_be_set(name: str) -> None:
    with pytest.raises(BadSetting, match=f"fans has no setting '{name}'"):
        parse("fans", {"recipe": "best", name: 3})


@pytest.mark.parametrize("name", ["memory_weight", "sharpness", "asked_categories"])
def test_settings_of_the_best_recipe_are_unknown_to_the_paper_recipe(name: str) -> None:
    assert name in known_names("fans", "best") and name not in known_names("fans")


@pytest.mark.parametrize(("name", "value"), [("average", 1.0), ("average", -0.1), ("weight_decay", -0.1)])
def test_invalid_average_and_weight_decay_are_refused(name: str, value: float) -> None:
    with pytest.raises(BadSetting, match=f"{name} is {value}"):
        split({name: value})
