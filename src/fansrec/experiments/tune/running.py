"""Running a trial: fit or train the model, and return its figure on the validation lists."""

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fansrec.artifact import read_config
from fansrec.data.corpus import Corpus
from fansrec.experiments.tune.trials import Trial, best_of
from fansrec.files import new_folder
from fansrec.models.registry import command_name, entry
from fansrec.training.grid_search import evaluate, fit_again, validation_lists
from fansrec.training.plan import Plan
from fansrec.training.reporting import Reporter
from fansrec.training.trainer import finish, train

MODEL = "model"  # the folder of the best model
TRAINING = "training"  # that of the trial that is being trained
FEWEST_EPOCHS = 3
WORSE = 0.95  # of the best trial's figure after as many epochs: a trial below that is stopped


class Stopped(Exception):
    """Ends the training of a trial; the argument says why."""


class Watch(Reporter):
    """Stops a trial at the end of the time, or halfway through the best trial's epochs if it is clearly worse."""

    def __init__(self, reporter: Reporter, watch: str, deadline: float, best: Trial | None) -> None:
        self._watch, self._deadline, self._best = f"valid {watch}", deadline, best
        self.start, self._batch = reporter.start, reporter.batch  # type: ignore[method-assign]
        self.curve: list[float] = []

    def batch(self, epoch: int, batch: int, loss: float, category_accuracy: float | None) -> None:
        self._batch(epoch, batch, loss, category_accuracy)
        if time.monotonic() > self._deadline:
            raise Stopped("time")

    def epoch(self, row: dict[str, Any]) -> None:
        figure = row[self._watch]
        self.curve.append(round(max(figure, *self.curve[-1:]) if self.curve else figure, 6))
        if self._best is not None and self._is_clearly_worse(self._best.curve):
            raise Stopped("worse")

    def _is_clearly_worse(self, best: Sequence[float]) -> bool:
        epochs = len(self.curve)
        if epochs < max(FEWEST_EPOCHS, len(best) // 2) or not best:
            return False
        return self.curve[-1] < WORSE * best[min(epochs, len(best)) - 1]


def run_trial(
    plan: Plan,
    settings: Mapping[str, Any],
    trials: Sequence[Trial],
    corpus: Corpus,
    source: Path,
    folder: Path,
    deadline: float,
    reporter: Reporter,
) -> Trial:
    """Return the next trial; if it is the best so far, its model waits in `folder` for `keep_best`."""
    if hasattr(entry(plan.model).model, "fit"):
        return _fit(plan, settings, trials, corpus, folder)
    return _train(plan, settings, trials, source, folder, deadline, reporter)


def _fit(plan: Plan, settings: Mapping[str, Any], trials: Sequence[Trial], corpus: Corpus, folder: Path) -> Trial:
    """Fit a model in closed form to the training lists; the best one again with the validation lists, for use."""
    started = time.monotonic()
    plan = replace(plan, config=plan.config | dict(settings), given=tuple(sorted(settings)))
    network = plan.build()
    network.fit(*corpus.flat("train"))
    figures = evaluate(network, validation_lists(plan, corpus))
    figure, seconds = figures[f"valid {plan.training.watch}"], round(time.monotonic() - started, 3)
    trial = Trial(len(trials) + 1, dict(settings), figure, seconds)
    if best_of([*trials, trial]) is trial:
        shutil.rmtree(folder / TRAINING, ignore_errors=True)
        with new_folder(folder / TRAINING) as new:
            finish(fit_again(plan, corpus, figures, []), corpus, new)
        (folder / TRAINING).rename(_waiting(folder, trial))
    return trial


def _train(
    plan: Plan,
    settings: Mapping[str, Any],
    trials: Sequence[Trial],
    source: Path,
    folder: Path,
    deadline: float,
    reporter: Reporter,
) -> Trial:
    started, run = time.monotonic(), folder / TRAINING
    shutil.rmtree(run, ignore_errors=True)  # an interrupted trial starts again
    number, watch = len(trials) + 1, Watch(reporter, plan.training.watch, deadline, best_of(trials))
    values = {**settings, "recipe": plan.training.recipe, "seed": plan.training.seed}
    try:
        train(source, run, command_name(plan.model), values, watch, compare=False, recipe="paper")
    except Stopped as reason:
        shutil.rmtree(run, ignore_errors=True)
        figure = watch.curve[-1] if watch.curve else None
        return Trial(number, dict(settings), figure, round(time.monotonic() - started, 3), str(reason), watch.curve)
    figure = read_config(run)["validation"][f"valid {plan.training.watch}"]
    trial = Trial(number, dict(settings), figure, round(time.monotonic() - started, 3), None, watch.curve)
    if best_of([*trials, trial]) is trial:
        run.rename(_waiting(folder, trial))
    shutil.rmtree(run, ignore_errors=True)
    return trial


def keep_best(folder: Path, trials: Sequence[Trial]) -> None:
    """Make the waiting model of the last trial the best one; remove one of a trial that is not in the log."""
    for trial in trials[-1:]:
        if (waiting := _waiting(folder, trial)).is_dir():
            shutil.rmtree(folder / MODEL, ignore_errors=True)
            waiting.rename(folder / MODEL)
    shutil.rmtree(folder / f"trial-{len(trials) + 1}", ignore_errors=True)


def _waiting(folder: Path, trial: Trial) -> Path:
    """Return the folder of a model until its trial is in the log: an interruption leaves log and model in agreement."""
    return folder / f"trial-{trial.number}"
