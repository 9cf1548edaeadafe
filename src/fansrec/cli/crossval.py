"""`fans crossval`: systems compared over all lists of a corpus."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fansrec.cli.devices import usable_device
from fansrec.cli.places import make_room
from fansrec.cli.reproduce import Bar
from fansrec.cli.terminal import Terminal, echo
from fansrec.errors import BadSetting, Unfinished

if TYPE_CHECKING:
    from fansrec.experiments.crossval.whole import Wish

FOLDS, WORK = "Folds", "Work"
DEFAULT_FOLDS = 10


def crossval(
    corpus: Annotated[Path, typer.Argument(help="A folder made by `fans prepare`")],
    models: Annotated[
        str, typer.Option(help="NAME[:RECIPE][+SETTING=VALUE...], with commas; the first is set against the others")
    ] = "fans,ease,item-knn",
    json: Annotated[
        Path | None,
        typer.Option(
            help="Write the result there; a Markdown table and a picture of the same name come beside it",
            show_default="OUT/PART.json",
        ),
    ] = None,
    part: Annotated[Literal["test", "valid"], typer.Option(help="valid: for choices and ablations")] = "test",
    folds: Annotated[
        int | None, typer.Option(help="How many", show_default=str(DEFAULT_FOLDS), rich_help_panel=FOLDS)
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Deals the lists into folds", rich_help_panel=FOLDS)
    ] = 0,
    fold_numbers: Annotated[
        str | None,
        typer.Option(help="Only these, with commas, from 0 on", show_default="all", rich_help_panel=FOLDS),
    ] = None,
    as_is: Annotated[
        bool, typer.Option("--as-is", help="No folds: the corpus's own split", rich_help_panel=FOLDS)
    ] = False,
    seeds: Annotated[
        str, typer.Option(help="Training seeds, with commas; a list's figures are averaged over them")
    ] = "0",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Keep folds and cells there",
            show_default="CORPUS-crossval/10-folds-seed-0 beside CORPUS",
            rich_help_panel=WORK,
        ),
    ] = None,
    only: Annotated[
        Literal["folds", "cells", "report"] | None,
        typer.Option(help="Do just that; cells also makes the folds it needs", rich_help_panel=WORK),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Cells at once, a thread each", show_default="the number of cores", rich_help_panel=WORK
        ),
    ] = None,
    device: Annotated[
        Literal["cpu", "cuda"] | None,
        typer.Option(help="Where models run", show_default="a GPU if there is one, else cpu", rich_help_panel=WORK),
    ] = None,
    keep_weights: Annotated[
        bool,
        typer.Option("--keep-weights", help="Leave the models in OUT/runs; the other part takes them"),
    ] = False,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds after which cells stop, to be gone on with", rich_help_panel=WORK)
    ] = None,
) -> None:
    """Compare systems by cross-validation: each fold is tested by models trained on the others, and every list counts.

    The lists of all parts are shuffled and dealt into folds. Fold f is the test, fold f+1 the validation, the rest the
    training, from which the fold's categories are learned too. A system is a model with a recipe (best, where it has
    one) and settings: `fans`, `fans:paper`, `ease:paper+regularization=200`.

    Finished cells (a system on a fold) are kept in OUT/cells, so the same command goes on where it stopped. They do not
    notice changes of the program: remove OUT/cells to measure anew.

    Example: `fans crossval corpora/mine --models fans,ease,item-knn --folds 10 --json crossval.json`

    On a bare GPU machine: make the folds here with `--only folds --out FOLDER`, copy FOLDER there, run
    `python -m fansrec.experiments crossval FOLDER --models fans,ease`, copy FOLDER/cells back, and run this with
    `--only report`.
    """
    from fansrec.experiments.crossval.report import markdown
    from fansrec.experiments.crossval.whole import begin, make_folds, report
    from fansrec.experiments.crossval.work import do_cells
    from fansrec.experiments.pool import hide_gpu

    hide_gpu(device)
    usable_device(device)
    wish = _wish(corpus, out, _folds(folds, as_is), seed, fold_numbers, models, seeds, part)
    at_once, unfinished = workers or os.cpu_count() or 1, []
    path = json or wish.folder / f"{part}.json"
    if path.suffix in (".md", ".png"):
        raise BadSetting(f"--json {path}: the Markdown and the picture take that name; let it end in .json")
    with Bar(Terminal(stderr=True)) as bar:
        choice = begin(wish, bar)
        make_room(path)
        if only != "report":
            make_folds(wish, choice, bar, at_once)
        if only in (None, "cells"):
            unfinished = do_cells(choice, bar, bar.say, at_once, keep_weights, time_limit)
        for cell in unfinished:
            bar.say(f"not finished: {cell}")
    if only in (None, "report"):
        echo(*markdown(report(choice, path)).split("\n"))
        echo(*(f"written: {path.with_suffix(suffix)}" for suffix in (path.suffix, ".md", ".png")))
    else:
        echo(f"written: {choice.folder}")
    if unfinished:
        raise Unfinished(f"{len(unfinished)} cells are not finished; mend what was told and run the same command again")


def _folds(given: int | None, as_is: bool) -> int | None:
    if as_is and given is not None:
        raise BadSetting("--as-is takes the corpus's own split; leave out --folds, or --as-is")
    return None if as_is else DEFAULT_FOLDS if given is None else given


def _wish(
    corpus: Path,
    out: Path | None,
    folds: int | None,
    seed: int,
    fold_numbers: str | None,
    models: str,
    seeds: str,
    part: str,
) -> "Wish":
    from fansrec.experiments.crossval.split import numbers
    from fansrec.experiments.crossval.systems import parse_systems
    from fansrec.experiments.crossval.whole import Wish

    chosen, trained = numbers("--fold-numbers", fold_numbers), numbers("--seeds", seeds)
    return Wish(corpus, out, folds, seed, chosen, parse_systems(models), trained, part)
