import pytest

from fansrec.errors import BadSetting
from fansrec.experiments.crossval.systems import check_systems, parse_system, parse_systems
from worlds import walks


def test_a_system_is_a_model_with_its_best_recipe_where_it_has_one() -> None:
    assert [str(system) for system in parse_systems("ease, popularity,ease")] == ["ease:best", "popularity:paper"]


def test_recipe_and_settings_are_given_to_training() -> None:
    system = parse_system("ease:paper+regularization=200+neighbours=5")
    assert system.values(3) == {"recipe": "paper", "regularization": "200", "neighbours": "5", "seed": 3}
    assert system == parse_system("ease:paper+neighbours=5+regularization=200")


def test_only_what_is_trained_by_gradient_is_random() -> None:
    assert parse_system("fans:paper").is_random and not parse_system("ease").is_random


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("bogus", "there is no model 'bogus'"),
        ("bogus:paper", "there is no model 'bogus'"),
        ("ease:fast", "there is no recipe 'fast'"),
        ("ease+regularization", "is no SETTING=VALUE"),
        ("ease+seed=1", "--seeds"),
        (" , ", "no model is named"),
    ],
)
def test_what_is_no_system_is_refused(text: str, word: str) -> None:
    with pytest.raises(BadSetting, match=word):
        parse_systems(text)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("ease:paper+wings=2", "no setting 'wings'"),
        ("ease+regularization=200", "chooses regularization itself"),
        ("popularity:best", "no recipe 'best'"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_anything_is(text: str, word: str) -> None:
    with pytest.raises(BadSetting, match=word):
        check_systems(parse_systems(text), walks())
