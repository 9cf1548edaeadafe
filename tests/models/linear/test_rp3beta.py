import numpy as np
import pytest

from linear_models import LISTS, fitted_to, scores


@pytest.mark.parametrize("kept", [0, 3])
def test_plain_walk_by_hand(kept: int) -> None:
    model = fitted_to(LISTS, 4, "rp3beta", alpha=1.0, beta=0.0, neighbours=kept)
    # From 0 to one of its two lists, and on to one of that list's two or three items.
    assert scores(model, 0) == pytest.approx([0, 1 / 2 * (1 / 2 + 1 / 3), 1 / 2 * 1 / 3, 0], abs=1e-6)
    assert scores(model, 3) == pytest.approx([0, 0, 1 / 2, 0], abs=1e-6)


def test_alpha_and_beta_are_powers_of_probability_and_popularity() -> None:
    model = fitted_to(LISTS, 4, "rp3beta", alpha=2.0, beta=0.5)
    walked = np.array([0, 1 / 4 * (1 / 4 + 1 / 9), 1 / 4 * 1 / 9, 0])
    assert scores(model, 0) == pytest.approx(walked / np.array([2, 2, 2, 1]) ** 0.5, abs=1e-6)


def test_powers_of_0_count_shared_lists() -> None:
    assert scores(fitted_to(LISTS, 4, "rp3beta", alpha=0.0, beta=0.0), 0, 2) == pytest.approx([1, 3, 1, 1], abs=1e-6)
