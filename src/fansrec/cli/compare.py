"""`fans compare`: which model to use for a corpus."""

from pathlib import Path
from typing import Annotated

import typer

from fansrec.cli.options import Corpus, Device, check_result, choose_device, path_option
from fansrec.cli.progress_bars import TrainingBar
from fansrec.cli.terminal import Terminal, echo
from fansrec.experiments.defaults import COMPARE_TIME, COMPARED
from fansrec.experiments.durations import parse_duration
from fansrec.files import write_json

MODELS = "Models as NAME[:RECIPE][+SETTING=VALUE...], comma-separated"
OUT = "Folder for models and report; the same folder resumes an interrupted run and keeps trained models"
TIME = "Maximum time in which the settings of each model in closed form are searched, such as 90s or 10m"


def compare(
    corpus: Corpus,
    models: Annotated[str, typer.Option(help=MODELS)] = ",".join(COMPARED),
    out: Annotated[Path | None, path_option(help=OUT, show_default="CORPUS-compare beside CORPUS")] = None,
    json: Annotated[Path | None, path_option(help="Also write the result to this JSON file")] = None,
    time: Annotated[str, typer.Option(help=TIME)] = COMPARE_TIME,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of training")] = 0,
    device: Device = None,
    force: Annotated[bool, typer.Option("--force", help="Train and measure all models again; replace --json")] = False,
) -> None:
    """Train all fast models and the default model, compare them on the test lists, and recommend one.

    Example: `fans compare corpora/mine`, and the same command after an interruption.

    The settings of the models are searched on the validation lists, each model within the same time. Differences are
    taken list by list. Recommended is the cheapest model that is not significantly worse than the best one; with fewer
    than 50 test lists, which are too few to tell models apart, it is the best one.

    OUT/comparison.md has the table, OUT/comparison.json all figures, OUT/comparison.png a plot of quality against the
    time of an answer, and OUT/runs the trained models.

    Guide: docs/how-to/compare-models.md
    """
    seconds = parse_duration("--time", time)
    check_result(json, {"models", "run"}, force)
    choose_device(device)
    chosen = device and device.partition(":")[0]  # cuda:1 is the only GPU that is visible now
    from fansrec.experiments.compare.comparison import compare as run
    from fansrec.experiments.compare.report import markdown

    with TrainingBar(Terminal()) as bar:
        found = run(corpus, out, models, seconds, seed, chosen, bar, force)
    if json is not None:
        write_json(json, found.to_json())
    echo("", *markdown(found).rstrip("\n").split("\n"), "")
    for path in (*(found.folder / f"comparison{suffix}" for suffix in (".json", ".md", ".png")), json):
        if path is not None:
            echo(f"written: {path}")
    Terminal().say(f"Next: fans serve {found.run}")
