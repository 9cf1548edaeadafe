"""`fans train`: a model from a corpus."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from fansrec.cli.options import (
    Address,
    Corpus,
    Engine,
    Force,
    TrainingDevice,
    Workers,
    choose_device,
    path_option,
    refuse_without_ray,
)
from fansrec.cli.progress_bars import TrainingBar
from fansrec.cli.terminal import Terminal, echo
from fansrec.errors import BadSetting
from fansrec.files import read_toml

MODELS = (
    "fans, bert4rec, bert4rec-nar, sasrec, gru4rec, caser, car, item-knn, ease, rp3beta, slist, vstan, "
    "markov, popularity, or a model of another package"
)
SETTINGS = ("model", "recipe", "classifier", "scheduler", "steps", "epochs", "seed")  # options that --config may have
RECIPE = "best if the model has it with all given settings, else paper"

paper_option = partial(typer.Option, rich_help_panel="Only with --recipe paper")


def train(
    context: typer.Context,
    corpus: Corpus,
    out: Annotated[Path, path_option(help="Folder for the trained model")],
    model: Annotated[str | None, typer.Option(help=f"Model: {MODELS}", show_default="fans")] = None,
    recipe: Annotated[
        Literal["best", "paper"] | None,
        typer.Option(help="Best quality, or exactly as in the paper", show_default=RECIPE),
    ] = None,
    classifier: Annotated[
        Literal["two-stage", "vanilla"] | None,
        typer.Option(help="Classifier: category first and then item, or all items at once", show_default="two-stage"),
    ] = None,
    scheduler: Annotated[
        Literal["step", "naive"] | None,
        paper_option(help="Curriculum: from easy to hard in steps, or without steps", show_default="step"),
    ] = None,
    steps: Annotated[int | None, paper_option(help="Number of curriculum steps", show_default="5")] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Maximum number of epochs", show_default="best: by the corpus; paper: 200")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Random seed; the same seed and number of threads give byte-identical results on CPU", show_default="0"
        ),
    ] = None,
    start: Annotated[
        Path | None,
        path_option(
            metavar="RUN",
            help="Continue from the weights and the settings of this trained model, on a corpus that has grown",
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted training run in --out")] = False,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE…", help="Settings listed above; can be repeated")
    ] = None,
    config: Annotated[Path | None, path_option(help="TOML file with settings; options take precedence")] = None,
    no_compare: Annotated[
        bool,
        typer.Option(
            "--no-compare", help="Skip the final comparison with popularity, item-kNN, EASE, SLIST and V-STAN"
        ),
    ] = False,
    track: Annotated[
        list[str] | None,
        typer.Option(
            metavar="mlflow|wandb|tensorboard",
            help="Record the run with this experiment tracker too; can be repeated. TensorBoard does if installed",
        ),
    ] = None,
    force: Force = False,
    device: TrainingDevice = None,
    engine: Engine = "local",
    address: Address = None,
    workers: Workers = None,
) -> None:
    """Train a model on a prepared corpus.

    Example: `fans train corpora/mine --out runs/mine`, and the same with `--resume` after an interruption.

    `--recipe best` chooses sizes and epochs by the corpus. FANS gets a modified classifier, a list memory of the
    training lists and a linear model; their mixture weights are found on the validation lists. At the end, its metrics
    on the test lists are compared list by list with those of popularity, item-kNN, EASE, SLIST and V-STAN, whose
    settings are searched within the same time (a tenth of the training time, 10 to 120 s each). The command recommends
    the cheapest model that is not significantly worse than the best one, or the best one if there are fewer than 50
    test lists. Linear models and V-STAN try a few settings and keep the best one on the validation lists.

    `--recipe paper` trains as described in the paper. Its four variants of FANS are `--classifier two-stage|vanilla`
    with `--scheduler step|naive`, which only this recipe has; the variants with a star leave out categories:
    `--set use_categories=false`.

    `--start RUN` continues a model on a corpus with more lists and items: its settings are kept, its weights are moved
    by item id, and few epochs are enough. Nothing is searched again but the mixture weights, and there is no comparison
    at the end. Models in closed form have no weights to continue from.

    `--track mlflow` and `--track wandb` record settings, figures of every epoch and the result; the variables of these
    tools (MLFLOW_TRACKING_URI, WANDB_MODE, …) say where. `--resume` continues their run.

    On a Ray cluster: the same with `--engine ray`, and with CORPUS and --out on storage that all machines share. A
    worker that dies is replaced, and all resume from the last saved state. Except for dropout, the losses equal those
    of one process.

    Settings for `--set a=1 b=2` and `--config`: `epochs`, `patience`, `watch`, `batch_size`, `learning_rate`,
    `warmup`, `weight_decay`, `gradient_norm`, `average`, `precision`, `checkpoint_seconds`, `validation_lists`,
    `seed`; `width`, `layers`, `heads`, `feedforward`, `dropout`, `classifier`, `use_categories`; and each model's own.
    FANS with `--recipe best` also has `asked_categories` and `read_masks`, and settings that are searched unless
    given: `sharpness`, `recency`, `before`, `near`, `neighbours`, `aligned`, `newer`, `linear_decay`,
    `next_share`, `shuffled_share`, `network_weight`, `memory_weight` and `linear_weight`. With `--recipe paper` it
    also has `scheduler` and `steps`. An unknown name is refused with a list of the known ones.

    Guide: docs/how-to/train.md
    """
    arguments = dict(locals())
    refuse_without_ray(engine, workers=workers)
    if engine == "ray" and device is not None:
        raise BadSetting("--device has no effect with --engine ray, which uses the GPUs of the cluster; leave it out")
    choose_device(device)
    given = {name: arguments[name] for name in SETTINGS if arguments[name] is not None}
    values = _read_config(config) | given | _parse_pairs([*(set_ or []), *context.args])
    name = values.pop("model", None)
    from fansrec.evaluation.report import draw_history

    console = Terminal()
    with TrainingBar(console) as reporter:
        job = {
            "model": name,
            "values": values,
            "reporter": reporter,
            "resume": resume,
            "start": start,
            "compare": not no_compare,
            "force": force,
            "track": track or (),
        }
        if engine == "ray":
            from fansrec.cluster.connection import cluster
            from fansrec.cluster.training import train_on_cluster

            with cluster(address, workers):
                plan = train_on_cluster(corpus, out, draw=draw_history, workers=workers, **job)
        else:
            from fansrec.training import trainer

            plan = trainer.train(corpus, out, draw=draw_history, **job)
    echo(f"{out}: {plan.variant}")
    console.say(f"Next: fans evaluate {out} --corpus {corpus}")


def _parse_pairs(pairs: list[str]) -> dict[str, Any]:
    """Return the settings of `--set a=1 b=2` or `--set a=1 --set b=2`."""
    for pair in pairs:
        if "=" not in pair:
            raise BadSetting(f"--set {pair} is not of the form NAME=VALUE; write it as in --set width=64")
    return dict(pair.split("=", 1) for pair in pairs)


def _read_config(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    values = read_toml(path)
    for name, value in values.items():
        if isinstance(value, dict | list):
            raise BadSetting(f"{path}: {name} is a table or a list; write settings as single values, without sections")
    return values
