"""`fans train`: a corpus in, a model out."""

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from fansrec.cli.cluster_options import Address, Engine, Workers, refuse_without_ray
from fansrec.cli.progress import BarReporter
from fansrec.cli.terminal import Terminal, echo
from fansrec.errors import BadSetting

PAPER = "Only in the paper's recipe"
MODELS = (
    "fans, bert4rec, bert4rec-nar, sasrec, gru4rec, caser, car, item-knn, ease, rp3beta, slist, markov, "
    "popularity, or one of another package"
)


def train(
    context: typer.Context,
    corpus: Annotated[Path, typer.Argument(help="A folder made by `fans prepare`")],
    out: Annotated[Path, typer.Option(help="The folder to write the model to")],
    model: Annotated[str | None, typer.Option(help=MODELS, show_default="fans")] = None,
    recipe: Annotated[
        Literal["best", "paper"] | None,
        typer.Option(
            help="To get good answers, or what the paper describes",
            show_default="best where there is one and it has all given settings, else paper",
        ),
    ] = None,
    classifier: Annotated[
        Literal["two-stage", "vanilla"] | None,
        typer.Option(help="How items are chosen: by category first, or among all", show_default="two-stage"),
    ] = None,
    scheduler: Annotated[
        Literal["step", "naive"] | None,
        typer.Option(help="From easy to hard, or hard at once", show_default="step", rich_help_panel=PAPER),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Curriculum steps", show_default="5", rich_help_panel=PAPER)] = None,
    epochs: Annotated[
        int | None, typer.Option(help="At most so many", show_default="best: by the corpus; paper: 200")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="One seed, one model, byte for byte", show_default="0")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an interrupted training in --out")] = False,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE…", help="Any other settings")] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file of settings; flags go before it")] = None,
    no_compare: Annotated[
        bool, typer.Option("--no-compare", help="No table beside popularity, item-kNN and EASE at the end")
    ] = False,
    engine: Engine = "local",
    address: Address = None,
    workers: Workers = None,
) -> None:
    """Train a model on a prepared corpus.

    `--recipe best` takes sizes and epochs from the corpus. FANS gets a repaired classifier and a memory of the training
    lists; how much the network, the memory and a linear model count is found on the validation lists. At the end its
    figures on the test lists stand beside those of popularity, item-kNN and EASE, and if one of these is better, it
    says so and how to keep that one. Models of item-item weights try a few settings and keep what is best on the
    validation lists.

    `--recipe paper` trains as the paper describes. Its four variants of FANS are `--classifier two-stage|vanilla`
    with `--scheduler step|naive`, which only this recipe has; the starred ones leave categories out:
    `--set use_categories=false`.

    Example: `fans train corpora/mine --out runs/mine`, and if it was stopped, the same with `--resume`.

    On a Ray cluster: the same with `--engine ray`, and CORPUS and --out on storage that all machines see. A worker that
    dies is replaced and all go on from the last saved state. Dropout aside, the losses are those of one process.

    Settings for `--set a=1 b=2` and `--config`: epochs, patience, watch, batch_size, learning_rate, warmup,
    weight_decay, average, precision, checkpoint_seconds, validation_lists, seed; width, layers, heads, feedforward,
    dropout, classifier, use_categories; and each model's own. FANS by `--recipe best` has asked_categories,
    linear_decay and, held at what you give and found otherwise, sharpness, recency, before, near, neighbours, aligned,
    network_weight, memory_weight and linear_weight; by `--recipe paper`, scheduler and steps. A wrong name is answered
    with the right ones.
    """
    refuse_without_ray(engine, workers=workers)
    flags = {
        "model": model,
        "recipe": recipe,
        "classifier": classifier,
        "scheduler": scheduler,
        "steps": steps,
        "epochs": epochs,
        "seed": seed,
    }
    given = {name: value for name, value in flags.items() if value is not None}
    values = _from_file(config) | given | _pairs([*(set_ or []), *context.args])
    name = values.pop("model", None)
    console = Terminal()
    with BarReporter(console) as reporter:
        asked = {"model": name, "values": values, "reporter": reporter, "resume": resume, "compare": not no_compare}
        plan = _train(corpus, out, **asked) if engine == "local" else _on_ray(corpus, out, address, workers, **asked)
    echo(f"{out}: {plan.variant}")
    console.say(f"next: fans evaluate {out} --corpus {corpus}")


def _train(corpus: Path, out: Path, **asked: Any) -> Any:
    from fansrec.evaluation.report import draw_history
    from fansrec.training import run

    return run.train(corpus, out, draw=draw_history, **asked)


def _on_ray(corpus: Path, out: Path, address: str | None, workers: int | None, **asked: Any) -> Any:
    from fansrec.cluster.connection import cluster
    from fansrec.cluster.training import train_on_cluster
    from fansrec.evaluation.report import draw_history

    with cluster(address, workers):
        return train_on_cluster(corpus, out, draw=draw_history, workers=workers, **asked)


def _pairs(pairs: list[str]) -> dict[str, Any]:
    """--set a=1 b=2, or --set a=1 --set b=2."""
    for pair in pairs:
        if "=" not in pair:
            raise BadSetting(f"--set {pair} is not of the form NAME=VALUE")
    return dict(pair.split("=", 1) for pair in pairs)


def _from_file(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadSetting(f"{path} cannot be read as TOML ({error})") from error
    for name, value in values.items():
        if isinstance(value, dict | list):
            raise BadSetting(f"{path}: {name} is a table or a list; settings are single values, without sections")
    return values
