import pytest

from fansrec.errors import BadSetting
from fansrec.experiments.crossval.systems import check_systems, parse_system, parse_systems
from worlds import walks


def test_default_recipe_is_best_where_the_model_has_it() -> None:
    assert [str(system) for system in parse_systems("ease, popularity,ease")] == ["ease:best", "popularity:paper"]


def test_recipe_and_settings_are_passed_to_training() -> None:
    system = parse_system("ease:paper+regularization=200+neighbors=5")
    assert system.training_settings(3) == {"recipe": "paper", "regularization": "200", "neighbors": "5", "seed": 3}
    assert system == parse_system("ease:paper+neighbors=5+regularization=200")


def test_only_models_trained_by_gradient_descent_are_random() -> None:
    assert parse_system("fans:paper").is_random and not parse_system("ease").is_random


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bogus", "there is no model 'bogus'"),
        ("bogus:paper", "there is no model 'bogus'"),
        ("ease:fast", "there is no recipe 'fast'"),
        ("ease+regularization", "is not a SETTING=VALUE"),
        ("ease+seed=1", "training seeds with seeds"),
        (" , ", "names no model"),
    ],
)
def test_invalid_system_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadSetting, match=message):
        parse_systems(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ease:paper+wings=2", "no setting 'wings'"),
        ("ease+regularization=200", "chooses regularization itself"),
        ("popularity:best", "no recipe 'best'"),
    ],
)
def test_untrainable_system_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadSetting, match=message):
        check_systems(parse_systems(text), walks())
