"""The curriculum (paper, section 4.2): the ratio of the target that is masked, and when the next step starts.

The paper divides all epochs into equal units, one per curriculum step. It also stops early with a patience of 3 epochs,
which would end training before the full target is ever masked. So patience is counted per step here: when it runs out,
the next step starts, and in the last step training ends.
"""

from dataclasses import dataclass, replace


def ratio(step: int, steps: int) -> float:
    """Return the curriculum ratio rho_t, the share of the target that is masked in step 0, 1, …"""
    return (step + 1) / steps


@dataclass(frozen=True)
class Progress:
    """The state of the curriculum; `best` and `waited` refer to the current step only."""

    step: int = 0
    epoch_in_step: int = 0
    best: float | None = None
    waited: int = 0
    finished: bool = False


@dataclass(frozen=True)
class Curriculum:
    steps: int  # 1 is the naive scheduler: the whole target is masked from the first epoch on
    epochs: int  # the maximum over all steps
    patience: int

    def epochs_of(self, step: int) -> int:
        """Return the maximum number of epochs of a step: an equal share of all, the first steps get the remainder."""
        share, rest = divmod(self.epochs, self.steps)
        return share + (step < rest)

    def after_epoch(self, progress: Progress, score: float) -> Progress:
        """Return the progress after one more epoch with this score on the validation lists."""
        better = progress.best is None or not score <= progress.best  # without validation lists: the last epoch
        updated = replace(
            progress,
            epoch_in_step=progress.epoch_in_step + 1,
            best=score if better else progress.best,
            waited=0 if better else progress.waited + 1,
        )
        if updated.waited < self.patience and updated.epoch_in_step < self.epochs_of(updated.step):
            return updated
        return replace(updated, finished=True) if updated.step + 1 == self.steps else Progress(step=updated.step + 1)
