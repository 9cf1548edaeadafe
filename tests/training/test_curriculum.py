import pytest
from hypothesis import given
from hypothesis import strategies as st

from fansrec.training.curriculum import Curriculum, Progress, ratio


def run_epochs(curriculum: Curriculum, scores: list[float]) -> list[Progress]:
    """Return the progress after each epoch, up to the end of training."""
    progress, made = Progress(), []
    for score in scores:
        if progress.finished:
            break
        progress = curriculum.after_epoch(progress, score)
        made.append(progress)
    return made


@pytest.mark.parametrize(("steps", "expected"), [(1, [1.0]), (2, [0.5, 1.0]), (5, [0.2, 0.4, 0.6, 0.8, 1.0])])
def test_rho_t_at_each_step(steps: int, expected: list[float]) -> None:
    assert [ratio(step, steps) for step in range(steps)] == pytest.approx(expected)


@pytest.mark.parametrize(("epochs", "steps"), [(200, 5), (20, 5), (7, 3), (13, 10)])
def test_ratio_equals_the_released_code_for_equal_steps(epochs: int, steps: int) -> None:
    """In the released code, epoch e of E has ratio (floor(e * s / E) + 1) / s."""
    made = run_epochs(Curriculum(steps, epochs, patience=epochs), list(range(epochs)))
    at = [0, *[progress.step for progress in made[:-1]]]
    if epochs % steps == 0:
        assert [ratio(step, steps) for step in at] == [(e * steps // epochs + 1) / steps for e in range(epochs)]
    assert len(made) == epochs and at[0] == 0 and at[-1] == steps - 1


@given(st.integers(1, 12), st.integers(1, 300))
def test_epochs_are_divided_equally(steps: int, more: int) -> None:
    curriculum = Curriculum(steps, steps - 1 + more, patience=3)
    shares = [curriculum.epochs_of(step) for step in range(steps)]
    assert sum(shares) == curriculum.epochs
    assert max(shares) - min(shares) <= 1 and shares == sorted(shares, reverse=True) and min(shares) >= 1


def test_step_ends_after_its_share_of_epochs() -> None:
    made = run_epochs(Curriculum(steps=2, epochs=5, patience=3), [1, 2, 3, 4, 5])
    assert [progress.step for progress in made] == [0, 0, 1, 1, 1]
    assert [progress.finished for progress in made] == [False, False, False, False, True]


def test_next_step_starts_when_patience_runs_out() -> None:
    made = run_epochs(Curriculum(steps=2, epochs=100, patience=3), [0.5, 0.4, 0.5, 0.3])
    assert [progress.waited for progress in made[:3]] == [0, 1, 2]
    assert made[3] == Progress(step=1)


def test_patience_is_counted_per_step() -> None:
    scores = [0.9, 0.1, 0.1, 0.1]  # patience of the first step runs out
    made = run_epochs(Curriculum(steps=2, epochs=100, patience=3), [*scores, 0.2, 0.1, 0.1])
    assert made[4] == Progress(step=1, epoch_in_step=1, best=0.2, waited=0)  # worse than before, best of this step
    assert made[6].waited == 2 and not made[6].finished


def test_better_epoch_resets_patience() -> None:
    made = run_epochs(Curriculum(steps=1, epochs=100, patience=2), [0.1, 0.05, 0.2, 0.1, 0.1])
    assert [progress.waited for progress in made] == [0, 1, 0, 1, 2]
    assert [progress.finished for progress in made] == [False] * 4 + [True]


def test_equal_score_is_not_better() -> None:
    assert run_epochs(Curriculum(steps=1, epochs=100, patience=1), [0.5, 0.5])[-1].finished


def test_training_ends_when_patience_runs_out_in_the_last_step() -> None:
    made = run_epochs(Curriculum(steps=2, epochs=100, patience=1), [0.5, 0.4, 0.5, 0.4, 0.9])
    assert len(made) == 4 and made[-1].finished and made[-1].step == 1 and made[-1].best == 0.5


def test_the_naive_scheduler_masks_the_whole_target_from_the_first_epoch_on() -> None:
    naive = Curriculum(steps=1, epochs=4, patience=10)
    made = run_epochs(naive, [1, 2, 3, 4])
    assert {progress.step for progress in made} == {0} and ratio(0, naive.steps) == 1.0
    assert len(made) == 4 and made[-1].finished


@given(st.integers(1, 5), st.integers(5, 40), st.integers(1, 4), st.lists(st.floats(0, 1), min_size=40, max_size=40))
def test_training_reaches_the_full_target_and_ends(steps: int, epochs: int, patience: int, scores: list[float]) -> None:
    made = run_epochs(Curriculum(steps, epochs, patience), scores)
    assert made[-1].finished and made[-1].step == steps - 1
    assert steps <= len(made) <= epochs
