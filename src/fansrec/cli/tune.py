"""`fans tune`: the best settings of a model for a corpus."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from fansrec.cli.options import Corpus, TrainingDevice, choose_device, path_option
from fansrec.cli.progress_bars import TrainingBar
from fansrec.cli.terminal import Terminal, echo
from fansrec.experiments.defaults import TUNE_TIME
from fansrec.experiments.durations import parse_duration

OUT = "Folder for the log of trials, the best settings and the best model; the same folder continues its search"
TIME = "Time limit of this call, such as 90s, 10m or 2h"


def tune(
    corpus: Corpus,
    out: Annotated[Path, path_option(help=OUT)],
    model: Annotated[str, typer.Option(help="Model, as in `fans train`")] = "fans",
    time: Annotated[str, typer.Option(help=TIME)] = TUNE_TIME,
    recipe: Annotated[
        Literal["best", "paper"] | None,
        typer.Option(help="Recipe of the model", show_default="best for fans, paper for others"),
    ] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Maximum number of trials", show_default="none")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the settings and of training")] = 0,
    device: TrainingDevice = None,
    force: Annotated[bool, typer.Option("--force", help="Remove an earlier search in --out and start again")] = False,
) -> None:
    """Search the settings of a model on the validation lists within a time limit.

    Example: `fans tune corpora/mine --model slist --time 10m --out tuned/slist`

    The first trial has the defaults, the next eight random settings; then half of the trials change the best settings
    a little. Trials that are trained by gradient are stopped halfway if they are clearly worse than the best one. The
    test lists are not used.

    OUT/trials.jsonl has a line per trial, OUT/best.toml the best settings for `fans train --config`, and OUT/model the
    best model. Linear models and V-STAN in OUT/model are fitted to the validation lists too; `fans train --config` fits
    them to the training lists only.

    Guide: docs/how-to/compare-models.md
    """
    seconds = parse_duration("--time", time)
    choose_device(device)
    from fansrec.experiments.tune.tuning import set_option
    from fansrec.experiments.tune.tuning import tune as run

    with TrainingBar(Terminal()) as bar:
        found = run(corpus, out, model, seconds, recipe, trials, seed, bar, force)
    console = Terminal()
    if found.best is None or found.run is None:
        console.say("no trial was trained to the end in this time; give a longer --time, or train with the defaults:")
        console.say(f"Next: fans train {corpus} --model {found.model} --out RUN")
        return
    config_lists, model_lists = "", ""
    if found.has_validation_lists:
        config_lists, model_lists = ", which fits to the training lists only", ", fitted to the validation lists too"
    before = "" if found.default_figure is None else f", the defaults {found.default_figure:.4f}"
    echo(
        f"best of {len(found.trials)} trials: number {found.best.number}, {found.metric} {found.figure:.4f} on "
        f"{found.lists:,} validation lists{before}",
        f"settings: --model {found.model} --recipe {found.recipe} {set_option(found.settings)}",
        f"written: {found.config}, for `fans train {corpus} --config {found.config} --out RUN`{config_lists}",
        f"written: {found.run}, the best model{model_lists}",
    )
    console.say(f"Next: fans evaluate {found.run} --corpus {corpus}")
