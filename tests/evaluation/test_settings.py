"""Settings as readers see them."""

from typing import Any

from fansrec.evaluation.settings import readable, readable_settings, readable_value

HYBRID: dict[str, Any] = {
    "model": "fans-hybrid",
    "variant": "FANS (best)",
    "config": {
        "category_starts": [0, 10],
        "positions": 43,
        "network": {"width": 64, "use_categories": True},
        "memory": {"sharpness": 3.0},
        "linear": {"neighbors": 1000},
        "weights": {"network": 0.8, "memory": 0.0, "linear": 0.5},
    },
    "linear_model": {"model": "slist", "settings": {"alpha": 0.2}},
    "training": {
        "recipe": "best",
        "scheduler": "naive",
        "steps": 5,
        "epochs": 10,
        "average": 0.0,
        "checkpoint_seconds": 30.0,
    },
    "validation": {"valid HR@5": 0.8597662771285476},
}


def test_values_are_rounded() -> None:
    values = [0.8597662771285476, 1e-05, 130683, 130683.2, True, [1, 0.25], "step"]
    assert [*map(readable_value, values)] == ["0.8598", "1e-05", "130,683", "130,683", "yes", "1, 0.25", "step"]


def test_nested_values_are_one_level_without_empty_ones() -> None:
    assert readable({"splits": {"train_lists": 8}, "split_by": None, "fingerprint": "ab"}) == {
        "splits train lists": "8"
    }


def test_settings_without_effect_are_left_out() -> None:
    found = readable_settings(HYBRID)
    assert found["model"] == {"model": "fans", "variant": "FANS (best)", "positions": "43"}
    assert found["linear"] == {"model": "slist", "alpha": "0.2", "neighbors": "1,000"}
    assert "memory" not in found  # its weight is 0
    assert found["training"] == {"recipe": "best", "scheduler": "naive", "epochs": "10"}
    assert found["validation"] == {"valid HR@5": "0.8598"}


def test_closed_form_model_has_no_settings_of_gradient_descent() -> None:
    training = {"recipe": "paper", "epochs": 200, "watch": "NDCG@5", "seed": 0}
    ease = {"model": "ease", "variant": "EASE", "config": {"regularization": 100.0}, "training": training}
    assert readable_settings(ease)["training"] == {"recipe": "paper"}
    searched = readable_settings(ease | {"validation": {"valid NDCG@5": 0.2}})
    assert searched["training"] == {"recipe": "paper", "watch": "NDCG@5"}
