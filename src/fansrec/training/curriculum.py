"""The curriculum: how much of the target is hidden when, and when to go on.

The paper divides all epochs into equal units, one a curriculum step. It also stops early with a patience of 3 epochs,
which would end training before the full target is ever masked. So patience counts anew in each step here: running out
of it moves on to the next step, and in the last step ends training.
"""

from dataclasses import dataclass, replace


def ratio(step: int, steps: int) -> float:
    """The share of the target that is masked in curriculum step 0, 1, …: rho_t = (step + 1) / steps."""
    return (step + 1) / steps


@dataclass(frozen=True)
class Progress:
    """Where training stands. `best` and `waited` speak of the current step only."""

    step: int = 0
    epoch_in_step: int = 0
    best: float | None = None
    waited: int = 0
    finished: bool = False


@dataclass(frozen=True)
class Curriculum:
    steps: int  # 1 is the naive scheduler: the whole target from the first epoch on
    epochs: int  # at most, over all steps
    patience: int

    def epochs_of(self, step: int) -> int:
        """The epochs a step may take: equal shares of all, the remainder going to the first steps."""
        share, rest = divmod(self.epochs, self.steps)
        return share + (step < rest)

    def after_epoch(self, progress: Progress, score: float) -> Progress:
        """The progress after one more epoch that reached `score` on the validation lists."""
        better = progress.best is None or score > progress.best
        now = replace(
            progress,
            epoch_in_step=progress.epoch_in_step + 1,
            best=score if better else progress.best,
            waited=0 if better else progress.waited + 1,
        )
        if now.waited < self.patience and now.epoch_in_step < self.epochs_of(now.step):
            return now
        return self._next(now)

    def _next(self, progress: Progress) -> Progress:
        if progress.step + 1 == self.steps:
            return replace(progress, finished=True)
        return Progress(step=progress.step + 1)
