"""The search for the best settings of one model on the validation lists."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fansrec.data.corpus import Corpus, fingerprint, read_corpus
from fansrec.errors import BadSetting, Interrupted, missing_extras
from fansrec.experiments.defaults import TUNE_TIME
from fansrec.experiments.durations import parse_duration
from fansrec.experiments.result_folder import start_folder
from fansrec.experiments.tune.running import MODEL, keep_best, run_trial
from fansrec.experiments.tune.spaces import Space, space_of
from fansrec.experiments.tune.trials import LOG, Trial, best_of, next_settings, read_trials, write_trials
from fansrec.files import write_text
from fansrec.models.registry import entry
from fansrec.training.devices import training_device, usable_device
from fansrec.training.grid_search import validation_lists
from fansrec.training.plan import Plan, make_plan
from fansrec.training.reporting import Reporter, default_reporter, format_duration, format_values
from fansrec.training.settings import default_recipe

ABOUT = "tune.json"  # what the folder was made with
BEST = "best.toml"
OWN = r"trials\.jsonl|best\.toml|model|training|trial-\d+"  # what a search writes


@dataclass(frozen=True)
class Tuned:
    """The result of a search.

    Attributes:
        model: Name of the model, as in `train`.
        recipe: Its recipe.
        settings: The best settings; the defaults if no trial was trained to the end.
        figure: Figure of the best settings on the validation lists.
        default_figure: Figure of the defaults.
        metric: Name of the figure.
        lists: Number of validation lists.
        trials: All trials, in their order.
        config: File of the best settings for `fans train --config`.
        run: Folder of the best model, None if no trial was trained to the end.
    """

    model: str
    recipe: str
    settings: dict[str, Any]
    figure: float | None
    default_figure: float | None
    metric: str
    lists: int
    trials: list[Trial]
    config: Path
    run: Path | None

    @property
    def best(self) -> Trial | None:
        """The best trial, None if none was trained to the end."""
        return best_of(self.trials)

    @property
    def has_validation_lists(self) -> bool:
        """Whether the best model was fitted to the validation lists too, which `fans train --config` does not do."""
        return hasattr(entry(self.model).model, "fit")


@missing_extras()
def tune(
    corpus: str | Path,
    out: str | Path,
    model: str = "fans",
    seconds: float | str = TUNE_TIME,
    recipe: str | None = None,
    trials: int | None = None,
    seed: int = 0,
    reporter: Reporter | None = None,
    force: bool = False,
    device: str | None = None,
) -> Tuned:
    """Search the settings of a model on the validation lists.

    The same call continues the search in `out`. Which settings a trial has depends only on the seed and on the trials
    before.

    Args:
        corpus: The corpus folder.
        out: Folder of the log of all trials (trials.jsonl), the best settings (best.toml) and the best model (model/).
        model: Name of the model, as in `train`.
        seconds: Longest search of this call: a number, or a text such as 10m.
        recipe: paper, or best for models that have it; by default best for fans and paper for others.
        trials: Maximum number of all trials; by default only `seconds` limits them.
        seed: Random seed of settings and training.
        reporter: Shows the progress; by default in a terminal and in a notebook.
        force: Replace the search in `out`.
        device: Device to train on: cpu, cuda or cuda:1; by default a GPU if there is one.

    Returns:
        The best settings, their figure beside that of the defaults, and all trials.

    Examples:
        >>> import fansrec
        >>> tuned = fansrec.tune("corpora/mine", "runs/tuned", "item-knn", trials=2)
        >>> len(tuned.trials), tuned.metric
        (2, 'NDCG@5')
        >>> model = fansrec.load(tuned.run)
    """
    seconds, source, folder = parse_duration("seconds", seconds), Path(corpus), Path(out)
    if trials is not None and trials < 1:
        raise BadSetting(f"--trials is {trials}; it must be at least 1")
    reporter = default_reporter() if reporter is None else reporter
    lists = read_corpus(source)
    recipe = recipe or ("paper" if hasattr(entry(model).model, "fit") else default_recipe(model, {}))
    plan, space = make_plan(model, {"recipe": recipe, "seed": seed}, lists), space_of(model, recipe)
    if not space:
        raise BadSetting(f"{model} has no settings to search")
    validation = len(validation_lists(plan, lists).inputs)
    about = {"fingerprint": fingerprint(lists), "model": model, "recipe": recipe, "seed": seed}
    usable_device(device)  # refused before the folder is made
    start_folder(folder, "search", ABOUT, about, OWN, force)
    values = plan.settings | vars(plan.training)
    defaults = {name: values[name] for name in space}
    with training_device(device):
        made = _search(plan, space, defaults, lists, source, folder, seconds, trials, reporter)
    best = best_of(made)
    settings = defaults if best is None else best.settings
    first = made[0].figure if made and made[0].stopped is None else None
    config = folder / BEST
    write_text(config, toml({"model": model, "recipe": recipe, **settings}))
    run = None if best is None else folder / MODEL
    figure = None if best is None else best.figure
    return Tuned(model, recipe, settings, figure, first, plan.training.watch, validation, made, config, run)


def _search(
    plan: Plan,
    space: Space,
    defaults: Mapping[str, Any],
    corpus: Corpus,
    source: Path,
    folder: Path,
    seconds: float,
    most: int | None,
    reporter: Reporter,
) -> list[Trial]:
    """Return all trials, those of an earlier search in the folder first."""
    started, done = time.monotonic(), read_trials(folder / LOG)
    if done:
        reporter.message(f"{len(done)} trials were done before")
    keep_best(folder, done)
    longest, made = 0.0, 0
    while most is None or len(done) < most:
        used = time.monotonic() - started
        by_gradient = not hasattr(entry(plan.model).model, "fit")
        if made and (used > seconds or (not by_gradient and used + longest > seconds)):
            break
        settings = next_settings(space, defaults, done, plan.training.seed)
        if settings is None:
            reporter.message("all settings were tried")
            break
        try:
            trial = run_trial(plan, settings, done, corpus, source, folder, started + seconds, reporter)
            write_trials(folder / LOG, [*done, trial])
            keep_best(folder, [*done, trial])
        except KeyboardInterrupt:
            raise Interrupted(f"stopped; {len(done)} trials are in {folder}, continue with the same command") from None
        done.append(trial)
        made += 1
        longest = max(longest, trial.seconds)
        reporter.message(_trial_message(trial, done, seconds - (time.monotonic() - started)))
    return done


def toml(values: Mapping[str, Any]) -> str:
    """Return settings as lines of TOML; JSON writes single values in the same way."""
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())


def set_option(settings: Mapping[str, Any]) -> str:
    """Return settings as an option of `fans train`."""
    return "--set " + " ".join(f"{name}={value}" for name, value in settings.items())


def _trial_message(trial: Trial, trials: list[Trial], left: float) -> str:
    best = best_of(trials)
    figure = "–" if trial.figure is None else f"{trial.figure:.4f}"
    ended = {None: "", "worse": " (stopped: worse)", "time": " (stopped: the time is over)"}[trial.stopped]
    so_far = "" if best is None else f", best {best.figure:.4f}"
    time_left = f", {format_duration(left)} left" if left > 0 else ""
    about = f"{format_values(trial.settings)}; {trial.seconds:.1f} s{time_left}"
    return f"trial {trial.number}: {figure}{ended}{so_far}  {about}"
